import type { ConfigDocument } from '../config/schema/model.js';
import type { Started } from './processes/supervisor.js';
import type { Settings } from './settings.js';

/**
 * The value of the first event, and the attributes of the sample configuration: with them, one event meets all of the sample's metric triggers and
 * completes an achievement. Attributes that a configuration doesn't have are refused.
 */
const sampleValue = 100;
const sampleAttributes = { user: { city: 'Lisbon' }, event: { device: 'mobile' } };

/** The sample attributes that a configuration has; undefined, which JSON leaves out, if it has none. */
function attributesOf({ attributes }: ConfigDocument, type: 'user' | 'event'): object | undefined {
  const has = (key: string): boolean => attributes.some((one) => one.type === type && one.key === key && !one.archived);
  const found = Object.entries(sampleAttributes[type]).filter(([key]) => has(key));
  return found.length === 0 ? undefined : Object.fromEntries(found);
}

/** A request to paste into a shell, for the first metric of the configuration. Keys have no character that a shell treats specially. */
function firstRequest(address: string, key: string, configuration: ConfigDocument): string[] {
  const metric = configuration.metrics.find(({ archived }) => !archived);
  if (!metric) {
    return [
      'It has no metric yet, and events need one. Define it in a file like examples/study-app.yaml, and apply that: npx laurel apply FILE.yaml',
    ];
  }
  const user = { id: 'ana', name: 'Ana', attributes: attributesOf(configuration, 'user') };
  const body = JSON.stringify({ user, value: sampleValue, attributes: attributesOf(configuration, 'event') });
  return [
    'Try it:',
    `  curl -s ${address}/v1/metrics/${metric.key}/event \\`,
    `    -H 'X-API-KEY: ${key}' -H 'Content-Type: application/json' \\`,
    `    -d '${body}'`,
  ];
}

/** The lines that the operator sees when the service is ready: the address, the admin key the first time, and a request to paste. */
export function welcome(
  { address, metricsAddress, newAdminKey, configuration }: Started,
  { databaseUrl, messages, dashboard }: Settings,
): string[] {
  const metrics = metricsAddress === undefined ? [] : [`Its metrics are at ${metricsAddress}/metrics`];
  if (address === undefined) return ['The Laurel worker is running.', ...metrics];
  const key = newAdminKey ?? 'YOUR-API-KEY';
  return [
    '',
    `Laurel is ready at ${address}`,
    ...(dashboard ? [`Its dashboard is at ${address}/dashboard`] : []),
    ...metrics,
    ...(messages === 'log' ? ['Emails and push notifications to users are logged, not sent: set MESSAGES to change that'] : []),
    ...(newAdminKey === undefined ? [] : [`Its admin key, which is shown only this once: ${newAdminKey}`]),
    ...(configuration && databaseUrl === null ? ['', ...firstRequest(address, key, configuration)] : []),
    '',
  ];
}

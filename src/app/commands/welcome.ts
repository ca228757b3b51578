import type { Started } from '../processes/supervisor.js';
import type { Settings } from '../settings.js';

const sampleBody = JSON.stringify({
  user: { id: 'ana', name: 'Ana', attributes: { city: 'Lisbon' } },
  value: 5,
  attributes: { device: 'phone' },
});

/** A request to paste into a shell, for the metric of the sample configuration. */
function sampleRequest(address: string, key: string): string[] {
  return [
    `  curl -s ${address}/v1/metrics/flashcards-viewed/event \\`,
    `    -H 'X-API-KEY: ${key}' -H 'Content-Type: application/json' \\`,
    `    -d '${sampleBody}'`,
  ];
}

/** The lines that the operator sees when the service is ready: the address, the admin key the first time, and a request to paste. */
export function welcome(
  { address, metricsAddress, newAdminKey }: Started,
  { config, databaseUrl, messages, dashboard }: Settings,
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
    ...(config === null && databaseUrl === null ? ['', 'Try it:', ...sampleRequest(address, key)] : []),
    '',
  ];
}

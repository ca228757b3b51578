import { expect } from 'chai';
import { welcome } from '../../src/app/welcome.js';
import { readConfigText } from '../../src/app/apply.js';
import { parseSettings } from '../../src/app/settings.js';
import { sampleConfig } from '../../src/app/startup.js';
import type { ConfigDocument } from '../../src/config/schema/model.js';
import { after as documentOf } from '../support/config.js';

describe('The first request that a start prints', () => {
  const address = 'http://127.0.0.1:7070';

  /** What is printed from `Try it:` on; empty without it. */
  const printed = (configuration: ConfigDocument | undefined, env: NodeJS.ProcessEnv = {}): string[] => {
    const lines = welcome({ address, metricsAddress: undefined, newAdminKey: 'admin.key', configuration }, parseSettings(env));
    // An empty line precedes it, as it does the address.
    return lines.slice(lines.indexOf('', 1) + 1);
  };
  const request = (metric: string, body: object): string[] => [
    'Try it:',
    `  curl -s ${address}/v1/metrics/${metric}/event \\`,
    `    -H 'X-API-KEY: admin.key' -H 'Content-Type: application/json' \\`,
    `    -d '${JSON.stringify(body)}'`,
    '',
  ];
  const ana = { id: 'ana', name: 'Ana' };

  it('is for the metric and the attributes of the sample configuration', () => {
    expect(printed(documentOf(readConfigText(sampleConfig).text))).to.deep.equal(
      request('flashcards-viewed', { user: { ...ana, attributes: { city: 'Lisbon' } }, value: 100, attributes: { device: 'mobile' } }),
    );
  });

  it('is for a metric of the active configuration, with attributes that it has', () => {
    const document = documentOf('metrics: [{key: laps, name: Laps}]\nattributes: [{key: city, name: City, type: user}]');
    const body = { user: { ...ana, attributes: { city: 'Lisbon' } }, value: 100 };
    expect(printed(document, { CONFIG: 'running.yaml' })).to.deep.equal(request('laps', body));
  });

  it('is for no metric that is archived', () => {
    const document = documentOf('metrics: [{key: laps, name: Laps}, {key: miles, name: Miles}]');
    const metrics = document.metrics.map((metric) => ({ ...metric, archived: metric.key === 'laps' }));
    expect(printed({ ...document, metrics })).to.deep.equal(request('miles', { user: ana, value: 100 }));
  });

  it('is replaced by what to do where there is no metric', () => {
    expect(printed(documentOf('attributes: [{key: city, name: City, type: user}]'))).to.deep.equal([
      'It has no metric yet, and events need one. Define it in a file like examples/study-app.yaml, and apply that: npx laurel apply FILE.yaml',
      '',
    ]);
  });

  it('is left out while the configuration is not known, and beside a database of the operator', () => {
    expect(printed(undefined)).to.deep.equal([]);
    const stores = { DATABASE_URL: 'postgres://db/laurel', REDIS_URL: 'redis://cache' };
    expect(printed(documentOf('metrics: [{key: laps, name: Laps}]'), stores)).to.deep.equal([]);
  });
});

import { setImmediate as turn } from 'node:timers/promises';
import { expect } from 'chai';
import { emptyConfig, type ConfigVersion } from '../../src/config/schema/model.js';
import { ActiveConfigs } from '../../src/engine/active-configs.js';

const tenant = 1;

/** Loads that a test ends, in any order. */
class Loads {
  readonly configs = new ActiveConfigs(() => new Promise((resolve, reject) => this.begun.push({ resolve, reject })));
  readonly begun: { resolve(config: ConfigVersion): void; reject(error: Error): void }[] = [];

  end(load: number, version: number): void {
    this.begun[load]?.resolve({ tenant, version, document: emptyConfig });
  }
}

const versionOf = async (config: Promise<{ readonly version: number }>): Promise<number> => (await config).version;
const error = new Error('Postgres is away');

describe('The configurations of a process', () => {
  it('are loaded once for all requests that find none', async () => {
    const loads = new Loads();
    const [one, other] = [loads.configs.get(tenant), loads.configs.get(tenant)];
    loads.end(0, 1);
    expect(await Promise.all([versionOf(one), versionOf(other)])).to.deep.equal([1, 1]);
    expect(loads.begun).to.have.lengthOf(1);
  });

  it('are loaded one at a time: refreshes during a load share the next one, which sees what was saved before', async () => {
    const loads = new Loads();
    const first = loads.configs.refresh(tenant);
    const later = [loads.configs.refresh(tenant), loads.configs.refresh(tenant), loads.configs.refresh(tenant)];
    expect(loads.begun).to.have.lengthOf(1);
    loads.end(0, 1);
    expect(await versionOf(first)).to.equal(1);
    expect(loads.begun).to.have.lengthOf(2);
    loads.end(1, 2);
    expect(await Promise.all(later.map(versionOf))).to.deep.equal([2, 2, 2]);
    expect(loads.begun).to.have.lengthOf(2);
    expect(await versionOf(loads.configs.get(tenant))).to.equal(2);
  });

  it('never go back to a load that began earlier', async () => {
    const loads = new Loads();
    const [first, second] = [loads.configs.refresh(tenant), loads.configs.refresh(tenant)];
    loads.end(1, 2);
    loads.end(0, 1);
    await first;
    loads.end(1, 2);
    await second;
    expect(await versionOf(loads.configs.get(tenant))).to.equal(2);
  });

  it('stay when a load fails, and the next refresh loads again', async () => {
    const loads = new Loads();
    const first = loads.configs.refresh(tenant);
    loads.end(0, 1);
    await first;
    const [failed, next] = [loads.configs.refresh(tenant), loads.configs.refresh(tenant)];
    loads.begun[1]?.reject(error);
    expect(await failed.catch((thrown: unknown) => thrown)).to.equal(error);
    expect(await versionOf(loads.configs.get(tenant))).to.equal(1);
    loads.end(2, 2);
    expect(await versionOf(next)).to.equal(2);
    expect([...(await loads.configs.held())]).to.deep.equal([[tenant, 2]]);
  });

  it('are not loaded again for a reply to a call under an older one', async () => {
    const loads = new Loads();
    const old = loads.configs.refresh(tenant);
    loads.end(0, 1);
    const next = loads.configs.replace(await old);
    await turn();
    loads.end(1, 2);
    await next;
    await loads.configs.replace(await old);
    expect(loads.begun).to.have.lengthOf(2);
  });

  it('are loaded at most twice for all replies that find the same one stale', async () => {
    const loads = new Loads();
    const first = loads.configs.refresh(tenant);
    loads.end(0, 1);
    const old = await first;
    const replies = [loads.configs.replace(old), loads.configs.replace(old), loads.configs.replace(old)];
    await turn();
    loads.end(1, 2);
    await replies[0];
    loads.end(2, 2);
    await Promise.all(replies);
    expect(loads.begun.length).to.be.at.most(3);
  });
});

import { expect } from 'chai';
import { Registry } from 'prom-client';
import { limits } from '../../src/shared/limits.js';
import { partitionMetrics } from '../../src/observe/partition-metrics.js';
import { restoreMetrics } from '../../src/observe/service-metrics.js';
import { restoreTenant } from '../../src/restore/restore.js';
import { allowed } from '../support/active-redis.js';
import { keysOf, startWorld, tenant, type World } from '../support/world.js';

/** More than one step of a restore. */
const users = 3 * limits.restoreUsers;

describe('The metrics of a restore', () => {
  let world: World;
  before(async () => {
    world = await startWorld();
    const events = Array.from({ length: users }, (_, i) => ({ key: 'flashcards-viewed', value: 1, user: { id: `u${i}` } }));
    expect((await world.request('POST', '/admin/v1/metrics/events', { body: events })).status).to.be.below(300);
    await world.drain();
    // Only the test restores.
    await world.stopService();
  });
  after(() => world.stop());

  /** The figures, as they are looked up now. */
  async function figures(): Promise<Record<string, number | undefined>> {
    const registry = new Registry();
    const of = { redis: world.redis, pool: world.pool, partition: () => world.partition };
    await restoreMetrics(registry, of)();
    await partitionMetrics(registry, { ...of, tenants: () => [tenant], busy: () => [], testClock: true, maxLedgerEntries: 1 })();
    const metrics = await registry.getMetricsAsJSON();
    const value = (name: string): number | undefined =>
      metrics.find((metric) => metric.name === `laurel_restore_${name}`)?.values[0]?.value;
    return Object.fromEntries(['running', 'users', 'users_expected', 'unfinished'].map((name) => [name, value(name)]));
  }

  const restore = (signal?: AbortSignal, onProgress?: () => void): Promise<unknown> =>
    restoreTenant({
      tenant,
      partition: world.partition,
      redis: world.redis,
      pool: world.pool,
      ...allowed(world.redis, world.pool, world.settings.redisPrefix),
      ...(signal && { signal }),
      ...(onProgress && { onProgress }),
    });

  it('are 0 while no restore is needed', async () => {
    expect(await figures()).to.deep.equal({ running: 0, users: 0, users_expected: 0, unfinished: 0 });
  });

  it('show the progress of a restore, its interruption and its end', async () => {
    await world.redis.unlink(...(await keysOf(world.redis, world.partition)));
    const cut = new AbortController();
    const isCut = await restore(cut.signal, () => {
      cut.abort();
    }).then(
      () => false,
      () => true,
    );
    expect(isCut).to.equal(true);
    // One that was killed still has its lease.
    await world.pool.query(
      `update stream_offsets set holder = 'restore:killed', lease_until = now() + interval '1 hour' where tenant = $1`,
      [tenant],
    );
    const { users: back, ...others } = await figures();
    expect(others).to.deep.equal({ running: 1, users_expected: users, unfinished: 1 });
    expect(back).to.be.within(limits.restoreUsers, users);
    // Its lease expires: no restore is running any more.
    await world.pool.query(`update stream_offsets set lease_until = '-infinity' where tenant = $1`, [tenant]);
    expect(await figures()).to.deep.equal({ running: 0, users: 0, users_expected: 0, unfinished: 1 });
    await restore();
    expect(await figures()).to.deep.equal({ running: 0, users: 0, users_expected: 0, unfinished: 0 });
  });
});

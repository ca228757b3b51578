import { expect } from 'chai';
import pino from 'pino';
import { Clock } from '../../src/engine/clock.js';
import { HistoryReader } from '../../src/history/reader.js';
import { KeyRetention } from '../../src/jobs/key-retention.js';
import { inSnapshot } from '../../src/postgres/pool.js';
import { keyNames } from '../../src/redis/contract.js';
import { uuidOfBytes } from '../../src/redis/encoding.js';
import { uuidBytes } from '../../src/redis/layout.js';
import { readStoredUsers, readUserIds } from '../../src/restore/stored-users.js';
import { limits } from '../../src/shared/limits.js';
import { bodyOf, configText, type EventBody, track } from '../support/answers.js';
import { differences } from '../support/differences.js';
import { startWorker, type Worker } from '../support/worker.js';
import { defaultNow, keysOf, startWorld, type World } from '../support/world.js';

const dayMs = 86_400_000;

async function inRedis({ redis, partition }: World): Promise<string[]> {
  const keys = await keysOf(redis, `${partition}${keyNames.idempotency}`);
  return (await Promise.all(keys.map((key) => redis.hkeys(key)))).flat().sort();
}

/** The keys that a restore would write, and their values. */
async function stored(world: World): Promise<[key: string, value: Buffer][]> {
  await world.drain();
  const users = await inSnapshot(world.pool, async (client) =>
    readStoredUsers(client, world.tenant, await readUserIds(client, world.tenant, '', 2 * limits.retentionPageKeys)),
  );
  return users.flatMap(({ keys }) => [...keys.values()].flatMap((used) => [...used]));
}

const inPostgres = async (world: World): Promise<string[]> => (await stored(world)).map(([key]) => key).sort();
/** Milliseconds after the start of the test. */
const at = (ms: number): string => new Date(Date.parse(defaultNow) + ms).toISOString();

describe('Idempotency keys that are kept for two days', () => {
  let world: World;
  beforeEach(async () => {
    world = await startWorld({
      config: configText({
        settings: { idempotencyRetentionDays: 2 },
        metrics: [{ key: 'cards', name: 'Cards' }],
        points: [{ key: 'xp', name: 'XP' }],
      }),
    });
  });
  afterEach(() => world.stop());

  const first = (): Promise<EventBody> => track(world, 'cards', { user: 'ana', value: 5, key: 'a' });
  const replayed = (): Promise<EventBody> => track(world, 'cards', { user: 'ana', value: 5, key: 'a' }, 202);
  const keep = async (days: number | null): Promise<void> => {
    bodyOf(await world.request('PATCH', '/admin/v1/settings', { body: { idempotencyRetentionDays: days } }), 200);
  };

  it('replay until then, to the millisecond, and count anew from then on', async () => {
    const { eventId } = await first();
    await world.setClock(at(2 * dayMs - 1));
    expect(await replayed()).to.include({ eventId, total: 5 });
    await world.setClock(at(2 * dayMs));
    const second = await first();
    expect(second.total).to.equal(10);
    expect(second.eventId).to.not.equal(eventId);
    expect(await replayed()).to.include({ eventId: second.eventId, total: 10 });
    await world.setClock(at(4 * dayMs - 1));
    expect(await replayed()).to.include({ eventId: second.eventId, total: 10 });
    await world.drain();
    expect(await differences(world.redis, world.pool, world.partition)).to.deep.equal([]);
  });

  it('are removed from both stores, and newer ones are not', async () => {
    await first();
    await track(world, 'cards', { user: 'ben', value: 1, key: 'b' });
    expect([await inRedis(world), await inPostgres(world)]).to.deep.equal([
      ['a', 'b'],
      ['a', 'b'],
    ]);
    await world.setClock(at(dayMs));
    await track(world, 'cards', { user: 'ben', value: 1, key: 'c' });
    await world.drain();
    await world.setClock(at(2 * dayMs));
    expect([await inRedis(world), await inPostgres(world)]).to.deep.equal([['c'], ['c']]);
    expect(await differences(world.redis, world.pool, world.partition)).to.deep.equal([]);
  });

  it('are those of adjustments of points as well', async () => {
    await first();
    const system = (await world.engine.config(world.tenant)).systems.get('xp')!;
    const adjustments = [{ userId: 'ana', amount: 5, reason: 'Sorry', idempotencyKey: 'b' }];
    const adjust = async (): Promise<unknown[]> => {
      const reply = await world.request('POST', `/admin/v1/points/${system.id}/adjustments`, { body: { adjustments } });
      const { created } = bodyOf<{ created: { total: number; idempotentReplayed: boolean }[] }>(reply, 201);
      return created.map(({ total, idempotentReplayed }) => [total, idempotentReplayed]);
    };
    expect(await adjust()).to.deep.equal([[5, false]]);
    await world.setClock(at(2 * dayMs - 1));
    expect(await adjust()).to.deep.equal([[5, true]]);
    expect([await inRedis(world), await inPostgres(world)]).to.deep.equal([
      ['a', 'b'],
      ['a', 'b'],
    ]);
    await world.setClock(at(2 * dayMs));
    expect(await adjust()).to.deep.equal([[10, false]]);
    await world.drain();
    await world.setClock(at(5 * dayMs));
    expect([await inRedis(world), await inPostgres(world)]).to.deep.equal([[], []]);
    expect(await differences(world.redis, world.pool, world.partition)).to.deep.equal([]);
  });

  it('are not removed when another event has used them since', async () => {
    await first();
    await world.drain();
    // Before the day's look for old keys comes by.
    await world.redis.set(`${world.partition}clock`, String(Date.parse(at(2 * dayMs))));
    const second = await first();
    expect(second.total).to.equal(10);
    await world.setClock(at(2 * dayMs + dayMs));
    expect(await replayed()).to.include({ eventId: second.eventId });
    expect([await inRedis(world), await inPostgres(world)]).to.deep.equal([['a'], ['a']]);
  });

  it('go by the setting of the moment: for ever, and not any more', async () => {
    await first();
    await world.drain();
    await keep(null);
    await world.setClock(at(30 * dayMs));
    await replayed();
    expect([await inRedis(world), await inPostgres(world)]).to.deep.equal([['a'], ['a']]);
    await keep(30);
    await first();
  });

  it('leave the newest of two uses', async () => {
    const { pool, tenant } = world;
    await first();
    await world.setClock(at(2 * dayMs));
    const { eventId } = await first();
    await world.drain();
    // As before the first pass, when the older use is still there.
    await pool.query('delete from key_retention where tenant = $1', [tenant]);
    expect((await stored(world)).map(([, value]) => uuidOfBytes(value.subarray(0, uuidBytes)))).to.deep.equal([eventId]);
  });
});

/** More users than a page of a pass has keys. */
const users = limits.retentionPageKeys + 2;
const nameOf = (no: number): string => `user-${String(no).padStart(5, '0')}`;

describe('A pass that removes expired idempotency keys, in its middle', () => {
  let world: World;
  let worker: Worker;
  let clock: Clock;
  let retention: KeyRetention;

  beforeEach(async () => {
    const config = configText({ settings: { idempotencyRetentionDays: 2 }, metrics: [{ key: 'cards', name: 'Cards' }] });
    // Without the sweep of a worker, which would go through all pages.
    world = await startWorld({ config, roles: { api: true, worker: false } });
    worker = startWorker(world);
    const { engine, pool } = world;
    clock = new Clock(engine, true);
    retention = new KeyRetention({ engine, pool, clock, history: new HistoryReader(pool), log: pino({ level: 'silent' }) });
    for (let first = 0; first < users; first += limits.maxBatchEvents) {
      const body = Array.from({ length: Math.min(limits.maxBatchEvents, users - first) }, (_, i) => ({
        ...{ key: 'cards', value: 1, idempotencyKey: 'a', user: { id: nameOf(first + i) } },
      }));
      bodyOf(await world.request('POST', '/admin/v1/metrics/events', { body }), 202);
    }
    await world.drain();
    await clock.set(world.tenant, Date.parse(at(2 * dayMs)));
    await retention.run(world.tenant, 1);
  });
  afterEach(async () => {
    await worker.stop();
    await world.stop();
  });

  it('leaves the others where keys are kept for longer, in a restored Redis too, until they expire again', async () => {
    const half = await inRedis(world);
    expect(half).to.have.lengthOf(2);
    bodyOf(await world.request('PATCH', '/admin/v1/settings', { body: { idempotencyRetentionDays: 30 } }), 200);
    await retention.run(world.tenant, 2);
    expect(await inRedis(world)).to.deep.equal(half);
    // The last user of the page may have more keys.
    expect(await inPostgres(world)).to.have.lengthOf(3);
    await clock.set(world.tenant, Date.parse(at(32 * dayMs)));
    // One in each process, both anew.
    for (let i = 0; i < 2; i += 1) await world.advance(world.tenant, at((33 + i) * dayMs));
    expect([await inRedis(world), await inPostgres(world)]).to.deep.equal([[], []]);
  });

  it('continues in another process, and names no user who was deleted', async () => {
    const noted = async (): Promise<unknown[]> =>
      (await world.pool.query<{ last_user: string }>('select last_user from key_retention')).rows;
    const last = nameOf(limits.retentionPageKeys - 2);
    expect(await noted()).to.deep.equal([{ last_user: last }]);
    bodyOf(await world.request('DELETE', `/admin/v1/users/${last}`), 200);
    await world.drain();
    expect(await noted()).to.deep.equal([{ last_user: nameOf(limits.retentionPageKeys - 3) }]);
    await world.advance(world.tenant, at(2 * dayMs + 1));
    expect([await inRedis(world), await inPostgres(world), await noted()]).to.deep.equal([[], [], [{ last_user: '' }]]);
  });
});

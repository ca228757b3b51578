import { expect } from 'chai';
import { collectBatch } from '../../src/ledger/batch.js';
import type { EventEntry } from '../../src/ledger/entry.js';
import { bodyOf, configText, type EventBody, track } from '../support/answers.js';
import { differences } from '../support/differences.js';
import { defaultNow, keysOf, startWorld, type World } from '../support/world.js';

const dayMs = 86_400_000;
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
  const inRedis = async (): Promise<string[]> => {
    const keys = await keysOf(world.redis, `${world.partition}i:`);
    return (await Promise.all(keys.map((key) => world.redis.hkeys(key)))).flat().sort();
  };
  const inPostgres = async (): Promise<string[]> => {
    await world.drain();
    const { rows } = await world.pool.query<{ key: string }>('select key from idempotency_keys order by key');
    return rows.map(({ key }) => key);
  };
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
    expect([await inRedis(), await inPostgres()]).to.deep.equal([
      ['a', 'b'],
      ['a', 'b'],
    ]);
    await world.setClock(at(dayMs));
    await track(world, 'cards', { user: 'ben', value: 1, key: 'c' });
    await world.drain();
    await world.setClock(at(2 * dayMs));
    expect([await inRedis(), await inPostgres()]).to.deep.equal([['c'], ['c']]);
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
    expect([await inRedis(), await inPostgres()]).to.deep.equal([
      ['a', 'b'],
      ['a', 'b'],
    ]);
    await world.setClock(at(2 * dayMs));
    expect(await adjust()).to.deep.equal([[10, false]]);
    await world.drain();
    await world.setClock(at(5 * dayMs));
    expect([await inRedis(), await inPostgres()]).to.deep.equal([[], []]);
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
    expect([await inRedis(), await inPostgres()]).to.deep.equal([['a'], ['a']]);
  });

  it('go by the setting of the moment: for ever, and not any more', async () => {
    await first();
    await world.drain();
    await keep(null);
    await world.setClock(at(30 * dayMs));
    await replayed();
    expect([await inRedis(), await inPostgres()]).to.deep.equal([['a'], ['a']]);
    await keep(30);
    await first();
  });

  it('leave one row where one batch of the write-behind has two events of a key', () => {
    const event = (id: string, ms: number): EventEntry => ({
      kind: 'event',
      id,
      user: 'ana',
      metric: 1,
      value: 1,
      total: 1,
      at: ms,
      day: 1,
      rev: 1,
      key: 'a',
      attributes: [],
      points: [],
      boards: [],
      state: [],
    });
    const { keys } = collectBatch([
      { id: '1-0', entry: event('one', 1) },
      { id: '2-0', entry: event('two', 2) },
    ]);
    expect([...keys.values()].map(({ entry }) => entry.id)).to.deep.equal(['two']);
  });
});

import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { loadConfig } from '../../src/config/store/store.js';
import type { Difference } from '../../src/restore/differences.js';
import { limits } from '../../src/shared/limits.js';
import { verifyTenant } from '../../src/restore/verify.js';
import { keyNames, userRecords } from '../../src/redis/contract.js';
import { placeOf } from '../../src/redis/layout.js';
import { listOf, packMessage } from '../../src/redis/encoding.js';
import { tenantForEachTest } from '../support/suites.js';
import { sampleConfig, startWorld, type World } from '../support/world.js';

/** Changes behind Laurel's back, and what the difference that is found names. */
const tampered: readonly (readonly [what: string, act: (world: World) => Promise<unknown>, named: RegExp])[] = [
  [
    'a total in Redis',
    async (world) => {
      const [key, record] = [`${world.partition}${keyNames.user}ana`, metricRecord(world)];
      const counts = [...listOf(new Map(Object.entries(await world.redis.hgetallBuffer(key))), record)];
      counts[placeOf('metric', 'total')] = Number(counts[placeOf('metric', 'total')]) + 1;
      await world.redis.hset(key, record, packMessage(counts));
    },
    /^ana: (total )?m-\d+$/,
  ],
  [
    'a total in Postgres',
    (world) => world.pool.query(`update user_metrics set total = total + 1 where user_id = 'ben'`),
    /^ben: total m-\d+$/,
  ],
  [
    'points in Postgres',
    (world) => world.pool.query(`update user_points set total = total + 1 where user_id = 'ana'`),
    /^ana: total p-\d+$/,
  ],
  ['a name in Redis', (world) => world.redis.hset(`${world.partition}${keyNames.user}ana`, userRecords.name, 'Eve'), /^ana: n$/],
  ['a streak in Redis', (world) => world.redis.hdel(`${world.partition}${keyNames.user}ana`, userRecords.core), /^ana: c$/],
  [
    'a user who is only in Redis',
    (world) => world.redis.hset(`${world.partition}${keyNames.user}eve`, userRecords.core, packMessage([1])),
    /^eve: the user$/,
  ],
  ['a user who is only in Postgres', (world) => world.redis.unlink(`${world.partition}${keyNames.user}ben`), /^ben: /],
  [
    'an idempotency key',
    (world) => world.pool.query(`update events set idempotency_key = null where user_id = 'ana'`),
    /^ana: key \d+ once$/,
  ],
  [
    'a record that is cut off',
    (world) => world.redis.hset(`${world.partition}${keyNames.user}ana`, metricRecord(world), Buffer.from([0x95, 1])),
    /^ana: (total )?[mp]-\d+$/,
  ],
  [
    'the value of an idempotency key',
    async (world) => {
      const [key = ''] = await world.redis.keys(`${world.partition.replace(/[{}]/g, '?')}${keyNames.idempotency}*:ana`);
      await world.redis.hset(key, 'once', 'short');
    },
    /^ana: key \d+ once$/,
  ],
  ['a recent award that is cut off', (world) => changeAward(world, (award) => award.subarray(0, -1)), /^ana: awards \d+$/],
  ['a recent award that is something else', (world) => changeAward(world, () => Buffer.from('lost')), /^ana: awards \d+$/],
  ['an empty recent award', (world) => changeAward(world, () => Buffer.alloc(0)), /^ana: awards \d+$/],
  ['the newest awards', (world) => unlinkLike(world, `${keyNames.awards}*:ana`), /^ana: awards/],
  ['a board', (world) => unlinkLike(world, `${keyNames.board}*`), /^score of ana on/],
  ['a member that is cut off', (world) => addMember(world, Buffer.from('x')), /^score of 78 on/],
  [
    'a member that is something else',
    (world) => addMember(world, Buffer.from('\u0001 no user \u0000')),
    /^score of 01206e6f20757365722000 on/,
  ],
  ['a place', (world) => world.pool.query(`update leaderboard_entries set value = value + 1 where user_id = 'ben'`), /^score of ben on/],
  ['the owner of a device', (world) => world.redis.hset(world.partition + keyNames.devices, 'phone', 'ben'), /^owner of device phone$/],
  ['a device without an owner', (world) => world.redis.unlink(world.partition + keyNames.devices), /^owner of device phone$/],
  [
    'a device that no user has',
    (world) => world.redis.hset(world.partition + keyNames.devices, 'tablet', 'ben'),
    /^owner of device tablet$/,
  ],
  [
    'a device in Postgres',
    (world) => world.pool.query(`update users set device_tokens = '["phone"]' where id = 'ben'`),
    /^owner of device phone$/,
  ],
  ['the count of users', (world) => world.redis.hincrby(world.partition + keyNames.meta, 'users', 1), /^users$/],
];

/** An award for each event, and one for each day. */
const owing = {
  metrics: [{ key: 'cards', name: 'Cards' }],
  points: [
    {
      key: 'xp',
      name: 'XP',
      triggers: [
        { key: 'c', type: 'metric', metricKey: 'cards', metricThreshold: 1, points: 7, status: 'active' },
        { key: 'd', type: 'time', timeUnit: 'days', timeInterval: 1, points: 3, status: 'active' },
      ],
    },
  ],
};

const metricRecord = (world: World): string => `${userRecords.metric}${metricNos.get(world) ?? 0}`;
const metricNos = new WeakMap<World, number>();

async function keysLike(world: World, pattern: string): Promise<string[]> {
  const keys = await world.redis.keys(world.partition.replace(/[{}]/g, '?') + pattern);
  expect(keys).not.to.deep.equal([]);
  return keys;
}

async function unlinkLike(world: World, pattern: string): Promise<void> {
  await world.redis.unlink(...(await keysLike(world, pattern)));
}

async function addMember(world: World, member: Buffer): Promise<void> {
  const [key = ''] = await keysLike(world, `${keyNames.board}*`);
  await world.redis.zadd(key, 1, member);
}

/** Changes the newest award of ana's first list. */
async function changeAward(world: World, change: (award: Buffer) => Buffer): Promise<void> {
  const [key = ''] = await keysLike(world, `${keyNames.awards}*:ana`);
  const award = await world.redis.lindexBuffer(key, 0);
  await world.redis.lset(key, 0, change(award!));
}

describe('Verifying that Redis and Postgres agree', () => {
  let world: World;
  tenantForEachTest({ config: readFileSync(sampleConfig, 'utf8') }, (tenant) => (world = tenant));
  beforeEach(async () => {
    for (const id of ['ana', 'ben']) {
      for (let i = 0; i < 3; i += 1) await world.event('flashcards-viewed', { user: { id, name: id }, value: 5 });
    }
    await world.event('flashcards-viewed', { user: { id: 'ana', deviceTokens: ['fcm:phone'] }, value: 5 }, { 'idempotency-key': 'once' });
    await world.drain();
    const { document } = await loadConfig(world.pool, world.tenant);
    metricNos.set(world, document.metrics.find(({ key }) => key === 'flashcards-viewed')?.no ?? 0);
  });

  async function differences(expiredUpTo?: number): Promise<readonly Difference[]> {
    const { redis, pool, partition, tenant } = world;
    const expiry = expiredUpTo === undefined ? {} : { keysExpiredUpTo: () => Promise.resolve(expiredUpTo) };
    return (await verifyTenant({ tenant, partition, redis, pool, waitForLedger: () => world.drain(), ...expiry })).differences;
  }

  it('compares no idempotency keys that have expired: an older copy of Redis still has those that were removed since', async () => {
    await world.pool.query('update events set idempotency_key = null where tenant = $1', [world.tenant]);
    const found = await differences();
    expect(found.map(({ what, postgres }) => [what.replace(/\d+/, 'n'), postgres])).to.deep.equal([['ana: key n once', null]]);
    const usedMs = Number(found[0]?.redis?.split(' ')[1]);
    expect(await differences(usedMs - 1)).to.deep.equal(found);
    expect(await differences(usedMs)).to.deep.equal([]);
  });

  it('finds nothing without tampering, also while events come in', async () => {
    const stop = new AbortController();
    const traffic = (async () => {
      for (let i = 0; !stop.signal.aborted; i += 1) await world.event('flashcards-viewed', { user: { id: `user-${i % 20}` }, value: 1 });
    })();
    for (let round = 0; round < 5; round += 1) expect(await differences()).to.deep.equal([]);
    stop.abort();
    await traffic;
    expect(await differences()).to.deep.equal([]);
  });

  for (const [what, act, named] of tampered) {
    it(`finds ${what}`, async () => {
      await act(world);
      const found = await differences();
      expect(
        found.some((difference) => named.test(difference.what)),
        JSON.stringify(found),
      ).to.be.true;
    });
  }
});

describe('An award for a day that a move has skipped', () => {
  let world: World;
  before(async () => {
    world = await startWorld({ config: JSON.stringify(owing), now: '2040-01-02T12:00:00.000Z' });
  });
  after(() => world.stop());

  const event = async (tz: string): Promise<void> => {
    const reply = await world.event('cards', { user: { id: 'ana', tz }, value: 1 });
    expect(reply.status, JSON.stringify(reply.body)).to.equal(201);
  };

  const verified = async (): Promise<readonly Difference[]> => {
    const { redis, pool, partition, tenant } = world;
    return (await verifyTenant({ tenant, partition, redis, pool, waitForLedger: () => world.drain() })).differences;
  };

  it('is not dated before the awards in front of it, also when there are more awards than are kept', async () => {
    await event('Etc/GMT+12');
    await world.setClock('2040-01-05T12:01:00.000Z');
    await event('Etc/GMT+12');
    // Its day began there two hours ago, before the last award.
    for (let i = 0; i < 2; i += 1) await event('Pacific/Kiritimati');
    await world.drain();
    const { rows } = await world.pool.query<{ isLate: boolean }>(
      'select bool_or(late.at < award.at) as "isLate" from awards as late, awards as award where late.rev > award.rev',
    );
    expect(rows).to.deep.equal([{ isLate: false }]);
    expect(await verified()).to.deep.equal([]);
    for (let i = 0; i < limits.maxAwardsRead; i += 1) {
      await event('Pacific/Kiritimati');
      if (i % 32 === 0 || i > limits.maxAwardsRead - 9) expect(await verified(), `after ${i}`).to.deep.equal([]);
    }
  });
});

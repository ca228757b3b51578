import type { Redis } from 'ioredis';
import type pg from 'pg';
import { awardId } from '../../src/ledger/award-id.js';
import type { RecentAward } from '../../src/ledger/entry.js';
import { limits } from '../../src/limits.js';
import { keyNames, userFields } from '../../src/redis/contract.js';
import { unpackMessage } from '../../src/redis/message.js';
import { keysOf } from './world.js';

/** Facts by name, such as `points 4 of ana` → `120`. The same names are given to what Redis and what Postgres holds. */
type Facts = Map<string, string>;

const maxSeq = BigInt(Number.MAX_SAFE_INTEGER);
const seqChars = 16;
const afterColon = (key: string): string => key.slice(key.indexOf(':') + 1);

/** The fields of a user's hash that are kept in a row of their own, by how they start. */
const numbered: Readonly<Record<string, string>> = {
  [userFields.metricTotal]: 'total',
  [userFields.pointsTotal]: 'points',
  [userFields.triggerProgress]: 'progress',
  [userFields.boardSeq]: 'seq on board',
  [userFields.attribute]: 'attribute',
};

const profileFields: Readonly<Record<string, string>> = {
  [userFields.created]: 'created',
  [userFields.updated]: 'updated',
  [userFields.rev]: 'revision',
  [userFields.name]: 'name',
  [userFields.email]: 'email',
  [userFields.tz]: 'tz',
  [userFields.subscribeToEmails]: 'subscribeToEmails',
  [userFields.deviceTokens]: 'deviceTokens',
  [userFields.control]: 'control',
};

function userFacts(facts: Facts, user: string, hash: Readonly<Record<string, string>>): void {
  for (const [field, value] of Object.entries(hash)) {
    const start = field.slice(0, field.indexOf('-') + 1);
    const name = profileFields[field] ?? (numbered[start] && `${numbered[start]} ${field.slice(start.length)}`);
    // A high-water mark that is not written down is the progress itself, so both are told together.
    if (name?.startsWith('progress')) {
      const high = hash[userFields.triggerHighWater + field.slice(start.length)] ?? value;
      facts.set(`${name} of ${user}`, `${value}, highest ${high}`);
    } else if (name !== undefined && value !== '') facts.set(`${name} of ${user}`, value);
    else if (name === undefined && start !== userFields.triggerHighWater) throw new Error(`a field ${field} that nobody compares`);
  }
}

async function awardFacts(facts: Facts, redis: Redis, key: string, owner: string): Promise<void> {
  const ids = (await redis.lrangeBuffer(key, 0, -1)).map((blob) => {
    const { id, award } = unpackMessage(blob) as RecentAward;
    return awardId(id, award.ordinal);
  });
  facts.set(`newest awards ${owner}`, ids.join(' '));
}

/** Every fact that Redis holds of a partition. */
async function redisFacts(redis: Redis, partition: string): Promise<Facts> {
  const facts: Facts = new Map();
  for (const key of await keysOf(redis, partition)) {
    const name = key.slice(partition.length);
    if (name.startsWith(keyNames.user)) userFacts(facts, name.slice(keyNames.user.length), await redis.hgetall(key));
    else if (name.startsWith(keyNames.idempotency)) {
      for (const [used, event] of Object.entries(await redis.hgetall(key))) facts.set(`key ${used} of ${afterColon(name)}`, event);
    } else if (name.startsWith(keyNames.awards)) await awardFacts(facts, redis, key, afterColon(name));
    else if (name.startsWith(keyNames.board)) {
      const places = await redis.zrange(key, '0', '-1', 'WITHSCORES');
      for (let i = 0; i < places.length; i += 2) {
        const [member = '', value = ''] = places.slice(i);
        const seq = maxSeq - BigInt(member.slice(0, seqChars));
        facts.set(`place of ${member.slice(seqChars)} on ${afterColon(name)}`, `${Number(value)} at ${seq}`);
      }
    } else if (name === keyNames.meta) facts.set('users', (await redis.hget(key, 'users')) ?? '0');
  }
  return facts;
}

/** One row for each fact: its name and its value, both as Redis' facts have them. */
const queries: readonly string[] = [
  `select 'users' as name, count(*)::text as value from users having count(*) > 0`,
  ...[
    `'created', (extract(epoch from created) * 1000)::bigint::text`,
    `'updated', (extract(epoch from updated) * 1000)::bigint::text`,
    `'name', name`,
    `'email', email`,
    `'tz', tz`,
    `'subscribeToEmails', subscribe_to_emails::int::text`,
    `'deviceTokens', replace(device_tokens::text, '", "', '","')`,
    `'control', control::int::text`,
  ].map((pair) => `select f || ' of ' || id as name, v as value from users, lateral (values (${pair})) as fact (f, v) where v <> ''`),
  `select 'attribute ' || key || ' of ' || id as name, value from users, jsonb_each_text(attributes) where value <> ''`,
  // An event raises the revision of its user and so does a change of the profile, so the newest row of the user carries it.
  `select 'revision of ' || user_id as name, max(rev)::text as value
     from (select id as user_id, rev from users union all select user_id, rev from user_metrics) as state group by user_id`,
  `select 'total ' || metric || ' of ' || user_id as name, total::text as value from user_metrics`,
  `select 'points ' || system || ' of ' || user_id as name, total::text as value from user_points`,
  `select 'progress ' || trigger || ' of ' || user_id as name, progress || ', highest ' || high_water as value from user_triggers`,
  `select 'seq on board ' || leaderboard || ' of ' || user_id as name, seq::text as value from leaderboard_entries`,
  `select 'place of ' || user_id || ' on ' || leaderboard || ':' || run as name, value || ' at ' || seq as value from leaderboard_entries`,
  `select 'key ' || key || ' of ' || metric || ':' || user_id as name, event_id::text as value from idempotency_keys`,
];

async function postgresFacts(pool: pg.Pool): Promise<Facts> {
  const facts: Facts = new Map();
  for (const query of queries) {
    const { rows } = await pool.query<{ name: string; value: string }>(query);
    for (const { name, value } of rows) facts.set(name, value);
  }
  return facts;
}

/** Redis keeps only the newest awards: each of them must be in Postgres, and all of them while there are fewer than Redis keeps. */
async function awardDifferences(pool: pg.Pool, facts: Facts): Promise<string[]> {
  const { rows } = await pool.query<{ name: string; ids: string[] }>(
    `select 'newest awards ' || system || ':' || user_id as name, array_agg(id::text) as ids from awards group by 1`,
  );
  const stored = new Map(rows.map(({ name, ids }) => [name, new Set(ids)]));
  const names = new Set([...stored.keys(), ...[...facts.keys()].filter((name) => name.startsWith('newest awards'))]);
  return [...names].flatMap((name) => {
    const ids = stored.get(name) ?? new Set();
    const listed = facts.get(name)?.split(' ') ?? [];
    facts.delete(name);
    const agree = listed.length >= Math.min(ids.size, limits.maxAwardsRead) && listed.every((id) => ids.has(id));
    return agree ? [] : [`${name}: Redis lists ${listed.join(' ')}, Postgres has ${[...ids].join(' ')}`];
  });
}

/**
 * Compares every fact of a partition with what the tables hold: every field of every user, every place, every idempotency key, the newest
 * awards. Returns a sentence for each difference. Drain the ledger before.
 */
export async function differences(redis: Redis, pool: pg.Pool, partition: string): Promise<string[]> {
  const [inRedis, inPostgres] = [await redisFacts(redis, partition), await postgresFacts(pool)];
  const found = await awardDifferences(pool, inRedis);
  for (const name of new Set([...inRedis.keys(), ...inPostgres.keys()])) {
    const [redisSays, postgresSays] = [inRedis.get(name), inPostgres.get(name)];
    if (redisSays !== postgresSays) found.push(`${name}: Redis says ${redisSays ?? 'nothing'}, Postgres ${postgresSays ?? 'nothing'}`);
  }
  return found;
}

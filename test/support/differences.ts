import type { Redis } from 'ioredis';
import type pg from 'pg';
import { awardId } from '../../src/ledger/entry.js';
import { lengthsOf } from '../../src/ledger/batch.js';
import { unpackAwards } from '../../src/history/recent-awards.js';
import { limits } from '../../src/shared/limits.js';
import { parseMember } from '../../src/redis/boards.js';
import { keyNames, userFields, userRecords } from '../../src/redis/contract.js';
import { readHash } from '../../src/redis/partition.js';
import { type UserHash, at, keyOfStored, listOf, mapOf, profileOf, totalsOf, usedKeyText } from '../../src/redis/encoding.js';
import { keysOf, type World } from './world.js';

/** Facts by name, such as `points 4 of ana` → `120`, under the same names for Redis and Postgres. */
type Facts = Map<string, string>;

const afterColon = (key: string): string => key.slice(key.indexOf(':') + 1);

const profileNames: Readonly<Record<string, string>> = {
  [userFields.created]: 'created',
  [userFields.createdDay]: 'created day',
  [userFields.updated]: 'updated',
  [userFields.name]: 'name',
  [userFields.email]: 'email',
  [userFields.tz]: 'tz',
  [userFields.signUpDay]: 'sign-up day',
  [userFields.subscribeToEmails]: 'subscribeToEmails',
  [userFields.deviceTokens]: 'deviceTokens',
  [userFields.control]: 'control',
};

/** JSON in one spelling. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const entries = Object.entries(value).sort(([x], [y]) => (x < y ? -1 : 1));
  // Lua's empty table is both a list and a map.
  return entries.length === 0 ? '[]' : `{${entries.map(([key, item]) => `${key}:${canonical(item)}`).join()}}`;
}

/** The name of a profile property among the facts. */
function propertyName(property: string): string {
  if (property.startsWith(userFields.attribute)) return `attribute ${property.slice(userFields.attribute.length)}`;
  return profileNames[property] ?? `preference ${property}`;
}

/** On a leaderboard of totals this is a sequence number; elsewhere a list of runs, whose ranks the sorted sets hold. */
function placeFacts(facts: Facts, user: string, places: unknown): void {
  for (const [board, noted] of Object.entries(places ?? {})) {
    facts.set(`seq on board ${board} of ${user}`, typeof noted === 'number' ? String(noted) : 'runs');
  }
}

function userFacts(facts: Facts, user: string, hash: UserHash): void {
  for (const [record, blob] of hash) if (record !== userRecords.due) facts.set(`state ${record} of ${user}`, blob.toString('hex'));
  const core = listOf(hash, userRecords.core);
  facts.set(`revision of ${user}`, String(at(core, 'core', 'rev')));
  for (const [property, value] of Object.entries(profileOf(hash)))
    if (value !== '') facts.set(`${propertyName(property)} of ${user}`, value);
  const [hasStreaks, pauses] = [at(core, 'core', 'streakDay') !== undefined, at(core, 'core', 'pauses')];
  const lengths = hasStreaks ? Object.values(lengthsOf(core)) : [];
  if (lengths.some((length) => length > 0)) facts.set(`lengths of ${user}`, lengths.join());
  if (Array.isArray(pauses) && pauses.length > 0) facts.set(`pauses of ${user}`, canonical(pauses));
  for (const [no, moment] of Object.entries(mapOf<number>(hash, userRecords.achievements))) {
    facts.set(`achievement ${no} of ${user}`, String(moment));
  }
  for (const [no, total] of totalsOf(hash, 'metric')) facts.set(`total ${no} of ${user}`, String(total));
  for (const [no, total] of totalsOf(hash, 'points')) facts.set(`points ${no} of ${user}`, String(total));
  placeFacts(facts, user, at(listOf(hash, userRecords.streakPlaces), 'streakPlaces', 'places'));
  for (const record of hash.keys()) {
    if (record.startsWith(userRecords.metric)) placeFacts(facts, user, at(listOf(hash, record), 'metric', 'places'));
    if (!record.startsWith(userRecords.points)) continue;
    const points = listOf(hash, record);
    placeFacts(facts, user, at(points, 'points', 'places'));
    const level = at(points, 'points', 'level');
    if (typeof level === 'number' && level !== 0) facts.set(`level ${record.slice(userRecords.points.length)} of ${user}`, String(level));
  }
}

async function awardFacts(facts: Facts, redis: Redis, key: string, owner: string): Promise<void> {
  const ids = unpackAwards(await redis.lrangeBuffer(key, 0, -1)).map(({ id, award }) => awardId(id, award.ordinal));
  facts.set(`newest awards ${owner}`, ids.join(' '));
}

/** Every fact of a partition in Redis. */
async function redisFacts(redis: Redis, partition: string): Promise<Facts> {
  const facts: Facts = new Map();
  for (const key of await keysOf(redis, partition)) {
    const name = key.slice(partition.length);
    if (name.startsWith(keyNames.user))
      userFacts(facts, name.slice(keyNames.user.length), new Map(Object.entries(await redis.hgetallBuffer(key))));
    else if (name.startsWith(keyNames.idempotency)) {
      for (const [used, event] of await readHash(redis, key)) {
        facts.set(`key ${keyOfStored(used)} of ${afterColon(name)}`, usedKeyText(event));
      }
    } else if (name.startsWith(keyNames.awards)) await awardFacts(facts, redis, key, afterColon(name));
    else if (name.startsWith(keyNames.board)) {
      const places = await redis.zrangeBuffer(key, '0', '-1', 'WITHSCORES');
      for (let i = 0; i < places.length; i += 2) {
        const { user, seq } = parseMember(places[i]!);
        facts.set(`place of ${user} on ${afterColon(name)}`, `${Number(places[i + 1])} at ${seq}`);
      }
    } else if (name === keyNames.devices) {
      for (const [device, owner] of Object.entries(await redis.hgetall(key))) facts.set(`owner of device ${device}`, owner);
    } else if (name === keyNames.completions) {
      for (const [no, count] of Object.entries(await redis.hgetall(key))) facts.set(`completions of ${no}`, count);
    } else if (name === keyNames.levels) {
      const counts = Object.entries(await redis.hgetall(key)).filter(([no, count]) => /^\d+$/.test(no) && count !== '0');
      for (const [no, count] of counts) facts.set(`users at level ${no}`, count);
    } else if (name === keyNames.meta) facts.set('users', (await redis.hget(key, 'users')) ?? '0');
  }
  return facts;
}

/** One row per fact: name and value, both spelled like Redis' facts. */
const queries: readonly string[] = [
  `select 'users' as name, count(*)::text as value from users having count(*) > 0`,
  ...[
    `'created', (extract(epoch from created) * 1000)::bigint::text`,
    `'updated', (extract(epoch from updated) * 1000)::bigint::text`,
    `'name', name`,
    `'email', email`,
    `'tz', tz`,
    `'sign-up day', (sign_up_date - date '1970-01-01')::text`,
    `'subscribeToEmails', subscribe_to_emails::int::text`,
    `'deviceTokens', replace(device_tokens::text, '", "', '","')`,
    `'control', control::int::text`,
    `'created day', created_day::text`,
  ].map((pair) => `select f || ' of ' || id as name, v as value from users, lateral (values (${pair})) as fact (f, v) where v <> ''`),
  `select 'owner of device ' || regexp_replace(token, '^(expo|fcm|apns):', '') as name, id as value
     from users, jsonb_array_elements_text(device_tokens) as token`,
  `select 'attribute ' || key || ' of ' || id as name, value from users, jsonb_each_text(attributes) where value <> ''`,
  // Events and profile changes raise the user's revision, so the user's newest row carries it.
  "select 'revision of ' || user_id as name, max(rev)::text as value from user_state group by user_id",
  "select 'state ' || field || ' of ' || user_id as name, encode(value, 'hex') as value from user_state",
  `select 'preference ' || key || ' of ' || id as name, value from users, jsonb_each_text(preferences)`,
  `select 'lengths of ' || user_id as name, concat_ws(',', daily, weekly, monthly) as value from user_streaks where daily + weekly + monthly > 0`,
  `select 'pauses of ' || user_id as name, pauses::text as value from user_streaks where pauses <> '[]'`,
  `select 'achievement ' || achievement || ' of ' || user_id as name, (extract(epoch from at) * 1000)::bigint::text as value
     from user_achievements`,
  `select 'completions of ' || achievement as name, count(*)::text as value from user_achievements group by achievement`,
  `select 'total ' || metric || ' of ' || user_id as name, total::text as value from user_metrics`,
  `select 'points ' || system || ' of ' || user_id as name, total::text as value from user_points`,
  `select 'level ' || system || ' of ' || user_id as name, level::text as value from user_points where level is not null`,
  `select 'users at level ' || level as name, count(*)::text as value from user_points where level is not null group by level`,
  `select 'seq on board ' || leaderboard || ' of ' || user_id as name, seq::text as value from leaderboard_entries`,
  `select 'place of ' || user_id || ' on ' || leaderboard || ':' || run || case when "group" = '' then '' else ':' || "group" end as name,
          value || ' at ' || seq as value
     from leaderboard_entries as entry where not exists (
       select 1 from leaderboard_runs as done where done.leaderboard = entry.leaderboard and done.run = entry.run and done.run <> 0)`,
  // The newest use of a key comes last.
  `select 'key ' || key || ' of ' || object || ':' || user_id as name, id || ' ' || (extract(epoch from at) * 1000)::bigint as value
     from (select tenant, user_id, metric as object, idempotency_key as key, id, at from events
           union all select tenant, user_id, system, idempotency_key, id, at from points_adjustments) as used
     left join key_retention as removed using (tenant)
    where key is not null and at > coalesce(removed_up_to, '-infinity')
      and (at > coalesce(removing_up_to, '-infinity') or user_id > coalesce(last_user, ''))
    order by at`,
];

async function postgresFacts(pool: pg.Pool): Promise<Facts> {
  const facts: Facts = new Map();
  for (const query of queries) {
    const { rows } = await pool.query<{ name: string; value: string }>(query);
    for (const { name, value } of rows) facts.set(name, /^pauses of /.test(name) ? canonical(JSON.parse(value)) : value);
  }
  return facts;
}

/** Redis holds only the newest awards: each must be in Postgres, and all of Postgres' must be in Redis up to that limit. */
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

/** The expected sums by day, year and attribute value, computed from events and awards. */
const sums: readonly (readonly [table: string, query: string])[] = [
  [
    'user_days',
    `select user_id, object, day, sum(sum(change)) over (partition by user_id, object order by day) as total, sum(change) as change, count(*) as events
       from counted group by user_id, object, day`,
  ],
  [
    'user_years',
    `select user_id, object, extract(year from day)::integer as year, sum(change) as change from counted group by user_id, object, extract(year from day)`,
  ],
  [
    'user_attribute_days',
    `select user_id, metric, key::integer as attribute, attribute.value, day, sum(events.value::numeric) as change
       from events, jsonb_each_text(attributes) as attribute (key, value) group by user_id, metric, key, attribute.value, day`,
  ],
];
const numbers = new Set(['total', 'change', 'events']);

/** Differences between the write-behind's aggregates and the sums of events and awards. */
export async function aggregateDifferences(pool: pg.Pool): Promise<string[]> {
  const found: string[] = [];
  for (const [table, query] of sums) {
    const { rows } = await pool.query<Record<string, unknown>>(
      `with counted as (
         select user_id, metric as object, day, value::numeric as change from events
         union all select user_id, system, day, awarded::numeric from awards
       ) ${query}`,
    );
    const lines = (list: readonly Record<string, unknown>[], columns: readonly string[]): Set<string> =>
      new Set(
        list.map((row) =>
          JSON.stringify(columns.map((name) => (numbers.has(name) ? Number(Number(row[name]).toPrecision(15)) : row[name]))),
        ),
      );
    const columns = Object.keys(rows[0] ?? {});
    const kept = await pool.query<Record<string, unknown>>(`select * from ${table}`);
    const [right, stored] = [lines(rows, columns), lines(kept.rows, columns)];
    found.push(...[...right].filter((line) => !stored.has(line)).map((line) => `${table} lacks ${line}`));
    found.push(...[...stored].filter((line) => !right.has(line)).map((line) => `${table} has ${line}`));
  }
  return found;
}

/**
 * Compares every fact of a partition with the tables: every field of every user, every rank, every idempotency key, the newest awards, and the
 * sums by day and year. Returns a sentence per difference. Drain the ledger first.
 */
export async function differences(redis: Redis, pool: pg.Pool, partition: string): Promise<string[]> {
  const [inRedis, inPostgres] = [await redisFacts(redis, partition), await postgresFacts(pool)];
  const found = [...(await awardDifferences(pool, inRedis)), ...(await aggregateDifferences(pool))];
  for (const name of new Set([...inRedis.keys(), ...inPostgres.keys()])) {
    const [redisSays, postgresSays] = [inRedis.get(name), inPostgres.get(name)];
    if (redisSays === 'runs') continue;
    // Entering a leaderboard raises the revision without a row that carries it.
    if (name.startsWith('revision') && Number(redisSays) >= Number(postgresSays)) continue;
    if (redisSays !== postgresSays) found.push(`${name}: Redis says ${redisSays ?? 'nothing'}, Postgres ${postgresSays ?? 'nothing'}`);
  }
  return found;
}

/**
 * The differences of a world once Postgres has everything. The worker may settle users during the comparison, and nothing changes in Redis without an
 * entry of the ledger: a comparison during which the ledger has grown is made again.
 */
export async function differencesOf(world: World): Promise<string[]> {
  while (true) {
    const end = await world.ledgerEnd();
    await world.drain();
    const found = await differences(world.redis, world.pool, world.partition);
    if ((await world.ledgerEnd()) === end) return found;
  }
}

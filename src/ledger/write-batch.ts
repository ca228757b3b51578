import type pg from 'pg';
import { numberArray, textArray } from '../postgres/arrays.js';
import type { Batch } from './batch.js';
import type { ProfileFact } from './entry.js';
import { userFields } from '../redis/contract.js';

/** One statement for all rows of a table. $1 is the tenant, the columns follow, each an array. Prepared once for each connection. */
async function run(client: pg.ClientBase, tenant: number, name: string, text: string, columns: readonly string[]): Promise<void> {
  if (columns[0] === '{}') return;
  await client.query({ name, text, values: [tenant, ...columns] });
}

/** The values of one column, a row each; dates are days and moments milliseconds since 1970. */
const texts = <T>(rows: readonly T[], pick: (row: T) => string | null): string => textArray(rows.map(pick));
const numbers = <T>(rows: readonly T[], pick: (row: T) => number | null): string => numberArray(rows.map(pick));

/** `to_timestamp` of milliseconds, and a date of days since 1970-01-01. */
const moment = (name: string): string => `to_timestamp(${name} / 1000.0)`;
const date = (name: string): string => `date '1970-01-01' + ${name}`;

/** Writes the rows of a batch within the transaction of `client`. State is only ever replaced by a higher revision of the same user. */
export async function writeBatch(client: pg.ClientBase, tenant: number, batch: Batch): Promise<void> {
  await writeUsers(client, tenant, batch);
  await writeEvents(client, tenant, batch);
  await writeAwards(client, tenant, batch);
  await writeIdempotencyKeys(client, tenant, batch);
  await writeTotals(client, tenant, batch);
  await writeTriggers(client, tenant, batch);
  await writePlaces(client, tenant, batch);
  await writeHistory(client, tenant, batch);
}

/** Attribute no → value, as JSON. */
function attributesOf(profile: ProfileFact): string {
  const prefix = userFields.attribute;
  const own = Object.entries(profile).filter(([field]) => field.startsWith(prefix));
  return JSON.stringify(Object.fromEntries(own.map(([field, value]) => [field.slice(prefix.length), value])));
}

async function writeUsers(client: pg.ClientBase, tenant: number, { users }: Batch): Promise<void> {
  const rows = [...users.values()];
  const field = (name: string): string => texts(rows, ({ profile }) => profile[name] ?? null);
  /** An empty text is how Redis keeps what has been cleared. */
  const clearable = (name: string): string => texts(rows, ({ profile }) => profile[name] || null);
  await run(
    client,
    tenant,
    'write-users',
    `insert into users (tenant, id, rev, name, email, tz, subscribe_to_emails, device_tokens, attributes, control, created, updated)
     select $1, id, rev, name, email, tz, subscribe = '1', tokens::jsonb, attributes::jsonb, control = '1',
            ${moment('created::float8')}, ${moment('updated::float8')}
       from unnest($2::text[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[])
         as row (id, rev, name, email, tz, subscribe, tokens, attributes, control, created, updated)
     on conflict (tenant, id) do update set
       rev = excluded.rev, name = excluded.name, email = excluded.email, tz = excluded.tz,
       subscribe_to_emails = excluded.subscribe_to_emails, device_tokens = excluded.device_tokens, attributes = excluded.attributes,
       control = excluded.control, created = excluded.created, updated = excluded.updated
     where users.rev < excluded.rev`,
    [
      texts(rows, ({ user }) => user),
      numbers(rows, ({ rev }) => rev),
      field(userFields.name),
      field(userFields.email),
      clearable(userFields.tz),
      field(userFields.subscribeToEmails),
      clearable(userFields.deviceTokens),
      texts(rows, ({ profile }) => attributesOf(profile)),
      field(userFields.control),
      field(userFields.created),
      field(userFields.updated),
    ],
  );
}

async function writeEvents(client: pg.ClientBase, tenant: number, { events }: Batch): Promise<void> {
  await run(
    client,
    tenant,
    'write-events',
    `insert into events (tenant, id, user_id, metric, value, total, attributes, idempotency_key, day, at)
     select $1, id, user_id, metric, value, total, attributes::jsonb, key, ${date('day')}, ${moment('at')}
       from unnest($2::uuid[], $3::text[], $4::int[], $5::float8[], $6::float8[], $7::text[], $8::text[], $9::int[], $10::float8[])
         as row (id, user_id, metric, value, total, attributes, key, day, at)`,
    [
      texts(events, ({ id }) => id),
      texts(events, ({ user }) => user),
      numbers(events, ({ metric }) => metric),
      numbers(events, ({ value }) => value),
      numbers(events, ({ total }) => total),
      texts(events, ({ attributes }) => (attributes.length > 0 ? JSON.stringify(Object.fromEntries(attributes)) : null)),
      texts(events, ({ key }) => key ?? null),
      numbers(events, ({ day }) => day),
      numbers(events, ({ at }) => at),
    ],
  );
}

async function writeAwards(client: pg.ClientBase, tenant: number, { awards }: Batch): Promise<void> {
  await run(
    client,
    tenant,
    'write-awards',
    `insert into awards (tenant, id, event_id, user_id, system, trigger, awarded, total, boosts, day, at)
     select $1, id, event_id, user_id, system, trigger, awarded, total, boosts::int[], ${date('day')}, ${moment('at')}
       from unnest($2::uuid[], $3::uuid[], $4::text[], $5::int[], $6::int[], $7::bigint[], $8::bigint[], $9::text[], $10::int[], $11::float8[])
         as row (id, event_id, user_id, system, trigger, awarded, total, boosts, day, at)`,
    [
      texts(awards, ({ id }) => id),
      texts(awards, ({ event }) => event.id),
      texts(awards, ({ event }) => event.user),
      numbers(awards, ({ system }) => system),
      numbers(awards, ({ trigger }) => trigger),
      numbers(awards, ({ awarded }) => awarded),
      numbers(awards, ({ total }) => total),
      texts(awards, ({ boosts }) => `{${boosts.join(',')}}`),
      numbers(awards, ({ event }) => event.day),
      numbers(awards, ({ event }) => event.at),
    ],
  );
}

async function writeIdempotencyKeys(client: pg.ClientBase, tenant: number, { events }: Batch): Promise<void> {
  const rows = events.filter(({ key }) => key !== undefined);
  await run(
    client,
    tenant,
    'write-idempotency-keys',
    `insert into idempotency_keys (tenant, user_id, metric, key, event_id, at)
     select $1, user_id, metric, key, event_id, ${moment('at')}
       from unnest($2::text[], $3::int[], $4::text[], $5::uuid[], $6::float8[]) as row (user_id, metric, key, event_id, at)`,
    [
      texts(rows, ({ user }) => user),
      numbers(rows, ({ metric }) => metric),
      texts(rows, ({ key }) => key ?? null),
      texts(rows, ({ id }) => id),
      numbers(rows, ({ at }) => at),
    ],
  );
}

async function writeTotals(client: pg.ClientBase, tenant: number, { metrics, points }: Batch): Promise<void> {
  const totals = [...metrics.values()];
  await run(
    client,
    tenant,
    'write-user-metrics',
    `insert into user_metrics (tenant, user_id, metric, total, at, rev)
     select $1, user_id, metric, total, ${moment('at')}, rev
       from unnest($2::text[], $3::int[], $4::float8[], $5::float8[], $6::bigint[]) as row (user_id, metric, total, at, rev)
     on conflict (tenant, user_id, metric) do update set total = excluded.total, at = excluded.at, rev = excluded.rev
     where user_metrics.rev < excluded.rev`,
    [
      texts(totals, ({ user }) => user),
      numbers(totals, ({ metric }) => metric),
      numbers(totals, ({ total }) => total),
      numbers(totals, ({ at }) => at),
      numbers(totals, ({ rev }) => rev),
    ],
  );
  const systems = [...points.values()];
  await run(
    client,
    tenant,
    'write-user-points',
    `insert into user_points (tenant, user_id, system, total, level, at, rev)
     select $1, user_id, system, total, nullif(level, 0), ${moment('at')}, rev
       from unnest($2::text[], $3::int[], $4::bigint[], $5::int[], $6::float8[], $7::bigint[]) as row (user_id, system, total, level, at, rev)
     on conflict (tenant, user_id, system) do update
       set total = excluded.total, level = excluded.level, at = excluded.at, rev = excluded.rev
     where user_points.rev < excluded.rev`,
    [
      texts(systems, ({ user }) => user),
      numbers(systems, ({ fact }) => fact.no),
      numbers(systems, ({ fact }) => fact.total),
      numbers(systems, ({ fact }) => fact.level),
      numbers(systems, ({ at }) => at),
      numbers(systems, ({ rev }) => rev),
    ],
  );
}

async function writeTriggers(client: pg.ClientBase, tenant: number, { triggers }: Batch): Promise<void> {
  const rows = [...triggers.values()];
  await run(
    client,
    tenant,
    'write-user-triggers',
    `insert into user_triggers (tenant, user_id, trigger, progress, high_water, rev)
     select $1, user_id, trigger, progress, high_water, rev
       from unnest($2::text[], $3::int[], $4::float8[], $5::float8[], $6::bigint[]) as row (user_id, trigger, progress, high_water, rev)
     on conflict (tenant, user_id, trigger) do update
       set progress = excluded.progress, high_water = excluded.high_water, rev = excluded.rev
     where user_triggers.rev < excluded.rev`,
    [
      texts(rows, ({ user }) => user),
      numbers(rows, ({ fact }) => fact.no),
      numbers(rows, ({ fact }) => fact.progress),
      numbers(rows, ({ fact }) => fact.high),
      numbers(rows, ({ rev }) => rev),
    ],
  );
}

async function writePlaces(client: pg.ClientBase, tenant: number, { places }: Batch): Promise<void> {
  const rows = [...places.values()];
  const left = rows.filter(({ place }) => !place);
  await run(
    client,
    tenant,
    'delete-leaderboard-entries',
    `delete from leaderboard_entries as entry
      using unnest($2::int[], $3::int[], $4::text[]) as row (leaderboard, run, user_id)
      where entry.tenant = $1 and entry.leaderboard = row.leaderboard and entry.run = row.run and entry.user_id = row.user_id`,
    [numbers(left, ({ no }) => no), numbers(left, ({ run }) => run), texts(left, ({ user }) => user)],
  );
  const present = rows.filter(({ place }) => place);
  await run(
    client,
    tenant,
    'write-leaderboard-entries',
    `insert into leaderboard_entries (tenant, leaderboard, run, user_id, value, seq)
     select $1, * from unnest($2::int[], $3::int[], $4::text[], $5::float8[], $6::bigint[])
     on conflict (tenant, leaderboard, run, user_id) do update set value = excluded.value, seq = excluded.seq
     where leaderboard_entries.seq < excluded.seq`,
    [
      numbers(present, ({ no }) => no),
      numbers(present, ({ run }) => run),
      texts(present, ({ user }) => user),
      numbers(present, ({ place }) => place?.value ?? null),
      numbers(present, ({ place }) => place?.seq ?? null),
    ],
  );
}

async function writeHistory(client: pg.ClientBase, tenant: number, { history }: Batch): Promise<void> {
  const rows = [...history.values()];
  await run(
    client,
    tenant,
    'write-leaderboard-history',
    `insert into leaderboard_history (tenant, leaderboard, run, user_id, day, at, previous_rank, rank, previous_value, value)
     select $1, leaderboard, run, user_id, ${date('day')}, ${moment('at')}, previous_rank, rank, previous_value, value
       from unnest($2::int[], $3::int[], $4::text[], $5::int[], $6::float8[], $7::int[], $8::int[], $9::float8[], $10::float8[])
         as row (leaderboard, run, user_id, day, at, previous_rank, rank, previous_value, value)
     on conflict (tenant, leaderboard, run, user_id, day) do update set at = excluded.at, rank = excluded.rank, value = excluded.value`,
    [
      numbers(rows, ({ board }) => board.no),
      numbers(rows, ({ board }) => board.run),
      texts(rows, ({ user }) => user),
      numbers(rows, ({ day }) => day),
      numbers(rows, ({ at }) => at),
      numbers(rows, ({ previousRank }) => previousRank),
      numbers(rows, ({ board }) => board.rank),
      numbers(rows, ({ previousValue }) => previousValue),
      numbers(rows, ({ board }) => board.value),
    ],
  );
}

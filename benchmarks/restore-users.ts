import type pg from 'pg';
import type { Logger } from 'pino';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { defaultTenant } from '../src/access/tenants.js';
import type { Context } from '../src/app/context.js';
import { trackEvent } from '../src/engine/events.js';
import { keyNames } from '../src/redis/contract.js';
import { startService } from '../src/app/service.js';
import type { Settings } from '../src/app/settings.js';
import { seeded } from './events.js';

const tenant = defaultTenant;
/** Users with real events; all others are copies of them. */
const playedUsers = 1_000;
const startMs = Date.parse('2040-01-02T12:00:00Z');
const dayMs = 86_400_000;
const eventsPerDay = 2;
const maxValue = 20;
const zones = ['UTC', 'Europe/Lisbon', 'Asia/Kolkata', 'America/New_York'];
const inFlight = 64;
/** Copies of all users made by one transaction. */
const copiesAtOnce = 20;
const config = fileURLToPath(new URL('../examples/study-app.yaml', import.meta.url));

export interface FillOptions {
  readonly settings: Settings;
  readonly log: Logger;
  /** A pool whose statements may take long. */
  readonly pool: pg.Pool;
  readonly users: number;
  readonly events: number;
  readonly signal: AbortSignal;
  readonly onProgress: (users: number) => void;
}

/** `user-0000-0123` is the 124th user with real events, `user-0042-0123` the 42nd copy. */
const userId = (index: number): string => `user-0000-${String(index).padStart(4, '0')}`;

/** Fills an empty Postgres with users as the engine and the write-behind leave them. Returns how many there are. */
export async function fillPostgres(options: FillOptions): Promise<number> {
  const played = Math.min(options.users, playedUsers);
  const service = await startService(
    { settings: { ...options.settings, config }, log: options.log, print: () => undefined },
    { api: false, worker: true },
  );
  try {
    await play(service.context, played, options);
  } finally {
    await service.stop();
  }
  options.onProgress(played);
  const copies = Math.ceil(options.users / played) - 1;
  await copyUsers(options, played, copies);
  await options.pool.query('vacuum analyze');
  return played * (copies + 1);
}

/** Plays the events of some users: two a day, every other one with an idempotency key and sent from a mobile. */
async function play(context: Context, users: number, { events, signal }: FillOptions): Promise<void> {
  const random = seeded(1);
  for (let round = 0; round < events; round += 1) {
    if (round % eventsPerDay === 0) await context.clock.set(tenant, startMs + (round / eventsPerDay) * dayMs);
    let next = 0;
    const lane = async (): Promise<void> => {
      while (next < users) {
        signal.throwIfAborted();
        const index = next;
        next += 1;
        await trackEvent(context.engine, tenant, {
          metricKey: 'flashcards-viewed',
          user: {
            id: userId(index),
            ...(round === 0 && {
              ...{ name: `User ${index}`, email: `user-${index}@example.com`, tz: zones[index % zones.length] },
              attributes: index % 3 === 0 ? { city: 'Lisbon' } : undefined,
            }),
          },
          value: 1 + Math.floor(random() * maxValue),
          attributes: round % 2 === 0 ? { device: 'mobile' } : undefined,
          idempotencyKey: round % 2 === 0 ? `session-${round}-${index}` : undefined,
        });
      }
    };
    await Promise.all(Array.from({ length: inFlight }, lane));
  }
  while ((await context.redis.xlen(context.engine.partition(tenant) + keyNames.ledger)) > 0) await delay(20, undefined, { signal });
}

/**
 * The tables that a restore reads, with what is different in a copy. (Events and the sums of days are not among them: a restore does
 * not read them, and they would only fill the disk.)
 */
const copyOf = (column: string): string => `'user-' || lpad(copy::text, 4, '0') || substr(${column}, 10)`;
const idOf = (column: string): string => `md5(${column}::text || copy)::uuid`;
const ofUser = { user_id: copyOf('user_id') };
const tables: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  users: { id: copyOf('id') },
  user_metrics: ofUser,
  user_points: ofUser,
  user_state: ofUser,
  user_achievements: ofUser,
  user_streaks: ofUser,
  idempotency_keys: { ...ofUser, event_id: idOf('event_id') },
  awards: { ...ofUser, id: idOf('id'), event_id: idOf('event_id') },
  // A number of its own for each place.
  leaderboard_entries: { ...ofUser, seq: 'seq + copy * $4::bigint' },
};

/** The statement that copies the rows of the users with real events. */
async function copyStatement(pool: pg.Pool, table: string, changed: Readonly<Record<string, string>>): Promise<string> {
  const { rows } = await pool.query<{ name: string }>(
    `select quote_ident(attname) as name from pg_attribute
      where attrelid = $1::regclass and attnum > 0 and not attisdropped and attgenerated = ''`,
    [table],
  );
  const names = rows.map(({ name }) => name);
  const user = table === 'users' ? 'id' : 'user_id';
  return `insert into ${table} (${names.join(', ')}) select ${names.map((name) => changed[name] ?? name).join(', ')}
            from ${table}, generate_series($2::integer, $3::integer) as copy
           where tenant = $1 and ${user} like 'user-0000-%' and $4::bigint is not null`;
}

async function copyUsers({ pool, signal, onProgress }: FillOptions, played: number, copies: number): Promise<void> {
  const statements = await Promise.all(Object.entries(tables).map(([table, changed]) => copyStatement(pool, table, changed)));
  const { rows } = await pool.query<{ seq: string }>('select coalesce(max(seq), 0) as seq from leaderboard_entries where tenant = $1', [
    tenant,
  ]);
  for (let first = 1; first <= copies; first += copiesAtOnce) {
    signal.throwIfAborted();
    const last = Math.min(first + copiesAtOnce - 1, copies);
    await Promise.all(statements.map((text) => pool.query(text, [tenant, first, last, rows[0]?.seq ?? '0'])));
    onProgress(played * (last + 1));
  }
}

import type pg from 'pg';
import { dateToDay } from '../shared/calendar.js';
import { limits } from '../shared/limits.js';
import type { ActiveConfig } from '../plan/active-config.js';
import { numberArray, textArray } from '../postgres/arrays.js';
import type { UserResponse } from '../responses/users.js';
import { localDayOf, recapPeriod, streakPeriod, type RoundKind } from './email-schedules.js';
import { isWrittenTo, readProfiles } from './profiles.js';

/** The kinds for which all users of a zone are looked at. */
export type UserRoundKind = Exclude<RoundKind, 'emails.achievement_due'>;

/** The parts of messages that are not the user, by user; there is no message about a user who is not in the map. */
export type Bodies = ReadonlyMap<string, readonly Readonly<Record<string, unknown>>[]>;

/** The type of notification, among a user's preferences, that a kind goes by. */
const preferenceOf: Readonly<Record<UserRoundKind, string>> = {
  'emails.recap_due': 'recap',
  'emails.reactivation_due': 'reactivation',
  'emails.streak_reminder_due': 'streak_reminder',
};

/** A user who is to be written to. */
export interface Addressee {
  readonly id: string;
  /** Local days since the last event, or since the user came; 0 where that is not asked for. */
  readonly idleDays: number;
}

/** Some of the users of a zone, in the order of their ids. */
export interface Page {
  readonly addressees: readonly Addressee[];
  /** The last user who was looked at; undefined when there are no more. */
  readonly last: string | undefined;
}

interface PageQuery {
  /** Empty for users who have no zone. */
  readonly zone: string;
  /** The local day, in days since 1970-01-01. */
  readonly day: number;
  /** The user after whom to begin; empty for the first. */
  readonly after: string;
}

interface Row {
  readonly id: string;
  readonly created_day: number;
}

const usersOfZone = `
  select id, created_day from users where tenant = $1 and coalesce(tz, '') = $2 and id collate "C" > $3
   order by id collate "C" limit ${limits.emailPageUsers}`;

type Client = pg.ClientBase | pg.Pool;
type Filter = (client: Client, config: ActiveConfig, users: readonly Row[], day: number) => Promise<Addressee[]>;

const metricsOf = ({ document }: ActiveConfig): string => numberArray(document.metrics.map(({ no }) => no));
const idsOf = (users: readonly { readonly id: string }[]): string => textArray(users.map(({ id }) => id));

/** Those who had an event in the period: a recap of nothing is of no use. */
const withEvents: Filter = async (client, config, users, day) => {
  const { first, last } = recapPeriod(config.document, day);
  const { rows } = await client.query<{ user_id: string }>(
    `select distinct user_id from user_days
      where tenant = $1 and user_id = any($2::text[]) and object = any($3::integer[]) and events > 0 and day between $4::date and $5::date`,
    [config.tenant, idsOf(users), metricsOf(config), first, last],
  );
  return rows.map(({ user_id: id }) => ({ id, idleDays: 0 }));
};

/** Those whose last event, or creation, was one of the configured numbers of days ago. */
const idle: Filter = async (client, config, users, day) => {
  const { rows } = await client.query<{ user_id: string; day: string }>(
    `select user_id, to_char(max(day), 'YYYY-MM-DD') as day from user_days
      where tenant = $1 and user_id = any($2::text[]) and object = any($3::integer[]) and events > 0 group by user_id`,
    [config.tenant, idsOf(users), metricsOf(config)],
  );
  const active = new Map(rows.map((row) => [row.user_id, dateToDay(row.day)]));
  const wanted = new Set(config.document.settings.reactivationDays);
  return users
    .map(({ id, created_day: created }) => ({ id, idleDays: day - (active.get(id) ?? created) }))
    .filter(({ idleDays }) => wanted.has(idleDays));
};

/** Those who have a streak whose period no pause covers. Whether it has been extended already, the engine knows. */
const withStreak: Filter = async (client, config, users, day) => {
  const { first, last } = streakPeriod(config.document, day);
  const { rows } = await client.query<{ user_id: string }>(
    `select user_id from user_streaks
      where tenant = $1 and user_id = any($2::text[]) and ${config.document.streaks.frequency} > 0
        and not exists (select 1 from jsonb_array_elements(pauses) as pause where (pause ->> 'first')::int <= $4 and (pause ->> 'last')::int >= $3)`,
    [config.tenant, idsOf(users), first, last],
  );
  return rows.map(({ user_id: id }) => ({ id, idleDays: 0 }));
};

const filters: Readonly<Record<UserRoundKind, Filter>> = {
  'emails.recap_due': withEvents,
  'emails.reactivation_due': idle,
  'emails.streak_reminder_due': withStreak,
};

/** Those of the next users of a zone who are to be told of a round, as Postgres has them. */
export async function readPage(client: Client, config: ActiveConfig, kind: UserRoundKind, { zone, day, after }: PageQuery): Promise<Page> {
  const { rows } = await client.query<Row>(usersOfZone, [config.tenant, zone, after]);
  const profiles = await readProfiles(
    client,
    config.tenant,
    rows.map(({ id }) => id),
  );
  const reached = rows.filter(({ id }) => isWrittenTo(profiles.get(id) ?? {}, preferenceOf[kind]));
  return {
    addressees: reached.length === 0 ? [] : await filters[kind](client, config, reached, day),
    last: rows.length === limits.emailPageUsers ? rows.at(-1)?.id : undefined,
  };
}

/** How long ago a user may have been told, in another zone, of the day that it is now: days differ by 26 hours at most, and are told a day late at most. */
const elsewhereMs = 3 * 86_400_000;

/**
 * Those of some users who have come from another zone, and were told there of the same day of the calendar. (Only those whose profile has changed
 * lately can have come, so few messages are looked at.)
 */
export async function notifiedElsewhere(
  client: Client,
  { tenant, document }: ActiveConfig,
  { kind, day, now }: { readonly kind: UserRoundKind; readonly day: number; readonly now: number },
  users: Iterable<UserResponse>,
): Promise<Set<string>> {
  const since = now - elsewhereMs;
  const changed = [...users].filter(({ updated }) => Date.parse(updated) >= since);
  if (changed.length === 0) return new Set();
  const { rows } = await client.query<{ id: string; timestamp: string; tz: string | null }>(
    `select user_id as id, payload ->> 'timestamp' as timestamp, payload #>> '{user,tz}' as tz from outbox
      where tenant = $1 and user_id = any($2::text[]) and kind = $3 and at >= to_timestamp($4 / 1000.0)`,
    [tenant, idsOf(changed), kind, since],
  );
  const { defaultTimeZone } = document.settings;
  const same = rows.filter(({ timestamp, tz }) => localDayOf(Date.parse(timestamp), tz ?? defaultTimeZone) === day);
  return new Set(same.map(({ id }) => id));
}

/** The zones that users have, the empty one for none: one step of the index for each, and not a look at everybody. */
export async function zonesOf(client: Client, tenant: number): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `with recursive zone as (
       (select coalesce(tz, '') as name from users where tenant = $1 order by 1 limit 1)
       union all
       select (select coalesce(tz, '') from users where tenant = $1 and coalesce(tz, '') > zone.name order by 1 limit 1)
         from zone where zone.name is not null
     ) select name from zone where name is not null`,
    [tenant],
  );
  return rows.map(({ name }) => name);
}

import type pg from 'pg';
import { dateToDay, dayMs } from '../../shared/calendar.js';
import { limits } from '../../shared/limits.js';
import { localDayOf } from '../../shared/zones.js';
import type { ProfileFact } from '../../ledger/entry.js';
import type { ActiveConfig } from '../../plan/active-config.js';
import { numberArray, textArray } from '../../postgres/arrays.js';
import { withStreak } from '../rules/streak-reminder.js';
import { recapPeriod, type Rules, type UserScheduleKind, type WeekChange } from '../rules/times.js';
import { type Notification, typeOf } from '../rules/notification.js';
import { messageKind } from '../rules/channels.js';
import { readProfiles } from '../rules/profiles.js';

/** A recipient of an email. */
export interface Recipient {
  readonly id: string;
  /** Local days since the last event, or since the user's creation; 0 for kinds that do not use it. */
  readonly idleDays: number;
}

/** A page of the users of a zone, in the order of their ids. */
export interface Page {
  readonly recipients: readonly Recipient[];
  /** The last user of the page; undefined on the last page. */
  readonly last: string | undefined;
}

interface PageQuery {
  readonly kind: UserScheduleKind;
  /** Whether a user with this profile can be a recipient. */
  readonly isReachable: (profile: ProfileFact) => boolean;
  /** Empty for users without a zone. */
  readonly zone: string;
  /** The local day, in days since 1970-01-01. */
  readonly day: number;
  /** Those of the zone. */
  readonly rules: Rules;
  /** Users who have moved into the zone since this moment, in milliseconds since 1970, are left out: the hour had passed there. */
  readonly at: number;
  /** The last user of the previous page; empty for the first page. */
  readonly after: string;
}

interface Row {
  readonly id: string;
  readonly created_day: number;
  readonly isTooLate: boolean;
}

const usersOfZone = `
  select id, created_day, moved > to_timestamp($4 / 1000.0) as "isTooLate" from users
   where tenant = $1 and coalesce(tz, '') = $2 and id collate "C" > $3
   order by id collate "C" limit ${limits.emailPageUsers}`;

type Client = pg.ClientBase | pg.Pool;
type Filter = (client: Client, config: ActiveConfig, users: readonly Row[], query: PageQuery) => Promise<Recipient[]>;

const metricsOf = ({ document }: ActiveConfig): string => numberArray(document.metrics.map(({ no }) => no));
const idsOf = (users: readonly { readonly id: string }[]): string => textArray(users.map(({ id }) => id));

/** Users with an event in the period: others have nothing to recap. */
const withEvents: Filter = async (client, config, users, { day, rules }) => {
  const { first, last } = recapPeriod(rules, day);
  const { rows } = await client.query<{ user_id: string }>(
    `select distinct user_id from user_days
      where tenant = $1 and user_id = any($2::text[]) and object = any($3::integer[]) and events > 0 and day between $4::date and $5::date`,
    [config.tenant, idsOf(users), metricsOf(config), first, last],
  );
  return rows.map(({ user_id: id }) => ({ id, idleDays: 0 }));
};

/** Users whose last event, or creation, was one of the configured numbers of days ago. */
const inactive: Filter = async (client, config, users, { day }) => {
  const { rows } = await client.query<{ user_id: string; day: string }>(
    `select user_id, to_char(max(day), 'YYYY-MM-DD') as day from user_days
      where tenant = $1 and user_id = any($2::text[]) and object = any($3::integer[]) and events > 0 group by user_id`,
    [config.tenant, idsOf(users), metricsOf(config)],
  );
  const active = new Map(rows.map((row) => [row.user_id, dateToDay(row.day)]));
  const reactivationDays = new Set(config.document.settings.reactivationDays);
  return users
    .map(({ id, created_day: created }) => ({ id, idleDays: day - (active.get(id) ?? created) }))
    .filter(({ idleDays }) => reactivationDays.has(idleDays));
};

const withAnyStreak: Filter = async (client, config, users) => {
  const ids = await withStreak(
    client,
    config,
    users.map(({ id }) => id),
  );
  return ids.map((id) => ({ id, idleDays: 0 }));
};

const filters: Readonly<Record<UserScheduleKind, Filter>> = {
  'emails.recap_due': withEvents,
  'emails.reactivation_due': inactive,
  'emails.streak_reminder_due': withAnyStreak,
};

/** Reads the next users of a zone, and selects the recipients of an occurrence. */
export async function readPage(client: Client, config: ActiveConfig, query: PageQuery): Promise<Page> {
  const { kind, isReachable, zone, at, after } = query;
  const { rows } = await client.query<Row>(usersOfZone, [config.tenant, zone, after, at]);
  const profiles = await readProfiles(
    client,
    config.tenant,
    rows.map(({ id }) => id),
  );
  const reachable = rows.filter(({ id, isTooLate }) => !isTooLate && isReachable(profiles.get(id) ?? {}));
  return {
    recipients: reachable.length === 0 ? [] : await filters[kind](client, config, reachable, query),
    last: rows.length === limits.emailPageUsers ? rows.at(-1)?.id : undefined,
  };
}

/** What a notification is about, of those that are sent once for each period. */
const periodEndOf = ({ about }: Notification): string | undefined => ('periodEnd' in about ? about.periodEnd : undefined);

/**
 * The users to whom a notification about the same period (a reactivation: of the same local day) was already published, in another zone or on another
 * day of the configuration, or waits for the end of quiet hours.
 */
export async function notifiedBefore(
  client: Client,
  { tenant, document }: ActiveConfig,
  { kind, day }: { readonly kind: UserScheduleKind; readonly day: number },
  notifications: readonly Notification[],
): Promise<Set<string>> {
  if (notifications.length === 0) return new Set();
  const periodEnds = new Map(notifications.map((notification) => [notification.user, periodEndOf(notification) ?? null]));
  const users = textArray([...periodEnds.keys()]);
  const { rows } = await client.query<{ id: string; timestamp: string; tz: string | null; periodEnd: string | null }>(
    `select user_id as id, payload ->> 'timestamp' as timestamp, payload #>> '{user,tz}' as tz,
            coalesce(payload #>> '{about,periodEnd}', payload #>> '{recap,periodEnd}', payload #>> '{streak,periodEnd}') as "periodEnd"
       from outbox where tenant = $1 and user_id = any($2::text[]) and kind = any($3::text[])`,
    [tenant, users, textArray([kind, messageKind(typeOf[kind])])],
  );
  const waiting = await client.query<{ id: string; periodEnd: string | null }>(
    `select user_id as id, data ->> 'periodEnd' as "periodEnd" from scheduled_notifications
      where tenant = $1 and user_id = any($2::text[]) and audience = 'user' and type = $3`,
    [tenant, users, typeOf[kind]],
  );
  const { defaultTimeZone } = document.settings;
  const published = rows.filter(
    ({ timestamp, tz, periodEnd }) => periodEnd !== null || localDayOf(Date.parse(timestamp), tz ?? defaultTimeZone) === day,
  );
  const same = [...published, ...waiting.rows].filter(({ id, periodEnd }) => periodEnd === periodEnds.get(id));
  return new Set(same.map(({ id }) => id));
}

/** Whether users without a zone lived in another one at some moment since `at`, in milliseconds since 1970. Reads only the versions since. */
export async function hasChangedDefaultZone(client: Client, { tenant, version, document }: ActiveConfig, at: number): Promise<boolean> {
  const { rowCount } = await client.query(
    `select 1 from config_versions
      where tenant = $1 and version <= $2 and document #>> '{settings,defaultTimeZone}' <> $3
        and version >= coalesce((
          select max(version) from config_versions where tenant = $1 and version <= $2 and created <= to_timestamp($4 / 1000.0)), 0)
      limit 1`,
    [tenant, version, document.settings.defaultTimeZone, at],
  );
  return rowCount === 1;
}

/** How far before a version changes of `weekStart` are looked for: the weeks that they leave are over after two. */
const weekChangesMs = 30 * dayMs;

/** The latest changes of `weekStart`, the oldest first, for what is due by the week; none for what is not. */
export async function readWeekChanges(client: Client, { tenant, version, document }: ActiveConfig): Promise<WeekChange[]> {
  if (document.settings.recapFrequency !== 'weekly' && document.streaks.frequency !== 'weekly') return [];
  const { rows } = await client.query<{ created: Date; weekStart: WeekChange['weekStart'] }>(
    `select created, "weekStart" from (
       select version, created, document #>> '{settings,weekStart}' as "weekStart",
              lag(document #>> '{settings,weekStart}') over (order by version) as before
         from config_versions
        where tenant = $1 and version <= $2 and version >= coalesce((
          select max(older.version) from config_versions as older join config_versions as current using (tenant)
           where tenant = $1 and current.version = $2 and older.created <= current.created - $3 * interval '1 ms'), 0)) as versions
      where before <> "weekStart" order by version`,
    [tenant, version, weekChangesMs],
  );
  return rows.map(({ created, weekStart }) => ({ at: created.getTime(), weekStart }));
}

/** The zones of users, empty for none: one index scan for each zone instead of reading all users. */
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

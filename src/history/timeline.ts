import type pg from 'pg';
import { noTrigger } from '../ledger/entry.js';
import { numberArray, textArray } from '../postgres/arrays.js';
import { withPostgresErrors } from '../postgres/failure.js';
import { inSnapshot } from '../postgres/pool.js';
import { type Frequency, firstDayOf, periodOf, dayMs } from '../shared/calendar.js';

/** The types of entries, in the order in which those of one moment are listed: what an event led to comes before the event. */
const types = ['award', 'achievement', 'event', 'streak'] as const;
type TimelineType = (typeof types)[number];

/** A row of `events`. */
export interface EventRow {
  readonly type: 'event';
  readonly id: string;
  readonly at: Date;
  /** The user's local day, in days since 1970-01-01. */
  readonly day: number;
  /** The `no` of the metric. */
  readonly metric: number;
  readonly value: number;
  readonly total: number;
  /** Number of the attribute → value. */
  readonly attributes: Readonly<Record<string, string>> | null;
  readonly idempotencyKey: string | null;
  /** The user's revision after it. */
  readonly rev: number;
  /** What the event was awarded, in the order of the awards. */
  readonly awards: readonly AwardRow[];
}

/** A row of `awards`. */
export interface AwardRow {
  readonly type: 'award';
  readonly id: string;
  readonly at: Date;
  readonly day: number;
  /** The event that it is for; null for an award by time or by another call. */
  readonly eventId: string | null;
  readonly system: number;
  readonly trigger: number;
  readonly awarded: number;
  readonly total: number;
  readonly boosts: readonly number[];
  /** The user's revision after it, and its place among the awards of that. */
  readonly rev: number;
  readonly ordinal: number;
  /** Of an adjustment by an operator. */
  readonly adjustment?: AdjustmentRow | null;
}

/** A row of `points_adjustments`, with the name of the admin key. */
interface AdjustmentRow {
  readonly id: string;
  readonly reason: string;
  readonly keyId: string;
  readonly keyName: string;
}

/** A row of `user_achievements`. */
export interface AchievementRow {
  readonly type: 'achievement';
  readonly at: Date;
  readonly achievement: number;
}

/** A row of `streak_periods`. */
export interface StreakRow {
  readonly type: 'streak';
  /** The start of the first day of the period in UTC, which is where it is listed. */
  readonly at: Date;
  readonly period: number;
  readonly length: number;
  readonly how: 'extended' | 'freeze' | 'pause' | 'day_off' | 'move' | 'lost';
  /** When the streak was last reset in the period. */
  readonly resetAt: Date | null;
}

export type TimelineRow = EventRow | AwardRow | AchievementRow | StreakRow;

/** The place of an entry in the order of a timeline. */
export interface TimelinePlace {
  /** In milliseconds since 1970. */
  readonly atMs: number;
  readonly type: TimelineType;
  /**
   * Orders entries of the same moment and type: the revision of an event, the revision and the ordinal of an award, the `no` of an achievement, nothing
   * for a period.
   */
  readonly order: readonly number[];
}

export interface TimelineQuery {
  readonly tenant: number;
  readonly user: string;
  readonly limit: number;
  /** The last entry of the page before; undefined for the first page. */
  readonly after: TimelinePlace | undefined;
  /** From this moment up to, but not at, that, in milliseconds since 1970; undefined is unbounded. */
  readonly fromMs: number | undefined;
  readonly untilMs: number | undefined;
  /** Whose periods are listed; undefined while streaks are disabled. */
  readonly frequency: Frequency | undefined;
  readonly weekShift: number;
  /** The triggers by time. Their awards are never for an event, although the event whose call settled the user lends them its id. */
  readonly timeTriggers: readonly number[];
}

export interface TimelinePage {
  /** Newest first. */
  readonly rows: readonly TimelineRow[];
  /** The place of the last row; undefined on the last page. */
  readonly next: TimelinePlace | undefined;
}

const lowestMs = 0;
const highestMs = Date.UTC(9999, 11, 31);
const highestNo = 2_147_483_647;

/** The numbers that order entries of a type in one moment: how many, and the highest. */
const orders: Readonly<Record<TimelineType, readonly number[]>> = {
  event: [Number.MAX_SAFE_INTEGER],
  award: [Number.MAX_SAFE_INTEGER, highestNo],
  achievement: [highestNo],
  streak: [],
};

/** A place as text without meaning to callers. */
export const cursorOf = ({ atMs, type, order }: TimelinePlace): string =>
  Buffer.from([atMs, type, ...order].join(' ')).toString('base64url');

/** The place of a text that `cursorOf` made; undefined for any other text. */
export function placeOfCursor(cursor: string): TimelinePlace | undefined {
  const [at, name, ...numbers] = Buffer.from(cursor, 'base64url').toString().split(' ');
  const type = types.find((known) => known === name);
  const [atMs = 0, ...order] = [at, ...numbers].map(Number);
  const place = type && { atMs, type, order };
  return place && isWithin([highestMs, ...orders[place.type]], [atMs, ...order]) && cursorOf(place) === cursor ? place : undefined;
}

const isWithin = (highest: readonly number[], numbers: readonly number[]): boolean =>
  numbers.length === highest.length && numbers.every((number, i) => Number.isInteger(number) && number >= 0 && number <= (highest[i] ?? 0));

/** Entries of one type after a place: those at `atMs` that come after it in the order, and all earlier ones. */
interface Bound {
  readonly atMs: number;
  readonly order: 'none' | 'all' | { readonly below: readonly number[] };
}

function boundOf({ after, untilMs = highestMs + 1 }: TimelineQuery, type: TimelineType): Bound {
  const lastMs = Math.max(untilMs - 1, lowestMs - 1);
  if (!after || after.atMs > lastMs) return { atMs: lastMs, order: 'all' };
  const order = types.indexOf(type) - types.indexOf(after.type);
  return { atMs: after.atMs, order: order === 0 ? { below: after.order } : order < 0 ? 'none' : 'all' };
}

const timestamp = (ms: number): string => new Date(ms).toISOString();

/** The numbers that the order of entries at the moment of a bound must be below. */
const numbersBelow = ({ order }: Bound, type: TimelineType): readonly number[] =>
  order === 'none' ? orders[type].map(() => -1) : order === 'all' ? orders[type] : order.below;

// Each metric and each points system of the user has its own range of an index, so the newest rows of each are read, and of these the newest. The index
// has no revisions, so all rows of the last moment are read.

const eventsQuery = `
  select event.* from user_metrics as mine cross join lateral (
    select 'event' as type, id, at, day - date '1970-01-01' as day, metric, value, total, attributes, idempotency_key as "idempotencyKey",
           rev::float8 as rev
      from events
     where tenant = $1 and user_id = $2 and metric = mine.metric and at >= $3 and at <= $4 and (at, events.rev) < ($4, $5)
     order by events.at desc fetch first $6 rows with ties) as event
   where mine.tenant = $1 and mine.user_id = $2
   order by event.at desc, event.rev desc limit $6`;

const awardColumns = `
  'award' as type, id, at, day - date '1970-01-01' as day, system, trigger, awarded::float8, total::float8, boosts, rev::float8 as rev, ordinal`;

/** The awards of events. `offset 0` keeps the look-up by event, which an index has, from becoming a join with all awards of the user. */
const awardsOfEventsQuery = `
  select award.* from unnest($3::uuid[], $4::timestamptz[]) as event (id, at) cross join user_points as mine cross join lateral (
    select ${awardColumns}, event_id as "eventId" from awards
     where tenant = $1 and user_id = $2 and system = mine.system and at = event.at and event_id = event.id and trigger <> all($5::integer[])
    offset 0) as award
   where mine.tenant = $1 and mine.user_id = $2
   order by award.rev, award.ordinal`;

/** Why an operator adjusted points (AdjustmentRow); null for another award. A join could lead to another plan than the order of an index. */
export const adjustmentColumn = `
  case when trigger = ${noTrigger} then (
    select json_build_object('id', adjusted.id, 'reason', adjusted.reason, 'keyId', adjusted.key_id, 'keyName', coalesce(api_keys.name, ''))
      from points_adjustments as adjusted left join api_keys on api_keys.id = adjusted.key_id
     where adjusted.tenant = awards.tenant and adjusted.user_id = awards.user_id and adjusted.id = awards.event_id) end as adjustment`;

const otherAwardsQuery = `
  select award.* from user_points as mine cross join lateral (
    select ${awardColumns}, null as "eventId", ${adjustmentColumn} from awards
     where tenant = $1 and user_id = $2 and system = mine.system and at >= $3 and at <= $4 and (at, awards.rev, ordinal) < ($4, $5, $6)
       and (trigger = any($8::integer[]) or not exists (
         select 1 from user_metrics as own join events as event
             on event.tenant = $1 and event.user_id = $2 and event.metric = own.metric and event.at = awards.at and event.id = awards.event_id
          where own.tenant = $1 and own.user_id = $2))
     order by awards.at desc fetch first $7 rows with ties) as award
   where mine.tenant = $1 and mine.user_id = $2
   order by award.at desc, award.rev desc, award.ordinal desc limit $7`;

const achievementsQuery = `
  select 'achievement' as type, at, achievement from user_achievements
   where tenant = $1 and user_id = $2 and at >= $3 and at <= $4 and (at, achievement) < ($4, $5)
   order by at desc, achievement desc limit $6`;

const periodsQuery = `
  select 'streak' as type, period, length, how, reset_at as "resetAt" from streak_periods
   where tenant = $1 and user_id = $2 and frequency = $3 and period >= $4 and period < $5
   order by period desc limit $6`;

/** Reads what happened to a user, in pages. Callers first wait for the write-behind (HistoryReader.waitFor). */
export class TimelineReader {
  private readonly pool: pg.Pool;

  constructor(pool: pg.Pool) {
    this.pool = pool;
  }

  /** A page, from one snapshot of the database. Reads no more rows than a few for each entry, metric and points system. */
  async read(query: TimelineQuery): Promise<TimelinePage> {
    return withPostgresErrors(inSnapshot(this.pool, (client) => readTimelinePage(client, query)));
  }
}

/** Reads a page, in the transaction of `client`. */
export async function readTimelinePage(client: pg.ClientBase, query: TimelineQuery): Promise<TimelinePage> {
  const { limit } = query;
  const events = await readEvents(client, query);
  // With a full page of events, other entries before the oldest of them can't be on it.
  const oldestMs = events.length > limit ? events.at(-1)?.at.getTime() : undefined;
  const rows: TimelineRow[] = [
    ...(await readOtherAwards(client, query, oldestMs)),
    ...(await readAchievements(client, query)),
    ...(await readEventAwards(client, query, events)),
    ...(await readPeriods(client, query)),
  ];
  // Sorting keeps the order of rows of the same type and moment, which come in theirs.
  rows.sort((a, b) => b.at.getTime() - a.at.getTime() || types.indexOf(a.type) - types.indexOf(b.type));
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  return { rows: page, next: last && rows.length > limit ? placeOf(last) : undefined };
}

function placeOf(row: TimelineRow): TimelinePlace {
  return { atMs: row.at.getTime(), type: row.type, order: orderOf(row) };
}

function orderOf(row: TimelineRow): readonly number[] {
  switch (row.type) {
    case 'event':
      return [row.rev];
    case 'award':
      return [row.rev, row.ordinal];
    case 'achievement':
      return [row.achievement];
    case 'streak':
      return [];
  }
}

type StoredEvent = Omit<EventRow, 'awards'>;

/** The newest events: one more than the page has entries, so that it is known whether there are more. */
async function readEvents(client: pg.ClientBase, query: TimelineQuery): Promise<StoredEvent[]> {
  const bound = boundOf(query, 'event');
  const { tenant, user, fromMs = lowestMs, limit } = query;
  const values = [tenant, user, timestamp(fromMs), timestamp(bound.atMs), ...numbersBelow(bound, 'event'), limit + 1];
  return (await client.query<StoredEvent>({ name: 'timeline-events', text: eventsQuery, values })).rows;
}

/** Adds the awards of events to them. */
async function readEventAwards(client: pg.ClientBase, query: TimelineQuery, events: readonly StoredEvent[]): Promise<EventRow[]> {
  const { tenant, user, timeTriggers } = query;
  const ids = events.map(({ id }) => id);
  const moments = events.map(({ at }) => at.toISOString());
  const values = [tenant, user, textArray(ids), textArray(moments), numberArray(timeTriggers)];
  const { rows } = await client.query<AwardRow>({ name: 'timeline-awards-of-events', text: awardsOfEventsQuery, values });
  const awards = new Map(ids.map((id): [string, AwardRow[]] => [id, []]));
  for (const award of rows) awards.get(award.eventId ?? '')?.push(award);
  return events.map((event) => ({ ...event, awards: awards.get(event.id) ?? [] }));
}

/** The newest awards that are for no event. */
async function readOtherAwards(client: pg.ClientBase, query: TimelineQuery, oldestMs: number | undefined): Promise<AwardRow[]> {
  const bound = boundOf(query, 'award');
  const { tenant, user, fromMs = lowestMs, limit, timeTriggers } = query;
  const moments = [timestamp(oldestMs ?? fromMs), timestamp(bound.atMs)];
  const values = [tenant, user, ...moments, ...numbersBelow(bound, 'award'), limit + 1, numberArray(timeTriggers)];
  return (await client.query<AwardRow>({ name: 'timeline-other-awards', text: otherAwardsQuery, values })).rows;
}

async function readAchievements(client: pg.ClientBase, query: TimelineQuery): Promise<AchievementRow[]> {
  const bound = boundOf(query, 'achievement');
  const { tenant, user, fromMs = lowestMs, limit } = query;
  const values = [tenant, user, timestamp(fromMs), timestamp(bound.atMs), ...numbersBelow(bound, 'achievement'), limit + 1];
  return (await client.query<AchievementRow>({ name: 'timeline-achievements', text: achievementsQuery, values })).rows;
}

/** The newest periods of the streak. One is listed at the start of its first day in UTC. */
async function readPeriods(client: pg.ClientBase, query: TimelineQuery): Promise<StreakRow[]> {
  const { tenant, user, fromMs = lowestMs, limit, frequency, weekShift } = query;
  if (!frequency) return [];
  const startMs = (period: number): number => firstDayOf(frequency, period, weekShift) * dayMs;
  const periodAt = (ms: number): number => periodOf(frequency, Math.floor(ms / dayMs), weekShift);
  const { atMs, order } = boundOf(query, 'streak');
  const first = startMs(periodAt(fromMs)) < fromMs ? periodAt(fromMs) + 1 : periodAt(fromMs);
  const end = order === 'all' ? periodAt(atMs) + 1 : periodAt(atMs);
  const values = [tenant, user, frequency, first, end, limit + 1];
  const { rows } = await client.query<Omit<StreakRow, 'at'>>({ name: 'timeline-periods', text: periodsQuery, values });
  return rows.map((row) => ({ ...row, at: new Date(startMs(row.period)) }));
}

import type pg from 'pg';
import type { ConfigObject, Leaderboard, PointsBoost, PointsSystem } from '../config/schema/model.js';
import type { ActiveConfig } from '../plan/active-config.js';
import { perpetualRun } from '../plan/boards.js';
import { numberArray, textArray } from '../postgres/arrays.js';
import { runsBetween } from '../responses/leaderboards.js';
import { dateToDay, dayMs } from '../shared/calendar.js';
import { limits } from '../shared/limits.js';
import { boardEvent, readRankings } from './leaderboard-state.js';
import { type WebhookKind } from '../config/schema/webhook-kinds.js';
import { type WebhookEvent, publishEvents } from '../deliveries/outbox.js';

/** The kinds that the calendar triggers. */
export type CalendarKind = 'leaderboard.started' | 'points.boost_started' | 'points.boost_finished';

/** The start or end of a run or a boost with a day, by UTC date, like `status` in responses. */
export interface ZoneTransition {
  readonly kind: CalendarKind;
  /** The `no` of the leaderboard or boost. */
  readonly object: number;
  /** The first or last day, in days since 1970-01-01; of an object with several transitions, each has a later day. */
  readonly day: number;
  /** In milliseconds since 1970. */
  readonly at: number;
  readonly of: { readonly board: Leaderboard; readonly run: number } | { readonly boost: PointsBoost; readonly system: PointsSystem };
}

/** The time of a transition on `day`: not before its object was configured, and not after now. */
const timeOf = ({ updated }: ConfigObject, day: number, now: number): number => Math.min(now, Math.max(day * dayMs, Date.parse(updated)));

/** The day of the last published transition of an object. Undefined for none, and for the end of a boost that has started again since. */
type Published = (kind: CalendarKind, object: number) => number | undefined;

const endDayOf = ({ end }: PointsBoost): number => (end === null ? Infinity : dateToDay(end));

const dayOf = (instant: string): number => Math.floor(Date.parse(instant) / dayMs);

/**
 * The runs of a leaderboard that have started, after `published`, the first day of the last published one. Without one, the first is the run at the
 * time of configuration: runs that were over by then are not published.
 */
function startedRuns(board: Leaderboard, published: number | undefined, now: number): ZoneTransition[] {
  const [start, end] = [dateToDay(board.start), board.end === null ? Infinity : dateToDay(board.end)];
  const today = Math.floor(now / dayMs);
  const configured = Math.min(today, dayOf(board.updated));
  if (board.archived || board.status === 'inactive' || today < start || (published === undefined && end < configured)) return [];
  const transition = (day: number, run: number): ZoneTransition => ({
    kind: 'leaderboard.started',
    object: board.no,
    day,
    at: timeOf(board, day, now),
    of: { board, run },
  });
  if (board.runUnit === null) return [transition(start, perpetualRun)];
  const first = published === undefined ? Math.max(configured, start) : Math.max(published + 1, start);
  const started = runsBetween(board, first, Math.min(today, end));
  return started.slice(-limits.publishRuns).map((run) => transition(run, run));
}

/** When a boost that was published as running stopped: its last day is over, it was archived, or its start was moved into the future. */
function endOf(boost: PointsBoost, archived: ConfigObject | undefined, now: number): Pick<ZoneTransition, 'day' | 'at'> {
  const [end, today] = [endDayOf(boost), Math.floor(now / dayMs)];
  if (archived) {
    const day = Math.min(end, today, dayOf(archived.updated));
    return { day, at: Math.min(now, Date.parse(archived.updated), (end + 1) * dayMs) };
  }
  return today > end ? { day: end, at: timeOf(boost, end + 1, now) } : { day: today, at: timeOf(boost, -Infinity, now) };
}

/**
 * What leads from the last published state of a boost to the one that holds: a boost runs if its start is published and its end, since then, is not. A
 * boost that has come and gone since has both; neither if it was over when it was configured.
 */
function boostTransitions(boost: PointsBoost, system: PointsSystem, published: Published, now: number): ZoneTransition[] {
  const [start, end, today] = [dateToDay(boost.start), endDayOf(boost), Math.floor(now / dayMs)];
  const transition = (kind: CalendarKind, { day, at }: Pick<ZoneTransition, 'day' | 'at'>): ZoneTransition => ({
    kind,
    object: boost.no,
    day,
    at,
    of: { boost, system },
  });
  const configured = boost.updated > system.updated ? boost : system;
  const started = transition('points.boost_started', { day: start, at: timeOf(configured, start, now) });
  const finished = transition('points.boost_finished', endOf(boost, boost.archived ? boost : system.archived ? system : undefined, now));
  const isInUse = !boost.archived && !system.archived;
  const publishedEnd = published('points.boost_finished', boost.no);
  const wasRunning = publishedEnd === undefined && published('points.boost_started', boost.no) !== undefined;
  if (isInUse && start <= today && today <= end) return wasRunning ? [] : [started];
  if (wasRunning) return [finished];
  const hasRun = isInUse && today > end && end > (publishedEnd ?? -Infinity) && end >= dayOf(configured.updated);
  return hasRun ? [started, finished] : [];
}

/** The transitions so far that are not published. */
export function zoneTransitions(config: ActiveConfig, published: Published, now: number): ZoneTransition[] {
  const { leaderboards, pointsSystems } = config.document;
  return [
    ...leaderboards.flatMap((board) => {
      const last = published('leaderboard.started', board.no);
      return startedRuns(board, last, now).filter(({ day }) => day > (last ?? -Infinity));
    }),
    ...pointsSystems.flatMap((system) => system.boosts.flatMap((boost) => boostTransitions(boost, system, published, now))),
  ];
}

/** Kinds whose state is saved together: publishing one of a group needs the state of the others. */
const groups: readonly (readonly CalendarKind[])[] = [['leaderboard.started'], ['points.boost_started', 'points.boost_finished']];
/** The pseudo-object whose row marks that a kind is published from then on. */
const sinceNo = 0;

interface Row {
  readonly kind: CalendarKind;
  readonly object: number;
  readonly day: number;
}

const nameOf = ({ kind, object }: Omit<Row, 'day'>): string => `${kind} ${object}`;

/** The calendar kinds whose state is saved for some subscribed kinds. */
export const trackedKinds = (kinds: ReadonlySet<WebhookKind>): CalendarKind[] =>
  groups.filter((group) => group.some((kind) => kinds.has(kind))).flat();

/**
 * Publishes each transition of the calendar once. When a kind is first subscribed to, earlier transitions are only saved as published. Returns the
 * number of deliveries.
 */
export async function publishCalendar(
  client: pg.ClientBase,
  config: ActiveConfig,
  kinds: ReadonlySet<WebhookKind>,
  now: number,
): Promise<number> {
  const { tenant } = config;
  const tracked = trackedKinds(kinds);
  const { rows } = await client.query<Row>('select kind, object, day from webhook_calendar_state where tenant = $1', [tenant]);
  const published = new Map(rows.map((row) => [nameOf(row), row.day]));
  const isNew = new Set(tracked.filter((kind) => !published.has(nameOf({ kind, object: sinceNo }))));
  const transitions = zoneTransitions(config, (kind, object) => published.get(nameOf({ kind, object })), now).filter(({ kind }) =>
    tracked.includes(kind),
  );
  const since = [...isNew].map((kind): Row => ({ kind, object: sinceNo, day: 0 }));
  await saveState(client, tenant, [...since, ...transitions]);
  const events: WebhookEvent[] = [];
  for (const transition of transitions) if (!isNew.has(transition.kind)) events.push(await eventOf(client, config, transition));
  return publishEvents(client, config, events);
}

async function saveState(client: pg.ClientBase, tenant: number, rows: readonly Row[]): Promise<void> {
  // The last of several days of one object.
  const last = [...new Map(rows.map((row) => [nameOf(row), row])).values()];
  const started = last.filter(({ kind, object }) => kind === 'points.boost_started' && object !== sinceNo);
  await client.query(
    `delete from webhook_calendar_state where tenant = $1 and kind = 'points.boost_finished' and object = any($2::integer[])`,
    [tenant, numberArray(started.map(({ object }) => object))],
  );
  await client.query(
    `insert into webhook_calendar_state (tenant, kind, object, day)
     select $1, * from unnest($2::text[], $3::integer[], $4::integer[])
     on conflict (tenant, kind, object) do update set day = excluded.day`,
    [
      tenant,
      textArray(last.map(({ kind }) => kind)),
      numberArray(last.map(({ object }) => object)),
      numberArray(last.map(({ day }) => day)),
    ],
  );
}

async function eventOf(client: pg.ClientBase, config: ActiveConfig, { kind, object, at, of }: ZoneTransition): Promise<WebhookEvent> {
  if ('board' in of) {
    const key = { no: object, run: of.run, group: '' };
    const rankings = await readRankings(client, config.tenant, key, of.board.maxParticipants);
    return boardEvent(config, 'leaderboard.started', of.board, { ...key, rankings, at });
  }
  const { boost, system } = of;
  const { id, name, userId, start, end, multiplier, rounding } = boost;
  const status = kind === 'points.boost_started' ? 'active' : 'finished';
  const ofSystem = { pointsSystemId: system.id, pointsSystemKey: system.key, pointsSystemName: system.name };
  return {
    kind,
    subject: `boost:${object}`,
    ...(userId === null ? {} : { user: userId }),
    at: new Date(at),
    payload: {
      type: kind,
      timestamp: new Date(at).toISOString(),
      boost: { id, name, status, userId, ...ofSystem, start, end, multiplier, rounding },
    },
  };
}

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

/** The start and the end of a boost so far; neither if it was over when it was configured. */
function boostTransitions(boost: PointsBoost, system: PointsSystem, isPublished: boolean, now: number): ZoneTransition[] {
  const [start, end] = [dateToDay(boost.start), boost.end === null ? Infinity : dateToDay(boost.end)];
  const today = Math.floor(now / dayMs);
  const transition = (kind: CalendarKind, day: number, at: number): ZoneTransition => ({
    kind,
    object: boost.no,
    day,
    at,
    of: { boost, system },
  });
  const archived = boost.archived ? boost : system.archived ? system : undefined;
  if (archived) {
    const last = Math.min(end, today, dayOf(archived.updated));
    return isPublished && start <= last ? [transition('points.boost_finished', last, timeOf(archived, last, now))] : [];
  }
  if (today < start || (!isPublished && end < Math.min(today, dayOf(boost.updated)))) return [];
  const started = transition('points.boost_started', start, timeOf(boost, start, now));
  return today > end ? [started, transition('points.boost_finished', end, (end + 1) * dayMs)] : [started];
}

/**
 * The transitions so far that are later than the published ones: kind and object → day. (A boost whose start was published also gets its end published,
 * even if it ends by being deleted.)
 */
export function zoneTransitions(
  config: ActiveConfig,
  published: (kind: CalendarKind, object: number) => number | undefined,
  now: number,
): ZoneTransition[] {
  const { leaderboards, pointsSystems } = config.document;
  const transitions = [
    ...leaderboards.flatMap((board) => startedRuns(board, published('leaderboard.started', board.no), now)),
    ...pointsSystems.flatMap((system) =>
      system.boosts.flatMap((boost) => boostTransitions(boost, system, published('points.boost_started', boost.no) !== undefined, now)),
    ),
  ];
  return transitions.filter(({ kind, object, day }) => day > (published(kind, object) ?? -Infinity));
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

import type pg from 'pg';
import type { ConfigObject, Leaderboard, PointsBoost, PointsSystem } from '../config/model.js';
import type { ActiveConfig } from '../plan/active-config.js';
import { perpetualRun } from '../plan/boards.js';
import { numberArray, textArray } from '../postgres/arrays.js';
import { runsBetween } from '../responses/leaderboards.js';
import { dateToDay } from '../shared/calendar.js';
import { limits } from '../shared/limits.js';
import { boardMessage, readStanding } from './leaderboard-state.js';
import { type WebhookKind } from '../config/webhook-kinds.js';
import { type OutboxMessage, addToOutbox } from './outbox.js';

const dayMs = 86_400_000;

/** The kinds that the calendar sets off. */
export const calendarKinds = ['leaderboard.started', 'points.boost_started', 'points.boost_finished'] as const;
export type CalendarKind = (typeof calendarKinds)[number];

/** Something that begins or ends with a day, by the UTC date as `status` in answers does. */
export interface ZoneTransition {
  readonly kind: CalendarKind;
  /** The `no` of the leaderboard or boost. */
  readonly object: number;
  /** The day that begins or is over with it, since 1970-01-01: of what begins and ends several times, each has a later one. */
  readonly day: number;
  /** In milliseconds since 1970. */
  readonly at: number;
  readonly of: { readonly board: Leaderboard; readonly run: number } | { readonly boost: PointsBoost; readonly system: PointsSystem };
}

/** When something came about that was configured at some time, and that the calendar has for a day. */
const momentOf = ({ updated }: ConfigObject, day: number, now: number): number => Math.min(now, Math.max(day * dayMs, Date.parse(updated)));

const dayOf = (instant: string): number => Math.floor(Date.parse(instant) / dayMs);

/**
 * What of a leaderboard has begun by a moment: its runs, from the one after `told`, the first day of the last one that was told. One of which
 * nothing was told begins with its configuration: runs that were over by then are nobody's news.
 */
function begunRuns(board: Leaderboard, told: number | undefined, now: number): ZoneTransition[] {
  const [start, end] = [dateToDay(board.start), board.end === null ? Infinity : dateToDay(board.end)];
  const today = Math.floor(now / dayMs);
  const configured = Math.min(today, dayOf(board.updated));
  if (board.archived || board.status === 'inactive' || today < start || (told === undefined && end < configured)) return [];
  const point = (day: number, run: number): ZoneTransition => ({
    ...{ kind: 'leaderboard.started', object: board.no, day, at: momentOf(board, day, now) },
    of: { board, run },
  });
  if (board.runUnit === null) return [point(start, perpetualRun)];
  const first = told === undefined ? Math.max(configured, start) : Math.max(told + 1, start);
  const begun = runsBetween(board, first, Math.min(today, end));
  return begun.slice(-limits.publishRuns).map((run) => point(run, run));
}

/** The beginning and the end of a boost, as far as they have come by a moment; neither of one that was over when it was configured. */
function boostPoints(boost: PointsBoost, system: PointsSystem, isTold: boolean, now: number): ZoneTransition[] {
  const [start, end] = [dateToDay(boost.start), boost.end === null ? Infinity : dateToDay(boost.end)];
  const today = Math.floor(now / dayMs);
  const point = (kind: CalendarKind, day: number, at: number): ZoneTransition => ({
    kind,
    object: boost.no,
    day,
    at,
    of: { boost, system },
  });
  const archived = boost.archived ? boost : system.archived ? system : undefined;
  if (archived) {
    const last = Math.min(end, today, dayOf(archived.updated));
    return isTold && start <= last ? [point('points.boost_finished', last, momentOf(archived, last, now))] : [];
  }
  if (today < start || (!isTold && end < Math.min(today, dayOf(boost.updated)))) return [];
  const started = point('points.boost_started', start, momentOf(boost, start, now));
  return today > end ? [started, point('points.boost_finished', end, (end + 1) * dayMs)] : [started];
}

/**
 * What has begun or ended by a moment and is later than what was told: kind and object → day. (A boost that was told to have begun is told to have
 * ended, even when that is because it was deleted.)
 */
export function zoneTransitions(
  config: ActiveConfig,
  told: (kind: CalendarKind, object: number) => number | undefined,
  now: number,
): ZoneTransition[] {
  const { leaderboards, pointsSystems } = config.document;
  const points = [
    ...leaderboards.flatMap((board) => begunRuns(board, told('leaderboard.started', board.no), now)),
    ...pointsSystems.flatMap((system) =>
      system.boosts.flatMap((boost) => boostPoints(boost, system, told('points.boost_started', boost.no) !== undefined, now)),
    ),
  ];
  return points.filter(({ kind, object, day }) => day > (told(kind, object) ?? -Infinity));
}

/** The kinds of which something has to be noted for one of them to be told, and under which of them that it is noted is kept. */
const groups: readonly (readonly CalendarKind[])[] = [['leaderboard.started'], ['points.boost_started', 'points.boost_finished']];
/** Stands for the moment from which on a group of kinds is told. */
const sinceNo = 0;

interface Row {
  readonly kind: CalendarKind;
  readonly object: number;
  readonly day: number;
}

const nameOf = ({ kind, object }: Omit<Row, 'day'>): string => `${kind} ${object}`;

/** Those of the calendar's kinds that have to be noted when some kinds are subscribed to. */
export const notedKinds = (kinds: ReadonlySet<WebhookKind>): CalendarKind[] =>
  groups.filter((group) => group.some((kind) => kinds.has(kind))).flat();

/**
 * Tells what the calendar has begun and ended by a moment, once. When a kind is subscribed to for the first time, what had happened by then is
 * only noted. Returns how many deliveries there are.
 */
export async function publishCalendar(
  client: pg.ClientBase,
  config: ActiveConfig,
  kinds: ReadonlySet<WebhookKind>,
  now: number,
): Promise<number> {
  const { tenant } = config;
  const noted = notedKinds(kinds);
  const { rows } = await client.query<Row>('select kind, object, day from webhook_calendar_state where tenant = $1', [tenant]);
  const told = new Map(rows.map((row) => [nameOf(row), row.day]));
  const isNew = new Set(noted.filter((kind) => !told.has(nameOf({ kind, object: sinceNo }))));
  const points = zoneTransitions(config, (kind, object) => told.get(nameOf({ kind, object })), now).filter(({ kind }) =>
    noted.includes(kind),
  );
  const since = [...isNew].map((kind): Row => ({ kind, object: sinceNo, day: 0 }));
  await note(client, tenant, [...since, ...points]);
  const messages: OutboxMessage[] = [];
  for (const point of points) if (!isNew.has(point.kind)) messages.push(await messageOf(client, config, point));
  return addToOutbox(client, tenant, config, messages);
}

async function note(client: pg.ClientBase, tenant: number, rows: readonly Row[]): Promise<void> {
  // Of several days of one object, the last.
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

async function messageOf(client: pg.ClientBase, config: ActiveConfig, point: ZoneTransition): Promise<OutboxMessage> {
  const { kind, object, at, of } = point;
  if ('board' in of) {
    const key = { no: object, run: of.run, group: '' };
    const rankings = await readStanding(client, config.tenant, key, of.board.maxParticipants);
    return boardMessage(config, 'leaderboard.started', of.board, { ...key, rankings, at });
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

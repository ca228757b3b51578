import { randomUUID } from 'node:crypto';
import type { Leaderboard } from '../config/model.js';
import type { HistoryReader } from '../ledger/reader.js';
import { type ActiveConfig, mustGet, requireLeaderboard } from '../plan/active-config.js';
import { boardRecord, perpetualRun } from '../plan/boards.js';
import { outcomes } from '../redis/contract.js';
import {
  type LeaderboardResponse,
  type RankingsResponse,
  type UserLeaderboardResponse,
  groupOf,
  leaderboardResponse,
  rankedResponse,
  runEnd,
  runOf,
  statusOn,
} from '../responses/leaderboards.js';
import { dateToDay, dayToDate, utcDate } from '../shared/calendar.js';
import { LaurelError } from '../shared/errors.js';
import { limits } from '../shared/limits.js';
import type { Clock } from './clock.js';
import type { Engine } from './engine.js';
import { text } from './function-calls.js';
import { refusal } from './refusals.js';

/** The contract's `LeaderboardRanking`. */
export interface Ranking {
  readonly userId: string;
  readonly userName: string | null;
  readonly rank: number;
  readonly value: number;
}

/** One run of a board, and one group of it. */
export interface BoardRun {
  /** The leaderboard's `no`. */
  readonly leaderboard: number;
  /** The record of the user's hash that notes places on it (plan/boards.ts). */
  readonly record: string;
  /** Participants: users beyond that rank have no place. */
  readonly max: number;
  /** The first day of the run, perpetualRun for a board that does not repeat. */
  readonly run: number;
  /** Empty for a board that is not broken down. */
  readonly group: string;
}

export interface Page {
  readonly offset: number;
  readonly limit: number;
  /** The offset counts from this user's place; a user who is not on the board gets no rows. */
  readonly userId: string | undefined;
}

/** One page of a board. */
export async function readRankings(engine: Engine, tenant: number, board: BoardRun, page: Page): Promise<Ranking[]> {
  const { outcome, values } = await engine.call(tenant, 'readBoard', () => ({
    args: { ...board, offset: page.offset, limit: page.limit, user: page.userId ?? '' },
  }));
  if (outcome !== outcomes.ok) throw refusal(outcome, page.userId ?? '');
  const rows = values[0];
  if (!Array.isArray(rows)) throw new Error('readBoard answered without rows');
  return (rows as unknown[][]).map(([rank, user, name, value]) => ({
    userId: text(user),
    userName: name === null || name === undefined ? null : text(name),
    rank: Number(rank),
    value: Number(text(value)),
  }));
}

export interface Place {
  /** Null when the user is not on the board. */
  readonly rank: number | null;
  readonly value: number | null;
  /** The newest ledger id when the place was read: what Postgres must have committed to be in sync with it. */
  readonly ledgerId: string;
  /** The first day of the run that it is of. */
  readonly run: number;
}

/**
 * A user's place on a run of a board, in whatever group the user is; without a run, on the one that the user's local date is in. Throws a
 * 404 for an unknown user.
 */
export async function readPlace(
  engine: Engine,
  tenant: number,
  board: Omit<BoardRun, 'group' | 'run'> & { readonly run: number | undefined },
  user: string,
): Promise<Place> {
  const entryId = randomUUID();
  const { leaderboard, record, max, run = '' } = board;
  const { outcome, values } = await engine.call(tenant, 'readPlace', () => ({ args: { user, entryId, leaderboard, record, max, run } }));
  if (outcome !== outcomes.ok) throw refusal(outcome, user);
  const [rank, value, ledgerId, placeRun] = values;
  return {
    rank: rank === null ? null : Number(rank),
    value: value === null ? null : Number(text(value)),
    ledgerId: text(ledgerId),
    run: Number(placeRun),
  };
}

const dayMs = 86_400_000;

/** What reads of leaderboards need: runs that are over are Postgres'. */
export interface Stores {
  readonly engine: Engine;
  readonly clock: Clock;
  readonly history: HistoryReader;
}

/** The run that a date is in, today's without one; the first day of it. A board that does not repeat has one run, for all dates. */
function resolveRun(board: Leaderboard, run: string | undefined, date: string): number {
  if (board.runUnit === null) return perpetualRun;
  const lastDate = board.end !== null && board.end < date ? board.end : date;
  const day = dateToDay(run ?? (lastDate < board.start ? board.start : lastDate));
  if (dayToDate(day) < board.start) throw new LaurelError('unprocessable', `The first run of this leaderboard starts on ${board.start}.`);
  return runOf(board, day);
}

/** The group that `userAttributes` names. A board that is broken down needs a value of each attribute, and no other does. */
function resolveGroup(config: ActiveConfig, board: Leaderboard, filters: ReadonlyMap<string, string>): string {
  const keys = board.breakdownAttributes.map((id) => config.attributeById.get(id)?.key ?? '');
  if (keys.length === 0 && filters.size > 0) {
    throw new LaurelError('unprocessable', 'This leaderboard has no breakdown attributes: leave `userAttributes` out.');
  }
  const values = keys.map((key) => filters.get(key));
  if (values.some((value) => value === undefined) || filters.size > keys.length) {
    throw new LaurelError(
      'unprocessable',
      `Send \`userAttributes\` with a value of each of ${keys.join(', ')}, as in ${keys.map((key) => `${key}:value`).join(',')}.`,
    );
  }
  return groupOf(values.map((value) => value ?? ''));
}

/** A page of a run that is final, from Postgres. With a user, the offset counts from that user's place. */
async function finalPage(stores: Stores, tenant: number, board: BoardRun, page: Page): Promise<Ranking[]> {
  const rows = await stores.history.finalRankings(tenant, board.leaderboard, board.run, board.group);
  const base = page.userId === undefined ? 0 : rows.findIndex(({ userId }) => userId === page.userId);
  return base < 0 ? [] : rows.slice(base + page.offset, base + page.offset + page.limit);
}

/**
 * Whether a run is final. Its board leaves Redis in the step that puts its end into the ledger, so a run that may be over is looked for in
 * Postgres only when that has all of the ledger.
 */
async function isFinal(
  { clock, history }: Stores,
  tenant: number,
  { board, run, now }: { readonly board: Leaderboard; readonly run: number; readonly now: number },
): Promise<boolean> {
  const lastEnd = board.end === null ? Infinity : dateToDay(board.end) + 1;
  const end = Math.min(board.runUnit === null ? Infinity : runEnd(board, run), lastEnd);
  if (now < end * dayMs + limits.finalisationDelayMs) return false;
  const { ledgerId } = await clock.ledgerId(tenant);
  await history.waitFor(tenant, ledgerId);
  return history.isFinal(tenant, board.no, run);
}

/** The leaderboards that are active or scheduled; those that are finished when asked for. */
export async function listLeaderboards(
  { engine, clock }: Stores,
  tenant: number,
  includeFinished: boolean,
): Promise<LeaderboardResponse[]> {
  const config = await engine.config(tenant);
  const date = utcDate(await clock.now(tenant));
  const visible = [...config.leaderboards.values()].filter((board) => {
    const status = statusOn(board, date);
    return status === 'active' || status === 'scheduled' || (status === 'finished' && includeFinished);
  });
  return visible.map((board) => leaderboardResponse(config, board, date));
}

export interface RankingsQuery extends Page {
  /** A date of the run that is meant; the current one without it. */
  readonly run: string | undefined;
  /** Attribute key → value: the group of a leaderboard that is broken down. */
  readonly userAttributes: ReadonlyMap<string, string>;
}

/** The record of the user's hash that notes places on a leaderboard. */
function recordOf(config: ActiveConfig, board: Leaderboard): string {
  return boardRecord(board, (id) => (config.metricById.get(id) ?? mustGet(config.systemById, id, 'points system')).no);
}

/** A page of a leaderboard's rankings. Throws a 404 for an unknown key, a 422 for a run or a group that it does not have. */
export async function readLeaderboard(stores: Stores, tenant: number, key: string, query: RankingsQuery): Promise<RankingsResponse> {
  const config = await stores.engine.config(tenant);
  const board = requireLeaderboard(config, key);
  const now = await stores.clock.now(tenant);
  const date = utcDate(now);
  const run = {
    leaderboard: board.no,
    record: recordOf(config, board),
    max: board.maxParticipants,
    run: resolveRun(board, query.run, date),
    group: resolveGroup(config, board, query.userAttributes),
  };
  const page = { offset: query.offset, limit: query.limit, userId: query.userId };
  const rankings = (await isFinal(stores, tenant, { board, run: run.run, now }))
    ? await finalPage(stores, tenant, run, page)
    : await readRankings(stores.engine, tenant, run, page);
  return { ...leaderboardResponse(config, board, date), ...rankedResponse(config, board), rankings };
}

/** A user's place in a run of a leaderboard, with its history by day. Throws a 404 for an unknown user or key. */
export async function readUserLeaderboard(
  stores: Stores,
  tenant: number,
  user: string,
  query: { readonly key: string; readonly run: string | undefined; readonly days: number },
): Promise<UserLeaderboardResponse> {
  const { engine, clock, history } = stores;
  const config = await engine.config(tenant);
  const board = requireLeaderboard(config, query.key);
  const now = await clock.now(tenant);
  const date = utcDate(now);
  const asked = query.run === undefined ? undefined : resolveRun(board, query.run, date);
  const asOf = { leaderboard: board.no, record: recordOf(config, board), max: board.maxParticipants, run: asked };
  const place = await readPlace(engine, tenant, asOf, user);
  const { run } = place;
  await history.waitFor(tenant, place.ledgerId);
  const final = (await isFinal(stores, tenant, { board, run, now })) ? await history.finalPlace(tenant, board.no, run, user) : place;
  const days = await history.leaderboardDays(tenant, board.no, run, user, query.days);
  return {
    ...leaderboardResponse(config, board, date),
    ...rankedResponse(config, board),
    rank: final?.rank ?? null,
    value: final?.value ?? null,
    history: days.map(({ at, ...day }) => ({ ...day, timestamp: at.toISOString() })),
  };
}

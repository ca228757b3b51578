import { randomUUID } from 'node:crypto';
import type { Leaderboard } from '../config/schema/model.js';
import type { FinalRanking, HistoryReader, UserRevision } from '../history/reader.js';
import { type ActiveConfig, requireLeaderboard } from '../plan/active-config.js';
import { perpetualRun } from '../plan/boards.js';
import { outcomes } from '../redis/contract.js';
import { unpackMessage } from '../redis/encoding.js';
import { type LeaderboardResponse, finalFrom, groupOf, leaderboardResponse, runOf, statusOn } from '../responses/leaderboards.js';
import { PreparedJson } from '../responses/prepared.js';
import { type RankingRow, type RankingRows, rankingRowsJson, rankingsJson, userLeaderboardJson } from '../responses/reads.js';
import { dateToDay, utcDate } from '../shared/calendar.js';
import { LaurelError } from '../shared/errors.js';
import type { JsonText } from '../shared/json.js';
import type { Clock } from './clock.js';
import type { Engine } from './engine.js';
import { text } from './function-calls.js';
import { refusal } from './refusals.js';
import { userRevision } from './users.js';

interface Page {
  readonly offset: number;
  readonly limit: number;
  /** The offset counts from this user's place; a user who is not on the board gets no rows. */
  readonly userId: string | undefined;
}

/** A run of a leaderboard, as its first day; empty for the current one. */
interface BoardRun {
  readonly board: Leaderboard;
  readonly run: number | '';
}

/** One page of a group of a leaderboard in Redis, of the run of the UTC date where `run` is empty, and when it was read, in milliseconds since 1970. */
async function readPage(
  engine: Engine,
  tenant: number,
  { board, run: runNo, group }: BoardRun & { readonly group: string },
  page: Page,
): Promise<{ readonly now: number; readonly run: number; readonly rows: RankingRows }> {
  const { outcome, values } = await engine.call(tenant, 'readBoard', (config) => {
    const { no: leaderboard } = requireLeaderboard(config, board.key);
    return { args: { leaderboard, run: runNo, group, offset: page.offset, limit: page.limit, user: page.userId ?? '' } };
  });
  if (outcome !== outcomes.ok) throw refusal(outcome, page.userId ?? '');
  const [now, run, first, usersAndValues, names] = values;
  return {
    now: Number(text(now)),
    run: Number(run),
    rows: {
      firstRank: Number(first) + 1,
      usersAndValues: unpackMessage(usersAndValues) as string[],
      names: unpackMessage(names) as (string | false)[],
    },
  };
}

/** The places of users in a group of a leaderboard in Redis, in the order of ranks; users who are no participants are left out. */
async function readPlaces(
  engine: Engine,
  tenant: number,
  { board, run: runNo, group }: BoardRun & { readonly group: string },
  userIds: readonly string[],
): Promise<{ readonly now: number; readonly run: number; readonly rows: FinalRanking[] }> {
  const { outcome, values } = await engine.call(tenant, 'readPlaces', (config) => {
    const { no: leaderboard } = requireLeaderboard(config, board.key);
    return { args: { leaderboard, run: runNo, group }, pairs: userIds };
  });
  if (outcome !== outcomes.ok) throw refusal(outcome, '');
  const [now, run, packed] = values;
  const places = unpackMessage(packed) as [userId: string, userName: string | false, rank: number, value: string][];
  const rows = places.map(([userId, userName, rank, value]) => ({ userId, userName: userName || null, rank, value: Number(value) }));
  return { now: Number(text(now)), run: Number(run), rows: rows.sort((a, b) => a.rank - b.rank) };
}

interface UserRank {
  /** Null when the user is not on the board. */
  readonly rank: number | null;
  readonly value: number | null;
  /** The moment of the read, in milliseconds since 1970. */
  readonly now: number;
  /** The first day of the run that it is of. */
  readonly run: number;
  readonly revision: UserRevision;
}

/**
 * A user's rank in a run of a leaderboard, in whatever group the user is; with an empty run, in the one that the user's local date is in. Throws
 * a 404 for an unknown user.
 */
async function readPlace(engine: Engine, tenant: number, { board, run: runNo }: BoardRun, user: string): Promise<UserRank> {
  const entryId = randomUUID();
  const { outcome, values } = await engine.call(tenant, 'readPlace', (config) => {
    const { no: leaderboard } = requireLeaderboard(config, board.key);
    return { args: { user, entryId, leaderboard, run: runNo } };
  });
  if (outcome !== outcomes.ok) throw refusal(outcome, user);
  const [rank, value, now, run, ...revision] = values;
  return {
    rank: rank === null ? null : Number(rank),
    value: value === null ? null : Number(text(value)),
    now: Number(text(now)),
    run: Number(run),
    revision: userRevision(revision),
  };
}

/** What reads of leaderboards need: runs that are over are Postgres'. */
export interface Stores {
  readonly engine: Engine;
  readonly clock: Clock;
  readonly history: HistoryReader;
}

/** The run that a date is in, as its first day; empty for the current one, without a date. A board that does not repeat has one run. */
export function resolveRun(board: Leaderboard, date: string | undefined): number | '' {
  if (board.runUnit === null) return perpetualRun;
  if (date === undefined) return '';
  if (date < board.start) throw new LaurelError('unprocessable', `The first run of this leaderboard starts on ${board.start}.`);
  return runOf(board, dateToDay(date));
}

/** The group that `userAttributes` names. A board that is broken down needs a value of each attribute, and no other does. */
export function resolveGroup(config: ActiveConfig, board: Leaderboard, filters: ReadonlyMap<string, string>): string {
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

/** A page of rows. With a user, the offset counts from that user's place. */
function pageOf<Row extends FinalRanking>(rows: readonly Row[], page: Page): readonly Row[] {
  const base = page.userId === undefined ? 0 : rows.findIndex(({ userId }) => userId === page.userId);
  return base < 0 ? [] : rows.slice(base + page.offset, base + page.offset + page.limit);
}

/** A page of the users of a list, with their rank among themselves. */
function listPage(rows: readonly FinalRanking[], userIds: ReadonlySet<string>, page: Page): readonly RankingRow[] {
  const listed = rows.filter(({ userId }) => userIds.has(userId)).map((row, i) => ({ ...row, rankInList: i + 1 }));
  return pageOf(listed, page);
}

/**
 * Whether a run is final. Its board leaves Redis in the step that puts its end into the ledger, so a run that may be over is looked for in
 * Postgres only when that has all of the ledger.
 */
export async function isFinal(
  { clock, history }: Stores,
  tenant: number,
  { board, run, now }: { readonly board: Leaderboard; readonly run: number; readonly now: number },
): Promise<boolean> {
  if (now < finalFrom(board, run)) return false;
  const { ledgerId } = await clock.ledgerId(tenant);
  await history.waitFor(tenant, ledgerId);
  return history.isFinal(tenant, board.no, run);
}

/** The leaderboards that are active or scheduled; finished ones with `includeFinished`. */
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
  /** Only these users, with their rank among themselves. */
  readonly userIds: readonly string[] | undefined;
}

/** A page of a leaderboard's rankings, and what it is of. */
export interface Ranking {
  readonly board: Leaderboard;
  /** The first day of the run. */
  readonly run: number;
  /** Empty for a leaderboard without a breakdown. */
  readonly group: string;
  readonly isFinal: boolean;
  /** The leaderboard as JSON (PreparedJson.openRankedBoard). */
  readonly open: string;
  readonly rows: RankingRows | readonly RankingRow[];
}

/**
 * Reads a page of a leaderboard's rankings: one call, but for a run that may be over. Throws a 404 for an unknown key, a 422 for a run or a group
 * that it does not have.
 */
export async function readRanking(stores: Stores, tenant: number, key: string, query: RankingsQuery): Promise<Ranking> {
  const config = await stores.engine.config(tenant);
  const board = requireLeaderboard(config, key);
  const group = resolveGroup(config, board, query.userAttributes);
  const boardRun = { board, run: resolveRun(board, query.run), group };
  const users = query.userIds && new Set(query.userIds);
  // Read before it is known whether the run is final: what a run in Redis has before its end is in the ledger is what it has.
  const { now, run, rows } = users
    ? await readPlaces(stores.engine, tenant, boardRun, [...users])
    : await readPage(stores.engine, tenant, boardRun, query);
  const ranking = {
    ...{ board, run, group, isFinal: await isFinal(stores, tenant, { board, run, now }) },
    open: PreparedJson.of(config).openRankedBoard(board, run, utcDate(now)),
  };
  if (!ranking.isFinal && 'names' in rows) return { ...ranking, rows };
  const all = ranking.isFinal || 'names' in rows ? await stores.history.finalRankings(tenant, board.no, run, group) : rows;
  return { ...ranking, rows: users ? listPage(all, users, query) : pageOf(all, query) };
}

/** The contract's `LeaderboardResponseWithRankings`. Throws as readRanking does. */
export async function readLeaderboard(stores: Stores, tenant: number, key: string, query: RankingsQuery): Promise<JsonText> {
  const { open, rows } = await readRanking(stores, tenant, key, query);
  return 'names' in rows ? rankingsJson(open, rows) : rankingRowsJson(open, rows);
}

/**
 * A user's places in the current runs of leaderboards, by key: null where the user has none. One pipelined call for each. Throws a 404 for an
 * unknown user.
 */
export async function readRanks(
  engine: Engine,
  config: ActiveConfig,
  user: string,
  boards: readonly Leaderboard[],
): Promise<ReadonlyMap<string, { readonly rank: number; readonly value: number } | null>> {
  const places = boards.map(async (board) => {
    const { rank, value } = await readPlace(engine, config.tenant, { board, run: resolveRun(board, undefined) }, user);
    return [board.key, rank === null || value === null ? null : { rank, value }] as const;
  });
  return new Map(await Promise.all(places));
}

/**
 * A user's place in a run of a leaderboard, with its history by day, the contract's `UserLeaderboardResponseWithHistory`. Throws a 404 for an
 * unknown user or key.
 */
export async function readUserLeaderboard(
  stores: Stores,
  tenant: number,
  user: string,
  query: { readonly key: string; readonly run: string | undefined; readonly days: number },
): Promise<JsonText> {
  const { engine, clock, history } = stores;
  const config = await engine.config(tenant);
  const board = requireLeaderboard(config, query.key);
  const place = await readPlace(engine, tenant, { board, run: resolveRun(board, query.run) }, user);
  const { run, now, revision } = place;
  const days = await history.ofUser(
    {
      tenant,
      user,
      revision,
      what: `board ${board.no} ${run} ${query.days}`,
      newestId: async () => (await clock.ledgerId(tenant)).ledgerId,
    },
    () => history.leaderboardDays(tenant, { leaderboard: board.no, run, user }, query.days),
  );
  const final = (await isFinal(stores, tenant, { board, run, now })) ? await history.finalRanking(tenant, board.no, run, user) : place;
  return userLeaderboardJson(PreparedJson.of(config).openRankedBoard(board, run, utcDate(now)), final, days);
}

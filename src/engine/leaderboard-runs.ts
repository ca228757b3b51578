import type { Leaderboard } from '../config/schema/model.js';
import type { BoardReader, GroupSize } from '../history/boards.js';
import type { ActiveConfig } from '../plan/active-config.js';
import { perpetualRun } from '../plan/boards.js';
import { boardKey, groupsKey } from '../redis/boards.js';
import type { GroupResponse, RunResponse } from '../responses/leaderboard-runs.js';
import { finalFrom, groupAttributes, runDates, runOf, runsBetween } from '../responses/leaderboards.js';
import { dateToDay, dayMs } from '../shared/calendar.js';
import { LaurelError } from '../shared/errors.js';
import { limits } from '../shared/limits.js';
import type { Engine } from './engine.js';
import { isFinal, resolveRun, type Stores } from './leaderboards.js';

/** What operators' reads of leaderboards need. */
export interface BoardStores extends Stores {
  readonly boards: BoardReader;
}

export interface PageOf {
  readonly limit: number;
  readonly skip: number;
}

/** Local dates are at most this far ahead of UTC. */
const aheadMs = 14 * 3_600_000;

/** The leaderboard with an id, inactive ones included. Throws a 404. */
export function leaderboardOf({ document }: ActiveConfig, id: string): Leaderboard {
  const board = document.leaderboards.find((one) => one.id === id.toLowerCase() && !one.archived);
  if (!board) throw new LaurelError('not_found', `There is no leaderboard with the id ${id}.`);
  return board;
}

/** The run that a date is in, without one the run of today in UTC, or the first or the last. Throws a 422 for a date before the first run. */
export function runAsked(board: Leaderboard, date: string | undefined, now: number): number {
  const run = resolveRun(board, date);
  if (run !== '') return run;
  const today = Math.max(Math.floor(now / dayMs), dateToDay(board.start));
  return runOf(board, board.end === null ? today : Math.min(today, dateToDay(board.end)));
}

/** The runs that have begun somewhere, as first days, the newest first; the first run of a leaderboard that has not begun. */
function runsUntil(board: Leaderboard, now: number): number[] {
  if (board.runUnit === null) return [perpetualRun];
  const begun = runsBetween(board, dateToDay(board.start), Math.floor((now + aheadMs) / dayMs)).reverse();
  return begun.length > 0 ? begun : [runOf(board, dateToDay(board.start))];
}

function runResponse(board: Leaderboard, run: number, now: number): Omit<RunResponse, 'groups'> {
  const dates = runDates(board, run);
  const hasBegun = now >= dateToDay(dates.start) * dayMs;
  return { ...dates, status: now >= finalFrom(board, run) ? 'finished' : hasBegun ? 'active' : 'scheduled' };
}

/** The runs of a leaderboard, the newest first. Throws a 404 for an unknown id. */
export async function listRuns(stores: BoardStores, tenant: number, id: string, page: PageOf): Promise<RunResponse[]> {
  const { engine, clock, history, boards } = stores;
  const board = leaderboardOf(await engine.config(tenant), id);
  const now = await clock.now(tenant);
  const runs = runsUntil(board, now).slice(page.skip, page.skip + page.limit);
  await history.waitFor(tenant, (await clock.ledgerId(tenant)).ledgerId);
  const groups = await boards.groupCounts(tenant, board.no, runs);
  return runs.map((run) => ({ ...runResponse(board, run, now), groups: groups.get(run) ?? 0 }));
}

/** The groups of a run that Redis has. */
async function groupNames(engine: Engine, tenant: number, board: Leaderboard, run: number): Promise<string[]> {
  if (board.breakdownAttributes.length === 0) return [''];
  const key = groupsKey(engine.partition(tenant), board.no, run);
  // A scan may name a group twice.
  const names = new Set<string>();
  let cursor = '0';
  do {
    const [next, found] = await engine.readBulk((redis) => redis.sscan(key, cursor, 'COUNT', limits.leaderboardGroupsRead));
    for (const name of found) names.add(name);
    cursor = next;
  } while (cursor !== '0');
  return [...names];
}

/** The sizes of the groups of a run that Redis has. */
async function groupSizes(engine: Engine, tenant: number, board: Leaderboard, run: number): Promise<GroupSize[]> {
  const names = await groupNames(engine, tenant, board, run);
  const sizes: GroupSize[] = [];
  for (let at = 0; at < names.length; at += limits.leaderboardGroupsRead) {
    const some = names.slice(at, at + limits.leaderboardGroupsRead);
    const keys = some.map((group) => boardKey(engine.partition(tenant), board.no, run, group));
    const counts = await engine.readBulk((redis) => Promise.all(keys.map((key) => redis.zcard(key))));
    for (const [i, group] of some.entries()) sizes.push({ group, participants: counts[i] ?? 0 });
  }
  return sizes.filter(({ participants }) => participants > 0);
}

/** The larger group first; of equal ones, by name as Postgres compares bytes. */
const bySize = (a: GroupSize, b: GroupSize): number =>
  b.participants - a.participants || Buffer.compare(Buffer.from(a.group), Buffer.from(b.group));

/**
 * The groups of a run, the largest first; a leaderboard without breakdown has one. From Redis, but for a run that is final. Throws a 404 for
 * an unknown id.
 */
export async function listGroups(
  stores: BoardStores,
  tenant: number,
  id: string,
  { run: date, ...page }: PageOf & { readonly run?: string | undefined },
): Promise<GroupResponse[]> {
  const { engine, clock, boards } = stores;
  const config = await engine.config(tenant);
  const board = leaderboardOf(config, id);
  const now = await clock.now(tenant);
  const run = runAsked(board, date, now);
  // Read before it is known whether the run is final, as in readLeaderboard.
  const open = await groupSizes(engine, tenant, board, run);
  const sizes = (await isFinal(stores, tenant, { board, run, now }))
    ? await boards.groups(tenant, { leaderboard: board.no, run }, page)
    : open.sort(bySize).slice(page.skip, page.skip + page.limit);
  return sizes.map(({ group, participants }) => ({ attributes: groupAttributes(config, board, group), participants }));
}

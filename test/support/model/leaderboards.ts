/** Rules "Leaderboards": participants, ranks, and their changes. */
import type { Leaderboard } from '../../../src/config/schema/model.js';
import { add, amount, compare, shown, type Amount } from './decimal.js';
import { groupOf, isOpen, ranksGains, runAt, runFor, runFrom, sourceOf, finalisedAt, type Span } from './runs.js';
import { dayMs, dayOf } from './time.js';
import { shownLength } from './streaks.js';
import { localDayOf, type User } from './users.js';
import type { World } from './world.js';

/** A value that leaderboards rank has changed, or an event has counted without changing it. */
export interface Change {
  /** `metric:` or `points:` and the id, `streak:` and the frequency. */
  readonly source: string;
  readonly moment: number;
  readonly after: Amount;
  readonly gain: Amount;
  readonly isChanged: boolean;
  /** Whether there was no value before. */
  readonly isFirst?: boolean;
  /** World.sequence at which the value was reached. */
  readonly sequence: number;
}

/** A user's value in one run. */
interface Entry {
  readonly value: Amount;
  /** Of equal values, the lower sequence ranks first. */
  readonly sequence: number;
  readonly group: string;
}

export interface Place {
  readonly userId: string;
  readonly value: Amount;
  readonly group: string;
}

/** A user's rank and value as a participant. */
interface Held {
  readonly rank: number;
  readonly value: Amount;
}

/** What a user's own changes did on one local day: the place before the first of them, and after the last; null for a user without one. */
interface Day {
  readonly before: Held | null;
  readonly after: Held | null;
  /** The moment of the last change. */
  readonly at: number;
}

export interface Run {
  /** Its first day. Its last can change with the end of the board. */
  readonly first: number;
  readonly entries: Map<string, Entry>;
  /** By the user's id and the local day. */
  readonly history: Map<string, Map<number, Day>>;
  /** The final rankings; null until the run is finalised. */
  final: readonly Place[] | null;
}

export interface BoardState {
  /** By the first local day. */
  readonly runs: Map<number, Run>;
  /** Whether users with an earlier value were entered since the last activation. */
  isFilled: boolean;
}

/** A user's place before and after something happened, on the board of the group that the user is in afterwards. */
export interface Move {
  readonly board: Leaderboard;
  readonly span: Span;
  readonly group: string;
  readonly previousRank: number | null;
  readonly rank: number | null;
  readonly threshold: number;
}

export function stateOf(world: World, board: Leaderboard): BoardState {
  let state = world.boards.get(board.id);
  if (!state) {
    state = { runs: new Map(), isFilled: false };
    world.boards.set(board.id, state);
  }
  return state;
}

function runOf(world: World, board: Leaderboard, span: Span): Run {
  const { runs } = stateOf(world, board);
  let run = runs.get(span.first);
  if (!run) {
    run = { first: span.first, entries: new Map(), history: new Map(), final: null };
    runs.set(span.first, run);
  }
  return run;
}

const byPlace = ([, a]: [string, Entry], [, b]: [string, Entry]): number => compare(b.value, a.value) || a.sequence - b.sequence;

/** The best of one group that the participant limit lets on the board, the first place first. */
function participants(board: Leaderboard, run: Run, group: string): [string, Entry][] {
  return [...run.entries]
    .filter(([, entry]) => entry.group === group)
    .sort(byPlace)
    .slice(0, board.maxParticipants);
}

/** The rankings of one group in a run: the final ones once there are any. */
export function places(board: Leaderboard, run: Run | undefined, group: string): Place[] {
  if (!run) return [];
  if (run.final) return run.final.filter((place) => place.group === group);
  return participants(board, run, group).map(([userId, { value }]) => ({ userId, value, group }));
}

function rankOf(board: Leaderboard, run: Run, userId: string, group: string): number | null {
  const index = participants(board, run, group).findIndex(([id]) => id === userId);
  return index < 0 ? null : index + 1;
}

/** The user's place in whatever group the user is. */
function heldBy(board: Leaderboard, run: Run, userId: string): Held | null {
  const entry = run.entries.get(userId);
  const rank = entry ? rankOf(board, run, userId, entry.group) : null;
  return entry && rank !== null ? { rank, value: entry.value } : null;
}

/** Rule "history": adds a change to the user's local day. A user who is no participant before and after has none. */
function note(world: World, run: Run, user: User, before: Held | null, after: Held | null): void {
  if (before === null && after === null) return;
  const day = localDayOf(user, world.now);
  const days = run.history.get(user.id) ?? new Map<number, Day>();
  const earlier = days.get(day);
  days.set(day, { before: earlier ? earlier.before : before, after, at: world.now });
  run.history.set(user.id, days);
}

/** Sets a user's value or group in a run. Returns the change of rank; null without a rank before and after. */
function put(world: World, { board, run, user }: { board: Leaderboard; run: Run; user: User }, next: Entry): Move | null {
  const { value, group } = next;
  const before = heldBy(board, run, user.id);
  const previousRank = rankOf(board, run, user.id, group);
  run.entries.delete(user.id);
  const isLost = board.rankBy === 'streak' && value === 0n;
  if (!isLost) run.entries.set(user.id, next);
  const after = heldBy(board, run, user.id);
  note(world, run, user, before, after);
  const rank = after?.rank ?? null;
  if (isLost || (rank === null && previousRank === null)) return null;
  return { board, span: runFrom(board, run.first), group, previousRank, rank, threshold: thresholdOf(board, run, group) };
}

/** The value of the last place of a full board, 0 while there is room. */
function thresholdOf(board: Leaderboard, run: Run, group: string): number {
  const list = participants(board, run, group);
  const last = list.at(-1);
  return last && list.length >= board.maxParticipants ? shown(last[1].value) : 0;
}

/** Enters one change on one board. */
function enter(world: World, board: Leaderboard, user: User, change: Change): Move | null {
  const span = runFor(board, user, change.moment);
  const group = groupOf(board, user);
  if (!span || group === null) return null;
  const run = runOf(world, board, span);
  const known = run.entries.get(user.id);
  if (run.final) return null;
  if (!ranksGains(board))
    return change.isChanged ? put(world, { board, run, user }, { value: change.after, sequence: change.sequence, group }) : null;
  if (known && change.gain === 0n) return null;
  world.sequence += 1;
  return put(world, { board, run, user }, { value: add(known?.value ?? 0n, change.gain), sequence: world.sequence, group });
}

/** What a board that ranks totals would say of a user: the total; null for a user without one. */
function totalOf(world: World, board: Leaderboard, user: User): Amount | null {
  switch (board.rankBy) {
    case 'metric':
      return user.totals.get(board.metricId) ?? null;
    case 'points': {
      const state = user.points.get(board.pointsSystemId);
      return state ? amount(state.total) : null;
    }
    case 'streak': {
      const length = shownLength(world, user);
      return length > 0 ? amount(length) : null;
    }
  }
}

/** Rule "Breakdown": a user whose attributes have changed enters the new group's board, with the value, as a newcomer. */
function regroup(world: World, board: Leaderboard, user: User): Move | null {
  const span = runAt(board, localDayOf(user, world.now));
  const group = groupOf(board, user);
  if (!span || group === null) return null;
  const run = runOf(world, board, span);
  const known = run.entries.get(user.id);
  const value = known?.value ?? (ranksGains(board) ? null : totalOf(world, board, user));
  if (run.final || value === null || known?.group === group) return null;
  world.sequence += 1;
  return put(world, { board, run, user }, { value, sequence: world.sequence, group });
}

/** The group of a user on every open board, by the board's id. */
export const groupsOf = (world: World, user: User): ReadonlyMap<string, string | null> =>
  new Map(world.config.leaderboards.filter(isOpen).map((board) => [board.id, groupOf(board, user)]));

/** The effect of several simultaneous changes of a total: intermediate values rank no user. */
function inOneStep(changes: readonly Change[]): Change[] {
  const [first, last] = [changes[0], changes.at(-1)];
  if (!first || !last || first === last) return [...changes];
  return [{ ...last, isChanged: first.isFirst === true || last.after !== add(first.after, -first.gain) }];
}

/**
 * Enters what happened to a user on all boards, in the order of the configuration. `groupsBefore` are those before the call, if it may
 * have changed attributes. Returns the user's place on each board on which something changed.
 */
export function enterChanges(world: World, user: User, changes: readonly Change[], groupsBefore = groupsOf(world, user)): Move[] {
  return world.config.leaderboards.filter(isOpen).flatMap((board) => {
    const source = sourceOf(board, world.config);
    const own = changes.filter((change) => change.source === source);
    const moves = (ranksGains(board) ? own : inOneStep(own)).flatMap((change) => enter(world, board, user, change) ?? []);
    if (groupsBefore.get(board.id) !== groupOf(board, user)) moves.push(...[regroup(world, board, user) ?? []].flat());
    const [first, last] = [moves[0], moves.at(-1)];
    return first && last ? [{ ...last, previousRank: first.previousRank }] : [];
  });
}

/**
 * Rule "Perpetual": enters the users who already have a value, in the order in which it was reached: also those who are on the board already
 * because the start came earlier where they are, or because it ranked another streak. Those who have no value any more leave.
 */
export function fill(world: World, board: Leaderboard): void {
  stateOf(world, board).isFilled = true;
  const span = runAt(board, Math.floor(world.now / dayMs));
  if (ranksGains(board) || !span) return;
  const run = runOf(world, board, span);
  const source = sourceOf(board, world.config);
  const users = [...world.users.values()].sort((a, b) => (a.reached.get(source) ?? 0) - (b.reached.get(source) ?? 0));
  for (const user of users) {
    const value = totalOf(world, board, user);
    const group = groupOf(board, user);
    if (value === null) run.entries.delete(user.id);
    if (value === null || group === null) continue;
    world.sequence += 1;
    run.entries.set(user.id, { value, group, sequence: world.sequence });
  }
  for (const user of users) showFilled(world, board, run, user);
}

/** Rule "Activation": a backfill is silent, and shows in the history of each participant the place that it led to. */
function showFilled(world: World, board: Leaderboard, run: Run, user: User): void {
  const held = heldBy(board, run, user.id);
  const last = [...(run.history.get(user.id) ?? [])].sort(([a], [b]) => a - b).at(-1)?.[1].after;
  if (held && (last?.rank !== held.rank || last.value !== held.value)) note(world, run, user, null, held);
}

/** When a board is filled: once it is open and its start has come in UTC; infinity if that is done, or there is nothing to fill with. */
export function fillsAt(world: World, board: Leaderboard): number {
  return isOpen(board) && !ranksGains(board) && !stateOf(world, board).isFilled ? dayOf(board.start) * dayMs : Infinity;
}

/** The next moment at which a run of a board is finalised; infinity for none. */
export function finalisesAt(world: World, board: Leaderboard): number {
  if (!isOpen(board)) return Infinity;
  return Math.min(
    Infinity,
    ...[...stateOf(world, board).runs.values()].filter(({ final }) => !final).map(({ first }) => finalisedAt(runFrom(board, first))),
  );
}

/** Finalises the runs of a board that are due. */
export function finalise(world: World, board: Leaderboard, now: number): void {
  for (const run of stateOf(world, board).runs.values()) {
    if (run.final || finalisedAt(runFrom(board, run.first)) > now) continue;
    const groups = [...new Set([...run.entries.values()].map(({ group }) => group))].sort();
    run.final = groups.flatMap((group) => places(board, run, group));
  }
}

/** Rule "Deleting": a deleted user leaves every run, and the ranks below move up, in final rankings too. */
export function leaveForGood(world: World, userId: string): void {
  for (const { runs } of world.boards.values()) {
    for (const run of runs.values()) {
      run.entries.delete(userId);
      run.history.delete(userId);
      run.final = run.final?.filter((place) => place.userId !== userId) ?? null;
    }
  }
}

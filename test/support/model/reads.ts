/** The reads of a history, and their arguments for both sides. */
import type { ConfigDocument, Leaderboard } from '../../../src/config/schema/model.js';
import { userAttributeValues } from './documents.js';
import { runAt, runNearest } from './runs.js';
import type { Operations } from './subject.js';
import { dateOf, dayMs, dayOf } from './time.js';
import { byId } from './world.js';

/** A read. `back` counts runs back from the current one. Boards are named by their position. */
export type Read =
  | { readonly read: 'user' | 'metrics' | 'webhooks'; readonly userId: string }
  | { readonly read: 'points'; readonly userId: string; readonly key: string; readonly awards: number }
  | { readonly read: 'levels'; readonly key: string }
  | { readonly read: 'achievements'; readonly userId: string; readonly includeIncomplete: boolean }
  | { readonly read: 'allAchievements' }
  | { readonly read: 'streak'; readonly userId: string; readonly historyPeriods: number }
  | { readonly read: 'streaks'; readonly userIds: readonly string[] }
  | { readonly read: 'leaderboards'; readonly includeFinished: boolean }
  | {
      readonly read: 'leaderboard';
      readonly board: number;
      /** Null reads without naming a run. */
      readonly back: number | null;
      readonly offset: number;
      readonly limit: number;
      readonly fromUser: string | null;
      /** The position of the group in the list of all combinations; null sends no userAttributes. */
      readonly group: number | null;
      /** Only these users; all of them without it. */
      readonly userIds?: readonly string[] | null;
    }
  | { readonly read: 'place'; readonly userId: string; readonly board: number; readonly back: number | null }
  | { readonly read: 'final'; readonly board: number; readonly back: number };

/** All combinations of the values of a board's breakdown attributes, as `userAttributes`. */
function groupsOf(config: ConfigDocument, board: Leaderboard): string[] {
  const keys = board.breakdownAttributes.map((id) => byId(config.attributes, id).key);
  const values: Readonly<Record<string, readonly string[]>> = userAttributeValues;
  return keys
    .map((key) => (values[key] ?? ['Lisbon']).map((value) => `${key}:${value}`))
    .reduce<string[]>((groups, pairs) => groups.flatMap((group) => pairs.map((pair) => (group === '' ? pair : `${group},${pair}`))), ['']);
}

/** The first date of a run, counted back from the one on the UTC date or the last; undefined if there are not so many, or none has begun. */
function runDate(board: Leaderboard, nowMs: number, back: number): string | undefined {
  const today = Math.floor(nowMs / dayMs);
  let span = today < dayOf(board.start) ? null : runNearest(board, today);
  for (let run = 0; run < back && span; run += 1) span = runAt(board, span.first - 1);
  return span ? dateOf(span.first) : undefined;
}

/** The names of operations that answer. */
type Asking = Exclude<keyof Operations, 'setNow' | 'drift' | 'configure' | 'activate'>;
/** One operation with its arguments. */
export type Ask = { [Name in Asking]: readonly [name: Name, ...args: Parameters<Operations[Name]>] }[Asking];

/** The operation of a read; undefined where there is no such board or run. */
export function askOf(config: ConfigDocument, nowMs: number, read: Read): Ask | undefined {
  switch (read.read) {
    case 'user':
      return ['user', read.userId];
    case 'metrics':
      return ['metrics', read.userId];
    case 'webhooks':
      return ['webhooks', read.userId];
    case 'points':
      return ['points', read.userId, read.key, read.awards];
    case 'levels':
      return ['levels', read.key];
    case 'achievements':
      return ['achievements', read.userId, read.includeIncomplete];
    case 'allAchievements':
      return ['allAchievements'];
    case 'streak':
      return ['streak', read.userId, read.historyPeriods];
    case 'streaks':
      return ['streaks', read.userIds];
    case 'leaderboards':
      return ['leaderboards', read.includeFinished];
    case 'leaderboard':
    case 'place':
    case 'final':
      return askOfBoard(config, nowMs, read);
  }
}

function askOfBoard(config: ConfigDocument, nowMs: number, read: Extract<Read, { board: number }>): Ask | undefined {
  const board = config.leaderboards[read.board % Math.max(1, config.leaderboards.length)];
  const run = board && read.back !== null ? runDate(board, nowMs, read.back) : undefined;
  if (!board || (read.back !== null && run === undefined)) return undefined;
  switch (read.read) {
    case 'leaderboard': {
      const { offset, limit } = read;
      const groups = groupsOf(config, board);
      const group = read.group === null ? undefined : groups[read.group % groups.length];
      const userAttributes = group === '' ? undefined : group;
      const userIds = read.userIds ?? undefined;
      return ['leaderboard', board.key, { run, offset, limit, userId: read.fromUser ?? undefined, userAttributes, userIds }];
    }
    case 'place':
      return run === undefined ? ['userLeaderboard', read.userId, board.key] : ['userLeaderboard', read.userId, board.key, run];
    case 'final':
      return run === undefined ? undefined : ['finalRankings', board.key, run];
  }
}

/** Everything that there is to read about some users, and all boards with their latest runs. */
export function allReads(config: ConfigDocument, userIds: readonly string[]): Read[] {
  const boards = config.leaderboards.map((board, index) => ({ board, index }));
  const ofUser = (userId: string): Read[] => [
    { read: 'user', userId },
    { read: 'metrics', userId },
    { read: 'webhooks', userId },
    ...config.pointsSystems.map(({ key }): Read => ({ read: 'points', userId, key, awards: 100 })),
    { read: 'achievements', userId, includeIncomplete: true },
    { read: 'streak', userId, historyPeriods: 30 },
    ...boards.flatMap(({ index }) => [null, 1].map((back): Read => ({ read: 'place', userId, board: index, back }))),
  ];
  const ofBoard = (board: Leaderboard, index: number): Read[] => [
    ...groupsOf(config, board).flatMap((_, group) =>
      [null, 0, 1, 2].map((back): Read => ({ read: 'leaderboard', board: index, back, offset: 0, limit: 100, fromUser: null, group })),
    ),
    ...[0, 1, 2, 3].map((back): Read => ({ read: 'final', board: index, back })),
  ];
  return [
    ...userIds.flatMap(ofUser),
    ...config.pointsSystems.map(({ key }): Read => ({ read: 'levels', key })),
    { read: 'allAchievements' },
    { read: 'streaks', userIds },
    { read: 'leaderboards', includeFinished: true },
    ...boards.flatMap(({ board, index }) => ofBoard(board, index)),
  ];
}

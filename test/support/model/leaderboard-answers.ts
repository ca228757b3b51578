/** Rules "Leaderboards": the shapes in which leaderboards and places on them are shown. */
import type { Leaderboard } from '../../../src/config/schema/model.js';
import { shown } from './decimal.js';
import { places, stateOf, type Move, type Place, type Run } from './leaderboards.js';
import { finalisedAt, groupNamed, isOpen, runAt, runNearest, type Span } from './runs.js';
import { dateOf, dayOf, instant, localDay } from './time.js';
import { localDayOf, type User } from './users.js';
import { byId, Refused, type World } from './world.js';

type Status = 'scheduled' | 'active' | 'finished';

/** Rule "States": by the UTC date. */
function statusOf(world: World, board: Leaderboard): Status {
  const today = dateOf(localDay('UTC', world.now));
  if (today < board.start) return 'scheduled';
  return board.end !== null && today > board.end ? 'finished' : 'active';
}

function rankedBody(world: World, board: Leaderboard): object {
  switch (board.rankBy) {
    case 'metric': {
      const { key, name } = byId(world.config.metrics, board.metricId);
      return { metricKey: key, metricName: name };
    }
    case 'points': {
      const { key, name } = byId(world.config.pointsSystems, board.pointsSystemId);
      return { pointsSystemKey: key, pointsSystemName: name };
    }
    case 'streak':
      return {};
  }
}

/** Rankings, and a user's place, say of what a board does not rank by that it is null (docs/rules/leaderboards.md). */
const rankedOrNull = (world: World, board: Leaderboard): object => ({
  ...{ metricKey: null, metricName: null, pointsSystemKey: null, pointsSystemName: null },
  ...rankedBody(world, board),
});

const breakdownKeys = (world: World, board: Leaderboard): string[] =>
  board.breakdownAttributes.map((id) => byId(world.config.attributes, id).key);

function boardBody(world: World, board: Leaderboard): object {
  const { id, name, key, rankBy, description, start, end, startTime, endTime, maxParticipants, runUnit, runInterval } = board;
  const keys = breakdownKeys(world, board);
  return {
    ...{ id, name, key, rankBy, status: statusOf(world, board) },
    ...{ breakdownAttribute: keys.length === 1 ? keys[0] : null, breakdownAttributes: keys },
    ...rankedBody(world, board),
    ...{ description, start, end, startTime, endTime, maxParticipants, runUnit, runInterval },
  };
}

/** The boards that a call changed, by key. `start` and `end` are those of the run. */
export function movesBody(world: World, moves: readonly Move[]): object {
  const blocks = moves.map(({ board, span, group, threshold, previousRank, rank }) => {
    const values = JSON.parse(group) as string[];
    const breakdown = breakdownKeys(world, board).map((key, index) => ({ key, value: values[index] }));
    return [
      board.key,
      {
        ...boardBody(world, board),
        start: dateOf(span.first),
        end: span.last === null ? null : dateOf(span.last),
        ...(breakdown.length === 1 ? { breakdownAttributeValue: breakdown[0]?.value } : {}),
        ...(breakdown.length > 0 ? { breakdownAttributeValues: breakdown } : {}),
        ...{ threshold, previousRank, rank },
      },
    ] as const;
  });
  return Object.fromEntries(blocks);
}

/** The leaderboards that users see: running and scheduled ones, and finished ones on request. */
export const boardsBody = (world: World, includeFinished: boolean): object[] =>
  world.config.leaderboards
    .filter((board) => isOpen(board) && (includeFinished || statusOf(world, board) !== 'finished'))
    .map((board) => boardBody(world, board));

export interface Page {
  /** A run by its first date; the one on the UTC date, or the last, without. */
  readonly run?: string | undefined;
  readonly offset?: number | undefined;
  readonly limit?: number | undefined;
  /** The offset counts from this user's place. */
  readonly userId?: string | undefined;
  /** `key:value`, with a comma between two. */
  readonly userAttributes?: string | undefined;
  /** Only these users. */
  readonly userIds?: readonly string[] | undefined;
}

/** The run that a caller names by a date in it. A board that does not repeat has one, whatever the date. */
function spanNamed(board: Leaderboard, date: string): Span {
  const span = runAt(board, dayOf(board.runUnit === null ? board.start : date));
  if (!span) throw new Refused(422, `there is no run ${date}`);
  return span;
}

/** The run that rankings, and a user's place, are of. */
const runBody = (span: Span | null): object => ({
  runStart: span && dateOf(span.first),
  runEnd: typeof span?.last === 'number' ? dateOf(span.last) : null,
});

const ranked = (list: readonly Place[]): { userId: string; rank: number; value: number }[] =>
  list.map(({ userId, value }, index) => ({ userId, rank: index + 1, value: shown(value) }));

/** Those of a list of users, with their rank among themselves. */
const listed = <Row extends { userId: string }>(rows: readonly Row[], userIds: readonly string[]): (Row & { rankInList: number })[] =>
  rows.filter(({ userId }) => userIds.includes(userId)).map((row, index) => ({ ...row, rankInList: index + 1 }));

/** A page of a group's rankings in a run. A page from a user without a rank has no rows. */
export function rankingsBody(world: World, board: Leaderboard, page: Page): object {
  const group = groupNamed(world.config, board, page.userAttributes);
  if (group === null) throw new Refused(422, 'userAttributes must name the group');
  const span = page.run === undefined ? runNearest(board, localDay('UTC', world.now)) : spanNamed(board, page.run);
  const all = span ? ranked(places(board, stateOf(world, board).runs.get(span.first), group)) : [];
  const rows = page.userIds ? listed(all, page.userIds) : all;
  const place = page.userId === undefined ? 0 : rows.findIndex(({ userId }) => userId === page.userId);
  const from = place < 0 ? rows.length : place + (page.offset ?? 0);
  const rankings = rows
    .slice(from, from + (page.limit ?? 10))
    .map((row) => ({ ...row, userName: world.users.get(row.userId)?.name || null }));
  return { ...boardBody(world, board), ...rankedOrNull(world, board), ...runBody(span), rankings };
}

/** The last ten days on which the user's own changes changed the rank or value, oldest first. */
function historyOf(run: Run | null | undefined, userId: string): object[] {
  const days = [...(run?.history.get(userId) ?? [])].sort(([a], [b]) => a - b).slice(-10);
  return days.map(([day, { before, after, at }]) => ({
    date: dateOf(day),
    timestamp: instant(at),
    previousRank: before?.rank ?? null,
    rank: after?.rank ?? null,
    previousValue: before ? shown(before.value) : null,
    value: after ? shown(after.value) : null,
  }));
}

/** A user's place in a run: the one on the user's local date, or the last, if none is named. */
export function placeBody(world: World, board: Leaderboard, user: User, run: string | undefined): object {
  const span = run === undefined ? runNearest(board, localDayOf(user, world.now)) : spanNamed(board, run);
  const state = span && stateOf(world, board).runs.get(span.first);
  const group = state?.final?.find(({ userId }) => userId === user.id)?.group ?? state?.entries.get(user.id)?.group;
  const row = state && group !== undefined ? ranked(places(board, state, group)).find(({ userId }) => userId === user.id) : undefined;
  const place = { rank: row?.rank ?? null, value: row?.value ?? null, history: historyOf(state, user.id) };
  return { ...boardBody(world, board), ...rankedOrNull(world, board), ...runBody(span), ...place };
}

/** The final rankings of a run, group by group; a 404 until it is finalised. */
export function finalBody(world: World, board: Leaderboard, date: string): object {
  const span = spanNamed(board, date);
  if (finalisedAt(span) > world.now) throw new Refused(404, 'the run is not final yet');
  const final = stateOf(world, board).runs.get(span.first)?.final ?? [];
  const groups = [...new Set(final.map(({ group }) => group))];
  const rankings = groups.flatMap((group) =>
    ranked(final.filter((place) => place.group === group)).map((row) => ({ group: JSON.parse(group) as string[], ...row })),
  );
  return { rankings };
}

import { z } from 'zod';
import type { Leaderboard } from '../config/schema/model.js';
import { type ActiveConfig, mustGet } from '../plan/active-config.js';
import { dateToDay, dayMs, dayToDate, firstDayOf, periodOf } from '../shared/calendar.js';
import { limits } from '../shared/limits.js';
import { attributeShape, dateShape, instantShape, timeShape } from '../shared/shapes.js';

const firstOfMonth = (month: number): number => firstDayOf('monthly', month, 0);

/** The day that lies so many months after another; the last one of the month where it lacks such a day. */
function plusMonths(day: number, months: number): number {
  const month = periodOf('monthly', day, 0);
  const daysBefore = day - firstOfMonth(month);
  return Math.min(firstOfMonth(month + months) + daysBefore, firstOfMonth(month + months + 1) - 1);
}

/** The first day of run number `count` of a repeating leaderboard; months and years are added to its start (docs/rules/leaderboards.md). */
function runStart(board: Leaderboard, count: number): number {
  const start = dateToDay(board.start);
  const units = count * board.runInterval;
  switch (board.runUnit) {
    case 'month':
      return plusMonths(start, units);
    case 'year':
      return plusMonths(start, 12 * units);
    default:
      return start + units;
  }
}

/** Which run a day is in, counted from 0; below 0 before the start. */
function runCount(board: Leaderboard, day: number): number {
  const days = day - dateToDay(board.start);
  const averageDays = { day: 1, month: 30.436875, year: 365.2425 }[board.runUnit ?? 'day'] * board.runInterval;
  let count = Math.floor(days / averageDays);
  while (runStart(board, count) > day) count -= 1;
  while (runStart(board, count + 1) <= day) count += 1;
  return count;
}

/** The first day of the run that a day is in. */
export function runOf(board: Leaderboard, day: number): number {
  return runStart(board, runCount(board, day));
}

/** The first day after a run, which is named by its first day. */
export function runEnd(board: Leaderboard, run: number): number {
  return runStart(board, runCount(board, run) + 1);
}

/** The first day after a leaderboard, in days since 1970-01-01; infinity for one without an end. */
export const boardEnd = ({ end }: Leaderboard): number => (end === null ? Infinity : dateToDay(end) + 1);

/** The first day after a run, or after its leaderboard where that ends earlier; infinity for never. */
function overFrom(board: Leaderboard, run: number): number {
  return Math.min(board.runUnit === null ? Infinity : runEnd(board, run), boardEnd(board));
}

/** The moment from which on the rankings of a run are final (docs/rules/leaderboards.md), in milliseconds since 1970. */
export const finalFrom = (board: Leaderboard, run: number): number => overFrom(board, run) * dayMs + limits.finalisationDelayMs;

/** The runs that begin within the days from `first` to `last`, as first days. */
export function runsBetween(board: Leaderboard, first: number, last: number): number[] {
  const runs: number[] = [];
  for (let count = Math.max(runCount(board, first), 0); runStart(board, count) <= last; count += 1) runs.push(runStart(board, count));
  return runs.filter((run) => dayToDate(run) >= board.start && (board.end === null || dayToDate(run) <= board.end));
}

/** The contract's `LeaderboardResponse`, with the status that it requires. */
export const leaderboardShape = z
  .object({
    id: z.string(),
    key: z.string(),
    name: z.string(),
    description: z.string().nullable(),
    rankBy: z.enum(['metric', 'points', 'streak']),
    status: z.enum(['inactive', 'scheduled', 'active', 'finished']),
    metricKey: z.string().optional(),
    metricName: z.string().optional(),
    pointsSystemKey: z.string().optional(),
    pointsSystemName: z.string().optional(),
    breakdownAttribute: z.string().nullable().meta({ deprecated: true, description: 'Use `breakdownAttributes`.' }),
    breakdownAttributes: z
      .array(z.string())
      .meta({ description: 'Keys of user attributes: one board for each combination of their values.' }),
    start: dateShape,
    end: dateShape.nullable(),
    startTime: timeShape.nullable(),
    endTime: timeShape.nullable(),
    maxParticipants: z.number().int(),
    runUnit: z.enum(['day', 'month', 'year']).nullable(),
    runInterval: z.number().int().meta({ description: '0 for a leaderboard that does not repeat.' }),
  })
  .meta({ id: 'Leaderboard' });
export type LeaderboardResponse = z.infer<typeof leaderboardShape>;

/** What a leaderboard ranks by, with null for what does not apply (docs/rules/leaderboards.md). The contract leaves it out. */
const rankedShape = {
  metricKey: z.string().nullable(),
  metricName: z.string().nullable(),
  pointsSystemKey: z.string().nullable(),
  pointsSystemName: z.string().nullable(),
};

/** The run that a read is of: the contract leaves it out, and has the leaderboard's own dates in `start` and `end`. */
const readRunShape = {
  runStart: dateShape.meta({ description: 'The first day of the run that was read; `start` for a leaderboard that does not repeat.' }),
  runEnd: dateShape.nullable().meta({ description: 'Its last day; `end` for a leaderboard that does not repeat.' }),
};

/** The contract's `LeaderboardRanking`. */
export const rankingShape = z
  .object({
    userId: z.string(),
    userName: z.string().nullable(),
    rank: z.number().int(),
    value: z.number(),
    rankInList: z.number().int().optional().meta({ description: 'With `userIds`: the rank among these users.' }),
  })
  .meta({ id: 'LeaderboardRanking' });

/** The contract's `LeaderboardResponseWithRankings`. */
export const rankingsShape = leaderboardShape
  .extend({ ...rankedShape, ...readRunShape, rankings: z.array(rankingShape) })
  .meta({ id: 'LeaderboardWithRankings' });
export type RankingsResponse = z.infer<typeof rankingsShape>;

const dayShape = z
  .object({
    date: dateShape.meta({ description: "The user's local date." }),
    timestamp: instantShape.meta({ deprecated: true }),
    previousRank: z.number().int().nullable(),
    rank: z.number().int().nullable(),
    previousValue: z.number().nullable(),
    value: z.number().nullable(),
  })
  .meta({ id: 'LeaderboardDay' });

/** The contract's `UserLeaderboardResponseWithHistory`. */
export const userLeaderboardShape = leaderboardShape
  .extend({
    ...rankedShape,
    ...readRunShape,
    rank: z.number().int().nullable().meta({ description: 'Null for a user who has no value, or is beyond `maxParticipants`.' }),
    value: z.number().nullable(),
    history: z.array(dayShape).meta({ description: 'The days on which the user moved, oldest first.' }),
  })
  .meta({ id: 'UserLeaderboard' });

/** The contract's `MetricEventLeaderboardResponse`. */
export const eventLeaderboardShape = leaderboardShape
  .extend({
    breakdownAttributeValue: z.string().optional().meta({ deprecated: true, description: 'Use `breakdownAttributeValues`.' }),
    breakdownAttributeValues: z.array(attributeShape).optional(),
    threshold: z.number().meta({ description: 'The value that a newcomer has to beat; 0 while there is room.' }),
    previousRank: z.number().int().nullable(),
    rank: z.number().int().nullable().meta({ description: 'Null for a user whom the event left beyond `maxParticipants`.' }),
  })
  .meta({ id: 'EventLeaderboard' });
type EventLeaderboardResponse = z.infer<typeof eventLeaderboardShape>;

/** A leaderboard, and a group of it. */
type BoardRunResponse = LeaderboardResponse & Pick<EventLeaderboardResponse, 'breakdownAttributeValue' | 'breakdownAttributeValues'>;

export type LeaderboardStatus = LeaderboardResponse['status'];

/**
 * What a leaderboard is on a date, `YYYY-MM-DD`: an active one is scheduled before its start and finished after its end (docs/rules/leaderboards.md).
 */
export function statusOn(board: Leaderboard, today: string): LeaderboardStatus {
  if (board.status === 'inactive') return 'inactive';
  if (today < board.start) return 'scheduled';
  if (board.end !== null && today > board.end) return 'finished';
  return 'active';
}

function ranked(config: ActiveConfig, board: Leaderboard): Partial<Record<keyof typeof unranked, string>> {
  switch (board.rankBy) {
    case 'metric': {
      const metric = mustGet(config.metricById, board.metricId, 'metric');
      return { metricKey: metric.key, metricName: metric.name };
    }
    case 'points': {
      const system = mustGet(config.systemById, board.pointsSystemId, 'points system');
      return { pointsSystemKey: system.key, pointsSystemName: system.name };
    }
    case 'streak':
      return {};
  }
}

/** What a leaderboard ranks by, with null for what does not apply (docs/rules/leaderboards.md). */
export const rankedResponse = (config: ActiveConfig, board: Leaderboard): Pick<RankingsResponse, keyof typeof unranked> => ({
  ...unranked,
  ...ranked(config, board),
});
const unranked = { metricKey: null, metricName: null, pointsSystemKey: null, pointsSystemName: null };

/** The run that a read is of. */
export function readRunResponse(board: Leaderboard, run: number): Pick<RankingsResponse, keyof typeof readRunShape> {
  const { start: runStart, end: runEnd } = runDates(board, run);
  return { runStart, runEnd };
}

/** The contract's `LeaderboardResponse`, with the status that it requires. A perpetual leaderboard has `runInterval` 0 (docs/rules/leaderboards.md). */
export function leaderboardResponse(config: ActiveConfig, board: Leaderboard, today: string): LeaderboardResponse {
  const breakdown = board.breakdownAttributes.map((id) => mustGet(config.attributeById, id, 'attribute').key);
  return {
    id: board.id,
    name: board.name,
    key: board.key,
    rankBy: board.rankBy,
    status: statusOn(board, today),
    breakdownAttribute: breakdown.length === 1 ? (breakdown[0] ?? null) : null,
    breakdownAttributes: breakdown,
    ...ranked(config, board),
    description: board.description,
    start: board.start,
    end: board.end,
    startTime: board.startTime,
    endTime: board.endTime,
    maxParticipants: board.maxParticipants,
    runUnit: board.runUnit,
    runInterval: board.runInterval,
  };
}

/** The attribute values that a group stands for: each as its length in bytes, a colon and the value, in the order of the breakdown. */
export function groupValues(group: string): string[] {
  const values: string[] = [];
  let rest = Buffer.from(group);
  while (rest.length > 0) {
    const colon = rest.indexOf(':');
    const end = colon + 1 + Number(rest.subarray(0, colon).toString());
    values.push(rest.subarray(colon + 1, end).toString());
    rest = rest.subarray(end);
  }
  return values;
}

/** The start of a text that takes at most so many bytes, without half a character at its end. */
function startOf(text: string, bytes: number): Buffer {
  const whole = Buffer.from(text);
  let end = bytes;
  while (end > 0 && ((whole[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return whole.subarray(0, end);
}

/** The group of attribute values, the reverse of groupValues. Of long values only the starts count, as in lua/modules/boards.lua. */
export function groupOf(values: readonly string[]): string {
  const most = Math.floor(limits.maxGroupBytes / values.length);
  return values
    .map((value) => startOf(value, most))
    .map((start) => `${start.length}:${start.toString()}`)
    .join('');
}

/** The attributes of a group, in the order of the breakdown. */
export function groupAttributes(config: ActiveConfig, board: Leaderboard, group: string): { key: string; value: string }[] {
  return groupValues(group).map((value, i) => ({
    key: mustGet(config.attributeById, board.breakdownAttributes[i] ?? '', 'attribute').key,
    value,
  }));
}

function breakdownBlock(config: ActiveConfig, board: Leaderboard, group: string | undefined): Partial<BoardRunResponse> {
  if (group === undefined) return {};
  const values = groupAttributes(config, board, group);
  return { ...(values.length === 1 ? { breakdownAttributeValue: values[0]?.value } : {}), breakdownAttributeValues: values };
}

/** The first and last date of a run; those of the leaderboard when it does not repeat. */
export function runDates(board: Leaderboard, run: number): { readonly start: string; readonly end: string | null } {
  if (board.runUnit === null) return { start: board.start, end: board.end };
  return { start: dayToDate(run), end: dayToDate(overFrom(board, run) - 1) };
}

/** A leaderboard, with the dates of a run and the values of a group. */
export function boardRunResponse(
  config: ActiveConfig,
  { board, run, group }: { readonly board: Leaderboard; readonly run: number; readonly group: string | undefined },
  today: string,
): BoardRunResponse {
  return { ...leaderboardResponse(config, board, today), ...runDates(board, run), ...breakdownBlock(config, board, group) };
}

import { dayToDate } from '../calendar.js';
import type { Leaderboard } from '../config/model.js';
import type { BoardFact } from '../ledger/entry.js';
import { limits } from '../limits.js';
import { known, type ActiveConfig } from '../plan/active-config.js';
import { runEnd } from './runs.js';
import type { EventLeaderboardResponse, LeaderboardResponse, RankingsResponse } from './shapes.js';

/** A leaderboard, and of which group of it something is told. */
type BoardRunResponse = LeaderboardResponse & Pick<EventLeaderboardResponse, 'breakdownAttributeValue' | 'breakdownAttributeValues'>;

export type LeaderboardStatus = LeaderboardResponse['status'];

/**
 * What a leaderboard is on a date, `YYYY-MM-DD`: an active one is scheduled before its start and finished after its end (spec, "States
 * and transitions").
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
      const metric = known(config.metricById, board.metricId, 'metric');
      return { metricKey: metric.key, metricName: metric.name };
    }
    case 'points': {
      const system = known(config.systemById, board.pointsSystemId, 'points system');
      return { pointsSystemKey: system.key, pointsSystemName: system.name };
    }
    case 'streak':
      return {};
  }
}

/** What a leaderboard ranks by, with null for what does not apply (spec, "Leaderboard from the rankings call"). */
export const rankedResponse = (config: ActiveConfig, board: Leaderboard): Pick<RankingsResponse, keyof typeof unranked> => ({
  ...unranked,
  ...ranked(config, board),
});
const unranked = { metricKey: null, metricName: null, pointsSystemKey: null, pointsSystemName: null };

/** The contract's `LeaderboardResponse`, with the status that it requires. A perpetual leaderboard has `runInterval` 0 (the spec). */
export function leaderboardResponse(config: ActiveConfig, board: Leaderboard, today: string): LeaderboardResponse {
  const breakdown = board.breakdownAttributes.map((id) => known(config.attributeById, id, 'attribute').key);
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

/** The group of attribute values, as groupValues takes it apart. Of long ones the starts count, as in lua/modules/leaderboards.lua. */
export function groupOf(values: readonly string[]): string {
  const most = Math.floor(limits.maxGroupBytes / values.length);
  return values
    .map((value) => startOf(value, most))
    .map((start) => `${start.length}:${start.toString()}`)
    .join('');
}

function breakdownBlock(config: ActiveConfig, board: Leaderboard, group: string | undefined): Partial<BoardRunResponse> {
  if (group === undefined) return {};
  const values = groupValues(group).map((value, i) => ({
    key: known(config.attributeById, board.breakdownAttributes[i] ?? '', 'attribute').key,
    value,
  }));
  return { ...(values.length === 1 ? { breakdownAttributeValue: values[0]?.value } : {}), breakdownAttributeValues: values };
}

/** The first date of the run that a fact is of, and its last; those of the leaderboard when it does not repeat. */
function eventDates(board: Leaderboard, run: number): Partial<LeaderboardResponse> {
  if (board.runUnit === null) return {};
  const last = dayToDate(runEnd(board, run) - 1);
  return { start: dayToDate(run), end: board.end !== null && board.end < last ? board.end : last };
}

/** A leaderboard as one run and group of it is shown where nobody has asked for these: with the dates of the run, and the values of the group. */
export function boardRunResponse(
  config: ActiveConfig,
  board: Leaderboard,
  run: number,
  group: string | undefined,
  today: string,
): BoardRunResponse {
  return { ...leaderboardResponse(config, board, today), ...eventDates(board, run), ...breakdownBlock(config, board, group) };
}

/** A leaderboard's block in the response to an event. */
export function eventLeaderboardResponse(config: ActiveConfig, fact: BoardFact, today: string): EventLeaderboardResponse {
  const board = known(config.leaderboardByNo, fact.no, 'leaderboard');
  return {
    ...boardRunResponse(config, board, fact.run, fact.group, today),
    threshold: fact.threshold,
    previousRank: fact.previousRank ?? null,
    rank: fact.rank ?? null,
  };
}

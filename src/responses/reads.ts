import type { Achievement, Metric, PointsSystem } from '../config/schema/model.js';
import type { FinalRanking, HistoryDay } from '../history/reader.js';
import type { RecentAward } from '../history/recent-awards.js';
import type { ActiveConfig } from '../plan/active-config.js';
import { JsonText } from '../shared/json.js';
import { awardJson } from './events.js';
import { levelAt } from './points.js';
import { PreparedJson } from './prepared.js';
import { instant } from './users.js';

/*
 * Responses to the most frequent reads, put together from what is prepared of the configuration: a page of a leaderboard would otherwise be
 * hundreds of objects that are made only to be serialized.
 */

/** Rows of a leaderboard in the order of ranks, as the function library packs them. */
export interface RankingRows {
  readonly firstRank: number;
  /** Users and their values, as text, alternating. */
  readonly usersAndValues: readonly string[];
  /** The users' names; false for a user without one. */
  readonly names: readonly (string | false)[];
}

/** An empty name is none (docs/rules/users.md). */
const openRankingJson = (user: string, name: string | null | false, rank: number, value: number): string =>
  `{"userId":${JSON.stringify(user)},"userName":${name ? JSON.stringify(name) : 'null'},"rank":${rank},"value":${value}`;

/** The same rows as objects. */
export const rowsOf = ({ firstRank, usersAndValues, names }: RankingRows): RankingRow[] =>
  names.map((name, i) => ({
    userId: usersAndValues[2 * i] ?? '',
    userName: name || null,
    rank: firstRank + i,
    value: Number(usersAndValues[2 * i + 1]),
  }));

/** The contract's `LeaderboardResponseWithRankings`; `open` is the leaderboard (PreparedJson.openRankedBoard). */
export function rankingsJson(open: string, { firstRank, usersAndValues, names }: RankingRows): JsonText {
  let rows = '';
  for (let i = 0; 2 * i < usersAndValues.length; i += 1) {
    if (i > 0) rows += ',';
    rows += `${openRankingJson(usersAndValues[2 * i] ?? '', names[i] ?? null, firstRank + i, Number(usersAndValues[2 * i + 1]))}}`;
  }
  return new JsonText(`${open},"rankings":[${rows}]}`);
}

/** A row of the final rankings of a run, or of a list of users, who also have a rank among themselves. */
export type RankingRow = FinalRanking & { readonly rankInList?: number };

/** The same from rows. */
export function rankingRowsJson(open: string, rankings: readonly RankingRow[]): JsonText {
  return new JsonText(`${open},"rankings":[${rankings.map((row) => `${openRowJson(row)}}`).join()}]}`);
}

/** A row without its closing brace. */
export const openRowJson = ({ userId, userName, rank, value, rankInList }: RankingRow): string =>
  openRankingJson(userId, userName, rank, value) + (rankInList === undefined ? '' : `,"rankInList":${rankInList}`);

/** The texts of histories by their rows, which are cached (history/recent-rows.ts). */
const historyTexts = new WeakMap<readonly HistoryDay[], string>();

function historyJson(days: readonly HistoryDay[]): string {
  let text = historyTexts.get(days);
  if (text === undefined) {
    text = JSON.stringify(days.map(({ at, ...day }) => ({ ...day, timestamp: at.toISOString() })));
    historyTexts.set(days, text);
  }
  return text;
}

/** The contract's `UserLeaderboardResponseWithHistory`; `place` is undefined for a user who is not in the rankings. */
export function userLeaderboardJson(
  open: string,
  place: { readonly rank: number | null; readonly value: number | null } | undefined,
  days: readonly HistoryDay[],
): JsonText {
  const { rank = null, value = null } = place ?? {};
  return new JsonText(`${open},"rank":${rank},"value":${value},"history":${historyJson(days)}}`);
}

/** The contract's `GetUserPointsResponse`. */
export function userPointsJson(
  config: ActiveConfig,
  system: PointsSystem,
  { total, awards }: { readonly total: number; readonly awards: readonly RecentAward[] },
): JsonText {
  const prepared = PreparedJson.of(config);
  const level = levelAt(system, total);
  const list = awards.map(({ id, award }) => awardJson(prepared, id, award)).join();
  return new JsonText(
    `${prepared.openSystem.get(system.no)},"total":${total},"level":${level ? prepared.level.get(level.no) : 'null'},"awards":[${list}]}`,
  );
}

/** The contract's `MetricResponse`, with the metric's achievements that the user sees. `completed` is achievement `no` → moment of completion. */
export function metricJson(
  config: ActiveConfig,
  metric: Metric,
  user: { readonly current: number; readonly shown: readonly Achievement[]; readonly completed: ReadonlyMap<number, number> },
): JsonText {
  const prepared = PreparedJson.of(config);
  const achievements = user.shown.map(({ no }) => {
    const at = user.completed.get(no);
    return `${prepared.openAchievement.get(no)},"achievedAt":${at === undefined ? 'null' : `"${instant(at)}"`}}`;
  });
  return new JsonText(`${prepared.openMetric.get(metric.no)},"current":${user.current},"achievements":[${achievements.join()}]}`);
}

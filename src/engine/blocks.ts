import { completedResponse } from '../achievements/response.js';
import type { UserAchievementResponse } from '../achievements/shapes.js';
import { utcDate } from '../calendar.js';
import { eventLeaderboardResponse } from '../leaderboards/response.js';
import type { EventLeaderboardResponse } from '../leaderboards/shapes.js';
import type { BoardFact, EventEntry, UserEntry } from '../ledger/entry.js';
import { known, type ActiveConfig } from '../plan/active-config.js';
import { eventPointsResponse } from '../points/response.js';
import type { EventPointsResponse } from '../points/shapes.js';

/** What an entry changed, as the blocks of a response. */
type Entry = EventEntry | UserEntry;

/** The achievements that were completed, in order. */
export function completedBlock(config: ActiveConfig, { achieved = [], at }: Entry): UserAchievementResponse[] {
  return achieved.map((no) => completedResponse(config, known(config.achievementByNo, no, 'achievement'), at));
}

/** The points systems that changed, by key. */
export function pointsBlock(config: ActiveConfig, { points, id }: Entry): Record<string, EventPointsResponse> {
  return Object.fromEntries(
    points.map((fact) => [known(config.systemByNo, fact.no, 'points system').key, eventPointsResponse(config, id, fact)]),
  );
}

/**
 * The leaderboards on which the user's place changed, by key; not those on which the user is outside before and after. One entry can change a
 * board twice, as when the user moves to another group: what counts is where the user is in the end, and where in that group the user had
 * been before.
 */
export function leaderboardsBlock(config: ActiveConfig, { boards, at }: Entry): Record<string, EventLeaderboardResponse> {
  const today = utcDate(at);
  const before = new Map<string, number | undefined>();
  const last = new Map<string, BoardFact>();
  for (const fact of boards) {
    const { key } = known(config.leaderboardByNo, fact.no, 'leaderboard');
    const place = `${fact.no}:${fact.run}:${fact.group ?? ''}`;
    if (!before.has(place)) before.set(place, fact.previousRank);
    const { previousRank: _, ...rest } = fact;
    const previousRank = before.get(place);
    // A user without a value has left the group, and one without either rank was outside before and after.
    if (fact.value === undefined || (fact.rank === undefined && previousRank === undefined)) last.delete(key);
    else last.set(key, previousRank === undefined ? rest : { ...rest, previousRank });
  }
  return Object.fromEntries([...last].map(([key, fact]) => [key, eventLeaderboardResponse(config, fact, today)]));
}

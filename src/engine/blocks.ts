import { completedResponse } from '../achievements/response.js';
import { utcDate } from '../calendar.js';
import { eventLeaderboardResponse } from '../leaderboards/response.js';
import type { BoardFact, EventEntry, UserEntry } from '../ledger/entry.js';
import { known, type ActiveConfig } from '../plan/active-config.js';
import { eventPointsResponse } from '../points/response.js';

/** What an entry changed, as the blocks of a response. */
type Entry = EventEntry | UserEntry;

/** The achievements that were completed, in order. */
export function completedBlock(config: ActiveConfig, { achieved = [], at }: Entry): object[] {
  return achieved.map((no) => completedResponse(config, known(config.achievementByNo, no, 'achievement'), at));
}

/** The points systems that changed, by key. */
export function pointsBlock(config: ActiveConfig, { points, id }: Entry): object {
  return Object.fromEntries(
    points.map((fact) => [known(config.systemByNo, fact.no, 'points system').key, eventPointsResponse(config, id, fact)]),
  );
}

/** A value that found no room has changed nothing on the board. */
const isOnBoard = ({ rank, previousRank }: BoardFact): boolean => rank !== undefined || previousRank !== undefined;

/** The leaderboards that changed, by key. Of a board on which the user moved twice (to another group, then by the event) the last counts. */
export function leaderboardsBlock(config: ActiveConfig, { boards, at }: Entry): object {
  const today = utcDate(at);
  return Object.fromEntries(
    boards
      .filter(isOnBoard)
      .map((fact) => [known(config.leaderboardByNo, fact.no, 'leaderboard').key, eventLeaderboardResponse(config, fact, today)]),
  );
}

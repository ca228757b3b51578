import type { Leaderboard } from '../config/model.js';
import type { BoardFact } from '../ledger/entry.js';
import { known, type ActiveConfig } from '../plan/active-config.js';

export type LeaderboardStatus = 'inactive' | 'scheduled' | 'active' | 'finished';

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

function ranked(config: ActiveConfig, board: Leaderboard): object {
  switch (board.rankBy) {
    case 'metric': {
      const metric = known(config.metricById, board.metricId, 'metric');
      return { metricKey: metric.key, metricName: metric.name };
    }
    case 'points': {
      const system = known(config.systemById, board.pointsSystemId, 'points system');
      return { pointsSystemKey: system.key, pointsSystemName: system.name };
    }
  }
}

/** The contract's `LeaderboardResponse`, with the status that it requires. A perpetual leaderboard has `runInterval` 0 (the spec). */
export function leaderboardResponse(config: ActiveConfig, board: Leaderboard, today: string): object {
  return {
    id: board.id,
    name: board.name,
    key: board.key,
    rankBy: board.rankBy,
    status: statusOn(board, today),
    breakdownAttribute: null,
    breakdownAttributes: [],
    ...ranked(config, board),
    description: board.description,
    start: board.start,
    end: board.end,
    startTime: null,
    endTime: null,
    maxParticipants: board.maxParticipants,
    runUnit: null,
    runInterval: 0,
  };
}

/** A leaderboard's block in the response to an event. */
export function eventLeaderboardResponse(config: ActiveConfig, fact: BoardFact, today: string): object {
  return {
    ...leaderboardResponse(config, known(config.leaderboardByNo, fact.no, 'leaderboard'), today),
    threshold: fact.threshold,
    previousRank: fact.previousRank ?? null,
    rank: fact.rank,
  };
}

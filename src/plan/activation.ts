/** What decides which users a backfill enters into an object that is active (jobs/activations.ts). */
import { createHash } from 'node:crypto';
import type { Achievement, ConfigDocument, Leaderboard } from '../config/schema/model.js';
import { boardKind } from './boards.js';

/** Stands for a value: changes when it does. */
export const definitionOf = (value: unknown): string => createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 16);

/** Whether users can be entered into an achievement without an event: it is open, and no call completes it. */
export const entersAchievement = ({ archived, status, trigger }: Achievement): boolean =>
  !archived && status === 'active' && trigger !== 'api';

/** When it changes, all users are checked again. */
export function achievementDefinition(achievement: Achievement): string {
  const { trigger, userAttributes } = achievement;
  switch (achievement.trigger) {
    case 'metric':
      return definitionOf([trigger, achievement.metricId, achievement.metricValue, achievement.eventAttributes, userAttributes]);
    case 'streak':
      return definitionOf([trigger, achievement.streakLength, userAttributes]);
    case 'achievement':
      return definitionOf([trigger, achievement.achievementIds, userAttributes]);
    case 'anniversary':
      return definitionOf([trigger, achievement.anniversaryYears, userAttributes]);
    case 'api':
      return definitionOf([trigger]);
  }
}

/** Whether an open leaderboard ranks a value that users have anyway. Others start empty. */
export const entersBoard = (board: Leaderboard): boolean => !board.archived && board.status === 'active' && boardKind(board) !== 'gain';

/**
 * When it changes, all users are entered again: a leaderboard of streaks is refilled when the frequency changes, and is empty while streaks are
 * not enabled.
 */
export const boardDefinition = ({ rankBy }: Leaderboard, { streaks }: ConfigDocument): string =>
  rankBy !== 'streak' ? '' : streaks.enabled ? streaks.frequency : 'none';

/** The conditions of streaks: when they change, events already counted in the current period may extend the streak. */
export const conditionsDefinition = ({ streaks: { evaluationMode, metrics } }: ConfigDocument): string =>
  definitionOf([evaluationMode, metrics]);

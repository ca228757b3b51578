/**
 * Which place on a leaderboard is the first (docs/rules/leaderboards.md): the one with the highest value, and of equal values the one that was
 * reached first. lua/modules/boards.lua orders the sorted sets of Redis in the same way.
 */

/** A user's place on a leaderboard: the value, and the number in the tenant's sequence at which it was reached. */
export interface Place {
  readonly value: number;
  readonly seq: number;
}

/** SQL: orders rows of `leaderboard_entries`, the first place first. */
export const firstPlaceFirst = 'value desc, seq';

/** Whether a value ranks above another. */
export const ranksAbove = (value: number, other: number): boolean => value > other;

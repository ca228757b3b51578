/** How far users are, for messages to them and for the dashboard: without Node, because the page imports it. */
import { addDecimals } from './decimal.js';

/** The share of a target that is reached, from 0 to 1. */
export const shareOf = (current: number, target: number): number => (target <= 0 ? 1 : Math.min(Math.max(current / target, 0), 1));

export interface NextLevel<L> {
  readonly level: L;
  readonly missing: number;
  /** Of the way from the level that is reached to the next one, from 0 to 1. */
  readonly share: number;
}

/** The next of the levels of a points system, in any order; undefined at the highest one, and without levels. */
export function nextLevel<L extends { readonly points: number }>(levels: readonly L[], total: number): NextLevel<L> | undefined {
  const sorted = [...levels].sort((a, b) => a.points - b.points);
  const level = sorted.find(({ points }) => points > total);
  if (!level) return undefined;
  const from = sorted.findLast(({ points }) => points <= total)?.points ?? 0;
  return { level, missing: addDecimals(level.points, -total), share: shareOf(total - from, level.points - from) };
}

/** A period of a streak as GET /v1/users/{id}/streak lists it. */
interface StreakPeriod {
  /** 0: no streak in this period. */
  readonly length: number;
  readonly usedFreeze?: boolean | undefined;
  readonly usedPause: boolean;
  readonly resetAt?: string | undefined;
}

/** What happened to a streak in a period. `kept`: by a day off or a move. `open`: the current period, which the user can still extend. */
export type PeriodState = 'extended' | 'frozen' | 'paused' | 'kept' | 'open' | 'missed';

/** `before` is the period before it, if that is known. An extension makes the streak longer, unless it starts again after a reset. */
export function periodState(period: StreakPeriod, before: StreakPeriod | undefined, isCurrent: boolean): PeriodState {
  const { length, usedFreeze, usedPause, resetAt } = period;
  if (usedFreeze === true) return 'frozen';
  if (usedPause) return 'paused';
  if (length > 0) return length === before?.length && resetAt === undefined ? 'kept' : 'extended';
  return isCurrent ? 'open' : 'missed';
}

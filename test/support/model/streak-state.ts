/** What is stored of a user's streaks. */
import type { StreakSettings } from '../../../src/config/schema/model.js';
import type { Amount } from './decimal.js';
import type { Frequency } from './time.js';

export interface Pause {
  readonly id: string;
  /** Local dates, `YYYY-MM-DD`, both inclusive. */
  readonly start: string;
  readonly end: string;
}

/** What a user has chosen in place of the configured conditions. */
export interface PersonalConditions {
  readonly evaluationMode: StreakSettings['evaluationMode'];
  readonly metrics: StreakSettings['metrics'];
}

/** How a period went. Periods without one were not kept. */
export interface Kept {
  readonly length: number;
  readonly usedFreeze: boolean;
  readonly usedPause: boolean;
  /** When it was last reset in the period. */
  readonly resetAt?: string;
}

export interface Streak {
  length: number;
  /** The period in which it started. Means nothing while the length is 0. */
  started: number;
  /** The last period that was kept: extended or covered. Null before the first. */
  last: number | null;
  /** The last period that was extended, and when. */
  extended: { readonly period: number; readonly at: number } | null;
  /** The change of each condition's metric, by its id, inside a period. */
  counts: { readonly period: number; readonly byMetric: Map<string, Amount> };
  /** Before this moment no period is missed. */
  grace: number;
  /** Kept for a restore. */
  lost: { readonly length: number; readonly started: number } | null;
  readonly history: Map<number, Kept>;
}

export type Streaks = Record<Frequency, Streak>;

const newStreak = (): Streak => ({
  length: 0,
  started: 0,
  last: null,
  extended: null,
  counts: { period: 0, byMetric: new Map() },
  grace: -Infinity,
  lost: null,
  history: new Map(),
});

export const newStreaks = (): Streaks => ({ daily: newStreak(), weekly: newStreak(), monthly: newStreak() });

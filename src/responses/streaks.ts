import { z } from 'zod';
import { type StoredStreaks, type StreakFact, streakPlace } from '../ledger/entry.js';
import type { ActiveConfig } from '../plan/active-config.js';
import { at } from '../redis/encoding.js';
import { datesIn, type Frequency, periodIn, weekShiftOf, type Weeks } from '../shared/calendar.js';
import { dateShape, instantShape } from '../shared/shapes.js';

/** The contract's `BaseStreakResponse`. */
const baseStreakShape = z.object({
  length: z.number().int().meta({ description: 'In periods.' }),
  frequency: z.enum(['daily', 'weekly', 'monthly']),
  started: dateShape.nullable(),
  periodStart: dateShape.nullable(),
  periodEnd: dateShape.nullable(),
  expires: dateShape.nullable().meta({ description: 'The last local date on which the user can still extend the streak.' }),
  freezes: z.number().int().optional().meta({
    description:
      'How many freezes the user holds. This and the other fields of freezes are present where freezes are configured, or where the user holds one.',
  }),
  maxFreezes: z.number().int().optional().meta({ description: 'The configured maximum, or `freezes` where more were granted.' }),
  freezeAutoEarnInterval: z
    .number()
    .int()
    .optional()
    .meta({ description: 'Local days between two freezes that are earned; 0 earns none.' }),
  freezeAutoEarnAmount: z.number().int().optional(),
});
export type BaseStreak = z.infer<typeof baseStreakShape>;

/** The contract's `MetricEventStreakResponse`. */
export const eventStreakShape = baseStreakShape
  .extend({ extended: z.boolean().meta({ description: 'Whether this event extended the streak.' }) })
  .meta({ id: 'EventStreak' });
export type EventStreakResponse = z.infer<typeof eventStreakShape>;

const periodShape = z.object({
  periodStart: dateShape,
  periodEnd: dateShape,
  length: z.number().int().meta({ description: '0: there was no streak in this period.' }),
  usedFreeze: z
    .boolean()
    .optional()
    .meta({ description: 'Present where freezes are configured or the user holds one, and where one was used.' }),
  usedPause: z.boolean(),
  resetAt: instantShape.optional().meta({ description: 'When an operator last reset the streak in this period; absent if none did.' }),
});
export type StreakPeriodResponse = z.infer<typeof periodShape>;

/** The contract's `StreakResponse`. */
export const streakShape = baseStreakShape
  .extend({
    extended: instantShape.nullable().meta({ description: 'When the streak was last extended; null without a streak.' }),
    streakHistory: z.array(periodShape).meta({ description: 'Oldest first, the current period last.' }),
    pauses: z.array(z.object({ id: z.uuid(), start: dateShape, end: dateShape })).meta({ description: 'Current and upcoming pauses.' }),
  })
  .meta({ id: 'Streak' });
export type StreakResponse = z.infer<typeof streakShape>;

/** What the official client library expects of rankings of all users. */
export const longestStreakShape = z
  .object({ userId: z.string(), name: z.string().nullable(), streakLength: z.number().int() })
  .meta({ id: 'LongestStreak' });

/** An item of the contract's `BulkStreakResponse`. */
export const streakRankingShape = z
  .object({ userId: z.string(), streakLength: z.number().int(), extended: instantShape.nullable() })
  .meta({ id: 'StreakRanking' });
export type StreakRanking = z.infer<typeof streakRankingShape>;

/** The streak of a user who has none, or while streaks are not enabled. */
const none = { length: 0, started: null, periodStart: null, periodEnd: null, expires: null } as const;

/** Freezes are shown where they are configured. Those granted by hand are shown without a configuration too, since they cover periods all the same. */
const showsFreezes = (config: ActiveConfig, fact: StreakFact | undefined): boolean =>
  config.document.streaks.freezes.maximum > 0 || (fact?.freezes ?? 0) > 0;

function freezeFields(config: ActiveConfig, fact: StreakFact | undefined): Partial<BaseStreak> {
  if (!showsFreezes(config, fact)) return {};
  const { maximum, earnInterval, earnAmount } = config.document.streaks.freezes;
  const freezes = fact?.freezes ?? 0;
  return { freezes, maxFreezes: Math.max(maximum, freezes), freezeAutoEarnInterval: earnInterval, freezeAutoEarnAmount: earnAmount };
}

/** 1970-01-01 was a Thursday, the fourth day after a Sunday. */
const epochWeekday = 4;
const weekdays = 7;

const weeksOf = ({ document }: ActiveConfig, from: number | undefined): Weeks => ({ shift: weekShiftOf(document.settings), from });

/** The dates of the current period of the configured frequency. */
export const currentPeriod = (config: ActiveConfig, { current, weeksFrom }: StreakFact): { first: string; last: string } =>
  datesIn(config.document.streaks.frequency, current, weeksOf(config, weeksFrom));

/** The first day, from `day` on, that is not one of the weekdays that are off. */
export function countingDay(day: number, daysOff: readonly number[] = []): number {
  let counting = day;
  while (daysOff.includes((counting + epochWeekday) % weekdays)) counting += 1;
  return counting;
}

/** The contract's `BaseStreakResponse`. `expires` is the last local date on which the user can still extend (docs/rules/streaks.md). */
export function baseStreak(
  config: ActiveConfig,
  fact: StreakFact | undefined,
  frequency: Frequency = config.document.streaks.frequency,
): BaseStreak {
  const shown = freezeFields(config, fact);
  if (!fact || fact.length === 0) return { ...none, frequency, ...shown };
  const weeks = weeksOf(config, fact.weeksFrom);
  const current = datesIn(frequency, fact.current, weeks);
  return {
    length: fact.length,
    frequency,
    started: datesIn(frequency, fact.started, weeks).first,
    periodStart: current.first,
    periodEnd: current.last,
    expires: datesIn(frequency, countingDay(fact.isExtended ? fact.current + 1 : fact.current, fact.daysOff), weeks).last,
    ...shown,
  };
}

/** The contract's `MetricEventStreakResponse`. */
export function eventStreak(config: ActiveConfig, fact: StreakFact | undefined): EventStreakResponse {
  return { ...baseStreak(config, fact), extended: fact?.extended ?? false };
}

/** A period of the history as Postgres keeps it. */
export interface PeriodRow {
  readonly length: number;
  readonly how: string;
  readonly resetAt: Date | null;
}

/** The last `count` periods up to the current one, oldest first; one without a row had no streak (docs/rules/streaks.md). */
export function historyResponse(
  config: ActiveConfig,
  fact: StreakFact,
  rows: ReadonlyMap<number, PeriodRow>,
  count: number,
): StreakPeriodResponse[] {
  const { streaks } = config.document;
  const weeks = weeksOf(config, fact.weeksFrom);
  return Array.from({ length: count }, (_, i) => {
    const period = fact.current - count + 1 + i;
    const row = rows.get(period);
    const { first, last } = datesIn(streaks.frequency, period, weeks);
    const usedFreeze = row?.how === 'freeze';
    return {
      periodStart: first,
      periodEnd: last,
      length: row?.how === 'lost' ? 0 : (row?.length ?? 0),
      ...(usedFreeze || showsFreezes(config, fact) ? { usedFreeze } : {}),
      usedPause: row?.how === 'pause',
      ...(row?.resetAt ? { resetAt: row.resetAt.toISOString() } : {}),
    };
  });
}

/** The streak of a frequency, but for the days off, as the library's `streaks.fact` tells it; `extended` is whether this entry extended it. */
export function storedStreak(config: ActiveConfig, stored: StoredStreaks, frequency: Frequency, extended: boolean): StreakFact {
  const shown = (place: 'length' | 'started' | 'last' | 'extendedAt'): number => streakPlace(stored, frequency, place);
  const weeksFrom = at(stored, 'core', 'weeksFrom') as number | undefined;
  const current = periodIn(frequency, at(stored, 'core', 'streakDay') as number, weeksOf(config, weeksFrom));
  return {
    length: shown('length'),
    started: shown('started'),
    current,
    isExtended: shown('length') > 0 && shown('last') >= current,
    extendedAt: shown('extendedAt'),
    extended,
    freezes: at(stored, 'core', 'freezes') as number,
    ...(weeksFrom === undefined ? {} : { weeksFrom }),
  };
}

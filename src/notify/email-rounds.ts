import { DateTime } from 'luxon';
import { datesOf, periodOf, weekShiftOf, type Frequency } from '../calendar.js';
import type { ConfigDocument } from '../config/model.js';
import type { WebhookKind } from './kinds.js';

const dayMs = 86_400_000;

/** The kinds that are due at an hour of the user's day. */
export const roundKinds = ['emails.recap_due', 'emails.reactivation_due', 'emails.streak_reminder_due'] as const satisfies WebhookKind[];
export type RoundKind = (typeof roundKinds)[number];

/** The configured hour of a local day. */
export interface Round {
  /** In milliseconds since 1970. */
  readonly at: number;
  /** The local day, in days since 1970-01-01. */
  readonly day: number;
}

type Rules = Pick<ConfigDocument, 'settings' | 'streaks'>;

/** The period that a recap on a day is about: the week or month that was over with the day before. */
export function recapPeriod(rules: Rules, day: number): { first: string; last: string } {
  const frequency: Frequency = rules.settings.recapFrequency;
  const shift = weekShiftOf(rules.settings);
  return datesOf(frequency, periodOf(frequency, day - 1, shift), shift);
}

/** The local day of a moment, in days since 1970-01-01. */
export function localDayOf(at: number, zone: string): number {
  const { year, month, day } = DateTime.fromMillis(at, { zone });
  return Date.UTC(year, month - 1, day) / dayMs;
}

function isDay(kind: RoundKind, rules: Rules, day: number): boolean {
  const shift = weekShiftOf(rules.settings);
  const { frequency } = rules.streaks;
  switch (kind) {
    case 'emails.recap_due':
      return periodOf(rules.settings.recapFrequency, day, shift) !== periodOf(rules.settings.recapFrequency, day - 1, shift);
    case 'emails.reactivation_due':
      return true;
    case 'emails.streak_reminder_due':
      return rules.streaks.enabled && periodOf(frequency, day, shift) !== periodOf(frequency, day + 1, shift);
  }
}

/** How many local days back a round may be of: a reminder of yesterday would speak of what today's streak no longer needs. */
const daysBack: Readonly<Record<RoundKind, number>> = {
  'emails.recap_due': 1,
  'emails.reactivation_due': 1,
  'emails.streak_reminder_due': 0,
};

/**
 * The newest round of a kind in a zone that is not over for a day at a moment, and for a reminder of that very local day; undefined when there is none. An hour that a day lacks,
 * because clocks are put forward, is the one after it; of one that it has twice, the first.
 */
export function newestRound(kind: RoundKind, rules: Rules, zone: string, now: number): Round | undefined {
  const hour = kind === 'emails.streak_reminder_due' ? rules.settings.streakReminderHour : rules.settings.emailHour;
  const today = DateTime.fromMillis(now, { zone });
  for (let back = 0; back <= daysBack[kind]; back += 1) {
    const { year, month, day } = today.minus({ days: back });
    const local = Date.UTC(year, month - 1, day) / dayMs;
    const at = DateTime.fromObject({ year, month, day, hour }, { zone }).toMillis();
    if (at <= now && isDay(kind, rules, local)) return now - at < dayMs ? { at, day: local } : undefined;
  }
  return undefined;
}

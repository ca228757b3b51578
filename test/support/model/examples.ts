/** The language of the examples: readable times, and the parts of responses that they check. */
import { DateTime } from 'luxon';

/** Short names of the zones of examples. */
const zoneNames: Readonly<Record<string, string>> = {
  NZ: 'Pacific/Auckland',
  HI: 'Pacific/Honolulu',
  KT: 'Asia/Kathmandu',
  NY: 'America/New_York',
  LX: 'Europe/Lisbon',
  KI: 'Pacific/Kiritimati',
  BK: 'Etc/GMT+12',
  SA: 'America/Santiago',
};

export const zoneNamed = (name: string): string => zoneNames[name] ?? name;

/** `01-03 12:00 NZ` is noon of the 3rd of January 2040 in Auckland; without a zone it is in UTC, and a year may stand before it. */
export function moment(when: string): number {
  const [date = '', time = '', zone = 'UTC'] = when.split(' ');
  const full = date.length > 5 ? date : `2040-${date}`;
  const parsed = DateTime.fromISO(`${full}T${time}`, { zone: zoneNamed(zone) });
  if (!parsed.isValid) throw new Error(`not a time: ${when}`);
  return parsed.toMillis();
}

interface Keyed {
  readonly key: string;
}

export interface AwardRow {
  readonly awarded: number;
  readonly total: number;
  readonly date: string;
  readonly trigger?: Readonly<Record<string, unknown>>;
  readonly boosts: readonly { readonly name: string; readonly multiplier: number }[];
}

export interface PointsBlock {
  readonly total: number;
  readonly added: number;
  readonly level?: Keyed | null;
  readonly awards: readonly AwardRow[];
}

export interface UserPoints {
  readonly total: number;
  readonly level: Keyed | null;
  readonly awards: readonly AwardRow[];
}

export interface BoardBlock {
  readonly rank: number | null;
  readonly previousRank: number | null;
  readonly threshold: number;
  readonly start: string;
  readonly end: string | null;
  readonly breakdownAttributeValues?: readonly object[];
}

export interface StreakBlock {
  readonly length: number;
  readonly started: string | null;
  readonly periodStart: string | null;
  readonly periodEnd: string | null;
  readonly expires: string | null;
  readonly freezes?: number;
  readonly maxFreezes?: number;
  /** A moment in reads. */
  readonly extended?: boolean | string | null;
  readonly streakHistory: readonly {
    readonly length: number;
    readonly usedFreeze?: boolean;
    readonly usedPause: boolean;
    readonly resetAt?: string;
  }[];
  readonly pauses: readonly object[];
}

export interface EventBlock {
  readonly total: number;
  readonly achievements: readonly Keyed[];
  readonly currentStreak: StreakBlock;
  readonly points: Readonly<Record<string, PointsBlock>>;
  readonly leaderboards: Readonly<Record<string, BoardBlock>>;
  readonly idempotentReplayed?: boolean;
}

import type { NotificationType } from '../../config/schema/message-types.js';

/** An achievement as templates see it. Texts that there are not are empty. */
export interface AchievementVariables {
  readonly name: string;
  readonly description: string;
  readonly badgeUrl: string;
}

interface MetricVariables {
  readonly name: string;
  readonly units: string;
  readonly total: number;
  /** In the period of a recap; 0 in other messages. */
  readonly change: number;
}

export interface PointsVariables {
  readonly name: string;
  readonly total: number;
  /** In the period of a recap; 0 in other messages. */
  readonly change: number;
  /** Names of levels; empty without one. */
  readonly level: string;
  readonly nextLevel: string;
  /** Points that are missing; 0 at the highest level. */
  readonly toNextLevel: number;
  /** From the level to the next one, from 0 to 100; 100 at the highest level, 0 in a system without levels. */
  readonly progress: number;
}

/** A period of a streak's calendar. */
export interface StreakDay {
  /** The first date of the period. */
  readonly date: string;
  /** `today` is the current period while it is not extended. */
  readonly state: 'extended' | 'frozen' | 'paused' | 'kept' | 'missed' | 'today';
}

export interface StreakVariables {
  /** In periods of the frequency. */
  readonly length: number;
  readonly frequency: 'daily' | 'weekly' | 'monthly';
  readonly freezes: number;
  /** The last date on which the user can extend the streak; empty without a streak. */
  readonly expires: string;
  /** The newest last. */
  readonly days: readonly StreakDay[];
}

/** The incomplete achievement that is closest to completion; empty texts and zeros if there is none. */
export interface NextVariables {
  readonly name: string;
  readonly description: string;
  readonly current: number;
  readonly target: number;
  /** From 0 to 100. */
  readonly progress: number;
}

interface LeaderboardVariables {
  readonly name: string;
  /** Null without a place, like the value. */
  readonly rank: number | null;
  readonly value: number | null;
}

/** What templates can use (src/config/templates/variables.ts, docs/messages-templates.md). Dates are `YYYY-MM-DD` of the user's local calendar. */
export interface MessageVariables {
  readonly type: NotificationType;
  /** The user's locale, or the default one. */
  readonly locale: string;
  readonly date: string;
  readonly brand: { readonly name: string; readonly url: string };
  readonly user: {
    readonly id: string;
    readonly name: string;
    readonly email: string;
    readonly attributes: Readonly<Record<string, string>>;
  };
  /** By key, like points and leaderboards. */
  readonly metrics: Readonly<Record<string, MetricVariables>>;
  readonly points: Readonly<Record<string, PointsVariables>>;
  readonly streak: StreakVariables;
  /** Only in achievement_completed. */
  readonly achievement?: AchievementVariables;
  readonly achievements?: readonly AchievementVariables[];
  readonly next: NextVariables;
  /** Those that the templates of the message or its layout use. */
  readonly leaderboards: Readonly<Record<string, LeaderboardVariables>>;
  /** Only in recap. */
  readonly period?: { readonly start: string; readonly end: string; readonly name: 'day' | 'week' | 'month' | 'year' };
  /** Only in reactivation. */
  readonly reactivation?: { readonly daysSinceLastActive: number; readonly messageNumber: number };
}

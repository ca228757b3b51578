import { configText } from './answers.js';

interface Sum {
  readonly currentTotal: number;
  readonly changeThisPeriod: number;
  readonly percentChange: number;
  readonly percentileThisPeriod?: number;
}
interface Period {
  readonly metrics: Readonly<Record<string, Sum & { readonly byAttribute: Readonly<Record<string, Readonly<Record<string, Sum>>>> }>>;
  readonly points: Readonly<Record<string, Sum>>;
  readonly achievements: readonly { readonly key: string }[];
  readonly leaderboards: Readonly<Record<string, { readonly rank: number; readonly value: number }>>;
}
/** The answer of a year in review. */
export interface Wrapped {
  readonly user: { readonly id: string };
  readonly activity: {
    readonly daysActive: number;
    readonly weeksActive: number;
    readonly monthsActive: number;
    readonly mostActiveDay: Period & { readonly date: string };
    readonly mostActiveWeek: Period & { readonly start: string; readonly end: string };
    readonly mostActiveMonth: Period & { readonly month: number };
    readonly entireYear: Period & { readonly longestStreak: object };
  };
}

export const wrappedConfig = configText({
  attributes: [{ key: 'device', name: 'Device', type: 'event' }],
  metrics: [
    { key: 'cards', name: 'Cards', units: 'cards' },
    { key: 'minutes', name: 'Minutes' },
  ],
  points: [
    {
      key: 'p',
      name: 'P',
      description: 'Points',
      triggers: [{ key: 'per-ten', type: 'metric', metricKey: 'cards', metricThreshold: 10, points: 1, status: 'active' }],
    },
  ],
  streaks: { enabled: true, frequency: 'daily', metrics: [{ metricKey: 'cards', threshold: 1 }] },
  achievements: [
    { key: 'ten', name: 'Ten', trigger: 'metric', metricKey: 'cards', metricValue: 10, status: 'active' },
    { key: 'hundred', name: 'Hundred', trigger: 'metric', metricKey: 'cards', metricValue: 100, status: 'active' },
  ],
  leaderboards: [{ key: 'board', name: 'Board', status: 'active', rankBy: 'metric', metricKey: 'cards' }],
});

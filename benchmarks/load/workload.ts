import type { EventRequest } from '../../src/engine/events.js';
import { seeded } from './events.js';

/** Any number would do; it is the same in every run. */
export const seed = 20_260_101;
/** As many as a leaderboard holds, so that all three are full and hold all users. */
export const users = 1_000;
const zones = ['Europe/Lisbon', 'Asia/Tokyo', 'America/Lima', 'Africa/Nairobi', 'Pacific/Auckland'] as const;
const cities = ['Lisbon', 'Nuuk', 'Lima'] as const;
const plans = ['free', 'pro'] as const;

const active = { status: 'active' } as const;
const inLisbon = { userAttributes: [{ attributeKey: 'city', attributeValue: 'Lisbon' }] } as const;
const isPro = { userAttributes: [{ attributeKey: 'plan', attributeValue: 'pro' }] } as const;
const onPhone = { eventAttributes: [{ attributeKey: 'device', attributeValue: 'phone' }] } as const;
const onCards = (metricThreshold: number, points: number) =>
  ({ ...active, type: 'metric', metricKey: 'cards', metricThreshold, points }) as const;
const levels = (...points: readonly number[]) => points.map((from, i) => ({ key: `level-${i + 1}`, name: `Level ${i + 1}`, points: from }));
const cardsReach = (key: string, metricValue: number) =>
  ({ ...active, key, name: key, trigger: 'metric', metricKey: 'cards', metricValue }) as const;

/** Every feature that an event can touch, on the two metrics of the workload. */
export const workloadConfig = {
  attributes: [
    { key: 'city', name: 'City', type: 'user' },
    { key: 'plan', name: 'Plan', type: 'user' },
    { key: 'device', name: 'Device', type: 'event' },
  ],
  metrics: [
    { key: 'cards', name: 'Cards' },
    { key: 'minutes', name: 'Minutes' },
  ],
  points: [
    {
      ...{ key: 'xp', name: 'Experience', maxPoints: 1_000_000, levels: levels(50, 200, 1_000, 5_000, 20_000) },
      triggers: [
        { key: 'cards', ...onCards(5, 7) },
        { key: 'cards-on-phone', ...onCards(20, 9), ...onPhone },
        { key: 'cards-in-lisbon', ...onCards(10, 3), ...inLisbon },
        { key: 'minutes', ...active, type: 'metric', metricKey: 'minutes', metricThreshold: 10, points: 4 },
        { key: 'days', ...active, type: 'streak', streakLength: 7, points: 50 },
        { key: 'hundred', ...active, type: 'achievement', achievementKey: 'cards-100', points: 25 },
      ],
      boosts: [
        { key: 'over', name: 'Over', start: '2020-01-01', end: '2020-12-31', multiplier: 50, rounding: 'up' },
        { key: 'always', name: 'Always', start: '2020-01-01', multiplier: 1.1, rounding: 'up' },
        { key: 'lisbon', name: 'Lisbon', start: '2020-01-01', multiplier: 1.25, rounding: 'nearest', ...inLisbon },
        { key: 'to-come', name: 'To come', start: '2999-01-01', multiplier: 2 },
        { key: 'own', name: 'Own', start: '2020-01-01', multiplier: 1.333, rounding: 'down', userId: 'user-0' },
      ],
    },
    {
      ...{ key: 'gems', name: 'Gems', levels: levels(5, 20, 100, 500, 2_000) },
      triggers: [
        { key: 'gems', ...onCards(25, 1) },
        { key: 'gems-pro', ...onCards(15, 2), ...isPro },
        { key: 'welcome', ...active, type: 'user_creation', points: 3 },
      ],
      boosts: [{ key: 'pro', name: 'Pro', start: '2020-01-01', multiplier: 1.5, rounding: 'down', ...isPro }],
    },
  ],
  achievements: [
    cardsReach('cards-10', 10),
    cardsReach('cards-100', 100),
    cardsReach('cards-1000', 1_000),
    { ...cardsReach('cards-500-lisbon', 500), ...inLisbon },
    { ...cardsReach('cards-50-phone', 50), ...onPhone },
    { ...cardsReach('cards-300-phone', 300), ...onPhone },
    { ...active, key: 'minutes-100', name: 'Minutes', trigger: 'metric', metricKey: 'minutes', metricValue: 100 },
    { ...active, key: 'days-1', name: 'A day', trigger: 'streak', streakLength: 1 },
    { ...active, key: 'days-7', name: 'A week', trigger: 'streak', streakLength: 7 },
    { ...active, key: 'profile', name: 'Profile', trigger: 'api' },
    { ...active, key: 'both', name: 'Both', trigger: 'achievement', achievementKeys: ['cards-100', 'minutes-100'] },
    { ...active, key: 'all', name: 'All', trigger: 'achievement', achievementKeys: ['both', 'days-7', 'profile'] },
  ],
  streaks: {
    ...{ enabled: true, frequency: 'daily', evaluationMode: 'OR' },
    metrics: [
      { metricKey: 'cards', threshold: 5 },
      { metricKey: 'minutes', threshold: 10 },
    ],
    freezes: { initial: 1, maximum: 3, earnInterval: 7, earnAmount: 1 },
  },
  leaderboards: [
    { ...active, key: 'cards', name: 'Cards', start: '2020-01-01', rankBy: 'metric', metricKey: 'cards' },
    { ...active, key: 'xp', name: 'Experience', start: '2020-01-01', rankBy: 'points', pointsSystemKey: 'xp' },
    {
      ...{ ...active, key: 'weekly', name: 'This week', start: '2024-01-01', rankBy: 'metric', metricKey: 'cards' },
      ...{ runUnit: 'day', runInterval: 7 },
    },
  ],
} as const;

const pick = <T>(list: readonly T[], no: number): T => list[no % list.length] as T;

/** How a sequence differs from that of `bench function`. */
export interface SequenceOptions {
  readonly userCount?: number;
  /** Users send in turn instead of being drawn, so that each sends as many events. */
  readonly isInTurn?: boolean;
  /** All events are on the metric that everything hangs on. */
  readonly isOneMetric?: boolean;
}

/**
 * A sequence of events that depends on the seed and the options alone. The first event of each user brings the whole profile, in the order of the users;
 * after that users are drawn evenly, four events of five are on the metric that everything hangs on, and one of ten sends the user's
 * attributes again, as callers do.
 */
export function eventRequests(
  seed: number,
  { userCount = users, isInTurn = false, isOneMetric = false }: SequenceOptions = {},
): () => EventRequest {
  const random = seeded(seed);
  const below = (count: number): number => Math.floor(random() * count);
  let sent = 0;
  return () => {
    const isFirst = sent < userCount;
    const no = isFirst || isInTurn ? sent % userCount : below(userCount);
    const attributes = { city: pick(cities, no), plan: pick(plans, no) };
    sent += 1;
    return {
      metricKey: isFirst || isOneMetric || below(5) > 0 ? 'cards' : 'minutes',
      user: {
        id: `user-${no}`,
        ...(isFirst ? { name: `User ${no}`, tz: pick(zones, no) } : {}),
        ...(isFirst || below(10) === 0 ? { attributes } : {}),
      },
      value: 1 + below(5),
      attributes: below(2) === 0 ? { device: 'phone' } : undefined,
      idempotencyKey: `00000000-0000-4000-8000-${String(sent).padStart(12, '0')}`,
    };
  };
}

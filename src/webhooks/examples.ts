import type { WebhookKind } from '../config/schema/webhook-kinds.js';

const at = '2026-01-15T09:30:00.000Z';
const user = {
  id: 'example-user',
  email: 'ana@example.com',
  name: 'Ana',
  tz: 'Europe/Lisbon',
  signUpDate: '2025-12-31',
  deviceTokens: [],
  subscribeToEmails: true,
  attributes: { plan: 'pro' },
  control: false,
  created: '2026-01-01T08:00:00.000Z',
  updated: at,
};
const system = {
  id: '5bb7b1f4-2f5b-4e5c-9d55-3a8cf4a0f001',
  key: 'points',
  name: 'Points',
  description: null,
  badgeUrl: null,
  maxPoints: null,
};
const level = (key: string, name: string, points: number, last: string): object => ({
  id: `5bb7b1f4-2f5b-4e5c-9d55-3a8cf4a0f00${last}`,
  key,
  name,
  description: '',
  badgeUrl: null,
  points,
});
const achievement = {
  id: '5bb7b1f4-2f5b-4e5c-9d55-3a8cf4a0f004',
  key: 'first-hundred',
  name: 'First hundred',
  description: null,
  badgeUrl: null,
  trigger: 'metric',
  metricId: '5bb7b1f4-2f5b-4e5c-9d55-3a8cf4a0f005',
  metricName: 'Flashcards viewed',
  metricValue: 100,
  userAttributes: [],
  eventAttributes: [],
};
const streak = {
  length: 7,
  frequency: 'daily',
  started: '2026-01-09',
  periodStart: '2026-01-15',
  periodEnd: '2026-01-15',
  expires: '2026-01-16',
  freezes: 2,
  maxFreezes: 5,
  freezeAutoEarnInterval: 7,
  freezeAutoEarnAmount: 1,
};
const wholeStreak = {
  ...streak,
  extended: at,
  pauses: [],
  streakHistory: [{ periodStart: '2026-01-15', periodEnd: '2026-01-15', length: 7, usedFreeze: false, usedPause: false }],
};
const boost = {
  id: '5bb7b1f4-2f5b-4e5c-9d55-3a8cf4a0f006',
  name: 'Double XP',
  userId: null,
  pointsSystemId: system.id,
  pointsSystemKey: system.key,
  pointsSystemName: system.name,
  start: '2026-01-15',
  end: '2026-01-22',
  multiplier: 2,
  rounding: 'down',
};
const leaderboard = {
  id: '5bb7b1f4-2f5b-4e5c-9d55-3a8cf4a0f007',
  key: 'weekly',
  name: 'Weekly',
  description: null,
  rankBy: 'points',
  pointsSystemKey: system.key,
  pointsSystemName: system.name,
  breakdownAttribute: null,
  breakdownAttributes: [],
  start: '2026-01-12',
  end: null,
  startTime: null,
  endTime: null,
  maxParticipants: 100,
  runUnit: 'day',
  runInterval: 7,
};
const rankings = [{ userId: user.id, userName: user.name, rank: 1, value: 120 }];

const examples: Readonly<Record<WebhookKind, object>> = {
  'achievement.completed': { user, achievement: { ...achievement, achievedAt: at } },
  'streak.started': { user, streak: { ...streak, length: 1, started: '2026-01-15' } },
  'streak.extended': { user, streak },
  'streak.lost': { user, length: 7 },
  'streak.freeze_consumed': { user, consumed: 1, freezes: 1 },
  'streak.freeze_earned': { user, earned: 1, freezes: 3 },
  'points.changed': { user, points: { ...system, total: 120, level: level('bronze', 'Bronze', 100, '2'), added: 20, awards: [] } },
  'points.level_changed': {
    user,
    points: { ...system, total: 520 },
    previousLevel: level('bronze', 'Bronze', 100, '2'),
    newLevel: level('silver', 'Silver', 500, '3'),
  },
  'points.boost_started': { timestamp: at, boost: { ...boost, status: 'active' } },
  'points.boost_finished': { timestamp: at, boost: { ...boost, status: 'finished' } },
  'leaderboard.started': { leaderboard: { ...leaderboard, status: 'active', rankings: [] } },
  'leaderboard.changed': { leaderboard: { ...leaderboard, status: 'active', rankings } },
  'leaderboard.rank_changed': {
    user,
    leaderboard: { ...leaderboard, status: 'active', rank: 1, value: 120, previousRank: 3, previousValue: 80 },
  },
  'leaderboard.finished': { leaderboard: { ...leaderboard, status: 'finished', rankings } },
  'emails.recap_due': { timestamp: at, user, recap: { periodStart: '2026-01-08', periodEnd: '2026-01-14' } },
  'emails.reactivation_due': { timestamp: at, user, reactivation: { messageNumber: 1, daysSinceLastActive: 7 } },
  'emails.streak_reminder_due': { timestamp: at, user, streak: wholeStreak },
  'emails.achievement_due': { timestamp: at, user, achievement: { ...achievement, achievedAt: at } },
};

/** An example of an event, for tests of endpoints and for the reference. The shapes are those of the contract's `webhooks`. */
export const exampleOf = (kind: WebhookKind): object => ({ type: kind, ...examples[kind] });

import { type EventUser, read, readBoard, userPath } from '../support/answers.js';
import type { World } from '../support/world.js';

export type Config = Readonly<Record<string, unknown>>;
export type Step = readonly [user: EventUser, value: number, attributes?: Readonly<Record<string, string>>];

export interface Effect {
  readonly kind: string;
  readonly key: string | null;
  readonly within: string | null;
  readonly users: number | null;
  readonly sentence: string;
}

interface Row {
  readonly rule: string;
  readonly before: Config;
  readonly events: readonly Step[];
  /** Users with a streak condition of their own on `m`. */
  readonly personal?: readonly string[];
  readonly after: Config;
  readonly prune?: true;
  readonly effect: Partial<Effect>;
  /** What the effect is about, counted before and after: the difference is `users`, in either direction. */
  readonly measure?: (world: World) => Promise<number>;
  /** What is counted after the change, instead of the difference. */
  readonly outcome?: (world: World) => Promise<number>;
}

export const users = ['ana', 'ben', 'carl', 'dora', 'emil'];
const attributes = [
  { key: 'city', name: 'City', type: 'user' },
  { key: 'device', name: 'Device', type: 'event' },
];
const trigger = { key: 't', type: 'metric', metricKey: 'm', metricThreshold: 1, points: 1, status: 'active' };
export const system = (levels: readonly number[], more: Config = {}): Config => ({
  key: 'xp',
  name: 'XP',
  triggers: [trigger],
  levels: levels.map((points) => ({ key: `from-${points}`, name: `From ${points}`, points })),
  ...more,
});
export const base = { attributes, metrics: [{ key: 'm', name: 'M' }], points: [system([10, 20])] };
export const streaks = { enabled: true, frequency: 'daily', metrics: [{ metricKey: 'm', threshold: 1 }] };

/** Totals 5, 15, 25, 25 and 35; the first, third and fourth are in Rome. */
export const play: readonly Step[] = [
  [{ id: 'ana', attributes: { city: 'Rome' } }, 5, { device: 'phone' }],
  [{ id: 'ben', attributes: { city: 'Oslo' } }, 15],
  [{ id: 'carl', attributes: { city: 'Rome' } }, 25, { device: 'phone' }],
  [{ id: 'dora', attributes: { city: 'Rome' } }, 25],
  ['emil', 35, { device: 'phone' }],
];

export const achievement = (fields: Config): Config => ({ key: 'a', name: 'A', status: 'active', ...fields });
export const byMetric = (metricValue: number, fields: Config = {}): Config =>
  achievement({ trigger: 'metric', metricKey: 'm', metricValue, ...fields });
const board = (fields: Config = {}): Config => ({ key: 'l', name: 'L', rankBy: 'metric', metricKey: 'm', status: 'active', ...fields });
const inRome = { userAttributes: [{ attributeKey: 'city', attributeValue: 'Rome' }] };
const onPhones = { eventAttributes: [{ attributeKey: 'device', attributeValue: 'phone' }] };

export const countRows = (text: string) => async (world: World) => {
  const { rows } = await world.pool.query<{ count: string }>(text, [world.tenant]);
  return Number(rows[0]?.count);
};
const completed = (key: string) => async (world: World) => {
  const all = await Promise.all(users.map((user) => read<{ key: string }[]>(world, userPath(user, '/achievements'))));
  return all.flat().filter((one) => one.key === key).length;
};
const participants = async (world: World): Promise<number> => (await readBoard(world, 'l')).length;
const entries = countRows('select count(*) from leaderboard_entries where tenant = $1');

/** The number of users that a dry run names is the number that the change then does it to. */
export const rows: readonly Row[] = [
  {
    rule: 'Users with enough of a metric complete an achievement that is added',
    before: base,
    events: play,
    after: { achievements: [byMetric(25)] },
    effect: { kind: 'achievement', key: 'a', within: null, users: 3, sentence: '3 users would complete it.' },
    measure: completed('a'),
  },
  {
    rule: 'One that is opened has only users with its attributes',
    before: { ...base, achievements: [byMetric(5, { ...inRome, status: 'inactive' })] },
    events: play,
    after: { achievements: [byMetric(5, inRome)] },
    effect: { kind: 'achievement', users: 3 },
    measure: completed('a'),
  },
  {
    rule: 'One of matching events has what these sum up to since it was created',
    before: { ...base, achievements: [byMetric(20, { ...onPhones, status: 'inactive' })] },
    events: play,
    after: { achievements: [byMetric(20, onPhones)] },
    effect: { kind: 'achievement', users: 2 },
    measure: completed('a'),
  },
  {
    rule: 'One of matching events that is created now has none',
    before: base,
    events: play,
    after: { achievements: [byMetric(20, onPhones)] },
    effect: { kind: 'achievement', users: 0, sentence: '0 users would complete it.' },
    measure: completed('a'),
  },
  {
    rule: 'A lower value completes it for the users in between alone',
    before: { ...base, achievements: [byMetric(30)] },
    events: play,
    after: { achievements: [byMetric(20)] },
    effect: { kind: 'achievement', users: 2 },
    measure: completed('a'),
  },
  {
    rule: 'A streak that is long enough completes one',
    before: { ...base, streaks },
    events: play,
    after: { achievements: [achievement({ trigger: 'streak', streakLength: 1 })] },
    effect: { kind: 'achievement', users: 5 },
    measure: completed('a'),
  },
  {
    rule: 'A composite follows from what the same change completes',
    before: { ...base, achievements: [byMetric(15)] },
    events: play,
    after: {
      achievements: [
        achievement({ key: 'both', trigger: 'achievement', achievementKeys: ['a', 'b'] }),
        byMetric(15),
        byMetric(30, { key: 'b', name: 'B' }),
      ],
    },
    effect: { kind: 'achievement', key: 'both', users: 1, sentence: '1 user would complete it.' },
    measure: completed('both'),
  },
  {
    rule: 'A composite that is open follows for the users who complete its last prerequisite now',
    before: {
      ...base,
      achievements: [
        byMetric(15),
        byMetric(30, { key: 'b', name: 'B' }),
        achievement({ key: 'both', trigger: 'achievement', achievementKeys: ['a', 'b'] }),
      ],
    },
    events: play,
    after: { achievements: [byMetric(20, { key: 'b', name: 'B' })] },
    effect: { kind: 'achievement', key: 'both', users: 2 },
    measure: completed('both'),
  },
  {
    rule: 'A locked achievement stays with those who have it',
    before: { ...base, achievements: [byMetric(20)] },
    events: play,
    after: { achievements: [byMetric(20, { status: 'locked' })] },
    effect: { kind: 'achievement', users: 3, sentence: '3 users have completed it and would keep it; no other user could complete it.' },
    outcome: completed('a'),
  },
  {
    rule: 'A leaderboard of a metric takes in everyone with a total',
    before: base,
    events: play,
    after: { leaderboards: [board()] },
    effect: { kind: 'leaderboard', key: 'l', users: 5, sentence: '5 users would enter the leaderboard.' },
    measure: entries,
  },
  {
    rule: 'One with fewer places ranks the best',
    before: base,
    events: play,
    after: { leaderboards: [board({ maxParticipants: 2 })] },
    effect: { kind: 'leaderboard', users: 5, sentence: '5 users would enter the leaderboard, and the best 2 would have a rank.' },
    measure: entries,
  },
  {
    rule: 'One with groups takes in users with the attribute',
    before: base,
    events: play,
    after: { leaderboards: [board({ breakdownAttributes: ['city'] })] },
    effect: { kind: 'leaderboard', users: 4 },
    measure: entries,
  },
  {
    rule: 'One of points takes in everyone with points',
    before: base,
    events: play.slice(0, 3),
    after: { leaderboards: [{ key: 'l', name: 'L', rankBy: 'points', pointsSystemKey: 'xp', status: 'active' }] },
    effect: { kind: 'leaderboard', users: 3 },
    measure: entries,
  },
  {
    rule: 'One of streaks takes in everyone with a streak',
    before: { ...base, streaks },
    events: play.slice(0, 4),
    after: { leaderboards: [{ key: 'l', name: 'L', rankBy: 'streak', status: 'active' }] },
    effect: { kind: 'leaderboard', users: 4 },
    measure: entries,
  },
  {
    rule: 'A lower limit takes the last places off the leaderboard',
    before: { ...base, leaderboards: [board()] },
    events: play,
    after: { leaderboards: [board({ maxParticipants: 2 })] },
    effect: { kind: 'leaderboard', users: 3, sentence: '3 participants would leave the leaderboard.' },
    measure: participants,
  },
  {
    rule: 'A higher limit gives the next users a place',
    before: { ...base, leaderboards: [board({ maxParticipants: 2 })] },
    events: play,
    after: { leaderboards: [board({ maxParticipants: 4 })] },
    effect: { kind: 'leaderboard', users: 2, sentence: '2 users would become participants.' },
    measure: participants,
  },
  {
    rule: 'A leaderboard that is archived is no longer shown to its participants',
    before: { ...base, leaderboards: [board({ maxParticipants: 3 })] },
    events: play,
    after: base,
    prune: true,
    effect: { kind: 'leaderboard', users: 3, sentence: 'The leaderboard would no longer be shown to 3 participants.' },
  },
  {
    rule: 'Users above a lower maximum keep their points',
    before: base,
    events: play,
    after: { points: [system([10, 20], { maxPoints: 24 })] },
    effect: {
      kind: 'points system',
      key: 'xp',
      users: 3,
      sentence: '3 users have more than the new maximum: they keep their points and earn no more.',
    },
    outcome: countRows('select count(*) from user_points where tenant = $1 and total > 24'),
  },
  {
    rule: 'A points system that is archived takes the points out of sight',
    before: base,
    events: play,
    after: { attributes, metrics: base.metrics },
    prune: true,
    effect: { kind: 'points system', users: 5, sentence: '5 users have points in it, which would no longer be shown.' },
  },
  {
    rule: 'A trigger that is switched off has awarded points to users of the last 30 days',
    before: base,
    events: play.slice(0, 2),
    after: { points: [system([10, 20], { triggers: [{ ...trigger, status: 'inactive' }] })] },
    effect: {
      kind: 'trigger',
      key: 't',
      within: 'xp',
      users: 2,
      sentence: '2 users got points from it in the last 30 days; it would award no more.',
    },
  },
  {
    rule: 'An attribute that is archived has values of users',
    before: base,
    events: play,
    after: { metrics: base.metrics, points: base.points },
    prune: true,
    effect: { kind: 'user attribute', key: 'city', users: 4, sentence: '4 users have a value of it, which would no longer be shown.' },
  },
  {
    rule: 'A metric that is archived has totals of users',
    before: { ...base, points: [] },
    events: play.slice(0, 1),
    after: { attributes },
    prune: true,
    effect: { kind: 'metric', key: 'm', users: 1, sentence: '1 user has a total of it, which would no longer be shown.' },
  },
  {
    rule: 'A metric that is archived is in streak conditions of users',
    before: { metrics: [...base.metrics, { key: 'n', name: 'N' }], streaks: { ...streaks, personalization: true } },
    events: play.slice(0, 3).map(([user, value]) => [typeof user === 'string' ? user : { id: user.id }, value] as const),
    personal: ['ana', 'carl'],
    after: { metrics: [{ key: 'n', name: 'N' }], streaks: { metrics: [{ metricKey: 'n', threshold: 1 }] } },
    prune: true,
    effect: {
      kind: 'metric',
      key: 'm',
      users: 2,
      sentence: '2 users have a streak condition of their own on it, which would no longer count.',
    },
  },
  {
    rule: 'Streaks of another frequency are shown to those who have one',
    before: { ...base, streaks },
    events: play,
    after: { streaks: { frequency: 'weekly' } },
    effect: {
      kind: 'streaks',
      key: null,
      users: 5,
      sentence: '5 users have an active weekly streak, which would be shown in place of the daily one.',
    },
    outcome: async (world) => {
      const all = await Promise.all(users.map((user) => read<{ length: number }>(world, userPath(user, '/streak'))));
      return all.filter(({ length }) => length > 0).length;
    },
  },
  {
    rule: 'Another default time zone moves the users without their own',
    before: base,
    events: [...play.slice(0, 2), [{ id: 'carl', tz: 'Asia/Tokyo' }, 1]] as const,
    after: { settings: { defaultTimeZone: 'Europe/Lisbon' } },
    effect: { kind: 'settings', key: null, users: 2, sentence: '2 users without a time zone would move to Europe/Lisbon.' },
  },
];

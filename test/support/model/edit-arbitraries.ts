/** Edits, for fast-check: a value for every field that a configuration has (test/long/model.self.test.ts compares them with the schema). */
import fc from 'fast-check';
import { type ListName } from '../../../src/config/schema/model.js';
import { eventAttributeValues, userAttributeValues } from './documents.js';
import type { Edit } from './edits.js';
import { zones } from './zones.js';

type Values = Readonly<Record<string, fc.Arbitrary<unknown>>>;

const oneOf = (...values: readonly unknown[]): fc.Arbitrary<unknown> => fc.constantFrom(...values);
const whole = (min: number, max: number): fc.Arbitrary<number> => fc.integer({ min, max });
const filters = (values: Readonly<Record<string, readonly string[]>>): fc.Arbitrary<object> =>
  fc.oneof(fc.constant({}), ...Object.entries(values).map(([key, list]) => fc.record({ [key]: fc.constantFrom(...list) })));
const userFilters = filters(userAttributeValues);
const eventFilters = filters(eventAttributeValues);
const metricKey = oneOf('m1', 'm2', 'm3');
const achievementKeys = ['a1', 'a2', 'a3', 'a4', 'a5', 'a6', 'a7'] as const;
const described: Values = {
  name: oneOf('One', 'Two'),
  description: oneOf(null, 'Text'),
  badgeUrl: oneOf(null, 'https://example.com/b.png'),
};
const status = oneOf('active', 'inactive');

/** Weekdays that do not count for daily streaks. */
export const daysOff = fc.subarray([0, 1, 2, 3, 4, 5, 6], { maxLength: 6 });

/** By the list and the stored name of the field. What an object keeps for good has no values. */
const objectValues: Readonly<Record<ListName, Values>> = {
  attributes: { key: oneOf('city', 'town', 'tier', 'device'), name: oneOf('One', 'Two') },
  metrics: {
    key: oneOf('m1', 'm3', 'm8'),
    name: oneOf('One', 'Two'),
    unitType: oneOf('number', 'currency'),
    units: oneOf('', 'pages', 'EUR'),
  },
  pointsSystems: {
    ...{ key: oneOf('p1', 'p2', 'p8'), ...described },
    maxPoints: fc.option(whole(1, 150)),
  },
  levels: {
    ...{ key: oneOf('p1-l1', 'l8'), ...described, description: oneOf('', 'Text') },
    points: whole(0, 120),
  },
  triggers: {
    key: oneOf('p1-t1', 't8'),
    type: oneOf('metric', 'achievement', 'streak', 'time', 'time', 'user_creation'),
    points: oneOf(1, 2, 5, 10, 20, -1, -5, -10),
    status,
    userAttributes: userFilters,
    metricId: metricKey,
    metricThreshold: whole(1, 12),
    eventAttributes: eventFilters,
    blockIfOutOfPoints: fc.boolean(),
    achievementId: oneOf(...achievementKeys),
    streakLength: whole(1, 3),
    timeUnit: oneOf('hours', 'days'),
    timeInterval: oneOf(1, 2, 3, 5, 7, 11, 24, 40),
  },
  boosts: {
    key: oneOf('p1-x1', 'x8'),
    name: oneOf('One', 'Two'),
    start: whole(-5, 5),
    end: fc.option(whole(-1, 20)),
    multiplier: oneOf(2, 1.1, 1.5, 0.5, 3),
    rounding: oneOf('down', 'up', 'nearest'),
    userId: oneOf(null, 'u1', 'u2', 'u6'),
    userAttributes: userFilters,
  },
  achievements: {
    ...{ key: oneOf('a1', 'a8'), ...described },
    status: oneOf('active', 'active', 'locked'),
    trigger: oneOf('metric', 'streak', 'api', 'achievement', 'anniversary'),
    userAttributes: userFilters,
    metricId: metricKey,
    metricValue: oneOf(1, 2, 5, 12.5, 40),
    eventAttributes: eventFilters,
    streakLength: whole(1, 4),
    achievementIds: fc.subarray([...achievementKeys], { minLength: 1, maxLength: 3 }),
    anniversaryYears: oneOf(1, 2, 3, 4),
  },
  leaderboards: {
    ...{ key: oneOf('b1', 'b8'), name: oneOf('One', 'Two'), description: oneOf(null, 'Text') },
    status: fc.constant('active'),
    rankBy: oneOf('metric', 'points', 'streak'),
    metricId: metricKey,
    pointsSystemId: oneOf('p1', 'p2'),
    maxParticipants: fc.oneof(fc.constant(1), whole(2, 5)),
    start: whole(-30, 5),
    end: fc.option(whole(-1, 20)),
    startTime: oneOf(null, '09:00', '17:00'),
    endTime: oneOf(null, '12:00:01', '06:00'),
    breakdownAttributes: fc.subarray(['city', 'plan']),
    runUnit: oneOf(null, 'day', 'month', 'year'),
    runInterval: oneOf(1, 2, 7),
  },
  webhooks: {
    ...{ key: oneOf('w1', 'w8'), name: oneOf('One', 'Two') },
    url: oneOf('https://example.com/hook', 'https://example.com/other'),
    events: fc.subarray(['points.changed', 'streak.lost', 'leaderboard.rank_changed'], { minLength: 1 }),
    status,
  },
  templates: {
    ...{ key: oneOf('t1', 't8'), name: oneOf('One', 'Two') },
    type: oneOf('recap', 'reactivation'),
    locale: oneOf('en', 'pt-BR'),
    ...Object.fromEntries(['subject', 'heading', 'body', 'button', 'pushTitle', 'pushBody'].map((field) => [field, oneOf(null, 'Text')])),
    buttonUrl: oneOf(null, 'https://example.com/a'),
  },
};

const channels = fc.subarray(['email', 'push']);
const hour = whole(0, 23);
const freezes: Values = {
  initial: whole(0, 3),
  maximum: whole(0, 5),
  earnInterval: oneOf(1, 2, 3, 7),
  earnAmount: whole(1, 3),
};

/** By the part and the field. */
const partValues: Readonly<Record<'settings' | 'streaks' | 'messages', Values>> = {
  settings: {
    controlRatio: oneOf(0, 0.5, 1),
    activationWindowDays: whole(3, 30),
    weekStart: oneOf('monday', 'sunday'),
    defaultTimeZone: fc.constantFrom(...zones),
    idempotencyRetentionDays: oneOf(null, 1, 2, 30),
    recapFrequency: oneOf('daily', 'weekly', 'monthly', 'yearly'),
    emailHour: hour,
    reactivationDays: oneOf([], [1], [3, 5]),
    streakReminderHour: hour,
    streakReminderWeekday: oneOf('monday', 'sunday'),
    streakReminderDay: whole(1, 31),
    achievementFromHour: whole(0, 10),
    achievementToHour: whole(11, 24),
  },
  streaks: {
    enabled: fc.boolean(),
    frequency: oneOf('daily', 'weekly', 'monthly'),
    evaluationMode: oneOf('AND', 'OR'),
    metrics: oneOf({ m1: 1 }, { m1: 5 }, { m2: 1 }, { m1: 1, m2: 2 }, { m2: 2, m3: 1 }),
    freezes: fc.oneof(
      {
        weight: 2,
        arbitrary: fc
          .tuple(whole(0, 3), whole(0, 3), fc.option(fc.tuple(oneOf(1, 2, 3, 7), whole(1, 3)), { nil: [0, 0] as const }))
          .map(([initial, more, [earnInterval, earnAmount]]) => ({
            initial,
            maximum: Math.max(1, initial + more),
            earnInterval,
            earnAmount,
          })),
      },
      ...Object.entries(freezes).map(([field, value]) => ({ weight: 1, arbitrary: fc.record({ [field]: value }) })),
    ),
    daysOff,
    personalization: fc.boolean(),
  },
  messages: {
    achievementCompleted: channels,
    recap: channels,
    reactivation: channels,
    streakReminder: channels,
    brandName: oneOf('Laurel', 'Oak'),
    brandColor: oneOf('#000000', '#ffffff'),
    brandFont: oneOf('MODERN_SANS', 'BOOK_SERIF'),
    brandLogoUrl: oneOf(null, 'https://example.com/logo.png'),
    brandIconUrl: oneOf(null, 'https://example.com/icon.png'),
    brandUrl: oneOf(null, 'https://example.com'),
    brandAddress: oneOf(null, '1 Main Street'),
    linkHosts: oneOf([], ['example.com']),
    defaultLocale: oneOf('en', 'pt-BR'),
    localeAttribute: oneOf(null, 'city', 'tier'),
    quietFromHour: whole(20, 23),
    quietToHour: whole(5, 9),
    maxPerUserDay: whole(1, 5),
    achievementGroupMinutes: whole(0, 20),
  },
};

/** How often each is changed: what the passing of time depends on more than the rest. */
const partWeights = { settings: 6, streaks: 9, messages: 2 } as const;
const listWeights: Readonly<Record<ListName, number>> = {
  attributes: 2,
  metrics: 2,
  pointsSystems: 3,
  levels: 3,
  triggers: 9,
  boosts: 3,
  achievements: 5,
  leaderboards: 6,
  webhooks: 2,
  templates: 3,
};
/** Fields that are not changed more often than others of their list. */
const fieldWeights: Readonly<Record<string, number>> = {
  ...{ 'settings.weekStart': 6, 'settings.defaultTimeZone': 8, 'streaks.enabled': 2, 'streaks.freezes': 6, 'streaks.frequency': 3 },
  ...{ 'streaks.daysOff': 3 },
  ...{ 'pointsSystems.maxPoints': 4, 'levels.points': 4, 'triggers.timeInterval': 4, 'triggers.status': 3, 'triggers.points': 2 },
  ...{ 'achievements.status': 6, 'leaderboards.status': 8, 'leaderboards.maxParticipants': 8, 'leaderboards.end': 2 },
};
const weightOf = (name: string): number => fieldWeights[name] ?? 1;

const which = fc.nat(7);
/** Documents have the lists in this order. */
const listNames = Object.keys(objectValues) as ListName[];

const set: fc.Arbitrary<Edit> = fc.oneof(
  ...(Object.keys(partValues) as (keyof typeof partValues)[]).map((part) => ({
    weight: partWeights[part],
    arbitrary: fc.oneof(
      ...Object.entries(partValues[part]).map(([field, values]) => ({
        weight: weightOf(`${part}.${field}`),
        arbitrary: values.map((value): Edit => ({ edit: 'set', part, field, value })),
      })),
    ),
  })),
);

/** Fields of leaderboards that decide whether the passing of time moves users on them. */
const rankFields = new Set(['rankBy', 'metricId', 'pointsSystemId']);

const change = (isTimeless: boolean): fc.Arbitrary<Edit> =>
  fc.oneof(
    ...listNames.map((list) => ({
      weight: listWeights[list],
      arbitrary: fc.oneof(
        ...Object.entries(objectValues[list])
          .filter(([field]) => !(isTimeless && list === 'leaderboards' && rankFields.has(field)))
          .map(([field, values]) => ({
            weight: weightOf(`${list}.${field}`),
            arbitrary: fc.tuple(which, values).map(([at, value]): Edit => ({ edit: 'change', list, which: at, field, value })),
          })),
      ),
    })),
  );

const listWeighted = fc.oneof(...listNames.map((list) => ({ weight: listWeights[list], arbitrary: fc.constant(list) })));
/** What is archived and comes back: points systems and triggers more often than what others refer to. */
const archived = fc.oneof(
  { weight: 1, arbitrary: fc.constantFrom<ListName>('pointsSystems', 'triggers', 'triggers') },
  { weight: 3, arbitrary: listWeighted },
);

const revived = fc.oneof({ weight: 3, arbitrary: fc.constant<ListName>('pointsSystems') }, { weight: 4, arbitrary: archived });

/** One edit. `isTimeless` keeps leaderboards to what the passing of time does not change. */
const editArbitrary = (isTimeless: boolean): fc.Arbitrary<Edit> =>
  fc.oneof(
    { weight: 8, arbitrary: set },
    { weight: 18, arbitrary: change(isTimeless) },
    { weight: 3, arbitrary: fc.record({ edit: fc.constant('archive' as const), list: archived, which }) },
    { weight: 4, arbitrary: fc.record({ edit: fc.constant('revive' as const), list: revived, which }) },
    {
      weight: 1,
      arbitrary: fc.record({
        edit: fc.constant('add' as const),
        list: fc.constantFrom('triggers' as const, 'levels' as const, 'boosts' as const, 'achievements' as const, 'leaderboards' as const),
        which,
      }),
    },
    { weight: 1, arbitrary: fc.record({ edit: fc.constant('first' as const), list: listWeighted, which }) },
  );

/** Whether an edit is about what time does to users, and starts nothing that the worker does for all users at once. */
const isTimed = (edit: Edit): boolean =>
  edit.edit === 'set' ? edit.part !== 'messages' : ['pointsSystems', 'triggers', 'boosts'].includes(edit.list) && edit.edit !== 'first';

export const timedEditsArbitrary: fc.Arbitrary<Edit[]> = fc.array(editArbitrary(true).filter(isTimed), { minLength: 1, maxLength: 2 });

/** What one version changes: mostly one thing. */
export const editsArbitrary = (isTimeless: boolean): fc.Arbitrary<Edit[]> =>
  fc.oneof(
    { weight: 3, arbitrary: editArbitrary(isTimeless).map((edit) => [edit]) },
    { weight: 1, arbitrary: fc.array(editArbitrary(isTimeless), { minLength: 2, maxLength: 4 }) },
  );

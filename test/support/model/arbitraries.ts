/** What histories are made of, for fast-check: small documents that use everything, and steps that are mostly valid and shrink well. */
import fc from 'fast-check';
import {
  buildDocument,
  dateAfter,
  eventAttributeValues,
  userAttributeValues,
  type AchievementSpec,
  type BoardSpec,
  type BoostSpec,
  type DocumentSpec,
  type Filters,
  type StreaksSpec,
  type SystemSpec,
  type TriggerSpec,
} from './documents.js';
import { daysOff } from './edit-arbitraries.js';
import { lapsingStepArbitrary, stepArbitrary } from './step-arbitraries.js';
import { zones } from './zones.js';
import type { History, Step } from './history.js';

const metricKey = fc.constantFrom('m1', 'm2');
/** Composites need these, so they are never composites themselves. */
const plainKeys = ['a1', 'a2', 'a3', 'a4', 'a7'];

/** No filter most of the time, else one, and now and then all of them. */
const filters = (values: Readonly<Record<string, readonly string[]>>): fc.Arbitrary<Filters> => {
  const kinds = Object.entries(values).map(([key, list]) => [key, fc.constantFrom(...list)] as const);
  return fc.oneof(
    { weight: 4, arbitrary: fc.constant({}) },
    ...kinds.map(([key, value]) => ({ weight: 1, arbitrary: fc.record({ [key]: value }) })),
    { weight: 1, arbitrary: fc.record(Object.fromEntries(kinds)) },
  );
};
const userFilters = filters(userAttributeValues);
const eventFilters = filters(eventAttributeValues);

const award = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: 1, max: 20 }) },
  { weight: 1, arbitrary: fc.integer({ min: -20, max: -1 }) },
  // Round ones, so that what is taken is now and then all that there is.
  { weight: 2, arbitrary: fc.constantFrom(5, 10, -5, -10) },
);

const triggerKind: fc.Arbitrary<TriggerSpec> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc
      .record({
        type: fc.constant('metric' as const),
        metric: metricKey,
        threshold: fc.integer({ min: 1, max: 12 }),
        points: award,
        event: eventFilters,
        blocks: fc.boolean(),
      })
      .map(({ blocks, ...spec }) => ({ ...spec, blocks: blocks && spec.points < 0 })),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('streak' as const), length: fc.integer({ min: 1, max: 3 }), points: award }) },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant('achievement' as const),
      achievement: fc.constantFrom(...plainKeys, 'a5', 'a6'),
      points: award,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant('time' as const),
      unit: fc.constant('hours' as const),
      interval: fc.integer({ min: 5, max: 100 }),
      points: award,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant('time' as const),
      unit: fc.constant('days' as const),
      interval: fc.integer({ min: 1, max: 10 }),
      points: award,
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('user_creation' as const), points: award }) },
);

const trigger: fc.Arbitrary<TriggerSpec> = fc
  .record({ kind: triggerKind, user: userFilters, inactive: fc.integer({ min: 0, max: 9 }).map((roll) => roll === 9) })
  .map(({ kind, user, inactive }) => ({ ...kind, user, inactive }));

const multiplier = fc.constantFrom(2, 1.1, 1.5, 0.5, 1.25, 3, 1.333333, 0.1);
const rounding = fc.constantFrom('down' as const, 'up' as const, 'nearest' as const);

const boost: fc.Arbitrary<BoostSpec> = fc
  .record({
    startsInDays: fc.integer({ min: -5, max: 40 }),
    lastsDays: fc.option(fc.integer({ min: 1, max: 40 })),
    multiplier,
    rounding,
    whom: fc.oneof({ weight: 3, arbitrary: userFilters }, { weight: 1, arbitrary: fc.constantFrom('u1', 'u2') }),
  })
  .map(({ startsInDays, lastsDays, multiplier: factor, rounding: mode, whom }) => ({
    start: dateAfter(startsInDays),
    end: lastsDays === null ? null : dateAfter(startsInDays + lastsDays - 1),
    multiplier: factor,
    rounding: mode,
    ...(typeof whom === 'string' ? { userId: whom } : { user: whom }),
  }));

const system: fc.Arbitrary<SystemSpec> = fc
  .record({
    room: fc.option(fc.integer({ min: 0, max: 150 })),
    levels: fc.uniqueArray(fc.integer({ min: 0, max: 120 }), { maxLength: 4 }),
    triggers: fc.array(trigger, { minLength: 1, maxLength: 6, size: 'max' }),
    boosts: fc.array(boost, { maxLength: 3 }),
  })
  .map(({ room, levels, ...rest }) => ({ maxPoints: room === null ? null : Math.max(1, room, ...levels), levels, ...rest }));

const status = fc.oneof(
  { weight: 6, arbitrary: fc.constant('active' as const) },
  { weight: 2, arbitrary: fc.constant('inactive' as const) },
  { weight: 1, arbitrary: fc.constant('locked' as const) },
);

const withStatus = (kind: fc.Arbitrary<AchievementSpec>): fc.Arbitrary<AchievementSpec> =>
  fc.record({ kind, status, user: userFilters }).map(({ kind: spec, ...rest }) => ({ ...spec, ...rest }));

const metricValue = fc.constantFrom(1, 3, 5.5, 10, 25, 60);
const metricAchievement = (event: fc.Arbitrary<Filters>): fc.Arbitrary<AchievementSpec> =>
  withStatus(fc.record({ trigger: fc.constant('metric' as const), metric: metricKey, value: metricValue, event }));
const streakAchievement = withStatus(fc.record({ trigger: fc.constant('streak' as const), length: fc.integer({ min: 1, max: 4 }) }));

/** Mostly open to all users, so that whole chains complete at once. */
const composite = (needs: fc.Arbitrary<string[]>): fc.Arbitrary<AchievementSpec> =>
  fc
    .record({ needs, status: fc.oneof({ weight: 8, arbitrary: fc.constant('active' as const) }, { weight: 1, arbitrary: status }) })
    .chain((spec) =>
      fc
        .oneof({ weight: 6, arbitrary: fc.constant({}) }, { weight: 1, arbitrary: userFilters })
        .map((user) => ({ ...spec, user, trigger: 'achievement' })),
    );

/** One of every kind and two composites, of which the second needs the first. */
const achievements: fc.Arbitrary<AchievementSpec[]> = fc.tuple(
  metricAchievement(fc.constant({})),
  metricAchievement(fc.record({ device: fc.constantFrom(...eventAttributeValues.device) })),
  streakAchievement,
  withStatus(fc.constant({ trigger: 'api' as const })),
  composite(fc.subarray(plainKeys, { minLength: 1, maxLength: 2 })),
  composite(
    fc.oneof(
      // Completed by the event that completes a5.
      fc.constant<string[]>(['a5']),
      fc.subarray(['a2', 'a5', 'a3'], { minLength: 1 }).map((keys) => (keys.includes('a5') ? keys : [...keys, 'a5'])),
    ),
  ),
  withStatus(fc.record({ trigger: fc.constant('anniversary' as const), years: fc.constantFrom(1, 1, 2, 4) })),
);

const streaks: fc.Arbitrary<StreaksSpec> = fc.record({
  frequency: fc.constantFrom('daily' as const, 'weekly' as const, 'monthly' as const),
  mode: fc.constantFrom('AND' as const, 'OR' as const),
  conditions: fc.oneof(
    { weight: 3, arbitrary: fc.record({ m1: fc.constantFrom(1, 2.5, 5) }) },
    { weight: 2, arbitrary: fc.record({ m1: fc.constantFrom(1, 5), m2: fc.constantFrom(1, 2) }) },
  ),
  freezes: fc
    .record({
      initial: fc.integer({ min: 0, max: 3 }),
      more: fc.integer({ min: 0, max: 3 }),
      earned: fc.option(fc.record({ earnInterval: fc.constantFrom(1, 3, 7), earnAmount: fc.integer({ min: 1, max: 2 }) }), { freq: 3 }),
    })
    .map(({ initial, more, earned }) => ({
      ...{ initial, maximum: Math.max(earned ? 1 : 0, initial + more), earnInterval: 0, earnAmount: 0 },
      ...earned,
    })),
  daysOff: fc.oneof({ weight: 2, arbitrary: fc.constant([]) }, daysOff),
  personalization: fc.boolean(),
});

const ranked = fc.oneof(
  metricKey.map((metric) => ({ metric })),
  fc.constantFrom('p1', 'p2').map((points) => ({ points })),
);
const span = {
  start: fc.oneof(
    { weight: 3, arbitrary: fc.integer({ min: -40, max: -3 }).map(dateAfter) },
    { weight: 1, arbitrary: fc.integer({ min: 1, max: 20 }).map(dateAfter) },
    // The clamping of months and years: the last days of months, a leap day.
    { weight: 1, arbitrary: fc.constantFrom('2039-12-31', '2039-10-31', '2036-02-29', '2039-12-30') },
  ),
  end: fc.oneof({ weight: 2, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: fc.integer({ min: 21, max: 90 }).map(dateAfter) }),
  status: fc.oneof({ weight: 3, arbitrary: fc.constant('active' as const) }, { weight: 1, arbitrary: fc.constant('inactive' as const) }),
  max: fc.oneof({ weight: 2, arbitrary: fc.integer({ min: 1, max: 3 }) }, { weight: 1, arbitrary: fc.constant(1000) }),
};
const window = fc.oneof(
  { weight: 2, arbitrary: fc.constant(null) },
  {
    weight: 1,
    arbitrary: fc.constantFrom<[string | null, string | null]>(
      ['09:00', '17:00'],
      ['22:00', '06:00'],
      ['00:00', '12:00:01'],
      ['17:00', null],
      [null, '09:00'],
    ),
  },
);
const breakdown = fc.subarray(['city', 'plan']);
const every = fc.constantFrom<readonly [number, 'day' | 'month' | 'year']>(
  [1, 'day'],
  [2, 'day'],
  [7, 'day'],
  [1, 'month'],
  [3, 'month'],
  [1, 'year'],
);

/** A streak board, a perpetual one, a repeating one, and one of any kind. */
const boards: fc.Arbitrary<BoardSpec[]> = fc
  .tuple(
    fc.record({
      rankBy: fc.constant('streak' as const),
      ...span,
      breakdown: fc.oneof({ weight: 2, arbitrary: fc.constant([]) }, { weight: 1, arbitrary: breakdown }),
    }),
    fc.record({ rankBy: ranked, ...span, window, breakdown }),
    fc.record({ rankBy: ranked, ...span, window, breakdown, every }),
    fc.option(fc.record({ rankBy: ranked, ...span, window, breakdown, every: fc.option(every) })),
  )
  .map((list) => list.filter((board) => board !== null));

/** What varies between documents: 2 or 3 metrics, 2 points systems, 7 achievements, streaks, 3 or 4 leaderboards. */
export const documentSpecArbitrary: fc.Arbitrary<DocumentSpec> = fc.record({
  weekStart: fc.constantFrom('monday' as const, 'sunday' as const),
  controlRatio: fc.constantFrom(0, 0.5),
  defaultZone: fc.constantFrom('UTC', 'UTC', ...zones),
  retentionDays: fc.constantFrom(null, null, 1, 30),
  metrics: fc.constant(3),
  messages: fc.constant(true),
  systems: fc.tuple(system, system),
  achievements,
  streaks,
  boards,
});

export interface HistoryOptions {
  readonly minSteps?: number;
  readonly maxSteps?: number;
}

const isTimeless = ({ rankBy }: BoardSpec): boolean => rankBy !== 'streak' && 'metric' in rankBy;

/** Histories of up to 200 steps. In some of them the clock also moves without a sweep. */
export function historyArbitrary({ minSteps = 1, maxSteps = 200 }: HistoryOptions = {}): fc.Arbitrary<History> {
  const steps = (step: fc.Arbitrary<Step>): fc.Arbitrary<Step[]> =>
    fc.array(step, { minLength: minSteps, maxLength: maxSteps, size: 'max' });
  const lapsing = documentSpecArbitrary.map((spec) => buildDocument({ ...spec, boards: (spec.boards ?? []).filter(isTimeless) }));
  return fc.oneof(
    { weight: 3, arbitrary: fc.record({ config: documentSpecArbitrary.map(buildDocument), steps: steps(stepArbitrary) }) },
    { weight: 1, arbitrary: fc.record({ config: lapsing, steps: steps(lapsingStepArbitrary) }) },
  );
}

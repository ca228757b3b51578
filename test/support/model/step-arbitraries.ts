/** The steps of histories: users from a small pool, each with a home zone that is left now and then, and a clock that seeks out edges. */
import fc from 'fast-check';
import { eventAttributeValues, userAttributeValues } from './documents.js';
import { daysOff, editsArbitrary, timedEditsArbitrary } from './edit-arbitraries.js';
import type { Edit } from './edits.js';
import type { Step } from './history.js';
import type { Jump } from './jumps.js';
import type { Read } from './reads.js';
import type { IdentifyMode, StreakPreferences } from './subject.js';
import type { UserInCall, UserProperties } from './users.js';
import { zones } from './zones.js';

/** A user and the zone in which that user mostly is; null is the configured one. */
const homes: Readonly<Record<string, string | null>> = { u1: zones[0], u2: zones[1], u3: zones[2], u4: zones[3], u5: zones[4], u6: null };
const userId = fc.constantFrom(...Object.keys(homes));
const zone = fc.constantFrom(...zones);
const metricKey = fc.constantFrom('m1', 'm1', 'm2');

const seconds = 1_000;
const minutes = 60 * seconds;
const hours = 60 * minutes;
const days = 24 * hours;

const rarely = <T>(arbitrary: fc.Arbitrary<T>, weight = 9): fc.Arbitrary<T | undefined> =>
  fc.oneof({ weight, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary });

/** Without the properties that are undefined, so that a step prints as what is sent. */
function sent<T extends object>(properties: T): T {
  return Object.fromEntries(Object.entries(properties).filter(([, value]) => value !== undefined)) as T;
}

/** Some of the attributes, or none. */
const attributes = (values: Readonly<Record<string, readonly string[]>>): fc.Arbitrary<Record<string, string> | undefined> => {
  const some = fc.record(Object.fromEntries(Object.entries(values).map(([key, list]) => [key, rarely(fc.constantFrom(...list), 1)])));
  return fc.oneof(
    { weight: 1, arbitrary: fc.constant(undefined) },
    { weight: 3, arbitrary: some.map((chosen) => sent(chosen) as Record<string, string>) },
  );
};
const userAttributes = attributes(userAttributeValues);
const eventAttributes = attributes(eventAttributeValues);

/** Their anniversaries are in the first weeks of a history, or over; and now and then a date that must be refused. */
const signUpDate = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom('2039-01-03', '2039-01-04', '2039-01-08', '2038-01-20', '2039-02-01', '2039-03-01') },
  { weight: 3, arbitrary: fc.constantFrom('2036-02-29', '2036-01-05', '2024-02-29', '2039-12-31') },
  { weight: 2, arbitrary: fc.constantFrom('2040-01-02', '2040-01-03', '2040-02-01', null) },
);

/** The user's home zone most of the time that one is sent. */
const tzOf = (id: string, weight: number): fc.Arbitrary<string | null | undefined> =>
  fc.oneof(
    { weight: 30, arbitrary: fc.constant(undefined) },
    { weight, arbitrary: fc.constant(homes[id]) },
    { weight: 4, arbitrary: zone },
    { weight: 1, arbitrary: fc.constant(null) },
  );

const propertiesOf = (id: string): fc.Arbitrary<UserProperties> =>
  fc
    .record({
      name: rarely(fc.constantFrom('Ana', 'Bo')),
      email: rarely(fc.constant(`${id}@example.com`)),
      tz: tzOf(id, 30),
      signUpDate: rarely(signUpDate),
      subscribeToEmails: rarely(fc.boolean(), 30),
      deviceTokens: rarely(fc.constantFrom(['token'], ['expo:token', 'a/b "é"'], ['token', 'expo:token'], null), 30),
      attributes: userAttributes,
    })
    .map(sent);

const userInCall: fc.Arbitrary<UserInCall> = userId.chain((id) =>
  fc
    .record({ tz: tzOf(id, 10), attributes: userAttributes, signUpDate: rarely(signUpDate, 40) })
    .map((properties) => ({ id, ...sent(properties) })),
);

const value = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 1, max: 12 }) },
  // Users with equal values, who keep their ranks.
  { weight: 4, arbitrary: fc.constantFrom(0, 1, 5, 5) },
  { weight: 3, arbitrary: fc.constantFrom(0.1, 0.25, 2.5, 7.75, 0.30000000000000004, 100.1, -0.7, -100) },
  { weight: 2, arbitrary: fc.integer({ min: -8, max: 0 }) },
);

/** Now and then something that must be refused. */
const mostly = <T>(valid: fc.Arbitrary<T>, invalid: T): fc.Arbitrary<T> =>
  fc.oneof({ weight: 40, arbitrary: valid }, { weight: 1, arbitrary: fc.constant(invalid) });

const event: fc.Arbitrary<Step> = fc
  .record({
    metricKey: mostly(fc.constantFrom('m1', 'm1', 'm1', 'm2', 'm2', 'm2', 'm3'), 'm9'),
    user: userInCall,
    value: mostly(value, 2e15),
    attributes: mostly<Record<string, string> | undefined>(eventAttributes, { city: 'Lisbon' }),
    idempotencyKey: fc.oneof(
      { weight: 2, arbitrary: fc.constant(undefined) },
      { weight: 1, arbitrary: fc.integer({ min: 1, max: 30 }).map((n) => `key-${n}`) },
    ),
  })
  .map((request) => ({ do: 'event' as const, ...sent(request) }));

const replay: fc.Arbitrary<Step> = fc.record({ do: fc.constant('replay' as const), nth: fc.nat(20), value });

const routine: fc.Arbitrary<Step> = fc.record({
  do: fc.constant('routine' as const),
  userIds: fc.uniqueArray(userId, { minLength: 1, maxLength: 3 }),
  metricKey,
  value: fc.integer({ min: 1, max: 6 }),
  zone,
  days: fc.integer({ min: 1, max: 6 }),
});

const travel: fc.Arbitrary<Step> = fc.record({
  do: fc.constant('travel' as const),
  userId,
  metricKey,
  hops: fc.array(fc.record({ zone, hours: fc.nat(30), value: fc.option(fc.integer({ min: 1, max: 5 })) }), { minLength: 1, maxLength: 4 }),
});

const identify: fc.Arbitrary<Step> = fc
  .tuple(fc.constantFrom<IdentifyMode[]>('upsert', 'upsert', 'upsert', 'update', 'update', 'create'), userId)
  .chain(([mode, id]) =>
    mostly<UserProperties>(propertiesOf(id), { tz: 'Mars/Olympus' }).map((properties) => ({
      do: 'identify' as const,
      mode,
      id,
      properties,
    })),
  );

const complete: fc.Arbitrary<Step> = fc.record({
  do: fc.constant('complete' as const),
  key: mostly(fc.constantFrom('a4', 'a4', 'a4', 'a1'), 'a9'),
  user: userInCall,
});

const preferences: fc.Arbitrary<Step> = fc.record({
  do: fc.constant('preferences' as const),
  userId,
  preferences: fc.oneof(
    fc.record({ enabled: fc.boolean() }),
    fc.record({ daysOff }),
    fc.record({
      evaluationMode: fc.constantFrom('AND' as const, 'OR' as const),
      metrics: fc.uniqueArray(fc.record({ key: fc.constantFrom('m1', 'm2'), threshold: fc.integer({ min: 1, max: 6 }) }), {
        minLength: 1,
        maxLength: 2,
        selector: ({ key }) => key,
      }),
    }),
  ) satisfies fc.Arbitrary<StreakPreferences>,
});

const near = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(-1, 0, 1, -seconds, seconds) },
  {
    weight: 2,
    arbitrary: fc.constantFrom(-30 * minutes, 30 * minutes, -2 * hours, 2 * hours, 9 * hours, 17 * hours, 22 * hours, 6 * hours - 1),
  },
);

const jump: fc.Arbitrary<Jump> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc
      .oneof(
        fc.integer({ min: 1, max: 59 }).map((n) => n * seconds),
        fc.integer({ min: 1, max: 30 }).map((n) => n * hours),
        fc.integer({ min: 1, max: 9 }).map((n) => n * days),
      )
      .map((by) => ({ by })),
  },
  { weight: 8, arbitrary: fc.record({ to: fc.constant('midnight' as const), zone, offsetMs: near }) },
  { weight: 2, arbitrary: fc.record({ to: fc.constant('noon' as const), offsetMs: near }) },
  { weight: 1, arbitrary: fc.record({ to: fc.constant('clockChange' as const), zone, offsetMs: near }) },
  {
    weight: 1,
    arbitrary: fc.record({
      to: fc.constant('date' as const),
      date: fc.constantFrom('02-29', '03-01', '12-31', '01-01', '02-01', '05-01'),
      zone,
      offsetMs: near,
    }),
  },
  { weight: 1, arbitrary: fc.integer({ min: 10, max: 90 }).map((n) => ({ by: n * days })) },
);

const position = fc.nat(5);
const read: fc.Arbitrary<Read> = fc.oneof(
  fc.record({ read: fc.constantFrom('user' as const, 'metrics' as const), userId }),
  fc.record({
    read: fc.constant('points' as const),
    userId,
    key: mostly(fc.constantFrom('p1', 'p2'), 'p9'),
    awards: fc.integer({ min: 1, max: 100 }),
  }),
  fc.record({ read: fc.constant('levels' as const), key: mostly(fc.constantFrom('p1', 'p2'), 'p9') }),
  fc.record({ read: fc.constant('achievements' as const), userId, includeIncomplete: fc.boolean() }),
  fc.constant({ read: 'allAchievements' as const }),
  fc.record({ read: fc.constant('streak' as const), userId, historyPeriods: fc.integer({ min: 0, max: 20 }) }),
  fc.record({ read: fc.constant('streaks' as const), userIds: fc.uniqueArray(userId, { minLength: 1, maxLength: 6 }) }),
  fc.record({ read: fc.constant('leaderboards' as const), includeFinished: fc.boolean() }),
  {
    weight: 4,
    arbitrary: fc.record({
      read: fc.constant('leaderboard' as const),
      board: position,
      back: fc.option(fc.nat(3), { freq: 2 }),
      offset: fc.nat(2),
      limit: fc.integer({ min: 0, max: 10 }),
      fromUser: fc.option(userId, { freq: 2 }),
      group: mostly<number | null>(fc.nat(3), null),
      userIds: fc.option(fc.uniqueArray(userId, { minLength: 1, maxLength: 6 }), { freq: 3 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ read: fc.constant('place' as const), userId, board: position, back: fc.option(fc.nat(2), { freq: 2 }) }),
  },
  fc.record({ read: fc.constant('final' as const), board: position, back: fc.nat(3) }),
);

/** Leaderboards are read right after the clock has moved, before any call has settled a user. */
const clock: fc.Arbitrary<Step> = fc.tuple(jump, fc.option(position)).map(([to, look]) => ({ do: 'clock' as const, jump: to, look }));

/** A new version of the configuration. Some users are read just before it comes into force, some just after, others at neither moment. */
const readers = fc.subarray(Object.keys(homes), { maxLength: 3 });
const configure = (isTimeless: boolean): fc.Arbitrary<Step> =>
  fc.record({ do: fc.constant('configure' as const), before: readers, edits: editsArbitrary(isTimeless), after: readers });

/**
 * The clock moves without a sweep, and some users act: the others wait with what time has done to them, also when the configuration
 * changes more than once.
 */
const stage = (edits: fc.Arbitrary<Edit[]>) =>
  fc.record({ jump, during: fc.array(fc.oneof(event, identify), { maxLength: 3 }), before: readers, edits, after: readers });
const lapse: fc.Arbitrary<Step> = fc
  .tuple(
    fc.oneof({ weight: 2, arbitrary: fc.constant([]) }, { weight: 1, arbitrary: fc.array(stage(timedEditsArbitrary), { maxLength: 2 }) }),
    stage(editsArbitrary(true)),
  )
  .map(([stages, last]) => ({ do: 'lapse' as const, stages: [...stages, last] }));

/** Most steps are events; the clock moves about as often as all other steps together. */
const others: readonly fc.WeightedArbitrary<Step>[] = [
  { weight: 30, arbitrary: event },
  { weight: 20, arbitrary: clock },
  { weight: 8, arbitrary: identify },
  { weight: 8, arbitrary: read.map((what) => ({ do: 'read' as const, ...what })) },
  { weight: 5, arbitrary: routine },
  { weight: 3, arbitrary: travel },
  { weight: 3, arbitrary: replay },
  { weight: 3, arbitrary: complete },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('freeze' as const), userId }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('takeFreeze' as const), userId }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('pause' as const),
      userId,
      startsInDays: fc.integer({ min: -1, max: 10 }),
      lastsDays: fc.integer({ min: 0, max: 9 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('deletePause' as const), nth: fc.nat(5) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('restore' as const), userId }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('reset' as const), userId, isUndone: fc.boolean() }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('correct' as const), nth: fc.nat(12) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('adjust' as const),
      userId,
      key: mostly(fc.constantFrom('p1', 'p2'), 'p9'),
      amount: fc.constantFrom(1, 7, 40, -1, -5, -30, 1e15, -1e15),
    }),
  },
  { weight: 1, arbitrary: preferences },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('removeToken' as const), userId, token: fc.constantFrom('token', 'a/b "é"') }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('delete' as const), userId }) },
];

/** One step. */
export const stepArbitrary: fc.Arbitrary<Step> = fc.oneof(...others, { weight: 8, arbitrary: configure(false) });

/** One step of a history in which the clock also moves without a sweep: its leaderboards rank what time does not change. */
export const lapsingStepArbitrary: fc.Arbitrary<Step> = fc.oneof(
  ...others,
  { weight: 6, arbitrary: configure(true) },
  { weight: 8, arbitrary: lapse },
);

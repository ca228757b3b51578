import { randomUUID } from 'node:crypto';
import { planChanges } from '../../src/config/change/apply.js';
import { configFileOf } from '../../src/config/file/file.js';
import { emptyConfig } from '../../src/config/schema/model.js';
import { limits } from '../../src/shared/limits.js';

/** A configuration of one kind of object on the metric `m`, as large as one may be: with one object more it is refused. */
export interface LargestPlan {
  readonly what: string;
  readonly objects: number;
  readonly config: object;
}

const active = { status: 'active' } as const;
const onPhone = { eventAttributes: [{ attributeKey: 'device', attributeValue: 'phone' }] } as const;
const inLisbon = { userAttributes: [{ attributeKey: 'city', attributeValue: 'Lisbon' }] } as const;
const always = { start: '2020-01-01' } as const;
const common = {
  attributes: [
    { key: 'city', name: 'City', type: 'user' },
    { key: 'device', name: 'Device', type: 'event' },
  ],
  metrics: [{ key: 'm', name: 'M' }],
};
const daily = { streaks: { enabled: true, frequency: 'daily', metrics: [{ metricKey: 'm', threshold: 1 }] } } as const;

const list = <T>(count: number, make: (no: number) => T): T[] => Array.from({ length: count }, (_, no) => make(no));
const system = (no: number, more: object): object => ({ key: `p${no}`, name: `System ${no}`, ...more });
const metricTrigger = (no: number): object => ({
  ...{ key: `t${no}`, type: 'metric', metricKey: 'm', metricThreshold: 1, points: 1, ...active },
  ...onPhone,
  ...inLisbon,
});
const boosts = (count: number): object[] =>
  list(count, (no) => ({ key: `b${no}`, name: `Boost ${no}`, ...always, multiplier: (1_000_001 + no) / 1_000_000, ...inLisbon }));
const levels = (count: number): object[] => list(count, (no) => ({ key: `n${no}`, name: `Level ${no}`, points: no }));
const achievement = (no: number, more: object): object => ({ key: `a${no}`, name: `Achievement ${no}`, ...active, ...more });
const filtered = (no: number): object =>
  achievement(no, { trigger: 'metric', metricKey: 'm', metricValue: 1_000, ...onPhone, ...inLisbon });
const board = (no: number, more: object): object => ({ key: `l${no}`, name: `Board ${no}`, ...active, ...always, ...more });
const byMetric = { rankBy: 'metric', metricKey: 'm' } as const;
const weekly = { runUnit: 'day', runInterval: 7 } as const;
const byCity = { breakdownAttributes: ['city'] } as const;

/** Plain achievements, and as many composites that each need all of them. */
const composites = (count: number): object[] => [
  ...list(count, (no) => achievement(no, { trigger: 'metric', metricKey: 'm', metricValue: 1_000 })),
  ...list(count, (no) => achievement(count + no, { trigger: 'achievement', achievementKeys: list(count, (other) => `a${other}`) })),
];

const shapes: Readonly<Record<string, (count: number) => object>> = {
  'triggers of one points system, filtered': (count) => ({ points: [system(0, { triggers: list(count, metricTrigger) })] }),
  'triggers of one points system with 20 boosts': (count) => ({
    points: [system(0, { triggers: list(count, metricTrigger), boosts: boosts(20) })],
  }),
  'boosts of 10 triggers': (count) => ({ points: [system(0, { triggers: list(10, metricTrigger), boosts: boosts(count) })] }),
  'points systems with a trigger, a boost, a level and a leaderboard': (count) => ({
    points: list(count, (no) => system(no, { triggers: [metricTrigger(0)], boosts: boosts(1), levels: levels(1) })),
    leaderboards: list(count, (no) => board(no, { rankBy: 'points', pointsSystemKey: `p${no}` })),
  }),
  'achievements, filtered': (count) => ({ achievements: list(count, filtered) }),
  'composites of as many achievements': (count) => ({ achievements: composites(count) }),
  'leaderboards of totals': (count) => ({ leaderboards: list(count, (no) => board(no, byMetric)) }),
  'leaderboards of weekly runs': (count) => ({ leaderboards: list(count, (no) => board(no, { ...byMetric, ...weekly })) }),
  'leaderboards of totals in groups': (count) => ({ leaderboards: list(count, (no) => board(no, { ...byMetric, ...byCity })) }),
  'leaderboards of weekly runs in groups': (count) => ({
    leaderboards: list(count, (no) => board(no, { ...byMetric, ...weekly, ...byCity })),
  }),
  'streak achievements, each with a trigger and a leaderboard of streaks': (count) => ({
    ...daily,
    achievements: list(count, (no) => achievement(no, { trigger: 'streak', streakLength: 2 })),
    points: [
      system(0, {
        triggers: list(count, (no) => ({ key: `t${no}`, type: 'achievement', achievementKey: `a${no}`, points: 1, ...active })),
      }),
    ],
    leaderboards: list(count, (no) => board(no, { rankBy: 'streak' })),
  }),
  'hourly time triggers': (count) => ({
    points: [
      system(0, {
        triggers: list(count, (no) => ({ key: `t${no}`, type: 'time', timeUnit: 'hours', timeInterval: 1, points: 1, ...active })),
      }),
    ],
  }),
  'daily time triggers with leaderboards of weekly runs': (count) => ({
    points: [
      system(0, {
        triggers: list(count, (no) => ({ key: `t${no}`, type: 'time', timeUnit: 'days', timeInterval: 1, points: 1, ...active })),
      }),
    ],
    leaderboards: list(10, (no) => board(no, { rankBy: 'points', pointsSystemKey: 'p0', ...weekly })),
  }),
  'user attributes': (count) => ({
    attributes: [...common.attributes, ...list(count, (no) => ({ key: `u${no}`, name: `U${no}`, type: 'user' }))],
  }),
  'metrics with a points system, an achievement and a leaderboard each, all with 20 filters': (count) => {
    const filters = (type: string): object[] => list(20, (no) => ({ attributeKey: `${type}${no}`, attributeValue: 'yes' }));
    const all = { userAttributes: filters('user'), eventAttributes: filters('event') };
    const metricKey = (no: number): string => (no === 0 ? 'm' : `m${no}`);
    return {
      attributes: [
        ...common.attributes,
        ...['user', 'event'].flatMap((type) => list(20, (no) => ({ key: `${type}${no}`, name: `${type} ${no}`, type }))),
      ],
      metrics: list(count, (no) => ({ key: metricKey(no), name: `M${no}` })),
      points: list(count, (no) =>
        system(no, {
          triggers: [{ key: 't', type: 'metric', metricKey: metricKey(no), metricThreshold: 1, points: 1, ...active, ...all }],
          boosts: [{ key: 'b', name: 'Boost', ...always, multiplier: 1.5, userAttributes: all.userAttributes }],
          levels: levels(1),
        }),
      ),
      achievements: list(count, (no) => achievement(no, { trigger: 'metric', metricKey: metricKey(no), metricValue: 1_000, ...all })),
      leaderboards: list(count, (no) => board(no, { rankBy: 'metric', metricKey: metricKey(no) })),
    };
  },
  'of everything': (count) => ({
    ...daily,
    achievements: [...list(count, filtered), achievement(count, { trigger: 'streak', streakLength: 2 })],
    points: list(count, (no) => system(no, { triggers: [metricTrigger(0)], boosts: boosts(2), levels: levels(2) })),
    leaderboards: [
      ...list(count, (no) => board(no, { rankBy: 'points', pointsSystemKey: `p${no}` })),
      ...list(count, (no) => board(count + no, { ...byMetric, ...byCity })),
    ],
  }),
};

const isLegal = (config: object): boolean =>
  planChanges(emptyConfig, configFileOf(config), { now: '2024-01-01T00:00:00.000Z', prune: false, newId: randomUUID }).problems.length ===
  0;

/** What the search found last, where it begins: planning a large configuration takes a while. */
const found: Readonly<Record<string, number>> = {
  'triggers of one points system, filtered': 1000,
  'triggers of one points system with 20 boosts': 327,
  'boosts of 10 triggers': 311,
  'points systems with a trigger, a boost, a level and a leaderboard': 405,
  'achievements, filtered': 1000,
  'composites of as many achievements': 100,
  'leaderboards of totals': 899,
  'leaderboards of weekly runs': 791,
  'leaderboards of totals in groups': 430,
  'leaderboards of weekly runs in groups': 430,
  'streak achievements, each with a trigger and a leaderboard of streaks': 444,
  'hourly time triggers': 1000,
  'daily time triggers with leaderboards of weekly runs': 37,
  'user attributes': 998,
  'metrics with a points system, an achievement and a leaderboard each, all with 20 filters': 100,
  'of everything': 183,
};

/** The largest legal configuration of each kind. */
export function largestPlans(): LargestPlan[] {
  return Object.entries(shapes).map(([what, shape]) => {
    const configOf = (count: number): object => ({ ...common, ...shape(count) });
    let [legal, refused] = [1, limits.maxConfigObjects + 1];
    const guesses = [found[what], (found[what] ?? 0) + 1];
    while (refused - legal > 1) {
      const guess = guesses.shift();
      const count = guess !== undefined && guess > legal && guess < refused ? guess : Math.floor((legal + refused) / 2);
      if (isLegal(configOf(count))) legal = count;
      else refused = count;
    }
    return { what, objects: legal, config: configOf(legal) };
  });
}

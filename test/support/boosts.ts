import { configText } from './answers.js';

/** A boost as a table of a test has it. */
export interface Boost {
  readonly multiplier: number;
  readonly rounding?: 'down' | 'up' | 'nearest';
  /** Local days, both included; from long ago and without an end if they are left out. */
  readonly start?: string;
  readonly end?: string;
  readonly city?: string;
  readonly userId?: string;
}

export const boostsOf = (boosts: readonly Boost[]): object[] =>
  boosts.map(({ multiplier, rounding, start = '2020-01-01', end, city, userId }, i) => ({
    key: `b${i}`,
    name: `Boost ${i}`,
    start,
    multiplier,
    ...(rounding ? { rounding } : {}),
    ...(end === undefined ? {} : { end }),
    ...(city === undefined ? {} : { userAttributes: [{ attributeKey: 'city', attributeValue: city }] }),
    ...(userId === undefined ? {} : { userId }),
  }));

/** A points system that earns so many points at every step of its own metric. */
const system = (key: string, points: number, boosts: readonly Boost[]): object => ({
  key,
  name: key,
  boosts: boostsOf(boosts),
  triggers: [{ key: 't', type: 'metric', metricKey: key, metricThreshold: 1, points, status: 'active' }],
});

/** A configuration with a points system, and a metric of the same key, for each name. */
export const boostConfig = (systems: Readonly<Record<string, readonly [points: number, boosts: readonly Boost[]]>>): string =>
  configText({
    attributes: [{ key: 'city', name: 'City', type: 'user' }],
    metrics: Object.keys(systems).map((key) => ({ key, name: key })),
    points: Object.entries(systems).map(([key, [points, boosts]]) => system(key, points, boosts)),
  });

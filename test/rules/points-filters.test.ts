import { expect } from 'chai';
import { configText, readPoints, track } from '../support/answers.js';
import { startWorld, type World } from '../support/world.js';

type Attributes = Readonly<Record<string, string>>;

/** One event: its value, what is sent with it, and the points that it earns. */
interface Step {
  readonly value: number;
  readonly user?: Attributes;
  readonly event?: Attributes;
  readonly earns: number;
}

interface Rule {
  readonly rule: string;
  /** What the trigger asks for. It pays 1 point for every 5. */
  readonly of: { readonly user?: Attributes; readonly event?: Attributes };
  readonly steps: readonly Step[];
}

const lisbon = { city: 'Lisbon' };
const phone = { device: 'phone' };

const userRules: readonly Rule[] = [
  {
    rule: 'matches attributes that are sent with the event itself, also for a new user',
    of: { user: lisbon },
    steps: [{ value: 5, user: lisbon, earns: 1 }],
  },
  {
    rule: 'matches attributes that were sent before',
    of: { user: lisbon },
    steps: [
      { value: 0, user: lisbon, earns: 0 },
      { value: 5, earns: 1 },
    ],
  },
  {
    rule: 'does not match a user who lacks the attribute, or has another value',
    of: { user: lisbon },
    steps: [
      { value: 5, earns: 0 },
      { value: 5, user: { city: 'lisbon' }, earns: 0 },
      { value: 5, user: { city: 'Lisbon ' }, earns: 0 },
      { value: 5, user: { city: '' }, earns: 0 },
      { value: 5, user: { plan: 'Lisbon' }, earns: 0 },
    ],
  },
  {
    rule: 'needs all of several attributes',
    of: { user: { ...lisbon, plan: 'pro' } },
    steps: [
      { value: 5, user: lisbon, earns: 0 },
      { value: 5, user: { plan: 'free' }, earns: 0 },
      { value: 5, user: { plan: 'pro' }, earns: 1 },
      { value: 5, user: { city: 'Porto' }, earns: 0 },
    ],
  },
  {
    rule: 'stops matching with the event that changes the attribute',
    of: { user: lisbon },
    steps: [
      { value: 5, user: lisbon, earns: 1 },
      { value: 5, user: { city: 'Porto' }, earns: 0 },
      { value: 5, user: lisbon, earns: 1 },
    ],
  },
  {
    rule: 'counts only what happened while it matched',
    of: { user: lisbon },
    steps: [
      { value: 4, user: lisbon, earns: 0 },
      { value: 40, user: { city: 'Porto' }, earns: 0 },
      { value: 1, user: lisbon, earns: 1 },
    ],
  },
];

const eventRules: readonly Rule[] = [
  {
    rule: 'matches an event that was sent with the attribute',
    of: { event: phone },
    steps: [
      { value: 5, event: phone, earns: 1 },
      { value: 5, earns: 0 },
      { value: 5, event: { device: 'tablet' }, earns: 0 },
      { value: 5, event: { ...phone, mode: 'night' }, earns: 1 },
    ],
  },
  {
    rule: 'needs all of several attributes, in one event',
    of: { event: { ...phone, mode: 'night' } },
    steps: [
      { value: 5, event: phone, earns: 0 },
      { value: 5, event: { mode: 'night' }, earns: 0 },
      { value: 5, event: { mode: 'night', ...phone }, earns: 1 },
    ],
  },
  {
    rule: 'counts matching events alone towards its multiples',
    of: { event: phone },
    steps: [
      { value: 3, event: phone, earns: 0 },
      { value: 300, earns: 0 },
      { value: 1, event: phone, earns: 0 },
      { value: 1, event: phone, earns: 1 },
    ],
  },
  {
    rule: 'is not fooled by a user attribute of the same key and value',
    of: { event: phone },
    steps: [{ value: 5, user: phone, earns: 0 }],
  },
];

const bothRules: readonly Rule[] = [
  {
    rule: 'all of them must match',
    of: { user: lisbon, event: phone },
    steps: [
      { value: 5, user: lisbon, earns: 0 },
      { value: 5, event: phone, earns: 1 },
      { value: 5, user: { city: 'Porto' }, event: phone, earns: 0 },
      { value: 5, user: lisbon, event: phone, earns: 1 },
    ],
  },
  { rule: 'none means every user and every event', of: {}, steps: [{ value: 5, user: lisbon, event: phone, earns: 1 }] },
];

const tables = {
  'A trigger for users with attributes': userRules,
  'A trigger for events with attributes': eventRules,
  'Filters of both kinds:': bothRules,
};
const rules = Object.values(tables).flat();

const filters = (wanted: Attributes | undefined): object[] =>
  Object.entries(wanted ?? {}).map(([attributeKey, attributeValue]) => ({ attributeKey, attributeValue }));

const config = {
  attributes: [
    { key: 'city', name: 'City', type: 'user' },
    { key: 'plan', name: 'Plan', type: 'user' },
    { key: 'device', name: 'Device of the user', type: 'user' },
    { key: 'device', name: 'Device of the event', type: 'event' },
    { key: 'mode', name: 'Mode', type: 'event' },
  ],
  metrics: rules.map((_, i) => ({ key: `m${i}`, name: `Metric ${i}` })),
  points: rules.map(({ of }, i) => ({
    key: `p${i}`,
    name: `System ${i}`,
    triggers: [
      {
        key: 't',
        type: 'metric',
        metricKey: `m${i}`,
        metricThreshold: 5,
        points: 1,
        status: 'active',
        userAttributes: filters(of.user),
        eventAttributes: filters(of.event),
      },
    ],
  })),
};

describe('Filters of triggers', () => {
  let world: World;
  before(async () => {
    world = await startWorld({ config: configText(config) });
  });
  after(() => world.stop());

  for (const [guarantee, table] of Object.entries(tables)) {
    describe(guarantee, () => {
      for (const { rule, steps } of table) {
        it(rule, async () => {
          const index = rules.findIndex((other) => other.rule === rule);
          let total = 0;
          for (const { value, user, event, earns } of steps) {
            const sent = { user: { id: `user${index}`, ...(user ? { attributes: user } : {}) }, value, attributes: event };
            const { points } = await track(world, `m${index}`, sent);
            expect(points[`p${index}`]?.added ?? 0, JSON.stringify(sent)).to.equal(earns);
            total += earns;
          }
          expect((await readPoints(world, `user${index}`, `p${index}`)).total).to.equal(total);
        });
      }
    });
  }
});

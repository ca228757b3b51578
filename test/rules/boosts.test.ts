import { expect } from 'chai';
import { configText, type EventUser, readPoints, track } from '../support/answers.js';
import { type Boost, boostConfig, boostsOf } from '../support/boosts.js';
import { startWorld, type World } from '../support/world.js';

describe('Boosts', () => {
  interface Rule {
    readonly rule: string;
    readonly points: number;
    /** How often the trigger is passed at once; 1 if it is left out. */
    readonly times?: number;
    readonly boosts: readonly Boost[];
    readonly earns: number;
  }

  const roundings: readonly Rule[] = [
    { rule: '10 × 1.1 up is 11, for 1.1 is not a little more', points: 10, boosts: [{ multiplier: 1.1, rounding: 'up' }], earns: 11 },
    {
      rule: '100 × 1.15 down is 115, for 1.15 is not a little less',
      points: 100,
      boosts: [{ multiplier: 1.15, rounding: 'down' }],
      earns: 115,
    },
    { rule: '3 × 1.5 down is 4', points: 3, boosts: [{ multiplier: 1.5, rounding: 'down' }], earns: 4 },
    { rule: 'down is the default', points: 3, boosts: [{ multiplier: 1.5 }], earns: 4 },
    { rule: '3 × 1.5 up is 5', points: 3, boosts: [{ multiplier: 1.5, rounding: 'up' }], earns: 5 },
    { rule: '1 × 1.2 to the nearest is 1', points: 1, boosts: [{ multiplier: 1.2, rounding: 'nearest' }], earns: 1 },
    { rule: '1 × 1.7 to the nearest is 2', points: 1, boosts: [{ multiplier: 1.7, rounding: 'nearest' }], earns: 2 },
    { rule: 'a half to the nearest goes up', points: 1, boosts: [{ multiplier: 2.5, rounding: 'nearest' }], earns: 3 },
    { rule: 'up goes up from the smallest part', points: 1, boosts: [{ multiplier: 2.000001, rounding: 'up' }], earns: 3 },
    { rule: 'down goes down from the largest', points: 1, boosts: [{ multiplier: 99.999999, rounding: 'down' }], earns: 99 },
    { rule: 'whole products are not rounded', points: 7, boosts: [{ multiplier: 3, rounding: 'up' }], earns: 21 },
    {
      rule: 'what a trigger pays at once is rounded once: 3 × 5 × 1.1',
      points: 5,
      times: 3,
      boosts: [{ multiplier: 1.1, rounding: 'nearest' }],
      earns: 17,
    },
    { rule: 'less than 1 takes away', points: 10, boosts: [{ multiplier: 0.25, rounding: 'up' }], earns: 3 },
  ];
  const stacks: readonly Rule[] = [
    { rule: 'multiply each other: × 1.5 × 2', points: 10, boosts: [{ multiplier: 1.5 }, { multiplier: 2 }], earns: 30 },
    {
      rule: 'exactly: 100 × 1.1 × 1.1 is 121',
      points: 100,
      boosts: [
        { multiplier: 1.1, rounding: 'up' },
        { multiplier: 1.1, rounding: 'up' },
      ],
      earns: 121,
    },
    {
      rule: 'are rounded once, after all: 1 × 1.4 × 1.4 up is 2',
      points: 1,
      boosts: [
        { multiplier: 1.4, rounding: 'up' },
        { multiplier: 1.4, rounding: 'up' },
      ],
      earns: 2,
    },
    {
      rule: 'of which some are not active count for nothing',
      points: 10,
      boosts: [{ multiplier: 2 }, { multiplier: 50, start: '2041-01-01' }, { multiplier: 50, end: '2030-01-01' }],
      earns: 20,
    },
    { rule: 'may be many', points: 1, boosts: Array.from({ length: 10 }, () => ({ multiplier: 2.5 })), earns: 9536 },
  ];
  const deciders: readonly Rule[] = [
    {
      rule: 'the largest multiplier rounds, here up',
      points: 1,
      boosts: [
        { multiplier: 1.5, rounding: 'up' },
        { multiplier: 1.1, rounding: 'down' },
      ],
      earns: 2,
    },
    {
      rule: 'the largest multiplier rounds, here down',
      points: 1,
      boosts: [
        { multiplier: 1.1, rounding: 'up' },
        { multiplier: 1.5, rounding: 'down' },
      ],
      earns: 1,
    },
    {
      rule: 'of equals the newest, here up',
      points: 1,
      boosts: [
        { multiplier: 1.5, rounding: 'down' },
        { multiplier: 1.5, rounding: 'up' },
      ],
      earns: 3,
    },
    {
      rule: 'of equals the newest, here down',
      points: 1,
      boosts: [
        { multiplier: 1.5, rounding: 'up' },
        { multiplier: 1.5, rounding: 'down' },
      ],
      earns: 2,
    },
    {
      rule: 'one that is not active decides nothing',
      points: 1,
      boosts: [
        { multiplier: 1.5, rounding: 'up' },
        { multiplier: 9, rounding: 'down', start: '2041-01-01' },
      ],
      earns: 2,
    },
    {
      rule: 'the user’s own decides if it is the largest',
      points: 1,
      boosts: [
        { multiplier: 1.5, rounding: 'up', userId: 'ana' },
        { multiplier: 1.1, rounding: 'down' },
      ],
      earns: 2,
    },
    {
      rule: 'the user’s own does not decide if another is larger',
      points: 1,
      boosts: [
        { multiplier: 1.1, rounding: 'up', userId: 'ana' },
        { multiplier: 1.5, rounding: 'down' },
      ],
      earns: 1,
    },
    {
      rule: 'the user’s own decides if it is the newest of equals',
      points: 1,
      boosts: [
        { multiplier: 1.5, rounding: 'down' },
        { multiplier: 1.5, rounding: 'up', userId: 'ana' },
      ],
      earns: 3,
    },
    {
      rule: 'the user’s own does not decide if it is the oldest of equals',
      points: 1,
      boosts: [
        { multiplier: 1.5, rounding: 'up', userId: 'ana' },
        { multiplier: 1.5, rounding: 'down' },
      ],
      earns: 2,
    },
  ];
  const tables = { 'are exact and round as they say:': roundings, 'that are active together': stacks, 'that round differently:': deciders };
  const rules = Object.values(tables).flat();

  let world: World;
  before(async () => {
    const forSome: readonly Boost[] = [{ multiplier: 2 }, { multiplier: 3, city: 'Lisbon' }, { multiplier: 5, userId: 'vip' }];
    const shown: readonly Boost[] = [
      { multiplier: 2, start: '2040-01-01', end: '2040-01-31', rounding: 'nearest' },
      { multiplier: 9, start: '2050-01-01' },
      { multiplier: 1.5, userId: 'ana' },
    ];
    const rows = rules.map(({ points, boosts }, i) => [`r${i}`, [points, boosts]] as const);
    world = await startWorld({
      config: boostConfig({
        ...Object.fromEntries(rows),
        forSome: [10, forSome],
        shown: [10, shown],
        gains: [100, []],
        half: [1, [{ multiplier: 0.5 }]],
      }),
    });
  });
  after(() => world.stop());

  for (const [guarantee, table] of Object.entries(tables)) {
    describe(guarantee, () => {
      for (const { rule, times = 1, earns } of table) {
        it(rule, async () => {
          const key = `r${rules.findIndex((other) => other.rule === rule)}`;
          expect((await track(world, key, { user: 'ana', value: times })).points[key]?.added).to.equal(earns);
        });
      }
    });
  }

  describe('that name users:', () => {
    const lisbon = { city: 'Lisbon' };
    const cases: readonly (readonly [who: string, user: EventUser, earns: number])[] = [
      ['a boost without a user is for all users', 'any', 20],
      ['a cohort gets its own as well', { id: 'local', attributes: lisbon }, 60],
      ['a cohort goes by exact values', { id: 'other', attributes: { city: 'LISBON' } }, 20],
      ['one user gets the boost for that user', 'vip', 100],
      ['one user gets all boosts that apply, once the attribute is there', { id: 'vip', attributes: lisbon }, 300],
      ['an id that only begins like it does not get the boost', 'vip2', 20],
    ];
    for (const [who, user, earns] of cases) {
      it(who, async () => {
        expect((await track(world, 'forSome', { user, value: 1 })).points['forSome']?.added).to.equal(earns);
      });
    }
  });

  it('do not multiply deductions', async () => {
    await world.configure(
      configText({
        metrics: [{ key: 'mixed', name: 'Mixed' }],
        points: [
          {
            key: 'mixed',
            name: 'Mixed',
            boosts: boostsOf([{ multiplier: 3 }]),
            triggers: [
              { key: 'plus', type: 'metric', metricKey: 'mixed', metricThreshold: 1, points: 10, status: 'active' },
              { key: 'minus', type: 'metric', metricKey: 'mixed', metricThreshold: 1, points: -10, status: 'active' },
            ],
          },
        ],
      }),
    );
    const { points } = await track(world, 'mixed', { user: 'ana', value: 1 });
    const awards = points['mixed']?.awards.map(({ awarded, boosts }) => [awarded, boosts.map(({ name }) => name)]);
    expect(awards).to.deep.equal([
      [30, ['Boost 0']],
      [-10, []],
    ]);
  });

  it('create no award when nothing is left of it', async () => {
    expect((await track(world, 'half', { user: 'ana', value: 1 })).points).to.deep.equal({});
    // 3 × 0.5 is 1.5: the award is boosted as a whole.
    expect((await track(world, 'half', { user: 'ana', value: 3 })).points['half']?.added).to.equal(1);
  });

  it('are listed in the award if they applied, and only then', async () => {
    const { points } = await track(world, 'shown', { user: 'ana', value: 1 });
    const boosts = points['shown']?.awards[0]?.boosts.map(({ id: _, ...boost }: { id?: string; name: string }) => boost);
    expect(boosts).to.deep.equal([
      { name: 'Boost 0', status: 'active', start: '2040-01-01', end: '2040-01-31', multiplier: 2, rounding: 'nearest' },
      { name: 'Boost 2', status: 'active', start: '2020-01-01', end: null, multiplier: 1.5, rounding: 'down' },
    ]);
    expect((await readPoints(world, 'ana', 'shown')).awards).to.deep.equal(points['shown']?.awards);
    expect((await track(world, 'gains', { user: 'ana', value: 1 })).points['gains']?.awards[0]?.boosts).to.deep.equal([]);
  });
});

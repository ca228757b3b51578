import { expect } from 'chai';
import { configText, type Level, readPoints, track } from '../support/answers.js';
import { startWorld, type World } from '../support/world.js';

/** Points are earned and lost one by one with these two metrics. */
type Metric = 'earn' | 'lose';

/** What the answer to an event says of the level: its key, null for none any more; `nothing` when it is the one it was. */
type Said = string | null;

interface Rule {
  readonly rule: string;
  readonly levels: Readonly<Record<string, number>>;
  readonly maxPoints?: number;
  readonly steps: readonly (readonly [metric: Metric, value: number, total: number, level: Said])[];
  /** The level that the user has in the end. */
  readonly has: string | null;
}

const bronzeToGold = { bronze: 10, silver: 20, gold: 50 };

const rules: readonly Rule[] = [
  {
    rule: 'is reached with exactly its points, and said once',
    levels: bronzeToGold,
    steps: [
      ['earn', 9, 9, 'nothing'],
      ['earn', 1, 10, 'bronze'],
      ['earn', 1, 11, 'nothing'],
      ['earn', 8, 19, 'nothing'],
      ['earn', 1, 20, 'silver'],
    ],
    has: 'silver',
  },
  { rule: 'is the highest of several that one event reaches', levels: bronzeToGold, steps: [['earn', 70, 70, 'gold']], has: 'gold' },
  {
    rule: 'is lost with its points: the one below comes back',
    levels: bronzeToGold,
    steps: [
      ['earn', 50, 50, 'gold'],
      ['lose', 1, 49, 'silver'],
      ['lose', 29, 20, 'nothing'],
      ['lose', 10, 10, 'bronze'],
      ['earn', 40, 50, 'gold'],
    ],
    has: 'gold',
  },
  {
    rule: 'becomes null below the lowest',
    levels: bronzeToGold,
    steps: [
      ['earn', 25, 25, 'silver'],
      ['lose', 16, 9, null],
      ['lose', 100, 0, 'nothing'],
    ],
    has: null,
  },
  {
    rule: 'of 0 points is everybody’s from the start, so reaching it is no change',
    levels: { start: 0, ...bronzeToGold },
    steps: [
      ['earn', 5, 5, 'nothing'],
      ['earn', 5, 10, 'bronze'],
      ['lose', 10, 0, 'start'],
      ['lose', 1, 0, 'nothing'],
    ],
    has: 'start',
  },
  {
    rule: 'at the cap is reached with the cap',
    levels: { bronze: 10, top: 30 },
    maxPoints: 30,
    steps: [
      ['earn', 29, 29, 'bronze'],
      ['earn', 100, 30, 'top'],
      ['earn', 100, 30, 'nothing'],
    ],
    has: 'top',
  },
  { rule: 'is none where there are none', levels: {}, steps: [['earn', 5, 5, 'nothing']], has: null },
  {
    rule: 'goes by points, not by the order in the file',
    levels: { gold: 50, bronze: 10, silver: 20 },
    steps: [
      ['earn', 25, 25, 'silver'],
      ['earn', 30, 55, 'gold'],
      ['lose', 40, 15, 'bronze'],
    ],
    has: 'bronze',
  },
];

const levelsOf = (levels: Readonly<Record<string, number>>): object[] =>
  Object.entries(levels).map(([key, points]) => ({ key, name: key.toUpperCase(), points }));

/** Each rule has its own system, and its own pair of metrics. */
const config = {
  metrics: rules.flatMap((_, i) => [
    { key: `earn${i}`, name: 'Earn' },
    { key: `lose${i}`, name: 'Lose' },
  ]),
  points: rules.map(({ levels, maxPoints }, i) => ({
    key: `p${i}`,
    name: `System ${i}`,
    ...(maxPoints === undefined ? {} : { maxPoints }),
    levels: levelsOf(levels),
    triggers: [
      { key: 'earn', type: 'metric', metricKey: `earn${i}`, metricThreshold: 1, points: 1, status: 'active' },
      { key: 'lose', type: 'metric', metricKey: `lose${i}`, metricThreshold: 1, points: -1, status: 'active' },
    ],
  })),
};

/** What a block says, in the words of the tables. */
const said = (block: { readonly level?: Level | null } | undefined): Said => {
  if (!block || !('level' in block)) return 'nothing';
  return block.level?.key ?? null;
};

describe('A level', () => {
  let world: World;
  before(async () => {
    world = await startWorld({ config: configText(config) });
  });
  after(() => world.stop());

  for (const [i, { rule, steps, has }] of rules.entries()) {
    it(rule, async () => {
      for (const [metric, value, total, level] of steps) {
        const { points } = await track(world, `${metric}${i}`, { user: 'ana', value });
        const block = points[`p${i}`];
        expect(said(block), `the level after ${metric} ${value}`).to.equal(level);
        if (block) expect(block.total).to.equal(total);
      }
      const { total, level } = await readPoints(world, 'ana', `p${i}`);
      expect([total, level?.key ?? null]).to.deep.equal([steps.at(-1)?.[2], has]);
    });
  }

  it('is shown whole', async () => {
    await world.configure(
      configText({
        metrics: [{ key: 'm', name: 'M' }],
        points: [
          {
            key: 'whole',
            name: 'Whole',
            description: 'All of it',
            badge: { url: 'https://example.com/w.png' },
            maxPoints: 100,
            levels: [{ key: 'novice', name: 'Novice', points: 1, description: 'The first.', badge: { url: 'https://example.com/n.png' } }],
            triggers: [{ key: 't', type: 'metric', metricKey: 'm', metricThreshold: 1, points: 1, status: 'active' }],
          },
        ],
      }),
    );
    const { points } = await track(world, 'm', { user: 'ana', value: 1 });
    expect(points['whole']).to.deep.include({
      name: 'Whole',
      key: 'whole',
      description: 'All of it',
      badgeUrl: 'https://example.com/w.png',
      maxPoints: 100,
    });
    const level = { key: 'novice', name: 'Novice', description: 'The first.', badgeUrl: 'https://example.com/n.png', points: 1 };
    expect(points['whole']?.level).to.deep.include(level);
    expect((await readPoints(world, 'ana', 'whole')).level).to.deep.equal(points['whole']?.level);
  });

  it('follows a change of the configuration with the next read', async () => {
    const system = (levels: Readonly<Record<string, number>>): string =>
      configText({
        metrics: [{ key: 'n', name: 'N' }],
        points: [
          {
            key: 'moved',
            name: 'Moved',
            levels: levelsOf(levels),
            triggers: [{ key: 't', type: 'metric', metricKey: 'n', metricThreshold: 1, points: 1, status: 'active' }],
          },
        ],
      });
    await world.configure(system({ low: 5, high: 10 }));
    await track(world, 'n', { user: 'ben', value: 7 });
    expect((await readPoints(world, 'ben', 'moved')).level?.key).to.equal('low');
    await world.configure(system({ low: 5, high: 6 }));
    expect((await readPoints(world, 'ben', 'moved')).level?.key).to.equal('high');
    expect(said((await track(world, 'n', { user: 'ben', value: 1 })).points['moved'])).to.equal('nothing');
    await world.configure(system({}));
    expect((await readPoints(world, 'ben', 'moved')).level).to.equal(null);
  });
});

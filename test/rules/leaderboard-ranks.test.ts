import { expect } from 'chai';
import { bodyOf, configText, readBoard, readPlace, track } from '../support/answers.js';
import { startWorld, type World } from '../support/world.js';

interface Rule {
  readonly rule: string;
  /** 1,000 if it is left out. */
  readonly maxParticipants?: number;
  /** `user value: rank previousRank threshold`, the last three as the event's response has them, or `nothing`. */
  readonly steps: readonly string[];
  /** The board in the end. */
  readonly board: readonly string[];
}

const ranks: readonly Rule[] = [
  {
    rule: 'count from 1, the highest value first',
    steps: ['ana 10: 1 - 0', 'ben 30: 1 - 0', 'carl 20: 2 - 0', 'dora 5: 4 - 0'],
    board: ['1 ben 30', '2 carl 20', '3 ana 10', '4 dora 5'],
  },
  {
    rule: 'are said with the one before, up and down',
    steps: ['ana 10: 1 - 0', 'ben 20: 1 - 0', 'carl 30: 1 - 0', 'ana 15: 2 3 0', 'ana 15: 1 2 0', 'ana -35: 3 1 0'],
    board: ['1 carl 30', '2 ben 20', '3 ana 5'],
  },
  {
    rule: 'are said when the value changes and the rank does not',
    steps: ['ana 10: 1 - 0', 'ana 1: 1 1 0'],
    board: ['1 ana 11'],
  },
  {
    rule: 'are not said when nothing changes',
    steps: ['ana 10: 1 - 0', 'ana 0: nothing'],
    board: ['1 ana 10'],
  },
  { rule: 'are for values of 0 too', steps: ['ana 0: 1 - 0'], board: ['1 ana 0'] },
  {
    rule: 'are for parts of numbers too',
    steps: ['ana 0.1: 1 - 0', 'ben 0.25: 1 - 0', 'ana 0.2: 1 2 0'],
    board: ['1 ana 0.3', '2 ben 0.25'],
  },
  {
    rule: 'are for values below 0 too',
    steps: ['ana -5: 1 - 0', 'ben 0: 1 - 0', 'ana 6: 1 2 0'],
    board: ['1 ana 1', '2 ben 0'],
  },
  {
    rule: 'are kept by those who fall below 0',
    steps: ['ana 5: 1 - 0', 'ben 3: 2 - 0', 'ana -10: 2 1 0', 'ben -13: 2 1 0'],
    board: ['1 ana -5', '2 ben -10'],
  },
  {
    rule: 'tell apart the largest of numbers',
    steps: ['ana 999999999999999: 1 - 0', 'ben 1e15: 1 - 0', 'carl 999999999999998: 3 - 0'],
    board: ['1 ben 1000000000000000', '2 ana 999999999999999', '3 carl 999999999999998'],
  },
];

const ties: readonly Rule[] = [
  {
    rule: 'rank the user who reached the value first higher, whatever the ids',
    steps: ['zoe 10: 1 - 0', 'abe 10: 2 - 0', 'mia 10: 3 - 0'],
    board: ['1 zoe 10', '2 abe 10', '3 mia 10'],
  },
  {
    rule: 'go by when the value was reached, not by who came first',
    steps: ['ana 4: 1 - 0', 'ben 10: 1 - 0', 'ana 6: 2 2 0'],
    board: ['1 ben 10', '2 ana 10'],
  },
  {
    rule: 'are not lost by the same value again',
    steps: ['ana 10: 1 - 0', 'ben 10: 2 - 0', 'ana 0: nothing'],
    board: ['1 ana 10', '2 ben 10'],
  },
  {
    rule: 'are lost by leaving the value and coming back',
    steps: ['ana 10: 1 - 0', 'ben 10: 2 - 0', 'ana 1: 1 1 0', 'ana -1: 2 1 0'],
    board: ['1 ben 10', '2 ana 10'],
  },
  {
    rule: 'are lost by falling to the value as well',
    steps: ['ana 12: 1 - 0', 'ben 10: 2 - 0', 'ana -2: 2 1 0'],
    board: ['1 ben 10', '2 ana 10'],
  },
  {
    rule: 'are found between sums of parts',
    steps: ['ana 0.3: 1 - 0', 'ben 0.1: 2 - 0', 'ben 0.2: 2 2 0'],
    board: ['1 ana 0.3', '2 ben 0.3'],
  },
  {
    rule: 'below 0 are the same',
    steps: ['ana 1: 1 - 0', 'ben 1: 2 - 0', 'ben -3: 2 2 0', 'ana -3: 2 1 0'],
    board: ['1 ben -2', '2 ana -2'],
  },
];

const full: readonly Rule[] = [
  {
    rule: 'asks for more than the lowest value once it is full, and for nothing before',
    maxParticipants: 2,
    steps: ['ana 10: 1 - 0', 'ben 5: 2 - 5', 'ana 1: 1 1 5', 'ben 2: 2 2 7'],
    board: ['1 ana 11', '2 ben 7'],
  },
  {
    rule: 'takes a newcomer above the lowest, who is outside then, and not one with the same value',
    maxParticipants: 2,
    steps: ['ana 10: 1 - 0', 'ben 5: 2 - 5', 'carl 5: nothing', 'carl 1: 2 - 6'],
    board: ['1 ana 10', '2 carl 6'],
  },
  {
    rule: 'takes back a user who was outside, as a newcomer',
    maxParticipants: 2,
    steps: ['ana 10: 1 - 0', 'ben 5: 2 - 5', 'carl 6: 2 - 6', 'ben 1: nothing', 'ben 1: 2 - 7', 'carl 10: 1 - 10'],
    board: ['1 carl 16', '2 ana 10'],
  },
  {
    rule: 'lets go of the last of those who tie for the lowest',
    maxParticipants: 3,
    steps: ['ana 5: 1 - 0', 'ben 5: 2 - 0', 'carl 5: 3 - 5', 'dora 6: 1 - 5'],
    board: ['1 dora 6', '2 ana 5', '3 ben 5'],
  },
  {
    rule: 'gives the place of a participant who falls to the best outside',
    maxParticipants: 2,
    steps: [
      'ana 10: 1 - 0',
      'ben 5: 2 - 5',
      'carl 4: nothing',
      'dora 3: nothing',
      'ana -8: - 1 4',
      'carl 1: 2 2 5',
      'ben -5: - 1 3',
      'dora 0: nothing',
    ],
    board: ['1 carl 5', '2 dora 3'],
  },
  {
    rule: 'keeps the threshold of the last rank when users move above it or to it',
    maxParticipants: 3,
    steps: [
      'ana 10: 1 - 0',
      'ben 8: 2 - 0',
      'carl 6: 3 - 6',
      'dora 4: nothing',
      'dora 1: nothing',
      'ana -3: 2 1 6',
      'ana -1: 3 2 6',
      'ana 5: 1 3 6',
      'carl 1: 3 3 7',
      'carl 2: 2 3 8',
      'dora 4: 3 - 9',
    ],
    board: ['1 ana 11', '2 carl 9', '3 dora 9'],
  },
  {
    rule: 'of one is held by the first of the highest',
    maxParticipants: 1,
    steps: ['ana 1: 1 - 1', 'ben 1: nothing', 'ben 0.5: 1 - 1.5', 'ana 0.5: nothing'],
    board: ['1 ben 1.5'],
  },
  {
    rule: 'may ask for less than 0',
    maxParticipants: 1,
    steps: ['ana 1: 1 - 1', 'ana -5: 1 1 -4', 'ben -4: nothing', 'ben 1: 1 - -3'],
    board: ['1 ben -3'],
  },
];

const tables = { Ranks: ranks, Ties: ties, 'A board with a limit': full };
const rules = Object.values(tables).flat();

/** Each rule has a board by its own metric, and one by its own points, which go up and down one by one with two more metrics. */
const config = {
  metrics: rules.flatMap((_, i) => [
    { key: `m${i}`, name: `Metric ${i}` },
    { key: `up${i}`, name: `Up ${i}` },
    { key: `down${i}`, name: `Down ${i}` },
  ]),
  points: rules.map((_, i) => ({
    key: `p${i}`,
    name: `System ${i}`,
    triggers: [
      { key: 'up', type: 'metric', metricKey: `up${i}`, metricThreshold: 1, points: 1, status: 'active' },
      { key: 'down', type: 'metric', metricKey: `down${i}`, metricThreshold: 1, points: -1, status: 'active' },
    ],
  })),
  leaderboards: rules.flatMap(({ maxParticipants = 1000 }, i) => [
    { key: `by-metric-${i}`, name: 'By metric', status: 'active', rankBy: 'metric', metricKey: `m${i}`, maxParticipants },
    { key: `by-points-${i}`, name: 'By points', status: 'active', rankBy: 'points', pointsSystemKey: `p${i}`, maxParticipants },
  ]),
};

/** What can be played with points: whole numbers that stay above 0, and an event that changes them. */
function parse(step: string): readonly [user: string, value: number, expected: string] {
  const [, user, value, expected] = /^(\w+) (\S+): (.+)$/.exec(step) ?? [];
  if (user === undefined || expected === undefined) throw new Error(`"${step}" is not a step`);
  return [user, Number(value), expected];
}

const playsWithPoints = ({ steps }: Rule): boolean => {
  const totals = new Map<string, number>();
  return steps.map(parse).every(([user, value]) => {
    const total = (totals.get(user) ?? 0) + value;
    totals.set(user, total);
    return Number.isInteger(value) && total > 0 && total < 1e12;
  });
};

describe('Leaderboards', () => {
  let world: World;
  before(async () => {
    world = await startWorld({ config: configText(config) });
  });
  after(() => world.stop());

  for (const by of ['metric', 'points'] as const) {
    for (const [guarantee, table] of Object.entries(tables)) {
      describe(`by ${by}: ${guarantee}`, () => {
        for (const { rule, steps, board } of table.filter((one) => by === 'metric' || playsWithPoints(one))) {
          it(rule, async () => {
            const index = rules.findIndex((other) => other.rule === rule);
            const key = `by-${by}-${index}`;
            for (const [user, value, expected] of steps.map(parse)) {
              const metric = by === 'metric' ? 'm' : value < 0 ? 'down' : 'up';
              const event = { user, value: by === 'metric' ? value : Math.abs(value) };
              const { leaderboards } = await track(world, `${metric}${index}`, event);
              const block = leaderboards[key];
              const found = block ? `${block.rank ?? '-'} ${block.previousRank ?? '-'} ${block.threshold}` : 'nothing';
              expect(found, `after ${user} ${value}`).to.equal(expected);
            }
            expect(await readBoard(world, key)).to.deep.equal(board);
          });
        }
      });
    }
  }

  it('that an event does not change are not in its answer', async () => {
    const boards = ['a', 'b'].flatMap((key) => [
      { key: `metric-${key}`, name: 'By metric', status: 'active', rankBy: 'metric', metricKey: `apart-${key}` },
      { key: `points-${key}`, name: 'By points', status: 'active', rankBy: 'points', pointsSystemKey: `apart-${key}` },
    ]);
    const points = ['a', 'b'].map((key) => ({
      key: `apart-${key}`,
      name: 'Apart',
      triggers: [{ key: 't', type: 'metric', metricKey: `apart-${key}`, metricThreshold: 10, points: 1, status: 'active' }],
    }));
    const metrics = ['a', 'b'].map((key) => ({ key: `apart-${key}`, name: 'Apart' }));
    await world.configure(configText({ metrics, points, leaderboards: boards }));
    const changed = async (value: number): Promise<string[]> =>
      Object.keys((await track(world, 'apart-a', { user: 'ana', value })).leaderboards);
    expect(await changed(9)).to.deep.equal(['metric-a']);
    expect(await changed(1)).to.deep.equal(['metric-a', 'points-a']);
    expect(await changed(0)).to.deep.equal([]);
    expect((await readPlace(world, 'ana', 'points-b')).rank).to.equal(null);
  });

  it('that a user held and lost on one day leave a row without a rank and a value', async () => {
    await world.configure(
      configText({
        metrics: [{ key: 'fallen', name: 'Fallen' }],
        leaderboards: [{ key: 'fallen', name: 'Fallen', status: 'active', rankBy: 'metric', metricKey: 'fallen', maxParticipants: 2 }],
      }),
    );
    for (const [user, value] of [
      ['cy', 9],
      ['ana', 3],
      ['bo', 2],
      ['ana', -2],
    ] as const)
      await track(world, 'fallen', { user, value });
    const rows = async (user: string): Promise<unknown[]> =>
      (await readPlace(world, user, 'fallen')).history.map(({ previousRank, rank, previousValue, value }) => [
        ...[previousRank, rank, previousValue, value],
      ]);
    expect(await rows('ana')).to.deep.equal([[null, null, null, null]]);
    expect(await rows('cy')).to.deep.equal([[null, 1, null, 9]]);
    // The next day has what was before it.
    await track(world, 'fallen', { user: 'ana', value: 5 });
    expect(await rows('ana')).to.deep.equal([[null, 2, null, 6]]);
  });

  it('hold a thousand with one value in the order in which they reached it', async () => {
    await world.configure(
      configText({
        metrics: [{ key: 'crowd', name: 'Crowd' }],
        leaderboards: [{ key: 'crowd', name: 'Crowd', status: 'active', rankBy: 'metric', metricKey: 'crowd' }],
      }),
    );
    // Ids in no order of their own.
    const users = Array.from({ length: 1000 }, (_, i) => `u${(i * 619) % 1000}`);
    const body = users.map((id) => ({ key: 'crowd', user: { id }, value: 7 }));
    bodyOf(await world.request('POST', '/admin/v1/metrics/events', { body }), 202);
    expect(await readBoard(world, 'crowd')).to.deep.equal(users.map((user, i) => `${i + 1} ${user} 7`));
    const late = await track(world, 'crowd', { user: 'late', value: 7 });
    expect(late.leaderboards).to.deep.equal({});
    const better = await track(world, 'crowd', { user: 'late', value: 1 });
    expect(better.leaderboards['crowd']).to.include({ rank: 1, previousRank: null, threshold: 7 });
    expect(await readPlace(world, users.at(-1) ?? '', 'crowd')).to.include({ rank: null, value: null });
  });
});

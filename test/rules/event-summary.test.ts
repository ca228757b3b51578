import { expect } from 'chai';
import { dateToDay, dayToDate } from '../../src/shared/calendar.js';
import { daysQuery } from '../../src/history/aggregates.js';
import { bodyOf, configText, read, track, userPath } from '../support/answers.js';
import { aggregateDifferences } from '../support/differences.js';
import { numberOf, writePast } from '../support/past.js';
import { Random, runSeed } from '../support/random.js';
import { startWorld, tenant, type World } from '../support/world.js';
import { changedLines } from '../support/changed-lines.js';

interface Item {
  readonly date: string;
  readonly total: number;
  readonly change: number;
}
/** `date total change` */
type Row = string;

const config = (weekStart: string): string =>
  configText({
    settings: { weekStart },
    metrics: [
      { key: 'm', name: 'M' },
      { key: 'loss', name: 'Loss' },
    ],
    points: [
      {
        key: 'p',
        name: 'P',
        triggers: [
          { key: 'per-one', type: 'metric', metricKey: 'm', metricThreshold: 1, points: 10, status: 'active' },
          { key: 'loss', type: 'metric', metricKey: 'loss', metricThreshold: 1, points: -4, status: 'active' },
          { key: 'daily', type: 'time', timeUnit: 'days', timeInterval: 1, points: 1, status: 'active' },
        ],
      },
    ],
  });

const summary = (world: World, user: string, what: string, query: string): Promise<Item[]> =>
  read(world, userPath(user, `/${what}/event-summary?${query}`));
const rows = (items: readonly Item[]): Row[] => items.map(({ date, total, change }) => `${date} ${total} ${change}`);
const range = (aggregation: string, first: string, last: string): string => `aggregation=${aggregation}&startDate=${first}&endDate=${last}`;

/** What happens to users (each named as the case), and what their summaries then are. The world starts on Monday 2040-01-02, 12:00 UTC. */
const cases: readonly {
  readonly rule: string;
  readonly events: readonly (readonly [at: string, value: number, tz?: string])[];
  readonly expected: readonly (readonly [query: string, rows: readonly Row[]])[];
}[] = [
  {
    rule: 'an event at 23:30 in Honolulu belongs to the local day',
    events: [['2040-01-04T09:30:00Z', 1, 'Pacific/Honolulu']],
    expected: [[range('daily', '2040-01-02', '2040-01-04'), ['2040-01-02 0 0', '2040-01-03 1 1', '2040-01-04 1 0']]],
  },
  {
    rule: 'an event after midnight in Kiritimati belongs to the local day, a day ahead',
    events: [['2040-01-04T10:30:00Z', 2, 'Pacific/Kiritimati']],
    expected: [[range('daily', '2040-01-04', '2040-01-05'), ['2040-01-04 0 0', '2040-01-05 2 2']]],
  },
  {
    rule: 'a move west comes back to a day that is over, and the totals of the days after it count it too',
    events: [
      ['2040-01-04T16:00:00Z', 5, 'Asia/Tokyo'],
      ['2040-01-04T17:00:00Z', 2, 'Pacific/Honolulu'],
      ['2040-01-05T08:00:00Z', 1, 'Pacific/Honolulu'],
      ['2040-01-06T08:00:00Z', 4, 'Pacific/Honolulu'],
    ],
    expected: [
      [range('daily', '2040-01-03', '2040-01-06'), ['2040-01-03 0 0', '2040-01-04 3 3', '2040-01-05 12 9', '2040-01-06 12 0']],
      [range('daily', '2040-01-05', '2040-01-05'), ['2040-01-05 12 9']],
    ],
  },
  {
    rule: 'a move east skips a day',
    events: [
      ['2040-01-04T09:00:00Z', 5, 'Pacific/Honolulu'],
      ['2040-01-04T11:00:00Z', 2, 'Pacific/Kiritimati'],
    ],
    expected: [[range('daily', '2040-01-03', '2040-01-05'), ['2040-01-03 5 5', '2040-01-04 5 0', '2040-01-05 7 2']]],
  },
  {
    rule: 'changes may be negative, and cancel out',
    events: [
      ['2040-01-03T08:00:00Z', 5],
      ['2040-01-04T08:00:00Z', -7],
      ['2040-01-05T08:00:00Z', 3],
      ['2040-01-05T09:00:00Z', -3],
    ],
    expected: [[range('daily', '2040-01-03', '2040-01-05'), ['2040-01-03 5 5', '2040-01-04 -2 -7', '2040-01-05 -2 0']]],
  },
  {
    rule: 'decimals are clean: 0.1 ten times is 1, on one day and over ten',
    events: [
      ...Array.from({ length: 10 }, (_, i) => [`2040-01-03T08:00:0${i}Z`, 0.1] as const),
      ...Array.from({ length: 10 }, (_, i) => [dayToDate(dateToDay('2040-01-08') + i) + 'T08:00:00Z', 0.1] as const),
    ],
    expected: [
      [range('daily', '2040-01-03', '2040-01-03'), ['2040-01-03 1 1']],
      [range('daily', '2040-01-10', '2040-01-10'), ['2040-01-10 1.3 0.1']],
      [range('monthly', '2040-01-01', '2040-01-31'), ['2040-01-01 2 2']],
    ],
  },
  {
    rule: 'decimals that cancel out leave the digits of decimals',
    events: [
      ['2040-01-03T08:00:00Z', 1000.1],
      ['2040-01-03T09:00:00Z', -1000],
      ['2040-01-04T08:00:00Z', 2.71],
      ['2040-01-05T08:00:00Z', -2.75],
    ],
    expected: [
      [range('daily', '2040-01-03', '2040-01-04'), ['2040-01-03 0.1 0.1', '2040-01-04 2.81 2.71']],
      [range('weekly', '2040-01-02', '2040-01-08'), ['2040-01-02 0.06 0.06']],
      [range('monthly', '2040-01-04', '2040-01-31'), ['2040-01-01 0.06 -0.04']],
    ],
  },
  {
    rule: 'weeks begin on Monday, and are named by it; a span counts only its own days',
    events: [
      ['2040-01-07T08:00:00Z', 1],
      ['2040-01-08T08:00:00Z', 2],
      ['2040-01-09T08:00:00Z', 4],
      ['2040-01-16T08:00:00Z', 8],
    ],
    expected: [
      [range('weekly', '2040-01-02', '2040-01-29'), ['2040-01-02 3 3', '2040-01-09 7 4', '2040-01-16 15 8', '2040-01-23 15 0']],
      [range('weekly', '2040-01-08', '2040-01-09'), ['2040-01-02 3 2', '2040-01-09 7 4']],
    ],
  },
  {
    rule: 'months are those of the calendar, leap years included',
    events: [
      ['2040-01-31T08:00:00Z', 1],
      ['2040-02-29T08:00:00Z', 2],
      ['2040-03-01T08:00:00Z', 4],
    ],
    expected: [[range('monthly', '2039-12-15', '2040-03-15'), ['2039-12-01 0 0', '2040-01-01 1 1', '2040-02-01 3 2', '2040-03-01 7 4']]],
  },
  {
    rule: 'a span after everything has the total, one before it nothing',
    events: [['2040-01-05T08:00:00Z', 6]],
    expected: [
      [range('daily', '2040-06-01', '2040-06-01'), ['2040-06-01 6 0']],
      [range('daily', '2039-06-01', '2039-06-01'), ['2039-06-01 0 0']],
      ['aggregation=daily&start_date=2040-01-05&end_date=2040-01-05', ['2040-01-05 6 6']],
      ['aggregation=daily&startDate=2040-01-05&end_date=2040-01-05', ['2040-01-05 6 6']],
      ['aggregation=daily&startDate=2040-01-05&start_date=2040-01-05&endDate=2040-01-05', ['2040-01-05 6 6']],
    ],
  },
];

describe('An event summary', () => {
  let world: World;
  before(async () => {
    world = await startWorld({ config: config('monday') });
    const events = cases.flatMap(({ rule, events: list }) =>
      list.map(([at, value, tz]) => ({ user: rule, at: Date.parse(at), value, tz })),
    );
    for (const { user, at, value, tz } of events.sort((a, b) => a.at - b.at)) {
      await world.setClock(new Date(at).toISOString());
      await track(world, 'm', { user: { id: user, ...(tz === undefined ? {} : { tz }) }, value });
    }
  });
  after(() => world.stop());

  for (const { rule, expected } of cases) {
    for (const [query, items] of expected) {
      it(`${rule}: ${query}`, async () => {
        expect(rows(await summary(world, rule, 'metrics/m', query))).to.deep.equal(items);
      });
    }
  }

  it('has 400 items for 400 days', async () => {
    const items = await summary(world, cases[4]!.rule, 'metrics/m', range('daily', '2039-01-01', '2040-02-04'));
    expect(items).to.have.lengthOf(400);
    expect(items.at(-1)).to.deep.equal({ date: '2040-02-04', total: -2, change: 0 });
  });

  it('shows what was written just before, every time', async () => {
    for (let i = 1; i <= 20; i += 1) {
      await track(world, 'm', { user: 'writer', value: 1 });
      expect(rows(await summary(world, 'writer', 'metrics/m', range('daily', '2040-03-01', '2040-03-01')))).to.deep.equal([
        `2040-03-01 ${i} ${i}`,
      ]);
    }
  });

  it('counts for points what was really added, and what time has added on its local day', async () => {
    const user = { id: 'earner', tz: 'Asia/Tokyo' };
    await world.setClock('2040-03-05T01:00:00Z');
    await track(world, 'm', { user, value: 2 });
    // 21 points are there to lose, and 24 are asked for.
    await world.setClock('2040-03-06T01:00:00Z');
    await track(world, 'loss', { user, value: 6 });
    await world.setClock('2040-03-08T20:00:00Z');
    expect(rows(await summary(world, 'earner', 'points/p', range('daily', '2040-03-04', '2040-03-09')))).to.deep.equal([
      '2040-03-04 0 0',
      '2040-03-05 20 20',
      '2040-03-06 0 -20',
      '2040-03-07 1 1',
      '2040-03-08 2 1',
      '2040-03-09 3 1',
    ]);
  });

  const dates = 'startDate=2040-01-01&endDate=2040-01-31';
  const date = 'must be a date such as 2026-01-31';
  const tooLong = '`endDate` must be at most 400 days after the start, both included.';
  const refused: readonly (readonly [what: string, path: string, status: number, error: string])[] = [
    ['no aggregation', `metrics/m/event-summary?${dates}`, 422, '`aggregation` must be one of daily, weekly, monthly.'],
    ['another', `metrics/m/event-summary?aggregation=yearly&${dates}`, 422, '`aggregation` must be one of daily, weekly, monthly.'],
    [
      'two',
      `metrics/m/event-summary?aggregation=daily&aggregation=daily&${dates}`,
      422,
      '`aggregation` must be one of daily, weekly, monthly.',
    ],
    ['no dates', 'metrics/m/event-summary?aggregation=daily', 422, `\`startDate\` ${date}; \`endDate\` ${date}.`],
    ['no end', 'points/p/event-summary?aggregation=daily&start_date=2040-01-01', 422, `\`endDate\` ${date}.`],
    ['an empty date', 'metrics/m/event-summary?aggregation=daily&startDate=&endDate=2040-01-31', 422, `\`startDate\` ${date}`],
    ['no date', 'metrics/m/event-summary?aggregation=daily&startDate=2040-02-30&endDate=2040-03-31', 422, `\`startDate\` ${date}`],
    [
      'a moment',
      'metrics/m/event-summary?aggregation=daily&startDate=2040-01-01T00:00:00Z&endDate=2040-01-31',
      422,
      `\`startDate\` ${date}`,
    ],
    [
      'the year 0',
      'metrics/m/event-summary?aggregation=daily&startDate=0000-12-31&endDate=0001-01-01',
      422,
      '`startDate` must be a date from 0001-01-01 on',
    ],
    ['two dates', `metrics/m/event-summary?aggregation=daily&startDate=2040-01-01&${dates}`, 422, '`startDate` must be a string'],
    [
      'two spellings',
      `metrics/m/event-summary?aggregation=daily&${dates}&start_date=2040-01-02`,
      422,
      '`start_date` must be the same as `startDate`: send one of the two.',
    ],
    [
      'an end before the start',
      'metrics/m/event-summary?aggregation=daily&startDate=2040-01-02&endDate=2040-01-01',
      422,
      '`endDate` must not be before the start.',
    ],
    ['401 days', 'metrics/m/event-summary?aggregation=monthly&startDate=2039-01-01&endDate=2040-02-05', 422, tooLong],
    ['thousands of years', 'points/p/event-summary?aggregation=monthly&startDate=0001-01-01&endDate=9999-12-31', 422, tooLong],
    ['an unknown metric', `metrics/x/event-summary?aggregation=daily&${dates}`, 404, 'There is no metric with the key "x".'],
    ['an unknown system', `points/x/event-summary?aggregation=daily&${dates}`, 404, 'There is no points system with the key "x".'],
  ];
  for (const [what, path, status, error] of refused) {
    it(`is refused with ${what}`, async () => {
      const before = await world.snapshot();
      const reply = await world.get(userPath('writer', `/${path}`));
      expect([reply.status, (reply.body as { error: string }).error]).to.satisfy(
        ([code, sentence]: [number, string]) => code === status && sentence.startsWith(error),
        JSON.stringify(reply),
      );
      expect(changedLines(before, await world.snapshot())).to.deep.equal([]);
    });
  }

  it('returns 404 for an unknown user, and has the ends of the calendar', async () => {
    const reply = await world.get(userPath('nobody', `/metrics/m/event-summary?aggregation=daily&${dates}`));
    expect(reply.status).to.equal(404);
    for (const [first, last] of [
      ['0001-01-01', '0001-01-02'],
      ['9999-12-30', '9999-12-31'],
    ] as const) {
      for (const aggregation of ['daily', 'weekly', 'monthly']) {
        bodyOf(await world.get(userPath('writer', `/metrics/m/event-summary?${range(aggregation, first, last)}`)), 200);
      }
    }
  });

  it('reads a row for each day at most, whatever the number of events', async () => {
    const first = dateToDay('2038-01-01');
    const metric = await numberOf(world, 'metrics', 'm');
    bodyOf(await world.request('PUT', userPath('busy'), { body: {} }), 200);
    const days = Array.from({ length: 500 }, (_, i) => first + i);
    await writePast(
      world,
      days.flatMap((day) => Array.from({ length: 20 }, () => ({ user: 'busy', metric, value: 1, day }))),
    );
    type Plan = { 'Node Type': string; 'Actual Rows': number; Plans?: Plan[] };
    const scanned = ({ 'Node Type': type, 'Actual Rows': count, Plans: plans = [] }: Plan): number =>
      plans.reduce((sum, plan) => sum + scanned(plan), type.includes('Scan') && !type.startsWith('Bitmap Index') ? count : 0);
    const { rows: explained } = await world.pool.query<{ 'QUERY PLAN': [{ Plan: Plan }] }>(`explain (analyze, format json) ${daysQuery}`, [
      tenant,
      'busy',
      metric,
      first + 50,
      first + 449,
    ]);
    expect(scanned(explained[0]!['QUERY PLAN'][0].Plan)).to.equal(400);
    const items = await summary(world, 'busy', 'metrics/m', range('daily', dayToDate(first + 50), dayToDate(first + 449)));
    expect(items).to.deep.equal(
      Array.from({ length: 400 }, (_, i) => ({ date: dayToDate(first + 50 + i), total: 20 * (51 + i), change: 20 })),
    );
  });
});

describe('An event summary of more digits than a total has', () => {
  it('has nothing before the first event: total − change is what was there', async () => {
    const world = await startWorld({ config: config('monday'), now: '2040-01-03T08:00:00Z' });
    try {
      await track(world, 'm', { user: 'ana', value: 1e14 });
      await world.drain();
      // The total rounds each of them away, and their sum is 1.
      const event = { key: 'm', user: { id: 'ana' }, value: 0.4 };
      bodyOf(await world.request('POST', '/admin/v1/metrics/events', { body: [event, event] }), 202);
      const days = range('daily', '2040-01-02', '2040-01-03');
      expect(rows(await summary(world, 'ana', 'metrics/m', days))).to.deep.equal([
        '2040-01-02 0 0',
        `2040-01-03 100000000000000 100000000000000`,
      ]);
    } finally {
      await world.stop();
    }
  });
});

describe('An event summary of weeks from Sunday', () => {
  it('names them by their Sunday', async () => {
    const world = await startWorld({ config: config('sunday') });
    try {
      for (const [at, value] of [
        ['2040-01-07T08:00:00Z', 1],
        ['2040-01-08T08:00:00Z', 2],
      ] as const) {
        await world.setClock(at);
        await track(world, 'm', { user: 'ana', value });
      }
      expect(rows(await summary(world, 'ana', 'metrics/m', range('weekly', '2040-01-02', '2040-01-09')))).to.deep.equal([
        '2040-01-01 1 1',
        '2040-01-08 3 2',
      ]);
    } finally {
      await world.stop();
    }
  });
});

const seed = runSeed();

describe(`Event summaries of a random history (SEED=${seed})`, () => {
  const zones = ['Pacific/Honolulu', 'UTC', 'Asia/Kolkata', 'Pacific/Kiritimati', 'America/New_York'] as const;
  const users = ['a', 'b', 'c'] as const;
  const hourMs = 3_600_000;
  let world: World;
  /** User → local date → change in hundredths. */
  const changes = new Map<string, Map<string, number>>(users.map((user) => [user, new Map<string, number>()]));

  before(async () => {
    const random = new Random(seed);
    world = await startWorld({ config: config('monday') });
    let now = Date.parse('2040-02-20T00:00:00Z');
    for (let i = 0; i < 120; i += 1) {
      now += random.below(12) * hourMs;
      if (random.chance(0.05)) now += random.below(40) * 24 * hourMs;
      await world.setClock(new Date(now).toISOString());
      const [user, tz, cents] = [random.pick(users), random.pick(zones), random.below(400) - 100];
      await track(world, 'm', { user: { id: user, tz }, value: cents / 100 });
      const date = new Intl.DateTimeFormat('en-CA', { timeZone: tz }).format(now);
      const own = changes.get(user)!;
      own.set(date, (own.get(date) ?? 0) + cents);
    }
    await world.drain();
  });
  after(() => world.stop());

  /** The first date of the bucket that a date is in. */
  function bucketOf(aggregation: string, date: string): string {
    if (aggregation === 'monthly') return `${date.slice(0, 7)}-01`;
    const moment = new Date(`${date}T00:00:00Z`);
    if (aggregation === 'weekly') moment.setUTCDate(moment.getUTCDate() - ((moment.getUTCDay() + 6) % 7));
    return moment.toISOString().slice(0, 10);
  }

  for (const aggregation of ['daily', 'weekly', 'monthly']) {
    it(`equal the sums of the events, ${aggregation}`, async () => {
      for (const user of users) {
        for (const [first, last] of [
          ['2040-02-01', '2041-03-01'],
          ['2040-02-25', '2040-03-10'],
        ] as const) {
          const expected = new Map<string, [total: number, change: number]>();
          let total = [...changes.get(user)!].reduce((sum, [date, cents]) => sum + (date < first ? cents : 0), 0);
          for (let date = first as string; date <= last; date = dayToDate(dateToDay(date) + 1)) {
            const change = changes.get(user)!.get(date) ?? 0;
            total += change;
            const bucket = bucketOf(aggregation, date);
            expected.set(bucket, [total, (expected.get(bucket)?.[1] ?? 0) + change]);
          }
          const items = await summary(world, user, 'metrics/m', range(aggregation, first, last));
          const found = items.map(({ date, total: all, change }) => [date, all, change]);
          expect(found).to.deep.equal([...expected].map(([date, [all, change]]) => [date, all / 100, change / 100]));
        }
      }
    });
  }

  it('equal the stored events and awards', async () => {
    expect(await aggregateDifferences(world.pool)).to.deep.equal([]);
  });
});

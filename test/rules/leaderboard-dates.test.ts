import { expect } from 'chai';
import { answer, bodyOf, configText, read, readBoard, readPlace, track, until } from '../support/answers.js';
import { startWorld, type World } from '../support/world.js';

/** Three dates at once: 10:30 UTC is 23:30 of the day before in Pago Pago, and 00:30 of the day after on Kiritimati. */
const now = '2040-01-02T10:30:00.000Z';
const zones = { pago: 'Pacific/Pago_Pago', utc: 'UTC', kiri: 'Pacific/Kiritimati' } as const;

interface Board {
  readonly what: string;
  readonly status?: 'inactive';
  readonly start: string;
  readonly end?: string;
  /** What it is called on 2 January. */
  readonly shown: 'inactive' | 'scheduled' | 'active' | 'finished';
  /** Who gets on it now. */
  readonly takes: readonly (keyof typeof zones)[];
}

const boards: readonly Board[] = [
  { what: 'open since long ago', start: '2020-01-01', shown: 'active', takes: ['pago', 'utc', 'kiri'] },
  { what: 'ends today', start: '2020-01-01', end: '2040-01-02', shown: 'active', takes: ['pago', 'utc'] },
  { what: 'begins today', start: '2040-01-02', shown: 'active', takes: ['utc', 'kiri'] },
  { what: 'lasts for today', start: '2040-01-02', end: '2040-01-02', shown: 'active', takes: ['utc'] },
  { what: 'ended yesterday', start: '2020-01-01', end: '2040-01-01', shown: 'finished', takes: ['pago'] },
  { what: 'begins tomorrow', start: '2040-01-03', shown: 'scheduled', takes: ['kiri'] },
  { what: 'begins later', start: '2040-01-04', shown: 'scheduled', takes: [] },
  { what: 'ended before', start: '2020-01-01', end: '2039-12-31', shown: 'finished', takes: [] },
  { what: 'is inactive', status: 'inactive', start: '2020-01-01', shown: 'inactive', takes: [] },
  { what: 'is inactive and over', status: 'inactive', start: '2020-01-01', end: '2039-12-31', shown: 'inactive', takes: [] },
];
const key = (what: string): string => what.replaceAll(' ', '-');

const config = (list: readonly Board[]): string =>
  configText({
    metrics: [
      { key: 'm', name: 'M' },
      { key: 'later', name: 'Later' },
    ],
    leaderboards: [
      ...list.map(({ what, status = 'active', start, end }) => ({
        key: key(what),
        name: what,
        status,
        start,
        rankBy: 'metric',
        metricKey: 'm',
        ...(end === undefined ? {} : { end }),
      })),
      { key: 'january', name: 'January', status: 'active', start: '2040-01-10', end: '2040-01-20', rankBy: 'metric', metricKey: 'later' },
    ],
  });

describe('The days of a leaderboard', () => {
  let world: World;
  before(async () => {
    world = await startWorld({ config: config(boards), now });
    for (const [user, tz] of Object.entries(zones)) await track(world, 'm', { user: { id: user, tz }, value: 1 });
  });
  after(() => world.stop());

  const listed = async (query: string): Promise<string[]> =>
    (await read<{ key: string; status: string }[]>(world, `/v1/leaderboards${query}`)).map((board) => `${board.key} ${board.status}`);
  const lines = (shown: readonly string[]): string[] => [
    ...boards.filter((board) => shown.includes(board.shown)).map((board) => `${key(board.what)} ${board.shown}`),
    'january scheduled',
  ];

  for (const { what, shown, takes } of boards.filter((board) => board.shown !== 'inactive')) {
    it(`are each user’s own: one that ${what} takes ${takes.join(', ') || 'nobody'}`, async () => {
      const { status, rankings } = await read<{ status: string; rankings: { userId: string }[] }>(world, `/v1/leaderboards/${key(what)}`);
      expect(status).to.equal(shown);
      expect(rankings.map(({ userId }) => userId)).to.deep.equal(takes);
    });
  }

  it('decide what the list shows: what is active or scheduled, and what is finished if it is asked for', async () => {
    expect(await listed('')).to.deep.equal(lines(['active', 'scheduled']));
    expect(await listed('?includeFinished=false')).to.deep.equal(lines(['active', 'scheduled']));
    expect(await listed('?includeFinished=true')).to.deep.equal(lines(['active', 'scheduled', 'finished']));
  });

  it('do not show an inactive one', async () => {
    for (const path of [
      '/v1/leaderboards/is-inactive',
      '/v1/users/utc/leaderboards/is-inactive',
      '/v1/leaderboards/is-inactive-and-over',
    ]) {
      const name = path.split('/').at(-1) ?? '';
      expect(answer(await world.get(path))).to.deep.equal([404, { error: `There is no leaderboard with the key "${name}".` }]);
    }
  });

  it('are in the answer to an event as they stand for the user', async () => {
    const { leaderboards } = await track(world, 'm', { user: { id: 'late', tz: zones.kiri }, value: 1 });
    expect(Object.entries(leaderboards).map(([board, { rank }]) => [board, rank])).to.deep.equal([
      ['open-since-long-ago', 4],
      ['begins-today', 3],
      ['begins-tomorrow', 2],
    ]);
  });

  it('open and close it at the user’s midnight, and leave the values as they were at the end', async () => {
    const tz = 'America/New_York';
    const moments: readonly (readonly [when: string, user: string, taken: boolean])[] = [
      ['2040-01-10T04:59:59.999Z', 'early', false],
      ['2040-01-10T05:00:00.000Z', 'first', true],
      ['2040-01-10T05:00:00.000Z', 'early', true],
      ['2040-01-21T04:59:59.999Z', 'last', true],
      ['2040-01-21T05:00:00.000Z', 'over', false],
      ['2040-01-21T05:00:00.000Z', 'first', false],
    ];
    for (const [when, user, taken] of moments) {
      await world.setClock(when);
      const { leaderboards } = await track(world, 'later', { user: { id: user, tz }, value: 5 });
      expect('january' in leaderboards, `${user} at ${when}`).to.equal(taken);
    }
    // `early` had 5 from before the start, which count: a perpetual board ranks totals. What `first` did after the end does not.
    expect(await readBoard(world, 'january')).to.deep.equal(['1 early 10', '2 first 5', '3 last 5']);
    expect(await readPlace(world, 'first', 'january')).to.include({ rank: 2, value: 5 });
  });
});

describe('A total that changes while a leaderboard is closed for the user', () => {
  const january = (end: string): string =>
    configText({
      metrics: [{ key: 'm', name: 'M' }],
      leaderboards: [
        {
          key: 'january',
          name: 'January',
          status: 'active',
          start: '2040-01-10',
          end,
          rankBy: 'metric',
          metricKey: 'm',
          maxParticipants: 2,
        },
      ],
    });
  const rows: readonly (readonly [what: string, zone: string, opening: string, skipped: string, then: string])[] = [
    ['not open yet', 'America/New_York', '2040-01-10T00:00:00Z', '2040-01-10T04:59:59Z', '2040-01-10T05:00:00Z'],
    ['over, and then goes on', 'Pacific/Kiritimati', '2040-01-10T00:00:00Z', '2040-01-11T12:00:00Z', '2040-01-11T13:00:00Z'],
  ];
  for (const [what, tz, opening, skipped, then] of rows) {
    it(`is not the value before the next change: one that is ${what}`, async () => {
      const world = await startWorld({ config: january('2040-01-11'), now: '2040-01-09T12:00:00Z' });
      try {
        const add5 = (): Promise<unknown> => track(world, 'm', { user: { id: 'ana', tz }, value: 5 });
        const newest = async (): Promise<unknown> =>
          (await read<{ history: readonly unknown[] }>(world, '/v1/users/ana/leaderboards/january')).history.at(-1);
        await add5();
        await world.setClock(opening);
        await until('the leaderboard has its users', async () => (await readBoard(world, 'january')).length > 0);
        await world.setClock(skipped);
        await add5();
        expect(await readBoard(world, 'january')).to.deep.equal(['1 ana 5']);
        await world.configure(january('2040-01-20'));
        await world.setClock(then);
        await add5();
        expect(await newest()).to.include({ previousRank: 1, previousValue: 5, rank: 1, value: 15 });
        await add5();
        expect(await newest()).to.include({ previousValue: 5, value: 20 });
      } finally {
        await world.stop();
      }
    });
  }
});

describe('A leaderboard that is finished by the Admin API', () => {
  const list = [boards[0]!, { ...boards[2]!, what: 'begins today' }];
  const daily = { key: 'daily', name: 'Daily', status: 'active', rankBy: 'metric', metricKey: 'm', start: '2040-01-01' };
  let world: World;
  before(async () => {
    world = await startWorld({ config: config(list), now });
    await world.configure(configText({ leaderboards: [{ ...daily, runUnit: 'day', runInterval: 1 }] }));
    for (const [user, value] of [
      ['ana', 3],
      ['bo', 5],
    ] as const)
      await track(world, 'm', { user, value });
  });
  after(() => world.stop());

  const keys = ['open-since-long-ago', 'begins-today', 'daily'];
  interface Shown {
    readonly id: string;
    readonly key: string;
    readonly status: string;
    readonly end?: string;
  }
  const adminList = async (): Promise<Shown[]> => {
    const shown = await read<Shown[]>(world, '/admin/v1/leaderboards');
    return shown.filter(({ key: of }) => keys.includes(of));
  };

  it('ends now: events do not count any more, and its rankings stay', async () => {
    const updates = (await adminList()).map(({ id }) => ({ id, status: 'finished' }));
    const { issues } = bodyOf<{ issues: unknown[] }>(await world.request('PATCH', '/admin/v1/leaderboards', { body: updates }), 200);
    expect(issues).to.deep.equal([]);
    expect((await adminList()).map(({ key: of, status, end }) => [of, status, end])).to.deep.equal(
      keys.map((of) => [of, 'finished', '2040-01-01']),
    );
    const { leaderboards } = await track(world, 'm', { user: 'ana', value: 10 });
    expect(Object.keys(leaderboards)).to.deep.equal([]);
    for (const board of ['open-since-long-ago', 'begins-today', 'daily?run=2040-01-02']) {
      expect(await readBoard(world, board, ''), board).to.deep.equal(['1 bo 5', '2 ana 3']);
    }
    const visible = (await read<Shown[]>(world, '/v1/leaderboards')).map(({ key: of }) => of);
    expect(visible).not.to.include.any.members(keys);
  });

  it('is final 12 hours after that day has ended in UTC', async () => {
    await world.setClock('2040-01-02T12:00:00.000Z');
    await world.drain();
    const { rows } = await world.pool.query<{ count: string }>('select count(*) from leaderboard_rankings');
    expect(rows[0]?.count).to.equal('6');
    expect(await readBoard(world, 'open-since-long-ago', '')).to.deep.equal(['1 bo 5', '2 ana 3']);
  });

  it('stays finished', async () => {
    const [first] = await adminList();
    const body = [{ id: first?.id, status: 'active' }];
    const { issues } = bodyOf<{ issues: { message: string }[] }>(await world.request('PATCH', '/admin/v1/leaderboards', { body }), 200);
    expect(issues[0]?.message).to.contain('it is finished and cannot change its status');
  });
});

describe('The dates of a run', () => {
  let world: World;
  before(async () => {
    const board = { status: 'active', start: '2040-01-01', rankBy: 'metric', metricKey: 'm' };
    const daily = { runUnit: 'day', runInterval: 1 };
    const leaderboards = [
      { ...board, key: 'perpetual', name: 'Perpetual' },
      { ...board, key: 'january', name: 'January', end: '2040-01-31' },
      { ...board, key: 'daily', name: 'Daily', ...daily },
      { ...board, key: 'monthly', name: 'Monthly', end: '2040-02-10', runUnit: 'month', runInterval: 1 },
      { ...board, key: 'later', name: 'Later', start: '2040-01-09', ...daily },
    ];
    world = await startWorld({ config: configText({ metrics: [{ key: 'm', name: 'M' }], leaderboards }), now });
    for (const [user, tz] of Object.entries(zones)) await track(world, 'm', { user: { id: user, tz }, value: 1 });
  });
  after(() => world.stop());

  const page = (of: string): string => `/v1/leaderboards/${of}`;
  const place = (user: string, of: string): string => `/v1/users/${user}/leaderboards/${of}`;
  const rows: readonly (readonly [what: string, path: string, runStart: string, runEnd: string | null])[] = [
    ['of one without runs or an end', page('perpetual'), '2040-01-01', null],
    ['of one without runs', page('january'), '2040-01-01', '2040-01-31'],
    ['of the run on the UTC date', page('daily'), '2040-01-02', '2040-01-02'],
    ['of a run that is asked for', page('daily?run=2040-01-01'), '2040-01-01', '2040-01-01'],
    ['of a longer run, by a date in it', page('monthly?run=2040-01-20'), '2040-01-01', '2040-01-31'],
    ['of a run that ends with the leaderboard', page('monthly?run=2040-02-02'), '2040-02-01', '2040-02-10'],
    ['of the first run, before it begins', page('later'), '2040-01-09', '2040-01-09'],
    ['of the run on the local date in the west', place('pago', 'daily'), '2040-01-01', '2040-01-01'],
    ['of the run on the local date in the east', place('kiri', 'daily'), '2040-01-03', '2040-01-03'],
    ['of a user, in a run that is asked for', place('kiri', 'monthly?run=2040-02-10'), '2040-02-01', '2040-02-10'],
  ];
  for (const [what, path, runStart, runEnd] of rows) {
    it(`are in reads ${what}`, async () => {
      const shown = await read<Record<'runStart' | 'runEnd' | 'start' | 'end', string | null>>(world, path);
      expect([shown.runStart, shown.runEnd]).to.deep.equal([runStart, runEnd]);
      expect(shown.start, 'start is that of the leaderboard').to.equal(path.includes('later') ? '2040-01-09' : '2040-01-01');
    });
  }

  it('are in reads of final rankings', async () => {
    await world.setClock('2040-01-09T12:00:00.000Z');
    await world.drain();
    const shown = await read<{ rankings: unknown[] }>(world, page('daily?run=2040-01-02'));
    expect(shown).to.deep.include({ runStart: '2040-01-02', runEnd: '2040-01-02', start: '2040-01-01', end: null });
    expect(shown.rankings).to.have.length(1);
  });
});

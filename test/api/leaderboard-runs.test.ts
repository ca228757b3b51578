import { expect } from 'chai';
import { bodyOf, configText, read, track } from '../support/answers.js';
import { startHost, startTenant, startWorld, type World } from '../support/world.js';

const common = { status: 'active', rankBy: 'metric', metricKey: 'cards', start: '2040-01-02' };
const config = {
  attributes: ['city', 'plan'].map((key) => ({ key, name: key, type: 'user' })),
  metrics: [{ key: 'cards', name: 'Cards' }],
  leaderboards: [
    { ...common, key: 'all', name: 'All' },
    { ...common, key: 'top', name: 'Top', maxParticipants: 2, end: '2040-01-05' },
    { ...common, key: 'week', name: 'Week', runUnit: 'day', runInterval: 7 },
    { ...common, key: 'later', name: 'Later', start: '2040-03-01', runUnit: 'month', runInterval: 1 },
    { ...common, key: 'place', name: 'Place', breakdownAttributes: ['city', 'plan'] },
    { ...common, key: 'hidden', name: 'Hidden', status: 'inactive' },
  ],
};

interface Run {
  readonly start: string;
  readonly end: string | null;
  readonly status: string;
  readonly groups: number;
}
interface Distribution {
  readonly participants: number;
  readonly lowest: number | null;
  readonly highest: number | null;
  readonly median: number | null;
  readonly buckets: readonly { readonly from: number; readonly to: number; readonly users: number }[];
}

/** Reads one of the resources of a leaderboard, which a key names. */
async function reader(world: World): Promise<(key: string, rest: string) => Promise<unknown>> {
  const boards = await read<{ id: string; key: string }[]>(world, '/admin/v1/leaderboards');
  const ids = new Map(boards.map(({ id, key }) => [key, id]));
  return (key, rest) => read(world, `/admin/v1/leaderboards/${ids.get(key)}/${rest}`);
}

describe('The Admin API of leaderboards', () => {
  let world: World;
  let of: (key: string, rest: string) => Promise<unknown>;
  const runs = async (key: string, query = ''): Promise<string[]> => {
    const page = (await of(key, `runs${query}`)) as { runs: Run[] };
    return page.runs.map(({ start, end, status, groups }) => `${start} ${end} ${status} ${groups}`);
  };
  const groups = async (key: string, query = ''): Promise<string[]> => {
    const page = (await of(key, `groups${query}`)) as { groups: { attributes: { key: string; value: string }[]; participants: number }[] };
    return page.groups.map(({ attributes, participants }) =>
      [...attributes.map(({ key: name, value }) => `${name}:${value}`), participants].join(' '),
    );
  };
  const distribution = (key: string, query = ''): Promise<Distribution> => of(key, `distribution${query}`) as Promise<Distribution>;
  const buckets = async (key: string, query = ''): Promise<string[]> =>
    (await distribution(key, query)).buckets.map(({ from, to, users }) => `${from} ${to} ${users}`);

  const users: readonly (readonly [id: string, city: string | null, value: number])[] = [
    ['ana', 'Lisbon', 3],
    ['bo', 'Lisbon', 10],
    ['cy', 'Porto', -4],
    ['di', 'Lisbon, Baixa', 7],
    ['ed', null, 100],
  ];

  before(async () => {
    world = await startWorld({ config: configText(config) });
    of = await reader(world);
    expect(await distribution('all')).to.deep.equal({ participants: 0, lowest: null, highest: null, median: null, buckets: [] });
    expect(await groups('all')).to.deep.equal([]);
    expect(await groups('place')).to.deep.equal([]);
    for (const [id, city, value] of users) {
      await track(world, 'cards', { user: { id, ...(city === null ? {} : { attributes: { city, plan: 'pro' } }) }, value });
    }
  });
  after(() => world.stop());

  it('lists the runs, the newest first, with how many groups have participants', async () => {
    expect(await runs('all')).to.deep.equal(['2040-01-02 null active 1']);
    expect(await runs('top')).to.deep.equal(['2040-01-02 2040-01-05 active 1']);
    expect(await runs('week')).to.deep.equal(['2040-01-02 2040-01-08 active 1']);
    expect(await runs('later')).to.deep.equal(['2040-03-01 2040-03-31 scheduled 0']);
    expect(await runs('place')).to.deep.equal(['2040-01-02 null active 3']);
    expect(await runs('hidden')).to.deep.equal(['2040-01-02 null active 0']);
  });

  it('lists the groups of a run, the largest first, in pages', async () => {
    expect(await groups('all')).to.deep.equal(['5']);
    expect(await groups('top')).to.deep.equal(['5']);
    const all = ['city:Lisbon plan:pro 2', 'city:Lisbon, Baixa plan:pro 1', 'city:Porto plan:pro 1'];
    expect(await groups('place')).to.deep.equal(all);
    expect(await groups('place', '?limit=1&skip=1')).to.deep.equal([all[1]]);
    expect(await groups('place', '?skip=3')).to.deep.equal([]);
  });

  it('reads the distribution of the values of all users, also of those beyond the limit of participants', async () => {
    for (const key of ['all', 'top', 'week']) {
      const { buckets: ranges, ...rest } = await distribution(key);
      expect(rest, key).to.deep.equal({ participants: 5, lowest: -4, highest: 100, median: 7 });
      expect(ranges.length, key).to.be.within(2, 20);
      expect(ranges[0]?.from, key).to.be.at.most(-4);
      expect(ranges.at(-1)?.to, key).to.be.above(100);
      expect(ranges.filter((range) => range.users > 0).map(({ from, to, users: count }) => [from, to, count])).to.deep.equal([
        [-10, 0, 1],
        [0, 10, 2],
        [10, 20, 1],
        [100, 110, 1],
      ]);
    }
  });

  it('reads the distribution of one group', async () => {
    const group = `?userAttributes=${encodeURIComponent('city:Lisbon,plan:pro')}`;
    expect(await distribution('place', group)).to.include({ participants: 2, lowest: 3, highest: 10, median: 3 });
    expect(await buckets('place', group)).to.deep.equal(['3 4 1', '4 5 0', '5 6 0', '6 7 0', '7 8 0', '8 9 0', '9 10 0', '10 11 1']);
    expect(await distribution('place', '?userAttributes=city:Faro,plan:pro')).to.include({ participants: 0, median: null });
    expect(await distribution('later')).to.include({ participants: 0 });
  });

  it('refuses unknown leaderboards, runs, groups and pages', async () => {
    const boards = await read<{ id: string; key: string }[]>(world, '/admin/v1/leaderboards');
    const id = (key: string): string => boards.find((one) => one.key === key)?.id ?? '';
    const refused: readonly (readonly [status: number, path: string])[] = [
      [404, '00000000-0000-4000-8000-000000000000/runs'],
      [404, '00000000-0000-4000-8000-000000000000/groups'],
      [404, '00000000-0000-4000-8000-000000000000/distribution'],
      [422, 'all/runs'],
      [422, `${id('all')}/runs?limit=0`],
      [422, `${id('all')}/groups?limit=101`],
      [422, `${id('week')}/groups?run=2040-01-01`],
      [422, `${id('week')}/groups?run=today`],
      [422, `${id('week')}/distribution?run=2040-01-01`],
      [422, `${id('all')}/distribution?userAttributes=city:Lisbon`],
      [422, `${id('place')}/distribution`],
      [422, `${id('place')}/distribution?userAttributes=city:Lisbon`],
    ];
    for (const [status, path] of refused) {
      const reply = await world.get(`/admin/v1/leaderboards/${path}`);
      expect(reply.status, path).to.equal(status);
      expect((reply.body as { error: string }).error, path).to.match(/^[A-Z`].+\.$/);
    }
  });

  it('lists a run that has begun in the east, and ends it 12 hours after its last day; a run that is over keeps its values', async () => {
    await world.setClock('2040-01-08T11:00:00Z');
    expect(await runs('week')).to.deep.equal(['2040-01-09 2040-01-15 scheduled 0', '2040-01-02 2040-01-08 active 1']);
    await track(world, 'cards', { user: { id: 'fi', tz: 'Pacific/Kiritimati' }, value: 2 });
    expect(await runs('week', '?limit=1')).to.deep.equal(['2040-01-09 2040-01-15 scheduled 1']);
    expect(await groups('week', '?run=2040-01-15')).to.deep.equal(['1']);
    await world.setClock('2040-01-09T11:59:00Z');
    const open = await distribution('week', '?run=2040-01-04');
    expect(await runs('week', '?skip=1')).to.deep.equal(['2040-01-02 2040-01-08 active 1']);
    await world.setClock('2040-01-09T12:01:00Z');
    expect(await runs('week')).to.deep.equal(['2040-01-09 2040-01-15 active 1', '2040-01-02 2040-01-08 finished 1']);
    expect(await distribution('week', '?run=2040-01-04')).to.deep.equal(open);
    expect(await groups('week', '?run=2040-01-04')).to.deep.equal(['5']);
    expect(await distribution('week')).to.include({ participants: 1, median: 2 });
    expect(await runs('top')).to.deep.equal(['2040-01-02 2040-01-05 finished 1']);
    expect(await groups('top')).to.deep.equal(['5']);
    expect(await distribution('top')).to.include({ participants: 5, median: 7 });
  });

  it('leaves out deleted users, also of a run that is over', async () => {
    bodyOf(await world.request('DELETE', '/admin/v1/users/ed'), 200);
    for (const key of ['all', 'top']) {
      expect(await groups(key), key).to.deep.equal([key === 'all' ? '5' : '4']);
      expect(await distribution(key), key).to.include({ highest: 10 });
    }
    expect(await distribution('week', '?run=2040-01-04')).to.include({ participants: 4, highest: 10 });
    bodyOf(await world.request('DELETE', '/admin/v1/users/cy'), 200);
    expect(await groups('place')).to.deep.equal(['city:Lisbon plan:pro 2', 'city:Lisbon, Baixa plan:pro 1']);
    expect(await runs('place')).to.deep.equal(['2040-01-02 null active 2']);
  });

  it('shows one tenant only', async () => {
    const host = await startHost();
    try {
      const tenant = await startTenant(host, { config: configText(config) });
      await track(tenant, 'cards', { user: 'ana', value: 1 });
      const ofTenant = await reader(tenant);
      expect(await ofTenant('all', 'groups')).to.deep.equal({ groups: [{ attributes: [], participants: 1 }] });
      const [board] = await read<{ id: string }[]>(tenant, '/admin/v1/leaderboards');
      for (const what of ['runs', 'groups', 'distribution']) {
        expect((await host.get(`/admin/v1/leaderboards/${board?.id}/${what}`)).status, what).to.equal(404);
      }
    } finally {
      await host.stop();
    }
  });
});

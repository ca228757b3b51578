import { expect } from 'chai';
import { bodyOf, configText, read, track } from '../support/answers.js';
import { cityAndDevice } from '../support/configs.js';
import { Random, runSeed } from '../support/random.js';
import { startHost, startTenant, startWorld, type World } from '../support/world.js';

const on = { status: 'active' };
const config = {
  attributes: cityAndDevice,
  metrics: [
    { key: 'cards', name: 'Cards' },
    { key: 'pages', name: 'Pages' },
  ],
  points: [
    {
      key: 'xp',
      name: 'XP',
      levels: [{ key: 'novice', name: 'Novice', points: 20, description: '' }],
      triggers: [
        { key: 'per-card', type: 'metric', metricKey: 'cards', metricThreshold: 1, points: 10, ...on },
        { key: 'daily', type: 'time', timeUnit: 'days', timeInterval: 1, points: 1, ...on },
        { key: 'welcome', type: 'user_creation', points: 3, ...on },
        { key: 'known', type: 'achievement', achievementKey: 'profile', points: 5, ...on },
      ],
      boosts: [{ key: 'double', name: 'Double', start: '2040-01-02', end: '2040-01-02', multiplier: 2 }],
    },
    { key: 'gems', name: 'Gems', triggers: [{ key: 'hourly', type: 'time', timeUnit: 'hours', timeInterval: 5, points: 2, ...on }] },
  ],
  achievements: [
    { key: 'profile', name: 'Known', trigger: 'api', ...on },
    {
      key: 'ten',
      name: 'Ten',
      trigger: 'metric',
      metricKey: 'cards',
      metricValue: 10,
      badge: { url: 'https://example.com/ten.png' },
      ...on,
    },
  ],
  streaks: { enabled: true, frequency: 'daily', metrics: [{ metricKey: 'cards', threshold: 1 }] },
};

interface Ref {
  readonly id: string;
  readonly key: string;
  readonly name: string;
}
interface TimelineAward {
  readonly id: string;
  readonly at: string;
  readonly day: string;
  readonly system: Ref;
  readonly trigger: { readonly key: string; readonly type: string } | null;
  readonly awarded: number;
  readonly total: number;
  readonly level?: Ref | null;
  readonly boosts: readonly { readonly key: string; readonly multiplier: number }[];
  readonly eventId: string | null;
}
interface Entry {
  readonly type: 'event' | 'award' | 'achievement' | 'streak';
  readonly id?: string;
  readonly at: string | null;
  readonly date?: string;
  readonly metric?: Ref;
  readonly value?: number;
  readonly length?: number;
  readonly how?: string;
  readonly resetAt?: string;
  readonly achievement?: Ref & { readonly badgeUrl: string | null; readonly trigger: string };
  readonly awards?: readonly TimelineAward[];
  readonly trigger?: TimelineAward['trigger'];
  readonly awarded?: number;
}
interface Page {
  readonly entries: readonly Entry[];
  readonly next: string | null;
}

const path = (user: string, query = ''): string => `/admin/v1/users/${encodeURIComponent(user)}/timeline${query}`;

/** All entries, read in pages. */
async function readAll(world: World, user: string, limit: number, more = ''): Promise<Entry[]> {
  const entries: Entry[] = [];
  for (let cursor = ''; ;) {
    const page = await read<Page>(world, path(user, `?limit=${limit}${more}${cursor}`));
    entries.push(...page.entries);
    if (page.next === null) return entries;
    expect(page.entries).to.have.lengthOf(limit);
    cursor = `&cursor=${page.next}`;
  }
}

const awardText = ({ trigger, awarded }: { trigger?: TimelineAward['trigger']; awarded?: number }): string => `${trigger?.key} ${awarded}`;

/** An entry in short, such as `2040-01-02T12:00 event cards 1: per-card 20`. */
function inShort({ type, at, date, metric, value, length, how, achievement, awards = [], ...award }: Entry): string {
  const when = at?.slice(0, 16) ?? date;
  switch (type) {
    case 'event':
      return `${when} event ${metric?.key} ${value}${awards.length > 0 ? ':' : ''}${awards.map((one) => ` ${awardText(one)}`).join('')}`;
    case 'award':
      return `${when} award ${awardText(award)}`;
    case 'achievement':
      return `${when} achievement ${achievement?.key}`;
    case 'streak':
      return `${when} streak ${how} ${length}`;
  }
}

describe('The timeline of a user', () => {
  let world: World;
  before(async () => {
    world = await startWorld({ config: configText(config) });
  });
  after(() => world.stop());

  const complete = async (user: string, achievement: string): Promise<void> => {
    bodyOf(await world.request('POST', `/v1/achievements/${achievement}/complete`, { body: { user: { id: user } } }), 201);
  };

  it('has events with their awards, other awards, achievements and periods of the streak, the newest first', async () => {
    await track(world, 'cards', { user: 'ana', value: 1, attributes: { device: 'phone' }, key: 'first' });
    await world.setClock('2040-01-02T13:00:00Z');
    await complete('ana', 'profile');
    await world.setClock('2040-01-03T09:30:00Z');
    await track(world, 'cards', { user: 'ana', value: 9 });
    await world.setClock('2040-01-05T00:30:00Z');
    const { entries, next } = await read<Page>(world, path('ana'));
    expect(next).to.equal(null);
    expect(entries.filter(({ trigger }) => trigger?.key !== 'hourly').map(inShort)).to.deep.equal([
      '2040-01-05T00:00 award daily 1',
      '2040-01-04T00:00 award daily 1',
      '2040-01-04 streak lost 0',
      '2040-01-03T09:30 achievement ten',
      '2040-01-03T09:30 event cards 9: per-card 90',
      '2040-01-03T00:00 award daily 1',
      '2040-01-03 streak extended 2',
      '2040-01-02T13:00 award known 10',
      '2040-01-02T13:00 achievement profile',
      '2040-01-02T12:00 event cards 1: welcome 6 per-card 20',
      '2040-01-02 streak extended 1',
    ]);
    expect(entries.filter(({ trigger }) => trigger?.key === 'hourly')).to.have.lengthOf(12);
  });

  it('explains an award by trigger, boosts and totals, and an achievement by its badge and what completes it', async () => {
    const entries = await readAll(world, 'ana', 100);
    const first = entries.find(({ id, awards }) => id !== undefined && awards?.length === 2);
    const [welcome, perCard] = first?.awards ?? [];
    expect(first).to.deep.include({ value: 1, total: 1, attributes: { device: 'phone' }, idempotencyKey: 'first', day: '2040-01-02' });
    expect(welcome).to.deep.include({ awarded: 6, total: 6, at: '2040-01-02T12:00:00.000Z', day: '2040-01-02', eventId: first?.id });
    expect(welcome).not.to.have.property('level');
    expect(perCard).to.deep.include({ awarded: 20, total: 26 });
    expect(perCard?.trigger).to.include({ key: 'per-card', type: 'metric' });
    expect(perCard?.system).to.include({ key: 'xp', name: 'XP' });
    expect(perCard?.level).to.include({ key: 'novice' });
    expect(perCard?.boosts.map(({ key, multiplier }) => [key, multiplier])).to.deep.equal([['double', 2]]);
    const ten = entries.find(({ achievement }) => achievement?.key === 'ten');
    expect(ten?.achievement).to.include({ name: 'Ten', trigger: 'metric', badgeUrl: 'https://example.com/ten.png' });
  });

  it('names what has been archived since, boosts for one user included', async () => {
    const host = await startWorld({ config: configText(config) });
    try {
      const systems = await read<{ id: string; key: string }[]>(host, '/admin/v1/points');
      const system = systems.find(({ key }) => key === 'xp')?.id;
      const boosts = `/admin/v1/points/${system}/boosts`;
      const own = { name: 'Own', userId: 'bo', start: '2040-01-01', end: null, multiplier: 1.5 };
      const made = bodyOf<{ created: { id: string }[] }>(await host.request('POST', boosts, { body: [own] }), 201);
      await track(host, 'cards', { user: 'bo', value: 1 });
      bodyOf(await host.request('DELETE', `${boosts}?ids=${made.created[0]?.id}`), 200);
      const { points: _, ...others } = config;
      await host.configure(configText({ ...others, achievements: [] }), { prune: true });
      const event = (await readAll(host, 'bo', 10)).find(({ type }) => type === 'event');
      expect(event?.awards?.map(awardText)).to.deep.equal(['welcome 9', 'per-card 30']);
      expect(event?.awards?.[1]?.boosts.map(({ multiplier }) => multiplier)).to.deep.equal([2, 1.5]);
    } finally {
      await host.stop();
    }
  });

  it('takes from and until: the one inclusive, the other exclusive', async () => {
    const between = async (from: string, until: string): Promise<string[]> => {
      const entries = await readAll(world, 'ana', 3, `&from=${encodeURIComponent(from)}&until=${encodeURIComponent(until)}`);
      return entries.filter(({ trigger }) => trigger?.key !== 'hourly').map(inShort);
    };
    expect(await between('2040-01-02T12:00:00Z', '2040-01-02T13:00:00Z')).to.deep.equal([
      '2040-01-02T12:00 event cards 1: welcome 6 per-card 20',
    ]);
    expect(await between('2040-01-02T14:00:00+02:00', '2040-01-03T00:00:00.001Z')).to.deep.equal([
      '2040-01-03T00:00 award daily 1',
      '2040-01-03 streak extended 2',
      '2040-01-02T13:00 award known 10',
      '2040-01-02T13:00 achievement profile',
      '2040-01-02T12:00 event cards 1: welcome 6 per-card 20',
    ]);
    expect(await between('2040-01-02T00:00:00.001Z', '2040-01-02T12:00:00Z')).to.deep.equal([]);
    expect(await between('2040-01-03T00:00:00Z', '2040-01-01T00:00:00Z')).to.deep.equal([]);
    expect(await between('0000-01-01T00:00:00Z', '0001-01-01T00:00:00Z')).to.deep.equal([]);
  });

  it('has no periods of a streak while streaks are disabled', async () => {
    const host = await startWorld({ config: configText({ metrics: config.metrics, streaks: config.streaks }) });
    try {
      await track(host, 'cards', { user: 'cy', value: 1 });
      const types = async (): Promise<string[]> => (await readAll(host, 'cy', 10)).map(({ type }) => type);
      expect(await types()).to.deep.equal(['event', 'streak']);
      await host.configure(configText({ metrics: config.metrics, streaks: { ...config.streaks, enabled: false } }));
      expect(await types()).to.deep.equal(['event']);
    } finally {
      await host.stop();
    }
  });

  it('has when a streak was reset in a period, also once the period is extended again', async () => {
    const host = await startWorld({ config: configText({ metrics: config.metrics, streaks: config.streaks }) });
    const streaks = async (): Promise<unknown[]> =>
      (await readAll(host, 'cy', 10)).filter(({ type }) => type === 'streak').map((entry) => [inShort(entry), entry.resetAt]);
    try {
      await track(host, 'cards', { user: 'cy', value: 1 });
      await host.setClock('2040-01-03T10:00:00Z');
      await track(host, 'cards', { user: 'cy', value: 1 });
      const first = ['2040-01-02 streak extended 1', undefined];
      expect(await streaks()).to.deep.equal([['2040-01-03 streak extended 2', undefined], first]);
      await host.setClock('2040-01-03T11:00:00Z');
      bodyOf(await host.request('POST', '/admin/v1/streaks/reset', { body: { users: [{ id: 'cy' }] } }), 200);
      expect(await streaks()).to.deep.equal([['2040-01-03 streak lost 0', '2040-01-03T11:00:00.000Z'], first]);
      await track(host, 'cards', { user: 'cy', value: 1 });
      expect(await streaks()).to.deep.equal([['2040-01-03 streak extended 1', '2040-01-03T11:00:00.000Z'], first]);
    } finally {
      await host.stop();
    }
  });

  it('has an event at once', async () => {
    for (let i = 1; i <= 10; i += 1) {
      await track(world, 'pages', { user: 'di', value: i });
      const { entries } = await read<Page>(world, path('di', '?limit=2'));
      expect(entries.find(({ type }) => type === 'event')?.value).to.be.at.least(1);
      expect(entries.some(({ value }) => value === i) || entries.every(({ at }) => at === entries[0]?.at)).to.equal(true);
    }
    expect((await readAll(world, 'di', 100)).filter(({ type }) => type === 'event')).to.have.lengthOf(10);
  });

  it('lists what happened in one millisecond in the order in which it was counted, the newest first', async () => {
    const numbers = Array.from({ length: 12 }, (_, i) => i + 1);
    const achievements = numbers.map((no) => ({ key: `a${no}`, name: `A${no}`, trigger: 'api', ...on }));
    const triggers = numbers.map((no) => ({ key: `t${no}`, type: 'achievement', achievementKey: `a${no}`, points: 1, ...on }));
    const points = [{ ...config.points[0], triggers }];
    const host = await startWorld({ config: configText({ metrics: config.metrics, points, achievements }) });
    try {
      // The clock stands still.
      for (const value of numbers) await track(host, value % 3 === 0 ? 'cards' : 'pages', { user: 'eve', value });
      for (const no of numbers) {
        bodyOf(await host.request('POST', `/v1/achievements/a${no}/complete`, { body: { user: { id: 'eve' } } }), 201);
      }
      for (const limit of [5, 100]) {
        const entries = await readAll(host, 'eve', limit);
        const events = entries.filter(({ type }) => type === 'event').map(({ value }) => value);
        const awards = entries.filter(({ type }) => type === 'award').map(({ trigger }) => trigger?.key);
        expect(events, `in pages of ${limit}`).to.deep.equal(numbers.toReversed());
        expect(awards, `in pages of ${limit}`).to.deep.equal(numbers.toReversed().map((no) => `t${no}`));
      }
    } finally {
      await host.stop();
    }
  });

  it('refuses what is not a page', async () => {
    const cursor = (text: string): string => `cursor=${Buffer.from(text).toString('base64url')}`;
    const queries = [
      ...['limit=0', 'limit=101', 'limit=x', 'from=yesterday', 'until=2040-01-01', 'cursor=', 'cursor=x', 'cursor=%00'],
      ...[cursor(''), cursor('1 event'), cursor('1 event x'), cursor('1 event 7 7'), cursor('1 event -7')],
      ...[cursor('1 event 9007199254740992'), cursor('1 event 00000000-0000-4000-8000-000000000000')],
      ...[cursor('-1 event 7'), cursor('1 other 7'), cursor('9e9 event 7'), cursor('999999999999999 event 7')],
      ...[cursor('1 award 7'), cursor('1 award 7 2147483648'), cursor('1 achievement 99999999999'), cursor('1 streak 7')],
      `${cursor('1 streak')}=`,
    ];
    for (const query of queries) {
      const reply = await world.get(path('ana', `?${query}`));
      expect(reply.status, query).to.equal(422);
      expect((reply.body as { error: string }).error, query).to.match(/^`(limit|from|until|cursor)` must be .+\.$/);
    }
  });

  it('is a 404 for an unknown and for a deleted user, and that of a new user with the id is empty', async () => {
    expect((await world.get(path('nobody'))).status).to.equal(404);
    await track(world, 'cards', { user: 'gone', value: 10 });
    expect((await readAll(world, 'gone', 10)).length).to.be.above(2);
    bodyOf(await world.request('DELETE', '/admin/v1/users/gone'), 200);
    expect((await world.get(path('gone'))).status).to.equal(404);
    bodyOf(await world.request('PUT', '/v1/users/gone', { body: {} }), 200);
    expect((await readAll(world, 'gone', 10)).map(inShort).filter((line) => !line.endsWith('award welcome 3'))).to.deep.equal([]);
  });
});

describe('The timelines of tenants', () => {
  let host: World;
  before(async () => {
    host = await startHost();
  });
  after(() => host.stop());

  it('are apart: the same user has one in each', async () => {
    const [first, second] = [
      await startTenant(host, { config: configText(config) }),
      await startTenant(host, { config: configText(config) }),
    ];
    await track(first, 'cards', { user: 'ana', value: 1 });
    await track(second, 'cards', { user: 'ana', value: 2 });
    const values = async (world: World): Promise<(number | undefined)[]> =>
      (await readAll(world, 'ana', 10)).filter(({ type }) => type === 'event').map(({ value }) => value);
    expect([await values(first), await values(second)]).to.deep.equal([[1], [2]]);
    expect((await host.get(path('ana'))).status).to.equal(404);
  });
});

describe('The pages of a timeline', function () {
  this.timeout(120_000);
  const seed = runSeed();
  let world: World;
  before(async () => {
    world = await startWorld({ config: configText(config) });
  });
  after(() => world.stop());

  /** Plays a random history: many events in the same millisecond, and time in between. Returns the moment at its end. */
  async function play(random: Random, user: string, fromMs: number): Promise<number> {
    let now = fromMs;
    for (let step = 0; step < 12; step += 1) {
      now += random.pick([0, 1, 3_600_000, 12 * 3_600_000, 36 * 3_600_000]);
      await world.setClock(new Date(now).toISOString());
      for (let i = random.below(4); i >= 0; i -= 1) {
        await track(world, random.pick(['cards', 'pages']), { user, value: random.below(4) });
      }
      if (random.chance(0.2)) await world.request('POST', '/v1/achievements/profile/complete', { body: { user: { id: user } } });
    }
    return now;
  }

  /** What plain queries of the ledger have of a user, as names in no order. */
  async function plain(user: string): Promise<string[]> {
    const { rows } = await world.pool.query<{ name: string }>(
      `select 'event ' || id as name from events where tenant = 1 and user_id = $1
       union all select 'award ' || id from awards where tenant = 1 and user_id = $1
       union all select 'achievement' from user_achievements where tenant = 1 and user_id = $1
       union all select 'streak ' || date '1970-01-01' + period from streak_periods where tenant = 1 and user_id = $1 and frequency = 'daily'`,
      [user],
    );
    return rows.map(({ name }) => name);
  }

  const named = ({ type, id = '', date = id, awards = [] }: Entry): string[] => [
    `${type} ${date}`.trim(),
    ...awards.map((award) => `award ${award.id}`),
  ];

  it(`have together what plain queries have, once, in one order, whatever their size (seed ${seed})`, async () => {
    const random = new Random(seed);
    let now = Date.parse('2040-01-02T12:00:00Z');
    for (const user of ['u1', 'u2']) {
      now = await play(random, user, now);
      const whole = await readAll(world, user, 100);
      expect(whole.flatMap(named).sort(), user).to.deep.equal((await plain(user)).sort());
      const moments = whole.map(({ at, date }) => at ?? `${date}T00:00:00.000Z`);
      expect(moments, user).to.deep.equal([...moments].sort().reverse());
      for (const limit of [1, 2, 3, 7, 1 + random.below(50)]) {
        expect(await readAll(world, user, limit), `${user} in pages of ${limit}`).to.deep.equal(whole);
      }
    }
  });
});

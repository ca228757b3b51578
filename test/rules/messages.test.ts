import { expect } from 'chai';
import { loadConfig } from '../../src/config/store/store.js';
import { DueWebhooks } from '../../src/webhooks/due.js';
import { ActiveConfig } from '../../src/plan/active-config.js';
import { bodyOf, configText, read, readProfile, track, type EventBody } from '../support/answers.js';
import { Contract } from '../support/contract.js';
import { messagesOf, pass, subscription, type Message } from '../support/messages.js';
import { startWorld, tenant, type World } from '../support/world.js';

const kinds = [
  ...['achievement.completed', 'streak.started', 'streak.extended', 'streak.lost', 'streak.freeze_consumed', 'streak.freeze_earned'],
  ...['points.changed', 'points.level_changed', 'points.boost_started', 'points.boost_finished'],
  ...['leaderboard.started', 'leaderboard.changed', 'leaderboard.rank_changed', 'leaderboard.finished'],
];

const board = { status: 'active', rankBy: 'metric', metricKey: 'm', start: '2040-01-01' };
const config = {
  attributes: [{ key: 'city', name: 'City', type: 'user' }],
  metrics: [
    { key: 'm', name: 'M' },
    { key: 'w', name: 'W' },
  ],
  streaks: {
    enabled: true,
    frequency: 'daily',
    metrics: [{ metricKey: 'm', threshold: 1 }],
    freezes: { initial: 0, maximum: 2, earnInterval: 3, earnAmount: 1 },
  },
  achievements: [
    { key: 'ten', name: 'Ten', trigger: 'metric', metricKey: 'm', metricValue: 10, status: 'active' },
    { key: 'two', name: 'Two', trigger: 'achievement', achievementKeys: ['ten'], status: 'active' },
    { key: 'api', name: 'Api', trigger: 'api', status: 'active' },
  ],
  points: [
    {
      key: 'p',
      name: 'P',
      description: 'Points',
      levels: [
        { key: 'one', name: 'One', points: 10 },
        { key: 'two', name: 'Two', points: 20, description: 'The second' },
      ],
      triggers: [{ key: 'm', type: 'metric', metricKey: 'w', metricThreshold: 1, points: 1, status: 'active' }],
      boosts: [
        { key: 'own', name: 'Own', start: '2040-01-04', end: '2040-01-04', multiplier: 2, rounding: 'up', userId: 'ana' },
        { key: 'all', name: 'All', start: '2040-01-05', end: '2040-01-06', multiplier: 1.5, rounding: 'nearest' },
        { key: 'past', name: 'Past', start: '2020-01-05', end: '2020-01-06', multiplier: 1.5 },
      ],
    },
  ],
  leaderboards: [
    { ...board, key: 'all', name: 'All' },
    { ...board, key: 'day', name: 'Day', runUnit: 'day', runInterval: 1, maxParticipants: 2 },
    { ...board, key: 'city', name: 'City', breakdownAttributes: ['city'], end: '2040-01-03', rankBy: 'metric', metricKey: 'w' },
    { ...board, key: 'later', name: 'Later', start: '2040-01-05', end: '2040-01-07' },
  ],
  webhooks: [subscription(...kinds)],
};

const minute = 60_000;
const hour = 60 * minute;

/** The streak of an answer, as a message has it. */
const streakOf = ({ currentStreak: { extended: _, ...streak } }: EventBody & { currentStreak: { extended?: unknown } }): object => streak;

describe('Messages', () => {
  let world: World;
  let seen = 0;
  before(async () => {
    world = await startWorld({ config: configText(config), now: '2040-01-02T12:00:00Z' });
    await pass(world, 1_000);
    for (const [id, city, value] of [
      ['jo', 'Porto', 3],
      ['kim', 'Porto', 2],
      ['ida', 'Faro', 1],
    ] as const)
      await track(world, 'w', { user: { id, attributes: { city } }, value });
    await pass(world, 1_000);
    seen = (await messagesOf(world)).length;
  });
  after(() => world.stop());

  /** What has come since the last call, of a kind, about a user. */
  async function news(kind: string, user?: string): Promise<Message[]> {
    const all = await messagesOf(world);
    const fresh = all.slice(seen);
    seen = all.length;
    return fresh.filter((message) => message.kind === kind && (user === undefined || message.user === user));
  }
  const payloads = async (kind: string, user?: string): Promise<unknown[]> => (await news(kind, user)).map(({ payload }) => payload);
  const event = (user: string, value: number, metric = 'm'): Promise<EventBody> => track(world, metric, { user, value });

  it('achievement.completed: each that an event completes, in order, as the answer tells it', async () => {
    const { achievements } = await event('ana', 10);
    const user = await readProfile(world, 'ana');
    expect(achievements).to.have.lengthOf(2);
    expect(await payloads('achievement.completed')).to.deep.equal(
      achievements.map((achievement) => ({ type: 'achievement.completed', user, achievement })),
    );
  });

  it('achievement.completed: one that a call completes', async () => {
    const body = bodyOf<{ achievement: unknown }>(
      await world.request('POST', '/v1/achievements/api/complete', { body: { user: { id: 'api' } } }),
      201,
    );
    expect(await payloads('achievement.completed')).to.deep.equal([
      { type: 'achievement.completed', user: await readProfile(world, 'api'), achievement: body.achievement },
    ]);
  });

  it('streak.started and streak.extended: the streak of the answer', async () => {
    const first = await event('bo', 1);
    await event('bo', 1);
    expect(await payloads('streak.started', 'bo')).to.deep.equal([
      { type: 'streak.started', user: await readProfile(world, 'bo'), streak: streakOf(first) },
    ]);
    await pass(world, 24 * hour);
    const second = await event('bo', 1);
    expect(await payloads('streak.extended', 'bo')).to.deep.equal([
      { type: 'streak.extended', user: await readProfile(world, 'bo'), streak: streakOf(second) },
    ]);
  });

  it('points.level_changed: at once, both levels, upward and downward', async () => {
    const levels = await read<unknown[]>(world, '/v1/points/p/levels');
    await event('cy', 25, 'w');
    await event('cy', 1, 'w');
    const [up, ...more] = await news('points.level_changed', 'cy');
    expect(more).to.deep.equal([]);
    const { level, awards: _, total, ...system } = await read<Record<string, unknown>>(world, '/v1/users/cy/points/p');
    expect(up?.payload).to.deep.equal({
      type: 'points.level_changed',
      user: await readProfile(world, 'cy'),
      points: { ...system, total: Number(total) - 1 },
      previousLevel: null,
      newLevel: level,
    });
    expect(levels).to.deep.include(level);
  });

  it('points.changed: the first change at once, and 15 minutes later everything since then', async () => {
    await pass(world, minute);
    const block = (await event('dora', 11, 'w')).points['p'];
    await pass(world, 1_000);
    const user = await readProfile(world, 'dora');
    expect(await payloads('points.changed', 'dora')).to.deep.equal([{ type: 'points.changed', user, points: block }]);
    const blocks = [await event('dora', 1, 'w'), await event('dora', 2, 'w')].map(({ points }) => points['p']!);
    await pass(world, 14 * minute);
    expect(await payloads('points.changed', 'dora')).to.deep.equal([]);
    await pass(world, minute);
    const { level: _, ...rest } = block!;
    const awards = blocks.flatMap((each) => each.awards);
    expect(await payloads('points.changed', 'dora')).to.deep.equal([
      { type: 'points.changed', user, points: { ...rest, total: 14, added: 3, awards } },
    ]);
    await pass(world, 16 * minute);
    expect(await payloads('points.changed', 'dora')).to.deep.equal([]);
    const { rows } = await world.pool.query('select 1 from webhook_points_state');
    expect(rows).to.deep.equal([]);
  });
  it('leaderboard.changed: the rankings as they are read, and 15 minutes later the newest', async () => {
    await pass(world, 16 * minute);
    await news('');
    await event('eve', 100);
    await pass(world, 1_000);
    const first = await news('leaderboard.changed');
    const all = (messages: Message[]): unknown[] =>
      messages.filter(({ payload }) => payload.leaderboard?.key === 'all').map(({ payload }) => payload);
    // A webhook leaves out what the leaderboard does not rank by, where a read has null, and has the dates of the run in `start` and `end`.
    const rankings = async (): Promise<object> => {
      const { pointsSystemKey, pointsSystemName, runStart, runEnd, ...rest } = await read<Record<string, unknown>>(
        world,
        '/v1/leaderboards/all?limit=1000',
      );
      expect([pointsSystemKey, pointsSystemName, runStart, runEnd]).to.deep.equal([null, null, rest['start'], rest['end']]);
      return rest;
    };
    expect(all(first)).to.deep.equal([{ type: 'leaderboard.changed', leaderboard: await rankings() }]);
    await event('finn', 200);
    await pass(world, 5 * minute);
    await event('eve', 300);
    await pass(world, 5 * minute);
    expect(await news('leaderboard.changed')).to.deep.equal([]);
    await pass(world, 5 * minute);
    expect(all(await news('leaderboard.changed'))).to.deep.equal([{ type: 'leaderboard.changed', leaderboard: await rankings() }]);
  });

  it('leaderboard.rank_changed: those who passed and those who were passed, each at most every 15 minutes', async () => {
    for (let i = 0; i < 2; i += 1) await pass(world, 20 * minute);
    await news('');
    const places = async (): Promise<unknown[]> =>
      (await news('leaderboard.rank_changed')).flatMap(({ user, payload: { leaderboard: of } }) =>
        of?.key === 'all' ? [[user, of.previousRank, of.previousValue, of.rank, of.value]] : [],
      );
    await event('finn', 200.5);
    await pass(world, 1_000);
    const published = [
      ['finn', 2, 200, 1, 400.5],
      // The last message to her said: first with 100.
      ['eve', 1, 100, 2, 400],
    ];
    expect(await places()).to.deep.equal(published);
    await event('gus', 400.25);
    await pass(world, minute);
    // Gus has passed Eve, who has just received a message, and Ana and Bo.
    const { rankings } = await read<{ rankings: { userId: string; value: number }[] }>(world, '/v1/leaderboards/all?limit=1000');
    const [ana, bo] = ['ana', 'bo'].map((id) => rankings.find(({ userId }) => userId === id)!.value);
    expect(await places()).to.deep.equal([
      ['gus', null, null, 2, 400.25],
      ['ana', 3, ana, 4, ana],
      ['bo', 4, bo, 5, bo],
    ]);
    await pass(world, 15 * minute);
    expect(await places()).to.deep.equal([['eve', 2, 400, 3, 400]]);
    const ranks = (await messagesOf(world)).filter(({ kind, user }) => kind === 'leaderboard.rank_changed' && user === 'eve');
    const leaderboard = ranks.findLast(({ payload }) => payload.leaderboard?.key === 'all')?.payload.leaderboard;
    const {
      history: _,
      pointsSystemKey,
      pointsSystemName,
      runStart,
      runEnd,
      ...place
    } = await read<Record<string, unknown>>(world, '/v1/users/eve/leaderboards/all');
    expect([pointsSystemKey, pointsSystemName, runStart, runEnd]).to.deep.equal([null, null, place['start'], place['end']]);
    expect(leaderboard).to.deep.equal({ ...place, previousRank: 2, previousValue: 400 });
  });

  it('streak.freeze_earned, streak.freeze_consumed and streak.lost: what time does to a user, in its order', async () => {
    await world.setClock('2040-02-01T12:00:00Z');
    await event('hal', 1);
    await news('');
    await world.setClock('2040-02-08T12:00:00Z');
    const user = await readProfile(world, 'hal');
    const streak = (await messagesOf(world)).filter((message) => message.user === 'hal' && message.kind.startsWith('streak.'));
    // Created on the first: a freeze on the fourth, used for the day before; the sixth is missed.
    expect(streak.slice(1).map(({ payload }) => payload)).to.deep.equal([
      { type: 'streak.lost', user, length: 1 },
      { type: 'streak.freeze_earned', user, earned: 2, freezes: 2 },
    ]);
    await event('hal', 1);
    await world.setClock('2040-02-12T12:00:00Z');
    const later = (await messagesOf(world)).filter(({ user: id, kind }) => id === 'hal' && kind.startsWith('streak.')).slice(4);
    // Another on the tenth, in the step that finds the ninth missed: both tell what there is after it.
    expect(later.map(({ payload: { user: _, ...rest } }) => rest as unknown)).to.deep.equal([
      { type: 'streak.freeze_earned', earned: 1, freezes: 2 },
      { type: 'streak.freeze_consumed', consumed: 1, freezes: 2 },
      { type: 'streak.freeze_consumed', consumed: 1, freezes: 1 },
      { type: 'streak.freeze_consumed', consumed: 1, freezes: 0 },
    ]);
  });

  it('points.boost_started and points.boost_finished: by the UTC date, once, and not of a boost that was over', async () => {
    const all = (await messagesOf(world)).filter(({ kind }) => kind.startsWith('points.boost'));
    const { id: pointsSystemId } = await read<{ id: string }>(world, '/v1/points/p');
    expect(all.map(({ user, payload: { type, timestamp, boost: of } }) => [user, type, timestamp, of?.name, of?.status])).to.deep.equal([
      ['ana', 'points.boost_started', '2040-01-04T00:00:00.000Z', 'Own', 'active'],
      ['ana', 'points.boost_finished', '2040-01-05T00:00:00.000Z', 'Own', 'finished'],
      [null, 'points.boost_started', '2040-01-05T00:00:00.000Z', 'All', 'active'],
      [null, 'points.boost_finished', '2040-01-07T00:00:00.000Z', 'All', 'finished'],
    ]);
    const [shown] = await read<object[]>(world, '/v1/points/p/boosts?includeFinished=true');
    const ofSystem = { pointsSystemId, pointsSystemKey: 'p', pointsSystemName: 'P' };
    expect(all[3]?.payload.boost).to.deep.equal({ ...shown, ...ofSystem, userId: null });
  });

  it('leaderboard.started: each board and run, once', async () => {
    const started = (await messagesOf(world)).filter(({ kind }) => kind === 'leaderboard.started');
    const shown = started.map(
      ({ at, payload: { leaderboard: of } }) => `${of?.key} ${of?.status} ${of?.start} ${of?.end} ${at.toISOString()}`,
    );
    expect(shown.filter((line) => line.startsWith('later'))).to.deep.equal(['later active 2040-01-05 2040-01-07 2040-01-05T00:00:00.000Z']);
    // Whether the sweep looked for the first time before the test clock was set decides what of the first day is news.
    const days = shown.filter((line) => line.startsWith('day active') && line > 'day active 2040-01-03');
    const expected = Array.from({ length: 41 }, (_, i) => new Date(Date.UTC(2040, 0, 3 + i)).toISOString());
    expect(days).to.deep.equal(expected.map((at) => `day active ${at.slice(0, 10)} ${at.slice(0, 10)} ${at}`));
    expect(new Set(shown).size).to.equal(shown.length);
  });

  it('leaderboard.finished: the final rankings of a run, and of each group', async () => {
    const finished = (await messagesOf(world)).filter(({ kind }) => kind === 'leaderboard.finished');
    const day = finished.filter(({ payload: { leaderboard: of } }) => of?.key === 'day');
    expect(new Set(day.map(({ payload: { leaderboard: of } }) => of?.start)).size).to.equal(day.length);
    for (const {
      payload: { leaderboard },
    } of day) {
      const { rankings } = await read<{ rankings: unknown[] }>(world, `/v1/leaderboards/day?run=${leaderboard?.start}`);
      expect(leaderboard).to.deep.include({ status: 'finished', end: leaderboard?.start, rankings });
    }
    const cities = finished.filter(({ payload: { leaderboard: of } }) => of?.key === 'city');
    expect(
      cities.map(({ payload: { leaderboard: of } }) => [of?.breakdownAttributeValue, of?.rankings?.map(({ userId }) => userId)]),
    ).to.deep.equal([
      ['Faro', ['ida']],
      ['Porto', ['jo', 'kim']],
    ]);
  });

  it('validate against the schema of their kind', async () => {
    const contract = new Contract();
    const more = /breakdownAttributeValues? is not in the contract$/;
    for (const { kind, payload } of await messagesOf(world)) {
      expect(
        contract.webhookProblems(kind, payload).filter((problem) => !more.test(problem)),
        kind,
      ).to.deep.equal([]);
    }
  });

  it('leaderboard.started: once, by however many who look at the same time, one of them late', async () => {
    const active = new ActiveConfig(await loadConfig(world.pool, tenant));
    const workers = Array.from({ length: 4 }, () => new DueWebhooks(world.pool, () => undefined));
    for (let day = 13; day <= 20; day += 1) {
      const now = Date.UTC(2040, 1, day, 12);
      await Promise.all(workers.map((worker, i) => worker.publish(active, i === 0 ? now - 24 * hour : now, 1)));
    }
    const started = (await messagesOf(world))
      .filter(({ kind }) => kind === 'leaderboard.started')
      .map(({ payload }) => payload.leaderboard);
    expect(started.flatMap((of) => (of?.key === 'day' && of.start > '2040-02-12' ? [of.start] : []))).to.deep.equal(
      Array.from({ length: 8 }, (_, i) => `2040-02-${13 + i}`),
    );
  });
});

describe('A participant limit that is changed', () => {
  it('is published like any other change of ranks, also of a leaderboard without other changes', async () => {
    const limited = (maxParticipants: number, ...heard: readonly string[]): string =>
      configText({
        metrics: [{ key: 'm', name: 'M' }],
        leaderboards: [{ ...board, key: 'all', name: 'All', maxParticipants }],
        webhooks: heard.length === 0 ? [] : [subscription(...heard)],
      });
    const heard = ['leaderboard.changed', 'leaderboard.rank_changed'] as const;
    const world = await startWorld({ config: limited(3) });
    try {
      for (const [user, value] of [
        ['ana', 30],
        ['bo', 20],
        ['cy', 10],
      ] as const)
        await track(world, 'm', { user, value });
      await world.drain();
      let seen = 0;
      const news = async (): Promise<unknown[]> => {
        await pass(world, 20 * minute);
        const all = await messagesOf(world);
        const fresh = all.slice(seen);
        seen = all.length;
        return fresh.map(({ kind, user, payload: { leaderboard: of } }) =>
          kind === 'leaderboard.changed' ? of?.rankings?.map(({ userId }) => userId) : [user, of?.previousRank, of?.rank, of?.value],
        );
      };
      await world.configure(limited(3, ...heard));
      await world.configure(limited(1, ...heard));
      expect(await news()).to.have.deep.members([['ana'], ['bo', 2, null, null], ['cy', 3, null, null]]);
      await world.configure(limited(2, ...heard));
      expect(await news()).to.have.deep.members([
        ['ana', 'bo'],
        ['bo', null, 2, 20],
      ]);
    } finally {
      await world.stop();
    }
  });
});

describe('Another frequency of streaks', () => {
  it('publishes what came before it as the frequency of that time has it, however late it is written', async () => {
    const streaks = (frequency: string): string =>
      configText({
        metrics: [{ key: 'm', name: 'M' }],
        streaks: { enabled: true, frequency, metrics: [{ metricKey: 'm', threshold: 1 }], daysOff: frequency === 'daily' ? [3] : [] },
        webhooks: [subscription('streak.started', 'streak.extended')],
      });
    const world = await startWorld({ config: streaks('daily'), now: '2040-01-02T12:00:00Z' });
    try {
      await track(world, 'm', { user: 'ana', value: 1 });
      await world.setClock('2040-01-03T12:00:00Z');
      await world.drain();
      // Another worker has the lease: what follows is written after the change.
      await world.pool.query(`update stream_offsets set holder = 'test', fence = fence + 1, lease_until = now() + interval '1 hour'`);
      const answered = await track(world, 'm', { user: 'ana', value: 1 });
      await world.configure(streaks('weekly'));
      await world.pool.query(`update stream_offsets set lease_until = '-infinity'`);
      const [, extended] = await messagesOf(world);
      expect([extended?.kind, extended?.payload.streak]).to.deep.equal(['streak.extended', streakOf(answered)]);
    } finally {
      await world.stop();
    }
  });
});

describe('A boost that changes while it runs', () => {
  it('publishes a start whenever it runs again, and each end', async () => {
    const configured = (boost?: object): string =>
      configText({
        points: [{ key: 'p', name: 'P', boosts: boost ? [{ key: 'b', name: 'B', multiplier: 2, ...boost }] : [] }],
        webhooks: [subscription('points.boost_started', 'points.boost_finished')],
      });
    const world = await startWorld({ config: configured(), now: '2040-01-02T12:00:00Z' });
    try {
      await pass(world, minute);
      const published: string[] = [];
      const apply = async (text: string): Promise<void> => {
        await world.configure(text);
        await pass(world, minute);
      };
      const boost = { start: '2040-01-01', end: '2040-01-03' };
      for (const change of [boost, undefined, boost, { start: '2040-01-03', end: '2040-01-03' }]) await apply(configured(change));
      await world.setClock('2040-01-03T12:00:00Z');
      await pass(world, minute);
      await world.setClock('2040-01-04T12:00:00Z');
      await pass(world, minute);
      for (const { kind, payload } of await messagesOf(world)) {
        published.push(`${kind.slice('points.boost_'.length)} ${(payload as { timestamp: string }).timestamp.slice(5, 16)}`);
      }
      expect(published).to.deep.equal([
        'started 01-02T12:01',
        'finished 01-02T12:02',
        'started 01-02T12:03',
        'finished 01-02T12:04',
        'started 01-03T00:00',
        'finished 01-04T00:00',
      ]);
    } finally {
      await world.stop();
    }
  });
});

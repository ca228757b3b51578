import { expect } from 'chai';
import { bodyOf, configText, read, readPoints, track, userPath } from '../support/answers.js';
import { errorOf } from '../support/admin.js';
import { differences } from '../support/differences.js';
import { messagesOf, pass, subscription } from '../support/messages.js';
import { startWorld, type Reply, type World } from '../support/world.js';

const config = configText({
  metrics: [{ key: 'm', name: 'M' }],
  points: [
    {
      key: 'xp',
      name: 'XP',
      maxPoints: 1_000,
      levels: [{ key: 'bronze', name: 'Bronze', points: 10 }],
      triggers: [{ key: 'per-one', type: 'metric', metricKey: 'm', metricThreshold: 1, points: 1, status: 'active' }],
      boosts: [{ key: 'double', name: 'Double', start: '2039-01-01', multiplier: 2 }],
    },
    { key: 'gems', name: 'Gems' },
  ],
  webhooks: [subscription('points.changed', 'points.level_changed')],
});

interface Made {
  readonly id: string;
  readonly userId: string;
  readonly awarded: number;
  readonly total: number;
  readonly level: { readonly key: string } | null;
  readonly idempotentReplayed: boolean;
}
interface Body {
  readonly created: readonly Made[];
  readonly issues: readonly { readonly index: number; readonly userId: string; readonly severity: string; readonly message: string }[];
}
interface TimelineEntry {
  readonly type: string;
  readonly awarded?: number;
  readonly trigger?: { readonly key: string } | null;
  readonly eventId?: string | null;
  readonly level?: { readonly key: string } | null;
  readonly adjustment?: { readonly id: string; readonly reason: string; readonly key: { readonly id: string; readonly name: string } };
}

describe('Adjustments of points', () => {
  let world: World;
  beforeEach(async () => {
    world = await startWorld({ config });
    await track(world, 'm', { user: 'ana', value: 4 });
    await track(world, 'm', { user: 'ben', value: 1 });
  });
  afterEach(() => world.stop());

  async function send(system: string, ...adjustments: readonly object[]): Promise<Reply> {
    const id = (await world.engine.config(world.tenant)).systems.get(system)?.id ?? system;
    return world.request('POST', `/admin/v1/points/${id}/adjustments`, { body: { adjustments } });
  }
  const adjust = async (...adjustments: readonly object[]): Promise<Body> => bodyOf<Body>(await send('xp', ...adjustments), 201);
  const timeline = async (user: string): Promise<readonly TimelineEntry[]> =>
    (await read<{ entries: TimelineEntry[] }>(world, `/admin/v1/users/${user}/timeline`)).entries;

  it('answer with what was really added, the total and the level, and an issue for each that changes nothing', async () => {
    const { created, issues } = await adjust(
      { userId: 'ana', amount: 5, reason: 'Sorry' },
      { userId: 'nobody', amount: 5, reason: 'Sorry' },
      { userId: 'ben', amount: -100, reason: 'Cheated' },
      { userId: 'ben', amount: -1, reason: 'Cheated' },
      { userId: 'ben', amount: 5_000, reason: 'A gift' },
    );
    expect(created.map(({ id: _, level, ...made }) => ({ ...made, level: level?.key ?? null }))).to.deep.equal([
      { userId: 'ana', awarded: 5, total: 13, idempotentReplayed: false, level: 'bronze' },
      { userId: 'ben', awarded: -2, total: 0, idempotentReplayed: false, level: null },
      { userId: 'ben', awarded: 1_000, total: 1_000, idempotentReplayed: false, level: 'bronze' },
    ]);
    expect(issues.map(({ index, userId, severity }) => [index, userId, severity])).to.deep.equal([
      [1, 'nobody', 'error'],
      [3, 'ben', 'warning'],
    ]);
    expect((await send('xp', { userId: 'nobody', amount: 5, reason: 'Sorry' })).status).to.equal(200);
    expect((await world.get(userPath('nobody'))).status).to.equal(404);
  });

  it('are awards without a trigger and without the reason for users', async () => {
    await adjust({ userId: 'ana', amount: 5, reason: 'Sorry' });
    const { total, level, awards } = await readPoints(world, 'ana', 'xp');
    expect([total, level?.key]).to.deep.equal([13, 'bronze']);
    expect(awards[0]).to.deep.include({ awarded: 5, total: 13, boosts: [] });
    expect(awards[0]).to.have.all.keys('id', 'awarded', 'date', 'total', 'boosts');
    expect(awards[1]).to.have.property('trigger');
  });

  it('count in summaries, histograms and levels', async () => {
    await adjust({ userId: 'ana', amount: 5, reason: 'Sorry' });
    const query = '?aggregation=daily&startDate=2040-01-02&endDate=2040-01-02';
    const [day] = await read<{ total: number; change: number }[]>(world, userPath('ana', `/points/xp/event-summary${query}`));
    expect(day).to.include({ total: 13, change: 13 });
    const ranges = await read<{ from: number; to: number; users: number }[]>(world, '/v1/points/xp/summary');
    expect(ranges.filter(({ from, to }) => from <= 13 && 13 <= to).map(({ users }) => users)).to.deep.equal([1]);
    const levels = await read<{ level: { key: string }; users: number }[]>(world, '/v1/points/xp/level-summary');
    expect(levels.map(({ level, users }) => [level.key, users])).to.deep.equal([['bronze', 1]]);
  });

  it('are in the timeline with the reason and the admin key, and in the analytics of their points system', async () => {
    const { created } = await adjust({ userId: 'ana', amount: 5, reason: 'Sorry' }, { userId: 'ana', amount: -4, reason: 'Too much' });
    const entries = (await timeline('ana')).filter(({ type }) => type === 'award');
    const shown = entries.map((entry) => [entry.awarded, entry.trigger, entry.eventId, entry.level?.key, entry.adjustment?.reason]);
    expect(shown).to.deep.equal([
      [-4, null, null, undefined, 'Too much'],
      [5, null, null, 'bronze', 'Sorry'],
    ]);
    expect(entries.map(({ adjustment }) => adjustment?.id)).to.have.members(created.map(({ id }) => id));
    const { rows } = await world.pool.query<{ id: string; name: string }>('select id, name from api_keys where id = $1', [
      entries[0]?.adjustment?.key.id,
    ]);
    expect(entries[0]?.adjustment?.key).to.deep.equal(rows[0]);
    const { adjustments } = await read<{ adjustments: { key: string; awards: number[]; points: number[] }[] }>(
      world,
      '/admin/v1/analytics/days?from=2040-01-02&until=2040-01-02',
    );
    expect(adjustments.map(({ key, awards, points }) => [key, awards, points])).to.deep.equal([['xp', [2], [1]]]);
  });

  it('are made once for each key', async () => {
    const one = { userId: 'ana', amount: 5, reason: 'Sorry', idempotencyKey: 'ticket-7' };
    const { created } = await adjust(one, { ...one, amount: 50 }, { ...one, userId: 'ben' });
    expect(created.map(({ awarded, total, idempotentReplayed }) => [awarded, total, idempotentReplayed])).to.deep.equal([
      [5, 13, false],
      [0, 13, true],
      [5, 7, false],
    ]);
    expect(created[1]?.id).to.equal(created[0]?.id);
    const other = bodyOf<Body>(await send('gems', one), 201);
    expect(other.created[0]).to.include({ awarded: 5, total: 5, idempotentReplayed: false });
    await track(world, 'm', { user: 'ana', value: 1, key: 'ticket-7' });
    expect((await readPoints(world, 'ana', 'xp')).total).to.equal(15);
    await world.drain();
    expect(await differences(world.redis, world.pool, world.partition)).to.deep.equal([]);
  });

  it('send points.changed and points.level_changed', async () => {
    await pass(world, 1_000);
    const before = (await messagesOf(world)).length;
    await adjust({ userId: 'ana', amount: 5, reason: 'Sorry' }, { userId: 'ana', amount: -9, reason: 'Too much' });
    await pass(world, 15 * 60_000);
    const sent = (await messagesOf(world)).slice(before).filter(({ user }) => user === 'ana');
    expect(sent.map(({ kind }) => kind)).to.deep.equal(['points.level_changed', 'points.level_changed', 'points.changed']);
    const { points } = sent[2]!.payload as unknown as { points: { total: number; added: number; awards: object[] } };
    expect([points.total, points.added, points.awards.length]).to.deep.equal([4, -4, 2]);
    for (const award of points.awards) expect(award).to.not.have.any.keys('trigger', 'reason');
  });

  it('go with the user, keys included', async () => {
    await adjust({ userId: 'ana', amount: 5, reason: 'Sorry, Ana', idempotencyKey: 'ticket-7' });
    bodyOf(await world.request('DELETE', '/admin/v1/users/ana'), 200);
    expect(await world.snapshot()).to.not.match(/Sorry, Ana|ticket-7/);
    await track(world, 'm', { user: 'ana', value: 1 });
    const { created } = await adjust({ userId: 'ana', amount: 5, reason: 'Again', idempotencyKey: 'ticket-7' });
    expect(created[0]).to.include({ awarded: 5, total: 7 });
  });

  it('refuse what is no adjustment, and change nothing', async () => {
    const valid = { userId: 'ana', amount: 5, reason: 'Sorry' };
    const wrong: readonly (readonly [field: string, item: object])[] = [
      ['amount', { ...valid, amount: 0 }],
      ['amount', { ...valid, amount: 1.5 }],
      ['amount', { ...valid, amount: 2e15 }],
      ['amount', { ...valid, amount: '5' }],
      ['reason', { ...valid, reason: '' }],
      ['reason', { userId: 'ana', amount: 5 }],
      ['reason', { ...valid, reason: 'x'.repeat(1_001) }],
      ['idempotencyKey', { ...valid, idempotencyKey: '' }],
      ['userId', { ...valid, userId: '' }],
    ];
    for (const [field, item] of wrong) {
      const reply = await send('xp', valid, item);
      expect(reply.status, JSON.stringify(item)).to.equal(422);
      expect(errorOf(reply)).to.include(`adjustments.1.${field}`);
    }
    expect((await send('00000000-0000-4000-8000-000000000000', valid)).status).to.equal(404);
    expect((await send('xp')).status).to.equal(422);
    expect((await send('xp', ...Array.from({ length: 101 }, () => valid))).status).to.equal(422);
    expect((await readPoints(world, 'ana', 'xp')).total).to.equal(8);
  });
});

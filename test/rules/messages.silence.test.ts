import { expect } from 'chai';
import pino from 'pino';
import { Context } from '../../src/app/context.js';
import { restore } from '../../src/commands/restore.js';
import { webhookKinds } from '../../src/config/schema/webhook-kinds.js';
import { configText, track } from '../support/answers.js';
import { pointPerUnit } from '../support/configs.js';
import { messagesOf, pass, subscription } from '../support/messages.js';
import { numberOf } from '../support/past.js';
import { keysOf, startWorld, type World } from '../support/world.js';

const points = pointPerUnit('m');
const board = { key: 'all', name: 'All', status: 'active', rankBy: 'metric', metricKey: 'm', start: '2039-01-01' };
const streaks = {
  enabled: true,
  frequency: 'daily',
  metrics: [{ metricKey: 'm', threshold: 1 }],
  freezes: { initial: 1, maximum: 3, earnInterval: 2, earnAmount: 1 },
};
const base = { metrics: [{ key: 'm', name: 'M' }], streaks };
const receiver = { webhooks: [subscription(...webhookKinds)] };
const minute = 60_000;
const tables = [
  'outbox',
  'deliveries',
  'webhook_points_state',
  'webhook_leaderboard_state',
  'webhook_ranking_state',
  'webhook_user_rank_state',
  'webhook_calendar_state',
];

describe('No message is sent', () => {
  let world: World;
  afterEach(() => world.stop());

  const users = ['ana', 'bo', 'cy'];
  /** Each event is published before the next: what one commit holds is published together. */
  const events = async (value: number): Promise<void> => {
    for (const [i, user] of users.entries()) {
      await track(world, 'm', { user, value: value + i });
      await pass(world, 0);
    }
  };
  const kinds = async (): Promise<string[]> => (await messagesOf(world)).map(({ kind, user }) => `${kind} ${user ?? ''}`);

  it('for anything without a subscription: nothing is stored', async () => {
    world = await startWorld({ config: configText({ ...base, points: [points], leaderboards: [board] }) });
    await events(10);
    await pass(world, 30 * minute);
    await world.drain();
    for (const table of tables) expect((await world.pool.query(`select 1 from ${table}`)).rows, table).to.deep.equal([]);
    await world.configure(configText({ webhooks: [subscription('streak.extended')] }));
    await track(world, 'm', { user: 'ana', value: 100 });
    await pass(world, 24 * 60 * minute);
    await track(world, 'm', { user: 'ana', value: 100 });
    expect(await kinds()).to.deep.equal(['streak.extended ana']);
    for (const table of tables.slice(2)) expect((await world.pool.query(`select 1 from ${table}`)).rows, table).to.deep.equal([]);
  });

  it('for what happened before the subscription; what happens right after is sent', async () => {
    world = await startWorld({ config: configText({ ...base, points: [points], leaderboards: [board] }) });
    await events(10);
    await pass(world, minute);
    await world.drain();
    await world.configure(configText(receiver));
    await track(world, 'm', { user: 'cy', value: -1.5 });
    await pass(world, minute);
    // Cy was first, and has passed no user; neither have Bo and Ana, but Bo is first now.
    expect((await kinds()).sort()).to.deep.equal(['leaderboard.changed ', 'leaderboard.rank_changed bo', 'leaderboard.rank_changed cy']);
  });

  it('for a backfill: achievements, streaks and places that the configuration gives, and levels that it changes', async () => {
    world = await startWorld({ config: configText({ ...base, points: [points], ...receiver }) });
    await track(world, 'm', { user: 'dora', value: 0.5 });
    await events(10);
    await pass(world, 30 * minute);
    const before = await messagesOf(world);
    await world.configure(
      configText({
        streaks: { ...streaks, metrics: [{ metricKey: 'm', threshold: 0.5 }] },
        points: [{ ...points, levels: [{ key: 'l', name: 'L', points: 5 }] }],
        achievements: [{ key: 'a', name: 'A', trigger: 'metric', metricKey: 'm', metricValue: 5, status: 'active' }],
        leaderboards: [board],
      }),
    );
    const no = await numberOf(world, 'achievements', 'a');
    await pass(world, minute);
    await world.drain();
    const { rows } = await world.pool.query('select user_id from user_achievements where achievement = $1', [no]);
    expect(rows).to.have.lengthOf(3);
    await pass(world, 60 * minute);
    const after = (await messagesOf(world)).slice(before.length);
    // The first rankings are sent, the first rank of each user is not.
    expect(after.map(({ kind }) => kind).sort()).to.deep.equal(['leaderboard.changed', 'leaderboard.started']);
    await track(world, 'm', { user: 'ana', value: 0.5 });
    await pass(world, minute);
    expect((await kinds()).slice(before.length + 2)).to.deep.equal(['leaderboard.changed ']);
  });

  /** The messages of four users' days, with or without a loss of Redis in between. */
  async function messagesOfDays(loses: boolean): Promise<string[]> {
    world = await startWorld({
      config: configText({
        ...base,
        points: [{ ...points, levels: [{ key: 'l', name: 'L', points: 5 }] }],
        leaderboards: [board],
        ...receiver,
      }),
    });
    await events(10);
    await pass(world, 30 * minute);
    const before = await messagesOf(world);
    if (loses) {
      const other = await Context.start({ settings: world.settings, log: pino({ level: 'silent' }), print: () => undefined });
      try {
        await world.redis.unlink(...(await keysOf(world.redis, world.partition)));
        await world.redis.function('FLUSH');
        await track(world, 'm', { user: 'ana', value: 1 }, 503);
        await restore(other, () => undefined, {});
      } finally {
        await other.stop();
      }
      await pass(world, 0);
      expect(await messagesOf(world)).to.deep.equal(before);
    }
    await events(0.5);
    for (let day = 0; day < 6; day += 1) await pass(world, 24 * 60 * minute);
    return kinds();
  }

  it('a second time after a restore of Redis: each is sent once, as if nothing had been lost', async () => {
    const expected = await messagesOfDays(false);
    await world.stop();
    expect(expected.filter((kind) => kind.endsWith(' ana'))).to.include.members(['streak.lost ana', 'streak.freeze_consumed ana']);
    expect((await messagesOfDays(true)).sort()).to.deep.equal(expected.sort());
  });
});

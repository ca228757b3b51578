import { expect } from 'chai';
import pino from 'pino';
import { Context } from '../../src/app/context.js';
import { OwnRedis } from '../support/own-redis.js';
import { until, untilReady } from '../support/stage.js';
import { startWorld, type World } from '../support/world.js';

describe('DURABILITY=always', () => {
  let redis: OwnRedis;
  let world: World;

  before(async () => {
    redis = await OwnRedis.start();
    world = await startWorld({ redisUrl: redis.url });
  });
  after(async () => {
    await world.stop();
    await redis.stop();
  });

  const appendfsync = async (): Promise<string> => (await world.redis.config('GET', 'appendfsync'))[1]!;
  const set = (name: string, value: string): Promise<unknown> => world.redis.config('SET', name, value);

  /** Starts what every process starts with, and stops it; returns what was wrong and what was warned of. */
  async function start(settings: Partial<World['settings']>): Promise<{ problem: string; warned: string }> {
    const warned: string[] = [];
    const log = pino({ level: 'warn' }, { write: (line) => void warned.push((JSON.parse(line) as { msg: string }).msg) });
    try {
      const context = await Context.start({ settings: { ...world.settings, ...settings }, log, print: () => undefined });
      await context.stop();
      return { problem: '', warned: warned.join('\n') };
    } catch (error) {
      return { problem: (error as Error).message, warned: warned.join('\n') };
    }
  }

  it('makes Redis sync its file before it responds, also after a restart of Redis', async () => {
    await set('appendfsync', 'everysec');
    await world.stopService();
    const second = await startWorld({ redisUrl: redis.url, settings: { durability: 'always' } });
    try {
      expect(await appendfsync()).to.equal('always');
      for (let i = 1; i <= 3; i += 1) {
        const reply = await second.event('flashcards-viewed', { user: { id: 'ana' }, value: 1 });
        expect((reply.body as { total: number }).total).to.equal(i);
        await redis.kill();
        await redis.startAgain();
        await set('appendfsync', 'everysec');
        await until('the service has set it again', async () => {
          // What its own connections find out when they come to a server anew.
          await second.redis.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes').catch(() => undefined);
          await untilReady(second);
          return (await appendfsync()) === 'always';
        });
        await untilReady(second);
      }
      const user = await second.get('/v1/users/ana/metrics/flashcards-viewed');
      expect((user.body as { current: number }).current).to.equal(3);
    } finally {
      await second.stop();
    }
  });

  it('refuses a Redis without an append-only file; everysec warns of it', async () => {
    await set('appendonly', 'no');
    try {
      const refused = await start({ durability: 'always' });
      expect(refused.problem).to.equal(
        'DURABILITY is always, but the append-only file of this Redis is off. Set appendonly to yes in its configuration and start it again.',
      );
      const warned = await start({ durability: 'everysec' });
      expect([warned.problem, warned.warned]).to.deep.equal([
        '',
        'The append-only file of this Redis is off: if it stops, acknowledged events that have not reached Postgres are lost. Set appendonly to yes.',
      ]);
    } finally {
      await set('appendonly', 'yes');
    }
  });

  it('refuses a Redis that is not set so and can’t be configured, and accepts one that is', async () => {
    await world.redis.call('ACL', 'SETUSER', 'plain', 'on', '>secret', '~*', '&*', '+@all', '-config|set');
    const redisUrl = redis.url.replace(/\/\/.*@/, '//plain:secret@');
    await set('appendfsync', 'everysec');
    expect(await start({ durability: 'always', redisUrl })).to.deep.equal({
      problem:
        'DURABILITY is always, but this Redis does not allow its settings to be changed. ' +
        'Set appendfsync to always and no-appendfsync-on-rewrite to no in its configuration.',
      warned: '',
    });
    await set('appendfsync', 'always');
    expect(await start({ durability: 'always', redisUrl })).to.deep.equal({ problem: '', warned: '' });
    expect((await start({ redisUrl: redisUrl.replace('secret', 'wrong') })).problem).to.match(
      /^Redis refuses the user name or the password of REDIS_URL \(WRONGPASS .*\)\./,
    );
  });
});

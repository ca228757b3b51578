import { expect } from 'chai';
import pino from 'pino';
import { Context } from '../../src/app/context.js';
import { restore, verify } from '../../src/commands/restore.js';
import { createPool, inSnapshot } from '../../src/postgres/pool.js';
import { limits } from '../../src/shared/limits.js';
import { keyNames, metaFields, restoringFields } from '../../src/redis/contract.js';
import { RestoreLock } from '../../src/restore/lock.js';
import { restoreTenant } from '../../src/restore/restore.js';
import { readStoredUsers, readUserIds, type StoredUser } from '../../src/restore/stored-users.js';
import { writeUsers } from '../../src/restore/write-users.js';
import { allowed } from '../support/active-redis.js';
import { differences } from '../support/differences.js';
import { fromSources, killChildren, LaurelProcess } from '../support/process.js';
import { untilSampleActivated } from '../support/stage.js';
import { keysOf, startWorld, tenant, type World } from '../support/world.js';
import { changedLines } from '../support/changed-lines.js';

const users = 1_200;

describe('laurel restore and laurel verify', () => {
  let world: World;
  let context: Context;
  let printed: string[];
  const print = (line: string): void => void printed.push(line);

  beforeEach(async () => {
    printed = [];
    // The worker leaves it to the command; test/long/reconcile.test.ts is about what it does by itself.
    world = await startWorld({ settings: { autoRestore: false } });
    await untilSampleActivated(world.pool);
    context = await Context.start({ settings: world.settings, log: pino({ level: 'silent' }), print });
    for (let first = 0; first < users; first += 600) {
      const events = Array.from({ length: 600 }, (_, i) => ({
        key: 'flashcards-viewed',
        value: 5,
        idempotencyKey: `key-${first + i}`,
        user: { id: `user-${first + i}`, tz: 'Pacific/Auckland' },
      }));
      expect((await world.request('POST', '/admin/v1/metrics/events', { body: events })).status).to.be.below(300);
    }
    await world.drain();
  });
  afterEach(async () => {
    await killChildren();
    await context.stop();
    await world.stop();
  });

  async function lose(): Promise<void> {
    const keys = await keysOf(world.redis, world.partition);
    await world.redis.unlink(...keys);
    // What a server that has been started anew does not remember.
    await world.redis.function('FLUSH');
    expect((await event('user-1', 'while Redis is empty')).status).to.equal(503);
  }

  const event = (id: string, key: string): ReturnType<World['event']> =>
    world.event('flashcards-viewed', { user: { id }, value: 5 }, { 'idempotency-key': key });

  it('bring back a Redis that has lost everything, while the service runs', async () => {
    await lose();
    await restore(context, print, {});
    expect(printed.at(-1)).to.equal(`${users} users of the default tenant are restored: Redis is in sync with Postgres.`);
    const { rows } = await world.pool.query(`select tenant, summary from audit_log where via = 'command' and operation = 'restore'`);
    expect(rows).to.deep.equal([{ tenant, summary: `${users} users restored` }]);
    expect((await event('user-1', 'key-1')).status).to.equal(202);
    const after = await event('user-1', 'another');
    expect([after.status, (after.body as { total: number }).total]).to.deep.equal([201, 10]);
    await world.drain();
    expect(await differences(world.redis, world.pool, world.partition)).to.deep.equal([]);
    await verify(context, print, {});
    expect(printed.at(-1)).to.equal(`${users} users of the default tenant: 0 differences.`);
  });

  it('restore users with very many idempotency keys in chunks of keys', async () => {
    const { pool, redis, partition } = world;
    const [many, few] = [2 * limits.restoreKeys + 1, 7];
    await pool.query(
      `with more as (
         insert into events (tenant, id, user_id, metric, value, total, idempotency_key, day, at, rev)
         select tenant, gen_random_uuid(), user_id, metric, 0, total, 'more-' || i, day, at, rev
           from events, generate_series(1, case user_id when 'user-7' then ${many} else ${few} end) as i where user_id in ('user-7', 'user-8')
         returning user_id, metric, day
       )
       update user_days as counted set events = counted.events + added.events
         from (select user_id, metric, day, count(*) as events from more group by user_id, metric, day) as added
        where counted.user_id = added.user_id and object = metric and counted.day = added.day`,
    );
    await lose();
    const steps = async (): Promise<number> => Number(/cmdstat_eval:calls=(\d+)/.exec(await redis.info('commandstats'))?.[1] ?? 0);
    const before = await steps();
    await restore(context, print, {});
    expect((await steps()) - before).to.be.above(many / limits.restoreKeysAtOnce);
    const { rows } = await pool.query<{ metric: number }>('select distinct metric from events');
    const held = (user: string): Promise<number> => redis.hlen(`${partition}${keyNames.idempotency}${rows[0]?.metric}:${user}`);
    expect([await held('user-7'), await held('user-8')]).to.deep.equal([many + 1, few + 1]);
    expect(await differences(redis, pool, partition)).to.deep.equal([]);
    await verify(context, print, {});
    expect(printed.at(-1)).to.equal(`${users} users of the default tenant: 0 differences.`);
  });

  it('leave a Redis alone that is in sync', async () => {
    const before = await world.snapshot();
    await restore(context, print, {});
    expect(printed.at(-1)).to.equal('Redis is in sync with Postgres for the default tenant: nothing to restore.');
    expect(changedLines(before, await world.snapshot())).to.deep.equal([]);
  });

  it('continue a restore that was cut off', async () => {
    await lose();
    const { redis, pool, partition } = world;
    const options = { tenant, partition, redis, pool, ...allowed(redis, pool, world.settings.redisPrefix) };
    const stop = new AbortController();
    const counts: number[] = [];
    const onProgress = (restored: number): void => {
      counts.push(restored);
      stop.abort(new Error('cut off'));
    };
    const cut = await restoreTenant({ ...options, onProgress, signal: stop.signal }).catch((error: unknown) => (error as Error).message);
    expect(cut).to.equal('cut off');
    expect((await event('user-1', 'while half of the users are back')).status).to.equal(503);
    await pool.query(`update stream_offsets set lease_until = '-infinity'`);
    await restore(context, print, {});
    expect(printed.at(-1)).to.equal(
      `${users} users of the default tenant are restored, including those of an interrupted restore: Redis is in sync with Postgres.`,
    );
    expect((await event('user-1', 'key-1')).status).to.equal(202);
    expect(await differences(redis, pool, partition)).to.deep.equal([]);
  });

  it('continue a restore that was interrupted, then killed, and then interrupted again', async () => {
    await lose();
    const { redis, pool, partition, settings } = world;
    const meta = `${partition}${keyNames.meta}`;
    const start = async (): Promise<LaurelProcess> => {
      // The lease of one that was killed runs out by itself.
      await pool.query(`update stream_offsets set lease_until = '-infinity'`);
      const env = {
        REDIS_URL: settings.redisUrl!,
        REDIS_PREFIX: settings.redisPrefix,
        DATABASE_URL: settings.databaseUrl!,
        TEST_CLOCK: '1',
      };
      return new LaurelProcess(fromSources(), ['restore'], env);
    };
    const until = async (isSo: () => Promise<boolean>, restoring: LaurelProcess): Promise<void> => {
      const ended = new AbortController();
      void restoring.exit.then(() => ended.abort(new Error(`it has ended: ${restoring.output}${restoring.log}`)));
      while (!(await isSo())) ended.signal.throwIfAborted();
    };
    const isAtWork = async (): Promise<boolean> =>
      (await pool.query(`select from stream_offsets where holder like 'restore:%' and lease_until > clock_timestamp()`)).rowCount === 1;
    const back = async (): Promise<number> => Number(await redis.hget(meta, restoringFields.count));
    // Each chunk takes two seconds to be read, so that there is a middle on a busy machine too.
    await pool.query('alter table user_hashes rename to fast_user_hashes');
    await pool.query(`create view user_hashes as select * from fast_user_hashes where (select pg_sleep(1)) is not null
                      union all select 0, '', '{}', 0 where (select pg_sleep(1)) is null`);
    const interrupted = await start();
    await until(async () => (await back()) > 0, interrupted);
    expect(await interrupted.stop('SIGINT')).to.deep.equal({ code: 1, signal: null });
    expect(interrupted.log).to.match(/Interrupted: \d+ users of the default tenant are restored, .* Run laurel restore again to resume/);
    expect(await isAtWork(), 'it has given its lease back').to.equal(false);
    const before = await back();
    const first = await start();
    await until(async () => (await back()) > before, first);
    await first.kill();
    const kept = await back();
    expect(kept).to.be.within(1, users - 1);
    const second = await start();
    await until(isAtWork, second);
    await second.kill();
    expect(await back()).to.be.within(kept, users - 1);
    await pool.query('drop view user_hashes');
    await pool.query('alter table fast_user_hashes rename to user_hashes');
    const last = await start();
    expect(await last.exit).to.deep.equal({ code: 0, signal: null });
    expect(last.output).to.contain(`${users} users of the default tenant are restored, including those of an interrupted restore`);
    expect((await event('user-1', 'key-1')).status).to.equal(202);
    expect(await differences(redis, pool, partition)).to.deep.equal([]);
  });

  it('take as long as Postgres needs to count all users', async () => {
    const { pool, redis, partition } = world;
    // To count all takes longer than a statement may; to read some of them does not.
    for (const table of ['users', 'user_points']) {
      await pool.query(`alter table ${table} rename to fast_${table}`);
      await pool.query(`create view ${table} as select * from fast_${table}
                        where (select case when current_query() like '%count(%' then pg_sleep(4)::text end) is distinct from 'never'`);
    }
    await lose();
    // Long enough for the other statements on a busy machine: one that takes longer is a Postgres that is away.
    const hasty = createPool(world.settings.databaseUrl!, 4, () => undefined, 3_000);
    try {
      const counting = await hasty.query('select count(*) from users').catch((error: unknown) => (error as Error).message);
      expect(counting).to.be.oneOf(['Query read timeout', 'canceling statement due to statement timeout']);
      const restored = await restoreTenant({
        tenant,
        partition,
        redis,
        pool: hasty,
        ...allowed(redis, pool, world.settings.redisPrefix),
      });
      expect(restored).to.include({ users });
    } finally {
      await hasty.end();
    }
    expect((await event('user-1', 'key-1')).status).to.equal(202);
  });

  it('write no user where earlier ones are missing, or another restore is running', async () => {
    await lose();
    const { redis, pool, partition } = world;
    const read = async (after: string): Promise<StoredUser[]> =>
      inSnapshot(pool, async (client) => readStoredUsers(client, tenant, await readUserIds(client, tenant, after, 2)));
    const one = await read('');
    const two = await read(one[1]!.id);
    await redis.hset(partition + keyNames.meta, metaFields.restorer, 'this one');
    const holding = (holder: string): RestoreLock =>
      new RestoreLock({ redis, pool, partition, lease: { tenant, holder, fence: '1', epoch: '', lastsMs: 1_000 }, lastId: '0-0' });
    const write = (users: readonly StoredUser[], restorer: string, before: string): Promise<unknown> =>
      writeUsers(holding(restorer), partition, users, { before, count: 2 }).catch((error: unknown) => (error as Error).name);
    const refused = 'LeaseLost';
    expect(await write(two, 'this one', one[1]!.id)).to.equal(refused);
    expect(await write(one, 'another', '')).to.equal(refused);
    expect(await keysOf(redis, partition)).to.deep.equal([partition + keyNames.meta]);
    expect(await write(one, 'this one', '')).to.equal(undefined);
    expect(await write(one, 'this one', '')).to.equal(refused);
    expect(await redis.llen(`${partition}${keyNames.awards}${[...one[0]!.awards.keys()][0]}:${one[0]!.id}`)).to.equal(1);
  });

  it('detect an old copy of Redis, and refuse a copy of another database', async () => {
    const meta = `${world.partition}meta`;
    const old = await world.redis.hget(meta, 'epoch');
    await lose();
    await restore(context, print, {});
    await world.redis.hset(meta, 'epoch', old ?? '');
    await restore(context, print, {});
    expect(printed.at(-1)).to.match(/are restored/);
    await world.redis.hset(meta, 'epoch', '00000000-0000-4000-8000-000000000000');
    const refused = await restore(context, print, {}).catch((error: unknown) => (error as Error).message);
    expect(refused).to.match(/^This Redis belongs to another database/);
  });
});

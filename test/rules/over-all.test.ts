import { expect } from 'chai';
import type pg from 'pg';
import pino from 'pino';
import { Context } from '../../src/app/context.js';
import { readLevelCounts } from '../../src/engine/points.js';
import { Sweep } from '../../src/jobs/sweep.js';
import { collectBatch } from '../../src/ledger/batch.js';
import type { LedgerEntry } from '../../src/ledger/entry.js';
import { writeBatch } from '../../src/ledger/write-batch.js';
import { limits } from '../../src/shared/limits.js';
import { createPool, inTransaction } from '../../src/postgres/pool.js';
import { keyNames } from '../../src/redis/contract.js';
import type { Rankings } from '../support/answers.js';
import { startWorker, type Worker } from '../support/worker.js';
import { startWorld, tenant, type World } from '../support/world.js';

const log = pino({ level: 'silent' });
const board = { name: 'B', status: 'active', rankBy: 'metric', metricKey: 'm' };
const config = (levels: readonly number[], leaderboards: readonly object[]): string =>
  JSON.stringify({
    metrics: [{ key: 'm', name: 'M' }],
    points: [
      {
        key: 'p',
        name: 'P',
        levels: levels.map((points, i) => ({ key: `l${i}`, name: `L ${i}`, points })),
        triggers: [{ key: 't', type: 'metric', metricKey: 'm', metricThreshold: 1, points: 1, status: 'active' }],
      },
    ],
    leaderboards,
  });
const daily = { ...board, key: 'daily', start: '2040-01-01', runUnit: 'day', runInterval: 1 };

/** What would take longer than a statement may with millions of users does so here with some, since each is slow or statements may take no time. */
describe('A job over all users of a tenant', () => {
  const hastyMs = 400;
  let world: World;
  let worker: Worker;
  let context: Context;
  let hasty: pg.Pool;

  beforeEach(async () => {
    world = await startWorld({ config: config([5], [daily]), roles: { api: true, worker: false } });
    worker = startWorker(world);
    context = await Context.start({ settings: world.settings, log, print: () => undefined });
    hasty = createPool(world.settings.databaseUrl!, 4, () => undefined, hastyMs);
    await context.engine.loadLibrary();
    await world.pool.query(
      `create function slow() returns boolean language sql volatile cost 100000 as 'select pg_sleep(0.001)::text is not null'`,
    );
  });
  afterEach(async () => {
    await hasty.end();
    await context.stop();
    await worker.stop();
    await world.stop();
  });

  /** Lets each row of a table take a millisecond to be looked at. */
  async function slowDown(table: string): Promise<void> {
    await world.pool.query(`alter table ${table} rename to fast_${table}`);
    await world.pool.query(`create view ${table} as select * from fast_${table} where slow()`);
  }

  /** What a worker does each second. */
  async function sweep(): Promise<void> {
    await context.engine.refreshConfig(tenant);
    const { engine, clock, history } = context;
    await new Sweep({ engine, clock, history, log, pool: hasty }).run(tenant);
  }

  async function send(users: readonly string[]): Promise<void> {
    const body = users.map((id, i) => ({ key: 'm', value: 3, user: { id }, idempotencyKey: `${id} ${i}` }));
    expect((await world.request('POST', '/admin/v1/metrics/events', { body })).status).to.equal(202);
    await world.drain();
  }

  it('fills a leaderboard, in the order in which users came to their values', async () => {
    const users = Array.from({ length: 700 }, (_, i) => `u${(i * 101) % 700}`);
    await send(users);
    await slowDown('user_metrics');
    await world.configure(config([5], [daily, { ...board, key: 'all', maxParticipants: 650 }]));
    await sweep();
    const { rankings } = (await world.get('/v1/leaderboards/all?limit=1000')).body as Rankings;
    expect(rankings.map(({ userId }) => userId)).to.deep.equal(users.slice(0, 650));
  });

  it('is settled by a new configuration in the order of the ids of users, also of those in a time zone that Redis lacks', async () => {
    const keys = ['m', 'n'];
    const streaks = (evaluationMode: 'AND' | 'OR'): string =>
      JSON.stringify({
        metrics: keys.map((key) => ({ key, name: key.toUpperCase() })),
        streaks: { enabled: true, frequency: 'daily', evaluationMode, metrics: keys.map((metricKey) => ({ metricKey, threshold: 1 })) },
        leaderboards: [{ key: 'streaks', name: 'Streaks', status: 'active', rankBy: 'streak' }],
      });
    await world.configure(streaks('AND'));
    await sweep();
    for (const [id, tz] of [
      ['ana', 'Asia/Kathmandu'],
      ['ben', 'UTC'],
      ['cem', 'Asia/Kathmandu'],
    ] as const) {
      expect((await world.event('m', { user: { id, tz }, value: 1 })).status).to.equal(201);
    }
    await world.drain();
    await world.configure(streaks('OR'));
    // The library caches zones for all tenants, so one that it forgets may be stored for another tenant only.
    await world.redis.function('FLUSH');
    for (const key of await world.redis.keys(`${world.partition}${keyNames.zones}*`)) await world.redis.del(key);
    await sweep();
    const { rankings } = (await world.get('/v1/leaderboards/streaks')).body as Rankings;
    expect(rankings.map(({ userId, value }) => [userId, value])).to.deep.equal([
      ['ana', 1],
      ['ben', 1],
      ['cem', 1],
    ]);
  });

  it('stops between two steps with the service, and resumes with the next', async () => {
    const users = Array.from({ length: 450 }, (_, i) => `u${i}`);
    await send(users);
    await world.configure(config([5], [daily, { ...board, key: 'all' }]));
    await context.engine.refreshConfig(tenant);
    const { engine, clock, history, pool } = context;
    const says = pino({ level: 'info' }, { write: (line) => line.includes('activation in progress') && stopping.stop() });
    const stopping = new Sweep({ engine, clock, history, log: says, pool });
    expect(await stopping.run(tenant).catch((error: unknown) => (error as Error).name)).to.equal('AbortError');
    const shown = async (): Promise<number> => ((await world.get('/v1/leaderboards/all?limit=1000')).body as Rankings).rankings.length;
    expect(await shown()).to.equal(limits.activationUsers);
    await sweep();
    expect(await shown()).to.equal(users.length);
  });

  it('does not scan users for runs that are due to end', async () => {
    await send(['ana']);
    const { rows } = await world.pool.query<{ leaderboard: number; run: number }>('select leaderboard, run from leaderboard_entries');
    const { leaderboard, run } = rows[0]!;
    await world.pool.query(
      `insert into leaderboard_entries (tenant, leaderboard, run, user_id, value, seq)
       select ${tenant}, ${leaderboard}, $1::integer + day, 'x' || i, i, i from generate_series(0, 1) as day, generate_series(1, 1000) as i`,
      [run],
    );
    await slowDown('leaderboard_entries');
    await world.redis.set(`${world.partition}clock`, Date.parse('2040-01-06T00:00:00Z'));
    await sweep();
    await world.drain();
    const finals = await world.pool.query('select run from leaderboard_runs order by run');
    expect(finals.rows).to.deep.equal([{ run }, { run: run + 1 }]);
  });

  const entries: readonly (readonly [what: string, table: string, entry: LedgerEntry])[] = [
    ['ends a run', 'leaderboard_rankings', { kind: 'final', id: '', no: 1, run: 5, max: 10, at: 0 }],
  ];
  for (const [what, table, entry] of entries) {
    it(`${what}, which the ledger waits for`, async () => {
      await world.pool.query(`
        create function wait() returns trigger language plpgsql as $$ begin perform pg_sleep(${(2 * hastyMs) / 1000}); return null; end $$;
        create trigger waiting after insert or delete on ${table} for each statement execute function wait()`);
      await inTransaction(hasty, (client) => writeBatch(client, tenant, collectBatch([{ id: '1-1', entry }])));
    });
  }

  it('recounts levels in batches', async () => {
    await send(['a', 'z']);
    await sweep();
    const more = limits.relevelLook + 10;
    await world.pool.query(
      `insert into user_points (tenant, user_id, system, total, level, at, rev)
       select ${tenant}, 'b' || i, system, 0, null, at, 1 from user_points, generate_series(1, ${more}) as i where user_id = 'a'`,
    );
    await world.configure(config([2, 5], [daily]));
    await sweep();
    await world.drain();
    const { rows } = await world.pool.query(`select user_id from user_points where level is not null order by user_id`);
    expect(rows).to.deep.equal([{ user_id: 'a' }, { user_id: 'z' }]);
    const { countedBy } = await readLevelCounts(context.engine, tenant, (active) => active.document.pointsSystems[0]!);
    expect(countedBy).to.contain('2');
  });

  it('does not scan users for a pause', async () => {
    await world.pool.query(
      `insert into user_streaks (tenant, user_id, pauses, rev)
       select ${tenant}, 'u' || i, jsonb_build_array(jsonb_build_object('id', 'p' || i)), 1 from generate_series(1, 5000) as i`,
    );
    await world.pool.query('analyze user_streaks');
    expect(await context.history.pauseOwner(tenant, 'p77')).to.equal('u77');
    const { rows } = await world.pool.query(
      `explain select user_id from user_streaks where tenant = 1 and pauses <> '[]' and pauses @> jsonb_build_array(jsonb_build_object('id', 'p77'))`,
    );
    expect(JSON.stringify(rows)).to.contain('user_streaks_by_pause');
  });
});

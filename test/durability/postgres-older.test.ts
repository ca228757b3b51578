import { expect } from 'chai';
import pg from 'pg';
import pino from 'pino';
import { Context } from '../../src/app/context.js';
import { restore, verify } from '../../src/commands/restore.js';
import { countLetters } from '../../src/ledger/dead-letters.js';
import { readStatus } from '../../src/observe/status.js';
import { startService, type Service } from '../../src/app/service.js';
import { until } from '../support/stage.js';
import { administer, stores, withDatabase } from '../support/stores.js';
import { startWorker } from '../support/worker.js';
import { isTestProblem, keysOf, startWorld, type World } from '../support/world.js';

let copies = 0;

/** Postgres is put back to an older state (a backup, or a replica that took over and lacked the end), and Redis is not. */
describe('A Postgres that is older than Redis', () => {
  let world: World;
  let copy: string;
  let undo: (() => Promise<unknown>)[];
  let printed: string[];

  beforeEach(async () => {
    undo = [];
    printed = [];
    world = await startWorld();
    await send(1, 30);
    copy = await copyDatabase();
    await send(31, 60);
  });
  afterEach(async () => {
    for (const step of undo.reverse()) await step();
    await world.stop();
    await administer((await stores()).postgresUrl, `drop database ${new URL(copy).pathname.slice(1)} with (force)`);
  });

  /** Events with keys of their own, all of which Postgres has when this returns. */
  async function send(from: number, to: number): Promise<void> {
    for (let n = from; n <= to; n += 1) {
      const { status } = await world.event('flashcards-viewed', { user: { id: 'ana' }, value: 1 }, { 'idempotency-key': `key ${n}` });
      expect(status).to.equal(201);
    }
    await world.drain();
  }

  /** The database as it is now. */
  async function copyDatabase(): Promise<string> {
    const { postgresUrl } = await stores();
    const name = new URL(world.settings.databaseUrl!).pathname.slice(1);
    const fresh = `${name}_copy${(copies += 1)}`;
    // The service connects again at once, and may do so before the copy begins: then it is disconnected anew.
    await until('a copy of the database', async () => {
      await administer(
        postgresUrl,
        `do $$ begin perform pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'; end $$`,
      );
      return administer(postgresUrl, `create database ${fresh} template ${name}`).then(
        () => true,
        () => false,
      );
    });
    return withDatabase(postgresUrl, fresh);
  }

  async function eventsIn(databaseUrl: string): Promise<number> {
    const client = new pg.Client({ connectionString: databaseUrl });
    await client.connect();
    try {
      const { rows } = await client.query<{ events: number }>('select count(*)::integer as events from events');
      return rows[0]!.events;
    } finally {
      await client.end();
    }
  }

  async function serve(): Promise<Service> {
    const options = { settings: { ...world.settings, databaseUrl: copy }, log: pino({ level: 'silent' }), print: () => undefined };
    const service = await startService(options, { api: true, worker: true });
    undo.push(() => service.stop());
    return service;
  }

  async function context(): Promise<Context> {
    const started = await Context.start({
      settings: { ...world.settings, databaseUrl: copy },
      log: pino({ level: 'silent' }),
      print: () => undefined,
    });
    undo.push(() => started.stop());
    return started;
  }

  const print = (line: string): void => void printed.push(line);
  const failure = (work: Promise<unknown>): Promise<string> =>
    work.then(
      () => 'nothing',
      (error: unknown) => (error as Error).message,
    );
  async function sendTo(service: Service, key: string): Promise<{ status: number; body: { total?: number; error?: string } }> {
    const response = await fetch(`${service.address!}/v1/metrics/flashcards-viewed/event`, {
      method: 'POST',
      headers: { 'x-api-key': world.settings.adminApiKey!, 'content-type': 'application/json', 'idempotency-key': key },
      body: JSON.stringify({ user: { id: 'ana' }, value: 1 }),
    });
    return { status: response.status, body: (await response.json()) as { total?: number; error?: string } };
  }

  it('is detected by a starting service, which returns 503 and commits nothing', async () => {
    await world.stopService();
    const pool = new pg.Pool({ connectionString: copy });
    undo.push(() => pool.end());
    // The copy is some seconds old, and so are the confirmations in it.
    await pool.query('delete from redis_confirmations');
    const service = await serve();
    const { status, body } = await sendTo(service, 'after');
    expect([status, body.error]).to.satisfy(
      ([code, error]: [number, string]) => code === 503 && error.startsWith('Postgres is older than'),
    );
    expect(await eventsIn(copy)).to.equal(30);
    const found = await until('the process without a confirmation', async () => {
      const read = await readStatus({ redis: world.redis, pool, prefix: world.settings.redisPrefix, problems: [], dataDir: null });
      return read.processes?.some(({ confirmed }) => !confirmed) && read;
    });
    expect(found.processes?.map(({ pid, role }) => [pid, role])).to.deep.equal([[process.pid, 'api and worker']]);
    expect(found.problems.filter((problem) => !isTestProblem(problem))).to.deep.equal([
      'Redis is out of sync for 1 tenant.',
      'Postgres is older than Redis for 1 tenant: docs/operations/backup.md.',
    ]);
  });

  it('is detected by a running worker, which commits nothing behind the gap', async () => {
    const worker = startWorker(world, copy);
    undo.push(() => worker.stop());
    let sent = 60;
    await until('the worker to notice', async () => {
      await send((sent += 1), sent);
      return worker.said.some((line) => line.includes('Redis and Postgres are out of sync'));
    });
    expect(await eventsIn(copy)).to.equal(30);
  });

  it('does not affect services on the right one', async () => {
    await failure(restore(await context(), print, {}));
    await send(61, 70);
    expect(await eventsIn(world.settings.databaseUrl!)).to.equal(70);
  });

  it('is restored from only when the operator gives up what came later', async () => {
    await world.stopService();
    const uncommitted = 3;
    for (let n = 1; n <= uncommitted; n += 1) await world.redis.xadd(`${world.partition}ledger`, '*', 'e', 'not written by anyone');
    expect(await failure(restore(await context(), print, {}))).to.match(/^Postgres is older than Redis: .* Nothing was changed\.$/);
    await restore(await context(), print, { discard: true });
    expect(printed.at(-1)).to.equal('1 user of the default tenant is restored: Redis is in sync with Postgres.');
    const letters = `${uncommitted} ledger entries that Postgres did not have are saved as dead letters: docs/operations/dead-letters.md.`;
    expect(printed).to.include(letters);
    const service = await serve();
    // Given up on purpose, they are no problem, for no reader.
    const { pool } = await context();
    const { postgres, problems } = await readStatus({
      redis: world.redis,
      pool,
      prefix: world.settings.redisPrefix,
      problems: [],
      dataDir: null,
    });
    expect(postgres).to.deep.include({ deadLetters: 0, discarded: { lost: 0, givenUp: uncommitted } });
    expect(problems.filter((problem) => !isTestProblem(problem))).to.deep.equal([]);
    const { lost, givenUp } = await countLetters(pool);
    expect([lost, givenUp]).to.deep.equal([0, uncommitted]);
    // What is given up can be sent again.
    expect([(await sendTo(service, 'key 30')).status, (await sendTo(service, 'key 31')).body.total]).to.deep.equal([202, 31]);
    await verify(await context(), print, {});
    expect(printed.at(-1)).to.equal('1 user of the default tenant: 0 differences.');
  });

  it('is detected when Redis was restored in between, and is not taken for another database', async () => {
    await world.redis.unlink(...(await keysOf(world.redis, world.partition)));
    await until('Redis to be in sync again', async () => (await world.get('/health/ready')).status === 200);
    await world.stopService();
    expect(await failure(restore(await context(), print, {}))).to.match(/^Postgres is older than Redis: .* Nothing was changed\.$/);
    await restore(await context(), print, { discard: true });
    expect((await sendTo(await serve(), 'key 31')).body.total).to.equal(31);
  });
});

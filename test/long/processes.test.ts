import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { mkdtemp } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import pg from 'pg';
import pino from 'pino';
import { Supervisor, type RestartLimits } from '../../src/app/processes/supervisor.js';
import { parseSettings } from '../../src/app/settings.js';
import { startLocalPostgres } from '../../src/local-stores/local-postgres.js';
import { startLocalRedis } from '../../src/local-stores/local-redis.js';
import { listProcesses, processStart } from '../../src/local-stores/processes.js';
import { limits } from '../../src/shared/limits.js';
import { version } from '../../src/shared/version.js';
import { Client, inParallel, type Answer, type NoAnswer } from '../support/client.js';
import { fromSources, killChildren, serve, type LaurelProcess } from '../support/process.js';
import { OwnRedis } from '../support/own-redis.js';
import { countFrom } from '../support/random.js';
import { scrape, type Scrape } from '../support/scrape.js';
import { configFile, setStage, until, type Stage } from '../support/stage.js';
import { removeStores } from '../support/stores.js';
import { adminKey } from '../support/world.js';

const metric = 'cards';
const config = { metrics: [{ key: metric, name: 'Cards' }] };
const fresh = { connection: 'close' };

interface LogLine {
  readonly process: string;
  readonly msg: string;
  readonly name?: string;
  readonly end?: string;
  readonly error?: string;
}

const linesOf = (service: LaurelProcess): LogLine[] =>
  service.log
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as LogLine);

async function metricsOf(service: LaurelProcess): Promise<Scrape> {
  return scrape((await service.says(/^Its metrics are at (\S+)\/metrics$/m))[1]!);
}

const eventsIn = (answer: Scrape): number =>
  answer.value('laurel_http_requests_total', { method: 'POST', route: '/v1/metrics/:key/event', status: '201' }) ?? 0;

/** The pace of clients that open a connection for each request, and of those that try again what has failed. */
const paceMs = 20;

/** Events of eight clients until stopped: from some kept connections and some new ones, or each from a new one at a slower pace. */
class Load {
  readonly failures: (Answer | NoAnswer)[] = [];
  acknowledged = 0;
  private going = true;
  private readonly client = new Client(adminKey, 8);
  private readonly done: Promise<void>;

  constructor(address: string, isEachFresh = false) {
    this.done = inParallel(8, async (loop) => {
      while (this.going) {
        const event = { user: { id: `u${loop}` }, value: 1 };
        const answer = await this.client
          .event(address, metric, event, isEachFresh || loop % 2 === 0 ? fresh : {})
          .catch((error: unknown) => error as NoAnswer);
        if ('status' in answer && answer.status === 201) this.acknowledged += 1;
        else this.failures.push(answer);
        if (isEachFresh || answer instanceof Error) await delay(paceMs);
      }
    });
  }

  async more(): Promise<void> {
    const enough = this.acknowledged + 200;
    await until('more events', () => this.acknowledged >= enough);
  }

  async stop(): Promise<void> {
    this.going = false;
    await this.done;
    this.client.close();
  }
}

describe('The processes of a service', () => {
  let stage: Stage;
  let service: LaurelProcess;
  let address: string;
  let client: Client;
  before(async () => {
    const env = {
      CONFIG: await configFile(config),
      API_PROCESSES: '2',
      METRICS_PORT: '0',
      RATE_LIMIT_WINDOW_S: '600',
      TEST_CLOCK: '1',
      LOG_LEVEL: 'info',
    };
    stage = await setStage({ env });
    service = serve(stage.env);
    address = await service.address();
    client = new Client(adminKey, 8);
  });
  after(async () => {
    client.close();
    await killChildren();
    await stage.stop();
  });

  it('are as many as API_PROCESSES and a worker, and share one port', async () => {
    expect([...service.processes().keys()].sort()).to.deep.equal(['api-1', 'api-2', 'worker']);
    const load = new Load(address);
    await load.more();
    await load.stop();
    expect(load.failures).to.deep.equal([]);
    await stage.drain();
    const { rows } = await stage.pool.query('select count(*)::int as events from events');
    expect(rows).to.deep.equal([{ events: load.acknowledged }]);
  });

  it('have one address for the metrics of all: counts are summed, those of Node are apart, and the stores are read once', async () => {
    const answer = await metricsOf(service);
    expect(answer.value('laurel_role', { role: 'api' })).to.equal(2);
    expect(answer.value('laurel_role', { role: 'worker' })).to.equal(1);
    expect(answer.value('laurel_build_info', { version })).to.equal(1);
    expect(answer.value('laurel_tenants')).to.equal(1);
    expect(answer.value('laurel_redis_up')).to.equal(1);
    expect(answer.value('laurel_ready')).to.equal(1);
    expect(answer.value('laurel_write_behind_batch_entries_sum')).to.equal(eventsIn(answer)).and.to.be.above(0);
    for (const name of ['process_resident_memory_bytes', 'process_start_time_seconds', 'nodejs_eventloop_lag_p99_seconds']) {
      const labels = answer.samples.filter((sample) => sample.name === name).map((sample) => sample.labels);
      expect(labels, name).to.have.deep.members(['supervisor', 'worker', 'api-1', 'api-2'].map((process) => ({ process })));
    }
  });

  it('have one test clock, which any of them moves for the worker too', async () => {
    const clockOf = async (): Promise<unknown> => (await client.send(address, 'GET', '/admin/v1/clock', { headers: fresh })).body;
    const now = new Date(Date.now() + 40 * 86_400_000).toISOString();
    const { status } = await client.send(address, 'PUT', '/admin/v1/clock', { body: { now }, headers: fresh });
    expect(status).to.equal(200);
    for (let i = 0; i < 4; i += 1) expect(await clockOf()).to.deep.equal({ now });
    expect((await client.event(address, metric, { user: { id: 'late' }, value: 1 })).status).to.equal(201);
    await stage.drain();
    const { rows } = await stage.pool.query<{ at: Date }>('select max(at) as at from events');
    expect(rows[0]?.at.toISOString()).to.equal(now);
  });

  it('switch to a new configuration together', async () => {
    const body = [{ key: 'pages', name: 'Pages' }];
    expect((await client.send(address, 'POST', '/admin/v1/metrics', { body, headers: fresh })).status).to.be.oneOf([200, 201]);
    for (let i = 0; i < 4; i += 1) {
      expect((await client.event(address, 'pages', { user: { id: 'ana' }, value: 1 }, fresh)).status).to.equal(201);
    }
  });

  it('are replaced one by one at SIGHUP, without a refused connection, a failed request or a lost count', async () => {
    const before = service.processes();
    const counted = eventsIn(await metricsOf(service));
    const load = new Load(address);
    await load.more();
    service.signal('SIGHUP');
    await until('the end of the reload', () => linesOf(service).some(({ msg }) => msg === 'all processes replaced'));
    const now = service.processes();
    expect([...now.keys()].sort()).to.deep.equal(['api-1', 'api-2', 'worker']);
    for (const [name, pid] of now) expect(pid).not.to.equal(before.get(name));
    await load.more();
    await load.stop();
    expect(load.failures).to.deep.equal([]);
    expect(eventsIn(await metricsOf(service))).to.equal(counted + load.acknowledged);
    await stage.drain();
    expect(await stage.differences()).to.deep.equal([]);
  });

  it('are replaced when they die, while the others serve', async () => {
    const before = service.processes();
    const counted = eventsIn(await metricsOf(service));
    for (const name of ['api-1', 'worker']) process.kill(before.get(name)!, 'SIGKILL');
    await until('another API process and another worker', () => {
      const now = service.processes();
      return ['api-1', 'worker'].every((name) => now.has(name) && now.get(name) !== before.get(name));
    });
    await until('their metrics', async () => {
      const answer = await metricsOf(service);
      return answer.value('laurel_role', { role: 'api' }) === 2 && answer.value('laurel_role', { role: 'worker' }) === 1;
    });
    const ends = linesOf(service).filter(({ msg }) => msg === 'process ended, will be replaced');
    expect(ends.map(({ process: by, name, end }) => [by, name, end])).to.have.deep.members([
      ['supervisor', 'api-1', 'signal SIGKILL'],
      ['supervisor', 'worker', 'signal SIGKILL'],
    ]);
    const answer = await metricsOf(service);
    expect(answer.value('laurel_process_failures_total', { role: 'api' })).to.equal(1);
    expect(eventsIn(answer), 'counters do not fall').to.equal(counted);
    expect((await client.event(address, metric, { user: { id: 'ana' }, value: 1 }, fresh)).status).to.equal(201);
    await stage.drain();
  });

  it('leave a signal to the whole group to the supervisor, which stops all in order', async () => {
    const pids = [...service.processes().values()];
    await service.signalAll('SIGINT');
    expect(await service.exit).to.deep.equal({ code: 0, signal: null });
    expect(service.output).to.match(/\nStopping: finishing requests and draining the ledger\.\nStopped\.\n$/);
    expect(pids.filter((pid) => processStart(pid) !== null)).to.deep.equal([]);
    expect(await stage.differences()).to.deep.equal([]);
  });
});

/** A supervisor in this process, which replaces its processes without a delay. Close it at the end. */
class OwnSupervisor {
  readonly supervisor: Supervisor;
  /** Its log. */
  readonly lines: LogLine[] = [];
  private readonly environment = process.env;
  /** Those that listen, by their names. */
  private readonly serving = new Map<string, Worker>();
  private readonly note = (worker: Worker): void => {
    this.serving.set(worker.process.spawnargs.at(-1) ?? '', worker);
  };

  constructor(env: Readonly<Record<string, string>>, restarts: Partial<RestartLimits>) {
    const [exec = ''] = fromSources();
    cluster.setupPrimary({ exec });
    cluster.on('listening', this.note);
    process.env = { ...this.environment, ...env };
    const settings = parseSettings({ ...env, PORT: '0', LOG_LEVEL: 'silent' });
    const log = pino({ level: 'error' }, { write: (line: string) => this.lines.push(JSON.parse(line) as LogLine) });
    const options = { settings, log, print: () => undefined };
    this.supervisor = new Supervisor(
      options,
      { api: true, worker: false },
      { ...limits, processRestartMs: 1, processRestartMaxMs: 1, ...restarts },
    );
  }

  /** Kills an API process. Returns a function that waits until another one listens in its place. */
  kill(name: string): () => Promise<void> {
    const killed = this.serving.get(name)!;
    killed.process.kill('SIGKILL');
    return () => until(`another ${name}`, () => this.serving.get(name) !== killed).then(() => undefined);
  }

  async close(): Promise<void> {
    await this.supervisor.stop(0);
    cluster.off('listening', this.note);
    process.env = this.environment;
  }
}

describe('An API process that is killed while clients open a connection for each request', () => {
  const kills = countFrom('API_KILLS', 20);

  for (const [names, text] of [
    [['api-1'], 'the only one'],
    [['api-1', 'api-2'], 'one of two'],
  ] as const) {
    it(`is replaced, ${kills} times of ${kills}: ${text}`, async function () {
      this.timeout(600_000);
      const env = { CONFIG: await configFile(config), API_PROCESSES: String(names.length), METRICS_PORT: '0' };
      const stage = await setStage({ env });
      const own = new OwnSupervisor(stage.env, {});
      let load: Load | undefined;
      try {
        const { address = '', metricsAddress = '' } = await own.supervisor.start();
        load = new Load(address, true);
        for (let kill = 0; kill < kills; kill += 1) {
          await load.more();
          await own.kill(names[kill % names.length]!)();
        }
        await load.more();
        const failed = [...load.failures];
        await own.supervisor.reload();
        await load.more();
        await load.stop();
        // Clients of the process that was killed notice at once, and those of another one notice nothing.
        const statuses = failed.map((answer) => ('status' in answer ? answer.status : answer.message));
        expect(statuses.filter((status) => !/ECONNRESET|ECONNREFUSED|socket hang up/.test(String(status)))).to.deep.equal([]);
        if (names.length > 1) expect(statuses.length).to.be.at.most(8 * kills);
        expect(load.failures.length, 'failures during the reload').to.equal(failed.length);
        expect(own.lines.map(({ name, end, msg }) => [name, end, msg])).to.deep.equal(
          Array.from({ length: kills }, (_, kill) => [names[kill % names.length], 'signal SIGKILL', 'process ended, will be replaced']),
        );
        const answer = await scrape(metricsAddress);
        expect(answer.value('laurel_process_failures_total', { role: 'api' })).to.equal(kills);
      } finally {
        await load?.stop();
        await own.close();
        await stage.stop();
      }
    });
  }
});

describe('An API process that is killed together with Redis', () => {
  it('is replaced once Redis is back, and the service reloads and stops', async () => {
    const redis = await OwnRedis.start();
    const stage = await setStage({ env: { CONFIG: await configFile(config), API_PROCESSES: '1', LOG_LEVEL: 'info' }, redisUrl: redis.url });
    const service = serve(stage.env);
    let load: Load | undefined;
    try {
      const address = await service.address();
      load = new Load(address, true);
      await load.more();
      const before = service.processes();
      process.kill(before.get('api-1')!, 'SIGKILL');
      await redis.kill();
      await redis.startAgain();
      await load.more();
      expect(service.processes().get('worker')).to.equal(before.get('worker'));
      const ended = linesOf(service).find(({ msg }) => msg === 'process ended, will be replaced');
      expect(ended).to.include({ name: 'api-1', end: 'signal SIGKILL' });
      service.signal('SIGHUP');
      await until('the end of the reload', () => linesOf(service).some(({ msg }) => msg === 'all processes replaced'));
      await load.more();
      await load.stop();
      await stage.drain();
      expect(await stage.differences()).to.deep.equal([]);
      expect(await service.stop()).to.deep.equal({ code: 0, signal: null });
    } finally {
      await load?.stop();
      await killChildren();
      await stage.stop();
      await redis.stop();
    }
  });
});

describe('A rate limit with several processes', () => {
  it('is that of all of them', async () => {
    const stage = await setStage({ env: { CONFIG: await configFile(config), API_PROCESSES: '3', RATE_LIMIT: '10' } });
    const client = new Client(adminKey, 1);
    try {
      const address = await serve(stage.env, ['--api-only']).address();
      const statuses: number[] = [];
      for (let i = 0; i < 15; i += 1) statuses.push((await client.send(address, 'GET', '/v1/leaderboards', { headers: fresh })).status);
      expect(statuses).to.deep.equal([...Array<number>(10).fill(200), ...Array<number>(5).fill(429)]);
    } finally {
      client.close();
      await killChildren();
      await stage.stop();
    }
  });
});

describe('A process that cannot be started again', () => {
  let stage: Stage;
  let blocker: Server | undefined;
  before(async () => {
    stage = await setStage({ env: { CONFIG: await configFile(config), API_PROCESSES: '1' } });
  });
  after(async () => {
    blocker?.close();
    await killChildren();
    await stage.stop();
  });

  /** Takes the port of the only API process after its death, before the next one listens. */
  async function takePort(address: string): Promise<Server> {
    const { port } = new URL(address);
    const server = createServer();
    await until('the port', async () => {
      server.listen(Number(port), '127.0.0.1');
      return Promise.race([once(server, 'listening').then(() => true), once(server, 'error').then(() => false)]).catch(() => false);
    });
    return server;
  }

  it('is tried again until it starts, and the log says why it did not', async () => {
    const service = serve(stage.env);
    const address = await service.address();
    process.kill(service.processes().get('api-1')!, 'SIGKILL');
    blocker = await takePort(address);
    const failed = (): LogLine | undefined => linesOf(service).find(({ error }) => error !== undefined);
    await until('a failed start', failed);
    expect(failed()).to.include({ name: 'api-1', end: 'exit code 1' });
    expect(failed()?.error).to.match(/^Port \d+ of 127\.0\.0\.1 is in use: set PORT to another port\.$/);
    blocker.close();
    await until('the API to be back', async () =>
      fetch(`${address}/health/ready`).then(
        ({ status }) => status === 200,
        () => false,
      ),
    );
    expect(await service.stop()).to.deep.equal({ code: 0, signal: null });
  });

  it('ends the service with the reason when nothing else runs', async () => {
    const own = new OwnSupervisor(stage.env, { maxFailedStarts: 2 });
    try {
      const { address = '' } = await own.supervisor.start();
      void own.kill('api-1');
      blocker = await takePort(address);
      const reason = await own.supervisor.failure.catch((error: unknown) => error as Error);
      expect(reason.message).to.match(/^Port \d+ of 127\.0\.0\.1 is in use/);
    } finally {
      await own.close();
    }
  });
});

describe('A service with built-in stores', () => {
  let folder: string;
  let service: LaurelProcess;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'laurel-processes-'));
  });
  after(async () => {
    await killChildren();
    await removeStores(folder);
  });

  async function start(env: Readonly<Record<string, string>> = {}): Promise<string> {
    const file = await configFile(config);
    service = serve({ DATA_DIR: folder, API_PROCESSES: '2', ADMIN_API_KEY: adminKey, CONFIG: file, LOG_LEVEL: 'error', ...env });
    return service.address();
  }

  /** What runs of this installation. */
  const running = (): string[] => {
    const ours = new Set([service.pid, ...service.processes().values()]);
    return listProcesses().flatMap(({ pid, command }) => (ours.has(pid) || command.includes(folder) ? [command] : []));
  };

  /** The ids of all events in Postgres. */
  async function written(): Promise<number> {
    const options = { dataDir: folder, log: () => undefined };
    const [redis, postgres] = [await startLocalRedis(options), await startLocalPostgres(options)];
    const database = new pg.Client({ connectionString: postgres.url });
    await database.connect();
    const { rows } = await database.query<{ events: number }>('select count(*)::int as events from events');
    await database.end();
    for (const store of [redis, postgres]) await store.stop();
    return rows[0]!.events;
  }

  it('leaves nothing running, and loses nothing, when its supervisor is killed under load', async () => {
    const load = new Load(await start());
    await load.more();
    const pids = [...service.processes().values()];
    service.signal('SIGKILL');
    // The output closes when the last process has ended.
    await service.exit;
    await load.stop();
    expect(pids.filter((pid) => processStart(pid) !== null)).to.deep.equal([]);
    expect(running()).to.deep.equal([]);
    const address = await start();
    const client = new Client(adminKey, 1);
    let total = 0;
    for (let loop = 0; loop < 8; loop += 1) {
      const { body } = await client.send(address, 'GET', `/v1/users/u${loop}/metrics/${metric}`);
      total += (body as { current: number }).current;
    }
    client.close();
    // A request whose response was cut off may have been counted, one of each connection.
    expect(total).to.be.within(load.acknowledged, load.acknowledged + 8);
    expect(await service.stop()).to.deep.equal({ code: 0, signal: null });
    expect(running()).to.deep.equal([]);
    expect(await written()).to.equal(total);
  });

  it('leaves no process that waits for the port when its supervisor is killed during the start', async () => {
    service = serve({ DATA_DIR: folder, API_PROCESSES: '1', ADMIN_API_KEY: adminKey, LOG_LEVEL: 'debug' });
    await until('the processes', () => service.processes().size === 2);
    const pids = [...service.processes().values()];
    // It does not respond to an API process that asks for the port.
    service.signal('SIGSTOP');
    await until('a process that asks', () =>
      linesOf(service).some(({ process: by, msg }) => by === 'api-1' && msg === 'starting to listen'),
    );
    service.signal('SIGKILL');
    await service.exit;
    expect(pids.filter((pid) => processStart(pid) !== null)).to.deep.equal([]);
  });

  for (const name of ['Redis', 'Postgres', 'Redis and an API process'] as const) {
    it(`starts ${name} again, continues, and leaves nothing running when it stops`, async () => {
      const load = new Load(await start());
      await load.more();
      const stores = listProcesses().filter(({ command }) => command.includes(folder));
      const [program] = name.split(' ');
      const isKilled = (command: string): boolean => /(?:redis|valkey)-server /.test(command) === (program === 'Redis');
      for (const { pid, command } of stores) if (isKilled(command)) process.kill(pid, 'SIGKILL');
      if (name.endsWith('process')) process.kill(service.processes().get('api-1')!, 'SIGKILL');
      await until('the log', () => linesOf(service).some(({ msg }) => msg === 'built-in store exited, restarted'));
      await load.more();
      await load.stop();
      expect(await service.stop()).to.deep.equal({ code: 0, signal: null });
      expect(running()).to.deep.equal([]);
    });
  }

  it('leaves nothing running when a second signal ends it at once', async () => {
    await start({ SHUTDOWN_DELAY: '300' });
    const pids = [...service.processes().values()];
    service.signal('SIGTERM');
    await service.says(/^Stopping: /m);
    service.signal('SIGTERM');
    expect(await service.exit).to.deep.equal({ code: 1, signal: null });
    expect(pids.filter((pid) => processStart(pid) !== null)).to.deep.equal([]);
    expect(running()).to.deep.equal([]);
  });
});

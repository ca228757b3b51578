import { chmod, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startLocalPostgres } from '../../src/local-stores/local-postgres.js';
import { startLocalRedis } from '../../src/local-stores/local-redis.js';
import type { LocalStore } from '../../src/local-stores/local-store.js';
import { administratorUrl } from '../../src/local-stores/postgres-cluster.js';
import { dataFolder, putBackBaseBackup, takeBaseBackup, withClient } from './base-backup.js';
import { eventPath } from '../load/events.js';
import { apiKey, runLaurel, sampleConfig, startProcess, type LaurelOptions } from '../servers/laurel.js';
import { connect, untilDrained } from '../servers/stack.js';
import { load, type LoadRequest, type LoadResult } from '../load/load.js';
import { Processes } from '../servers/children.js';

export interface DrillOptions {
  readonly users: number;
  readonly seconds: number;
  readonly connections: number;
  /** Another script of the `laurel` command. */
  readonly program?: string;
  readonly signal: AbortSignal;
  readonly print: (line: string) => void;
}

/** Each event is of the next user, so that there are as many as there can be. */
function eventsOf(users: number): () => LoadRequest {
  let sent = 0;
  return () => {
    sent += 1;
    const body = JSON.stringify({ user: { id: `user-${sent % users}` }, value: 5 });
    return { method: 'POST', path: eventPath, body, idempotencyKey: `drill-${sent}` };
  };
}

/**
 * The backup drill: load, snapshot under load, then lose Redis and bring it back, then lose Postgres and bring it back from the snapshot. Prints
 * how long each step took. Throws when something is not back as docs/operations/backup.md says.
 */
export async function drill(options: DrillOptions): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'laurel-drill-'));
  const processes = new Processes();
  const run = new Drill(options, folder, processes);
  try {
    await chmod(folder, 0o755);
    await run.all();
  } finally {
    await processes.stop();
    await run.stopStores();
    await rm(folder, { recursive: true, force: true });
  }
}

class Drill {
  private readonly options: DrillOptions;
  private readonly folder: string;
  private readonly processes: Processes;
  private readonly nextEvent: () => LoadRequest;
  private redis: LocalStore | undefined;
  private postgres: LocalStore | undefined;

  constructor(options: DrillOptions, folder: string, processes: Processes) {
    this.options = options;
    this.folder = folder;
    this.processes = processes;
    this.nextEvent = eventsOf(options.users);
  }

  async all(): Promise<void> {
    const backup = join(this.folder, 'backup');
    await this.startStores();
    await this.loadAndBackUp(backup);
    const before = await this.counts();
    this.say(`  in Postgres now: ${before.events} events of ${before.users} users`);

    this.say('Redis is lost, and comes back empty.');
    await this.loseRedis();
    await this.command('laurel restore', ['restore']);
    await this.command('laurel verify', ['verify']);
    await this.serveAgain();

    this.say('Postgres is lost, and comes back from the backup: older than Redis.');
    await this.losePostgres(backup);
    const after = await this.counts();
    this.say(
      `  in Postgres now: ${after.events} events of ${after.users} users; ${before.events + 1 - after.events} came after the backup`,
    );
    await this.refused();
    await this.command('laurel restore --discard', ['restore', '--discard']);
    await this.command('laurel verify', ['verify']);
    await this.serveAgain();
    this.say('Both came back as docs/operations/backup.md says.');
  }

  async stopStores(): Promise<void> {
    await Promise.all([this.redis?.stop(), this.postgres?.stop()]);
  }

  private say(line: string): void {
    this.options.print(line);
  }

  /** Does a step and tells how long it took, and what it has to say. */
  private async step(what: string, work: () => Promise<string | undefined>): Promise<void> {
    this.options.signal.throwIfAborted();
    const started = performance.now();
    const said = await work();
    const seconds = ((performance.now() - started) / 1_000).toFixed(1);
    this.say(`  ${what.padEnd(44)}${seconds.padStart(7)} s${said === undefined ? '' : `   ${said}`}`);
  }

  private async startStores(): Promise<void> {
    const options = { dataDir: this.folder, log: () => undefined };
    this.redis = await startLocalRedis(options);
    this.postgres = await startLocalPostgres(options);
  }

  private url(): string {
    return this.postgres?.url ?? '';
  }

  private laurelOptions(): LaurelOptions {
    const env = { REDIS_URL: this.redis?.url ?? '', DATABASE_URL: this.url(), CONFIG: sampleConfig, LOG_LEVEL: 'error' };
    const { program } = this.options;
    return { dataDir: this.folder, env, ...(program !== undefined && { program }) };
  }

  private async serve(): Promise<string> {
    const { signal } = this.options;
    return (await startProcess(this.laurelOptions(), this.processes, signal)).readyText;
  }

  private send(url: string, seconds: number): Promise<LoadResult> {
    const { connections, signal } = this.options;
    return load({ url, apiKey, connections, seconds, signal, next: this.nextEvent });
  }

  private async loadAndBackUp(backup: string): Promise<void> {
    const url = await this.serve();
    const half = Math.ceil(this.options.seconds / 2);
    this.say('Events come in while Postgres is backed up.');
    await this.step('load', async () => this.answered(await this.send(url, half)));
    const going = this.send(url, half);
    await this.step('base backup of Postgres, under load', async () => {
      const home = join(await dataFolder(this.url()), '..', '..');
      await takeBaseBackup(await administratorUrl(this.url(), home), backup);
      return undefined;
    });
    await this.step('load, to its end', async () => this.answered(await going));
    await this.step('the write-behind drains', async () => {
      const redis = connect(this.redis?.url ?? '');
      await untilDrained(redis, this.options.signal).finally(() => redis.disconnect());
      return undefined;
    });
    await this.step('Laurel stops', async () => {
      await this.processes.stop();
      return undefined;
    });
  }

  private answered({ answered, failed, ratePerS }: LoadResult): string {
    if (failed > 0) throw new Error(`${failed} events were not answered with a 2xx.`);
    return `${answered} events, ${ratePerS.toFixed(0)} a second`;
  }

  private counts(): Promise<{ events: number; users: number }> {
    return withClient(this.url(), async (client) => {
      const { rows } = await client.query<{ events: number; users: number }>(
        'select (select count(*) from events)::integer as events, (select count(*) from users)::integer as users',
      );
      return rows[0] ?? { events: 0, users: 0 };
    });
  }

  private async loseRedis(): Promise<void> {
    await this.redis?.stop();
    const data = join(this.folder, 'redis');
    const files = (await readdir(data)).filter((name) => name.startsWith('appendonly') || name.endsWith('.rdb'));
    await Promise.all(files.map((name) => rm(join(data, name), { recursive: true })));
    this.redis = await startLocalRedis({ dataDir: this.folder, log: () => undefined });
  }

  private async losePostgres(backup: string): Promise<void> {
    const data = await dataFolder(this.url());
    await this.step('Postgres from the backup', async () => {
      await this.postgres?.stop();
      await putBackBaseBackup(backup, data);
      this.postgres = await startLocalPostgres({ dataDir: this.folder, log: () => undefined });
      return undefined;
    });
  }

  /** Runs a `laurel` command that must work. */
  private async command(what: string, args: readonly string[]): Promise<void> {
    await this.step(what, async () => {
      const { code, output } = await this.laurel(args);
      if (code !== 0) throw new Error(`${what} failed:\n${output}`);
      return output.trim().split('\n').at(-1);
    });
  }

  /** Redis is ahead of Postgres: nothing may be decided without being asked. */
  private async refused(): Promise<void> {
    await this.step('laurel restore, which must not decide that', async () => {
      const { code, output } = await this.laurel(['restore']);
      if (code === 0) throw new Error(`laurel restore did not notice that Redis is ahead of Postgres:\n${output}`);
      return output.trim().split('\n').at(-1);
    });
  }

  private laurel(args: readonly string[]): Promise<{ code: number | null; output: string }> {
    return runLaurel(this.laurelOptions(), args);
  }

  /** The service starts, takes an event, and stops. */
  private async serveAgain(): Promise<void> {
    await this.step('Laurel starts and answers an event', async () => {
      const url = await this.serve();
      const { method, path, body = '', idempotencyKey = '' } = this.nextEvent();
      const headers = { 'content-type': 'application/json', 'x-api-key': apiKey, 'idempotency-key': idempotencyKey };
      const { status } = await fetch(url + path, { method, headers, body });
      if (status !== 201) throw new Error(`An event was answered with ${status}.`);
      return undefined;
    });
    await this.processes.stop();
  }
}

import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import getPort from 'get-port';
import { Redis } from 'ioredis';
import { findOrInstallRedis, thisMachine } from '../../src/local-stores/redis-program.js';
import { ownChild } from './owned.js';
import { until } from './stage.js';

/** A Redis of a test's own without an append-only file: one with snapshots, or one of a pair of which one replaces the other. */
export class PlainRedis {
  readonly folder: string;
  private port: number;
  private child: ChildProcess | undefined;
  private client: Redis | undefined;

  /** A configuration file that the server starts with. */
  private readonly config: string | undefined;

  private constructor(folder: string, port: number, config: string | undefined) {
    this.folder = folder;
    this.port = port;
    this.config = config;
  }

  /** Starts one, on a port that is free if none is named. */
  static async start(port?: number, config?: string): Promise<PlainRedis> {
    const server = new PlainRedis(await mkdtemp(join(tmpdir(), 'laurel-plain-')), port ?? (await getPort({ host: '127.0.0.1' })), config);
    await server.startAgain();
    return server;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  /** A connection to it, as long as it runs. */
  get redis(): Redis {
    if (!this.client) throw new Error('this Redis does not run');
    return this.client;
  }

  /** Starts it on what its folder holds. */
  async startAgain(): Promise<void> {
    const program = await findOrInstallRedis(thisMachine, () => undefined);
    const args = [
      ...(this.config === undefined ? [] : [this.config]),
      '--port',
      String(this.port),
      '--bind',
      '127.0.0.1',
      '--save',
      '',
      '--dir',
      this.folder,
      '--repl-diskless-sync-delay',
      '0',
    ];
    this.child = spawn(program, args, { stdio: 'ignore' });
    ownChild(this.child);
    this.connect();
    await until('Redis answers', () =>
      this.redis.ping().then(
        () => true,
        () => false,
      ),
    );
  }

  private connect(): void {
    this.client?.disconnect();
    this.client = new Redis(this.port, { maxRetriesPerRequest: 0, retryStrategy: () => 20 });
    this.client.on('error', () => undefined);
  }

  /** Becomes a replica of another one, and has all of its data when this returns. */
  async follow(other: PlainRedis): Promise<void> {
    await this.redis.replicaof('127.0.0.1', other.port);
    await this.hasAllOf(other);
  }

  /** Waits until it has everything that the one that it follows has now. */
  async hasAllOf(other: PlainRedis): Promise<void> {
    await until('the replica has everything', async () => {
      const [here, there] = await Promise.all([this.redis.info('replication'), other.redis.info('replication')]);
      const offset = (info: string): string | undefined => /^(?:slave_repl_offset|master_repl_offset):(\d+)/m.exec(info)?.[1];
      return /master_link_status:up/.test(here) && offset(here) === offset(there);
    });
  }

  /** Stays a replica, and hears no more of the one that it follows. */
  async loseTouch(): Promise<void> {
    await this.redis.replicaof('127.0.0.1', await getPort({ host: '127.0.0.1' }));
  }

  /** Takes the place of another one, which is gone or has moved: no replica any more, and at its address. */
  async takeOver(port: number): Promise<void> {
    await this.redis.replicaof('NO', 'ONE');
    await this.move(port);
  }

  /** Listens elsewhere from now on; connections stay. Returns where it was. */
  async move(port: number): Promise<number> {
    const before = this.port;
    await this.redis.config('SET', 'port', port);
    this.port = port;
    this.connect();
    return before;
  }

  /** Ends all connections but those of tests. */
  async cutClients(): Promise<void> {
    await this.redis.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    await this.redis.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
  }

  async kill(): Promise<void> {
    this.client?.disconnect();
    if (!this.child || this.child.exitCode !== null || this.child.signalCode !== null) return;
    const gone = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await gone;
  }

  /** Stops it for good and removes its folder. */
  async stop(): Promise<void> {
    await this.kill();
    // A child that it has forked to write a file outlives it for a moment.
    await rm(this.folder, { recursive: true, force: true, maxRetries: 50, retryDelay: 20 });
  }
}

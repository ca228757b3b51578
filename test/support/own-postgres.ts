import { readdirSync, readFileSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startLocalPostgres } from '../../src/local-stores/local-postgres.js';
import type { LocalStore } from '../../src/local-stores/local-store.js';
import { ProcessHandle } from '../../src/local-stores/processes.js';
import { disown, own } from './owned.js';

const goneMs = 30_000;

/** The processes that a process has started. */
export function childrenOf(parent: number): number[] {
  if (process.platform !== 'linux') {
    const { stdout } = spawnSync('ps', ['-axo', 'pid=,ppid='], { encoding: 'utf8' });
    const pairs = stdout.split('\n').map((line) => line.trim().split(/\s+/).map(Number));
    return pairs.filter(([, of]) => of === parent).map(([pid = 0]) => pid);
  }
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => pid > 0 && parentOf(pid) === parent);
}

/** 0 for a process that is gone. */
function parentOf(pid: number): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name of the program is in parentheses and may hold anything; the parent is the second field after it.
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
  } catch {
    return 0;
  }
}

/** A Postgres of a test's own, which it may freeze, kill, stop and start again. Its address stays the same. */
export class OwnPostgres {
  readonly folder: string;
  /** An empty database of its own. */
  readonly url: string;
  private store: LocalStore;
  private frozen: number[] = [];

  private constructor(folder: string, store: LocalStore) {
    this.folder = folder;
    this.url = store.url;
    this.store = store;
    own(store.pid);
  }

  static async start(): Promise<OwnPostgres> {
    const folder = await mkdtemp(join(tmpdir(), 'laurel-postgres-'));
    // Under root it runs as another user, which must be able to enter this folder.
    await chmod(folder, 0o755);
    return new OwnPostgres(folder, await startLocalPostgres({ dataDir: folder, log: () => undefined }));
  }

  /** `kill -9` of the server; its children find out and end by themselves. */
  async kill(): Promise<void> {
    const server = new ProcessHandle(this.store.pid);
    server.signal('SIGKILL');
    this.thaw();
    if (!(await server.isGoneWithin(goneMs))) throw new Error('Postgres does not go');
    disown(this.store.pid);
    await this.store.stop();
  }

  /** `kill -9` of one of its processes: the server then ends all the others, and recovers. False when it was gone. */
  killChild(pid: number): boolean {
    if (!childrenOf(this.store.pid).includes(pid)) return false;
    new ProcessHandle(pid).signal('SIGKILL');
    return true;
  }

  /** It refuses new clients, and stops when the last one leaves. */
  stopWhenUnused(): void {
    new ProcessHandle(this.store.pid).signal('SIGTERM');
  }

  /** Stops it in order. */
  async shutDown(): Promise<void> {
    await this.store.stop();
    disown(this.store.pid);
  }

  async startAgain(): Promise<void> {
    this.store = await startLocalPostgres({ dataDir: this.folder, log: () => undefined, port: Number(new URL(this.url).port) });
    own(this.store.pid);
    if (this.store.url !== this.url) throw new Error('Postgres has come back at another address');
  }

  /** It stays connected and answers nothing, until `thaw`. */
  freeze(): void {
    this.frozen = [this.store.pid, ...childrenOf(this.store.pid)];
    for (const pid of this.frozen) new ProcessHandle(pid).signal('SIGSTOP');
  }

  thaw(): void {
    for (const pid of this.frozen) new ProcessHandle(pid).signal('SIGCONT');
    this.frozen = [];
  }

  /** Stops it for good and removes its folder. */
  async stop(): Promise<void> {
    this.thaw();
    await this.store.stop();
    disown(this.store.pid);
    await rm(this.folder, { recursive: true, force: true });
  }
}

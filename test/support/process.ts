import { execFile, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const support = dirname(fileURLToPath(import.meta.url));
const root = join(support, '..', '..');

/** Names the compiled `laurel` command of a mocha run. */
export const commandVariable = 'LAUREL_TEST_COMMAND';

/** The `laurel` command: compiled from the sources by the run, or as an operator starts it. */
export function fromSources(): readonly string[] {
  const compiled = process.env[commandVariable];
  return compiled === undefined ? ['--import', 'tsx', join(support, 'laurel.ts')] : [compiled];
}
export const fromBin: readonly string[] = [join(root, 'bin', 'laurel.mjs')];

/** A process without further output for this long counts as hung. Ample for a first start, which sets up Postgres and builds. */
const startMs = 120_000;
const stopMs = 60_000;

const listing = ['-A', '-o', 'pid=,ppid=,args='];
const listingOptions = { encoding: 'utf8', maxBuffer: 16 * 1024 * 1024 } as const;

export interface Exit {
  /** Null when a signal ended it. */
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** Running commands: none may outlive the tests. Their processes stop by themselves. */
const living = new Set<LaurelProcess>();
process.once('exit', () => {
  for (const child of living) child.signal('SIGKILL');
});

/** Kills commands that a failed test has left running; for `after` hooks. */
export async function killChildren(): Promise<void> {
  await Promise.all([...living].map((child) => child.kill()));
}

/** One run of the `laurel` command, which for `serve` and `worker` is the supervisor of other processes. */
export class LaurelProcess {
  readonly pid: number;
  /** Resolves when it has ended with all its processes, and its whole output is read. */
  readonly exit: Promise<Exit>;
  private readonly child: ChildProcess;
  private written = '';
  private errors = '';

  /** @param place the program of another version of Node, another working directory than that of this checkout. */
  constructor(
    command: readonly string[],
    args: readonly string[],
    env: Readonly<Record<string, string>>,
    { node = process.execPath, cwd = root }: { readonly node?: string; readonly cwd?: string } = {},
  ) {
    const { PATH = '', HOME = '', TMPDIR } = process.env;
    const child = spawn(node, [...command, ...args], {
      cwd,
      env: { PATH, HOME, ...(TMPDIR === undefined ? {} : { TMPDIR }), ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    if (child.pid === undefined) throw new Error('the laurel command could not be started');
    this.pid = child.pid;
    this.child = child;
    living.add(this);
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      this.written += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.errors += text;
    });
    this.exit = once(child, 'close').then(([code, signal]) => {
      living.delete(this);
      return { code: code as number | null, signal: signal as NodeJS.Signals | null };
    });
  }

  /** Its standard output so far. */
  get output(): string {
    return this.written;
  }

  /** Its standard error so far, the log included. */
  get log(): string {
    return this.errors;
  }

  /** Waits for the first match of a pattern in its output. Throws when it ends or takes too long. */
  async says(pattern: RegExp): Promise<RegExpExecArray> {
    const found = pattern.exec(this.written);
    if (found) return found;
    return new Promise((resolve, reject) => {
      const fail = (why: string): void => {
        reject(new Error(`laurel ${why} before it said ${String(pattern)}:\n${this.written}${this.errors}`));
      };
      const timer = setTimeout(() => fail('took too long'), startMs);
      const look = (): void => {
        timer.refresh();
        const match = pattern.exec(this.written);
        if (!match) return;
        clearTimeout(timer);
        this.child.stdout?.off('data', look);
        resolve(match);
      };
      this.child.stdout?.on('data', look);
      void this.exit.then(({ code, signal }) => {
        clearTimeout(timer);
        fail(`ended (${signal ?? String(code)})`);
      });
    });
  }

  /** `http://host:port`, once it is ready. */
  async address(): Promise<string> {
    return (await this.says(/^Laurel is ready at (http:\S+)$/m))[1]!;
  }

  signal(name: NodeJS.Signals): void {
    this.child.kill(name);
  }

  /** The pids of the processes that it supervises, by their names: `api-1`, `worker`. */
  processes(): ReadonlyMap<string, number> {
    return this.listed(spawnSync('ps', listing, listingOptions).stdout);
  }

  /**
   * Signals it and its processes, as a terminal or a service manager does. Clients in this process go on until the signal: were they blocked,
   * the processes would answer every request in flight first.
   */
  async signalAll(name: NodeJS.Signals): Promise<void> {
    // It starts no process in between.
    this.signal('SIGSTOP');
    const { stdout } = await promisify(execFile)('ps', listing, listingOptions);
    for (const pid of this.listed(stdout).values()) process.kill(pid, name);
    this.signal(name);
    if (name !== 'SIGSTOP') this.signal('SIGCONT');
  }

  /** Kills it with all its processes, as a crash of the machine does, and waits for their end. Its stores survive. */
  async kill(): Promise<void> {
    await this.signalAll('SIGKILL');
    await this.exit;
  }

  private listed(processes: string): ReadonlyMap<string, number> {
    const lines = processes.matchAll(/^\s*(\d+)\s+(\d+)\s.* (api-\d+|worker)$/gm);
    return new Map([...lines].flatMap(([, pid, parent, name = '']) => (Number(parent) === this.pid ? [[name, Number(pid)] as const] : [])));
  }

  /** Asks it to stop and waits until it has. Throws when it does not. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<Exit> {
    this.signal(signal);
    const timer = setTimeout(() => this.signal('SIGKILL'), stopMs);
    const exit = await this.exit;
    clearTimeout(timer);
    if (exit.signal === 'SIGKILL') throw new Error(`laurel did not stop within ${stopMs} ms:\n${this.written}${this.errors}`);
    return exit;
  }
}

/** Starts `laurel serve`; call `address` to wait for it. */
export function serve(env: Readonly<Record<string, string>>, args: readonly string[] = [], command = fromSources()): LaurelProcess {
  return new LaurelProcess(command, ['serve', ...args], { PORT: '0', ...env });
}

/** Runs a `laurel` command to its end. `log` is standard error without its first line, the target, which a command shows that gets to the stores. */
export async function runLaurel(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<{ readonly code: number | null; readonly output: string; readonly target: string; readonly log: string }> {
  const child = new LaurelProcess(fromSources(), args, env);
  const { code } = await child.exit;
  const [target = ''] = /^Redis: .*; Postgres: .*\n/.exec(child.log) ?? [];
  return { code, output: child.output, target, log: child.log.slice(target.length) };
}

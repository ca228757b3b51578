import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { settingsSchema } from '../../src/app/settings.js';
import { ownRoot } from '../sides/roots.js';
import type { Processes, RunningProcess } from './children.js';

const programOf = (root: string): string => join(root, 'bin', 'laurel.mjs');
/** The configuration of the load. */
export const sampleConfig = fileURLToPath(new URL('../../examples/study-app.yaml', import.meta.url));
export const apiKey = 'benchmark.0123456789abcdef';
/** The address that a server prints when it listens, once all of it is there. */
export const listening = /http:\/\/127\.0\.0\.1:\d+(?=\D)/;
/** Settings that this command line does not know, because other checkouts have them. */
const furtherSettings = ['API_PROCESSES'];

export interface LaurelOptions {
  readonly dataDir: string;
  /** Settings by the names of their variables; none is taken over from the environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** Another script of the `laurel` command than that of this folder. */
  readonly program?: string;
  readonly nodeArgs?: readonly string[];
  /** Options of `laurel serve`. */
  readonly args?: readonly string[];
}

/** Ours, without settings. */
function environment(): NodeJS.ProcessEnv {
  const settings = [...Object.keys(settingsSchema.shape), ...furtherSettings];
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !settings.includes(name)));
}

const variables = ({ dataDir, env = {} }: LaurelOptions): NodeJS.ProcessEnv => ({
  ...environment(),
  ...{ DATA_DIR: dataDir, ADMIN_API_KEY: apiKey },
  ...env,
});

/** Runs another `laurel` command to its end, with the stores of its data folder. Returns all that it has printed. */
export async function runLaurel(
  options: LaurelOptions,
  args: readonly string[],
): Promise<{ readonly code: number | null; readonly output: string }> {
  const { program = programOf(ownRoot) } = options;
  const child = spawn(process.execPath, [program, ...args], {
    env: { LOG_LEVEL: 'error', ...variables(options) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, output };
}

/** Starts Laurel as its user runs it; it uses the stores that run in its data folder. */
export function startProcess(options: LaurelOptions, processes: Processes, signal: AbortSignal): Promise<RunningProcess> {
  const { program = programOf(ownRoot), nodeArgs = [], args = [] } = options;
  return processes.start(
    {
      name: 'Laurel',
      command: process.execPath,
      args: ['--max-semi-space-size=64', ...nodeArgs, program, 'serve', ...args],
      // No load balancer has to notice that it stops.
      env: { PORT: '0', SHUTDOWN_DELAY: '0', ...variables(options) },
      ready: listening,
    },
    signal,
  );
}

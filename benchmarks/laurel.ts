import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { settingsSchema } from '../src/app/settings.js';
import type { Processes, RunningProcess } from './processes.js';

const laurelCommand = join(dirname(dirname(fileURLToPath(import.meta.url))), 'bin', 'laurel.mjs');
/** The configuration of the load. */
export const sampleConfig = fileURLToPath(new URL('../examples/study-app.yaml', import.meta.url));
/** The address that a server prints when it listens, once all of it is there. */
export const listening = /http:\/\/127\.0\.0\.1:\d+(?=\D)/;

export interface LaurelOptions {
  readonly dataDir: string;
  readonly apiKey: string;
  /** Settings by the names of their variables; none is taken over from the environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** Another script of the `laurel` command than that of this folder. */
  readonly program?: string;
  readonly nodeArgs?: readonly string[];
  /** Whether to open a channel for messages. */
  readonly channel?: boolean;
}

/** Ours, without settings. */
function environment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !(name in settingsSchema.shape)));
}

/** Runs another `laurel` command to its end, with the stores of its data folder. Returns all that it has said. */
export async function runLaurel(
  { dataDir, apiKey, env = {}, program = laurelCommand }: LaurelOptions,
  args: readonly string[],
): Promise<{ readonly code: number | null; readonly output: string }> {
  const child = spawn(process.execPath, [program, ...args], {
    env: { ...environment(), DATA_DIR: dataDir, ADMIN_API_KEY: apiKey, LOG_LEVEL: 'error', ...env },
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

/** Starts Laurel as its user runs it, in a process of its own; it uses the stores that run in its data folder. */
export function startProcess(
  { dataDir, apiKey, env = {}, program = laurelCommand, nodeArgs = [], channel = false }: LaurelOptions,
  processes: Processes,
  signal: AbortSignal,
): Promise<RunningProcess> {
  return processes.start(
    {
      name: 'Laurel',
      command: process.execPath,
      args: ['--max-semi-space-size=64', ...nodeArgs, program, 'serve'],
      channel,
      env: { ...environment(), PORT: '0', DATA_DIR: dataDir, ADMIN_API_KEY: apiKey, ...env },
      ready: listening,
    },
    signal,
  );
}

import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { settingsSchema } from '../src/settings.js';
import type { Processes, RunningProcess } from './processes.js';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
/** The address that a server prints when it listens, once all of it is there. */
export const listening = /http:\/\/127\.0\.0\.1:\d+(?=\D)/;

export interface LaurelOptions {
  readonly dataDir: string;
  readonly apiKey: string;
  /** Settings by the names of their variables; none is taken over from the environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** Another script that starts Laurel than that of this folder. */
  readonly program?: string;
  readonly nodeArgs?: readonly string[];
  /** Whether to open a channel for messages. */
  readonly channel?: boolean;
}

/** Starts Laurel as its user runs it, in a process of its own; it uses the stores that run in its data folder. */
export function startProcess(
  { dataDir, apiKey, env = {}, program = join(root, 'bin/start.mjs'), nodeArgs = [], channel = false }: LaurelOptions,
  processes: Processes,
  signal: AbortSignal,
): Promise<RunningProcess> {
  const inherited = Object.entries(process.env).filter(([name]) => !(name in settingsSchema.shape));
  return processes.start(
    {
      name: 'Laurel',
      command: process.execPath,
      args: ['--max-semi-space-size=64', ...nodeArgs, program],
      channel,
      env: { ...Object.fromEntries(inherited), PORT: '0', DATA_DIR: dataDir, ADMIN_API_KEY: apiKey, ...env },
      ready: listening,
    },
    signal,
  );
}

/** Hooks of a run, and of each of its processes around each file (around the whole run when there is one process). */
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { compileSources } from './compiled.js';
import { commandVariable } from './process.js';
import { RunStores } from './stores.js';

let stores: RunStores | undefined;
let stopping: Promise<void> | undefined;

function stop(): Promise<void> {
  stopping ??= stores?.stop() ?? Promise.resolve();
  return stopping;
}

let isInterrupted = false;

/** An interrupted run stops its stores and exits with 1. */
function interrupt(): void {
  isInterrupted = true;
  void stop().finally(() => process.exit(1));
}

/** In the process that starts the run. */
export async function mochaGlobalSetup(): Promise<void> {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, interrupt);
  stores = await RunStores.open();
  await stores.serve();
  process.env[commandVariable] = await compileSources(join(stores.folder, 'laurel'));
}

export async function mochaGlobalTeardown(): Promise<void> {
  await stop();
  // After an interrupt, mocha itself would exit with the number of failures so far, which may be 0.
  if (isInterrupted) process.exit(1);
}

const endsWithinMs = 30_000;
const pollMs = 50;
let before: string[] = [];

/** Connections, servers and processes opened since the first test. A timer may be the timeout of a client that has its response. */
function leftOpen(): string[] {
  const known = [...before];
  return process.getActiveResourcesInfo().filter((name) => {
    const at = known.indexOf(name);
    if (at >= 0) known.splice(at, 1);
    return at < 0 && name !== 'Timeout';
  });
}

/** The file that runs in this process; of several, the first. Named when the process exits while running it. */
let file: string | undefined;
if (process.env['MOCHA_WORKER_ID'] !== undefined) {
  process.once('exit', () => {
    if (file !== undefined) console.error(`The process ended while it ran ${file}`);
  });
}

export const mochaHooks = {
  beforeAll(this: Mocha.Context): void {
    file = this.test?.parent?.suites[0]?.file;
    before = process.getActiveResourcesInfo();
  },

  /** Prints a failure at once: in a parallel run, mocha reports a file only when all of it has run. */
  afterEach(this: Mocha.Context): void {
    const test = this.currentTest;
    if (process.env['MOCHA_WORKER_ID'] === undefined || test?.state !== 'failed') return;
    console.error(`${file}: ${test.fullTitle()} failed: ${test.err?.message}`);
  },

  /** Fails a file that leaves a connection, a server or a process open. */
  async afterAll(this: Mocha.Context): Promise<void> {
    this.timeout(endsWithinMs + 10_000);
    const giveUpAt = Date.now() + endsWithinMs;
    while (leftOpen().length > 0) {
      if (Date.now() > giveUpAt) throw new Error(`${file} has left something open: ${leftOpen().join(', ')}`);
      await delay(pollMs);
    }
    file = undefined;
  },
};

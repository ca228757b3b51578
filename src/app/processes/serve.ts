import { OperatorError } from '../../shared/errors.js';
import { misspeltSettings } from '../misspelt.js';
import { logNodeEvents, openLog, type Print, printOfService } from '../output.js';
import type { Roles } from '../service.js';
import { parseSettings, type Settings } from '../settings.js';
import { onHangUpSignal, stopSignal } from '../signals.js';
import { welcome } from '../welcome.js';
import { applyWhenSaved } from './config-watch.js';
import { type Started, Supervisor } from './supervisor.js';

/** A terminal that was closed: as Ctrl-C. */
const hangUp = 'SIGINT';

/** What a command does once everything has started. Returns the lines for the operator. A signal to stop aborts it. */
export type Opening = (started: Started, signal: AbortSignal) => Promise<readonly string[]>;

export interface ServeOptions {
  /** Without it, the operator is shown how to send a first event. */
  readonly opening?: Opening;
  /** Comes before the start. A signal during it prevents the start. */
  readonly prepare?: () => Promise<void>;
  /** Whether to apply the file of CONFIG whenever it is saved. */
  readonly watch?: boolean;
}

/**
 * `laurel serve` and `laurel worker`: runs the processes of these roles until a signal. A signal during the start takes effect once everything has
 * started. A second one kills the processes, a third one exits without stopping the built-in stores.
 */
export async function serve(roles: Roles, { opening, prepare, watch = false }: ServeOptions = {}): Promise<void> {
  const settings = parseSettings(process.env);
  const watched = watch ? watchedConfig(settings) : undefined;
  const print = printOfService();
  const log = openLog(settings.logLevel, 'supervisor');
  logNodeEvents(log);
  for (const misspelt of misspeltSettings(process.env)) log.warn(misspelt, 'unknown environment variable, a setting has a similar name');
  const supervisor = new Supervisor({ settings, log, print }, roles);
  const hungUp = new Promise<NodeJS.Signals>((resolve) => {
    onHangUpSignal(
      () => void supervisor.reload(),
      () => resolve(hangUp),
    );
  });
  let isPrepared = prepare === undefined;
  const stopped = stopSignal((count) => {
    if (count > 2) process.exit(1);
    if (isPrepared) void supervisor.abort().finally(() => process.exit(1));
  });
  const interrupted = Promise.race([stopped, hungUp]);
  const interruption = new AbortController();
  void interrupted.then(() => interruption.abort());
  await prepare?.();
  isPrepared = true;
  const started = await startUnless(() => interruption.signal.aborted, supervisor);
  if (!started) {
    print('Stopped.');
    return;
  }
  const ended = Promise.race([interrupted, supervisor.failure]);
  let stopWatching: (() => Promise<void>) | undefined;
  // Throws when the system has no watch left.
  const open = async (end: AbortSignal): Promise<readonly string[]> => {
    if (watched !== undefined) stopWatching = applyWhenSaved(watched, () => supervisor.applyConfig(), print);
    return opening ? opening(started, end) : welcome(started, settings);
  };
  const signal = await untilEnd(ended, open, print)
    .finally(() => stopWatching?.())
    .catch(async (error: unknown) => {
      await supervisor.stop(0);
      throw error;
    });
  // Ctrl-C needs no grace period: there is no load balancer that has to notice.
  const delayS = signal === 'SIGTERM' && roles.api ? settings.shutdownDelayS : 0;
  const serving = delayS === 0 ? '' : `serving for another ${delayS} s, not ready, then `;
  print(`Stopping: ${serving}finishing requests and draining the ledger.`);
  await supervisor.stop(delayS * 1_000);
  print('Stopped.');
}

function watchedConfig({ config }: Settings): string {
  if (config !== null) return config;
  throw new OperatorError('No configuration file to watch: set CONFIG to one, or run laurel init in a folder of your own.');
}

/** Undefined when a signal came before the start, or prevented it: a Ctrl-C also reaches processes that do not ignore it yet. */
async function startUnless(isInterrupted: () => boolean, supervisor: Supervisor): Promise<Started | undefined> {
  if (isInterrupted()) return undefined;
  try {
    return await supervisor.start();
  } catch (error) {
    if (isInterrupted()) return undefined;
    throw error;
  }
}

/** Prints what the opening returns, and waits for the end, which aborts an opening that still runs. */
async function untilEnd<T>(ended: Promise<T>, open: (end: AbortSignal) => Promise<readonly string[]>, print: Print): Promise<T> {
  const end = new AbortController();
  const opened = open(end.signal).then((lines) => {
    if (!end.signal.aborted) for (const line of lines) print(line);
    return ended;
  });
  // Once it has been aborted, its failure means nothing.
  opened.catch(() => undefined);
  try {
    return await Promise.race([ended, opened]);
  } finally {
    end.abort(new OperatorError('Interrupted.'));
  }
}

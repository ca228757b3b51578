import cron, { type Logger as CronLogger } from 'node-cron';
import type pg from 'pg';
import type { Logger } from 'pino';
import type { Clock } from '../engine/clock.js';
import type { Engine } from '../engine/engine.js';
import type { HistoryReader } from '../history/reader.js';
import { FailureLog, type FailureMessages } from '../logging/failure-log.js';

/** The dependencies of jobs. */
export interface JobTools {
  readonly engine: Engine;
  readonly pool: pg.Pool;
  readonly clock: Clock;
  readonly history: HistoryReader;
  readonly log: Logger;
  /** Aborts longer work between two steps; it resumes later. */
  readonly signal?: AbortSignal;
}

const everySecond = '* * * * * *';

/**
 * Starts `work` each second until `stop`. node-cron's messages go to the log instead of the console. A second that a busy process misses is only
 * logged at debug: its due work is done in the next.
 */
export function eachSecond(work: () => void, log: Logger): { stop(): Promise<void> } {
  const failed = (error: string | Error, cause?: Error): void => {
    log.error({ err: cause ?? error }, 'scheduled work failed, will retry');
  };
  const detail = (message: string | Error): void => {
    log.debug({ message: typeof message === 'string' ? message : message.message }, 'scheduler');
  };
  const logger: CronLogger = { error: failed, warn: detail, info: detail, debug: detail };
  const task = cron.schedule(everySecond, work, { logger });
  return {
    stop: async () => {
      await task.stop();
    },
  };
}

export interface RepeatOptions {
  readonly log: Logger;
  readonly messages: FailureMessages;
  /** Logged with each failure and recovery. */
  readonly fields?: Readonly<Record<string, unknown>>;
}

/** Runs `work` each second, never twice at once, and logs when it starts to fail and when it recovers. Returns what stops it, and waits for the last run. */
export function repeatEachSecond(work: () => Promise<void>, { log, messages, fields = {} }: RepeatOptions): () => Promise<void> {
  const failures = new FailureLog(log, messages);
  const run = async (): Promise<void> => {
    try {
      await work();
      failures.succeeded(0, fields);
    } catch (error) {
      failures.failed(0, error, fields);
    }
  };
  let running: Promise<void> | undefined;
  const seconds = eachSecond(() => {
    running ??= run().finally(() => (running = undefined));
  }, log);
  return async () => {
    await seconds.stop();
    await running;
  };
}

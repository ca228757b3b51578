import cron, { type Logger as CronLogger } from 'node-cron';
import type pg from 'pg';
import type { Logger } from 'pino';
import type { Clock } from '../engine/clock.js';
import type { Engine } from '../engine/engine.js';
import type { HistoryReader } from '../ledger/reader.js';

/** What jobs work with; each takes what it needs of it. */
export interface JobTools {
  readonly engine: Engine;
  readonly pool: pg.Pool;
  readonly clock: Clock;
  readonly history: HistoryReader;
  readonly log: Logger;
  /** Ends longer work between two steps; it is gone on with later. */
  readonly signal?: AbortSignal;
}

const everySecond = '* * * * * *';

/**
 * Begins some work with each second; `stop` ends that. What node-cron has to say goes to the log, or else it would go to the console, past
 * pino. A second that a busy process misses is no more than a detail: what was due in it is done in the next.
 */
export function eachSecond(work: () => void, log: Logger): { stop(): Promise<void> } {
  const failed = (error: string | Error, cause?: Error): void => {
    log.error({ err: cause ?? error }, 'what is done each second failed, and will be done again');
  };
  const detail = (said: string | Error): void => {
    log.debug({ said: typeof said === 'string' ? said : said.message }, 'the clock of each second');
  };
  const logger: CronLogger = { error: failed, warn: detail, info: detail, debug: detail };
  const task = cron.schedule(everySecond, work, { logger });
  return {
    stop: async () => {
      await task.stop();
    },
  };
}

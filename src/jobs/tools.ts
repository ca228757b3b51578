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

import type pg from 'pg';
import { copiesOf, copyNewRows } from '../postgres/copy.js';
import { insertsOf, type Table } from '../postgres/insert.js';
import type { Batch } from './batch.js';
import { boardWrites } from './write-boards.js';
import { dayWrites } from './days.js';
import * as tables from './tables.js';

/**
 * Writes the rows of a batch within the transaction of `client`. State is only ever replaced by a higher revision of the same user. `isLate`: it is of an
 * entry that was refused, and has never been written, behind newer ones of the same user.
 */
export async function writeBatch(client: pg.ClientBase, tenant: number, batch: Batch, isLate = false): Promise<void> {
  await copyNewRows(client, tenant, tables.idempotencyKeys, [...batch.keys.values()]);
  const insert = <T>(table: Table<T>, rows: ReadonlyMap<string, T>) => insertsOf(client, tenant, table, [...rows.values()]);
  await oneAhead([
    ...copiesOf(client, tenant, tables.events, batch.events),
    ...copiesOf(client, tenant, tables.awards, batch.awards),
    ...copiesOf(client, tenant, tables.achievements, [...batch.achievements.values()]),
    ...insert(tables.users, batch.users),
    ...insert(tables.userMetrics, batch.metrics),
    ...insert(tables.userPoints, batch.points),
    ...insert(tables.userState, batch.state),
    ...insert(tables.streakStates, batch.streaks),
    ...insert(tables.streakPauses, batch.pauses),
    ...insert(tables.streakPeriods, batch.periods),
    ...dayWrites(client, tenant, batch.days, isLate),
    ...boardWrites(client, tenant, batch),
  ]);
}

/**
 * Runs statements in order. While Postgres works on one, the rows of the next are encoded: a connection sends its statements one after the other. Each
 * is a single statement: a second one would come behind the first of the next. Throws what the first that fails throws; those behind it fail as well,
 * in a transaction that is aborted.
 */
async function oneAhead(writes: readonly (() => Promise<void>)[]): Promise<void> {
  let running = Promise.resolve();
  for (const write of writes) {
    const next = write();
    next.catch(() => undefined);
    await running;
    running = next;
  }
  await running;
}

import type pg from 'pg';
import { copyNewRows, copyRows } from '../postgres/copy.js';
import { insertRows } from '../postgres/insert.js';
import type { Batch } from './batch.js';
import { writeBoards } from './write-boards.js';
import { writeDays } from './write-days.js';
import * as tables from './tables.js';

/**
 * Writes the rows of a batch within the transaction of `client`. State is only ever replaced by a higher revision of the same user. `isLate`: it is of an
 * entry that was refused, and has never been written, behind newer ones of the same user.
 */
export async function writeBatch(client: pg.ClientBase, tenant: number, batch: Batch, isLate = false): Promise<void> {
  await copyRows(client, tenant, tables.events, batch.events);
  await copyRows(client, tenant, tables.awards, batch.awards);
  await copyNewRows(client, tenant, tables.idempotencyKeys, [...batch.keys.values()]);
  await copyRows(client, tenant, tables.achievements, [...batch.achievements.values()]);
  await insertRows(client, tenant, tables.users, [...batch.users.values()]);
  await insertRows(client, tenant, tables.userMetrics, [...batch.metrics.values()]);
  await insertRows(client, tenant, tables.userPoints, [...batch.points.values()]);
  await insertRows(client, tenant, tables.userState, [...batch.state.values()]);
  await insertRows(client, tenant, tables.streakStates, [...batch.streaks.values()]);
  await insertRows(client, tenant, tables.streakPauses, [...batch.pauses.values()]);
  await insertRows(client, tenant, tables.streakPeriods, [...batch.periods.values()]);
  await writeDays(client, tenant, batch.days, isLate);
  await writeBoards(client, tenant, batch);
}

/** Deletes expired entries of the outbox and deliveries, and those of deleted endpoints, in bounded steps. */
import type pg from 'pg';
import { limits } from '../shared/limits.js';
import type { QueueKey } from './queue.js';

// Ids of the outbox ascend with time, so only the lowest have to be read.
const oldest = `
  with old as (
    select id from (select id, created from outbox order by id limit ${limits.deliverySweepRows}) as first
     where created < clock_timestamp() + $1 * interval '1 millisecond' - ${limits.deliveryRetentionMs} * interval '1 millisecond'
  ), deliveries as (
    delete from deliveries where outbox in (select id from old)
  )
  delete from outbox where id in (select id from old)`;

/** Deletes entries and deliveries older than limits.deliveryRetentionMs, whatever their status. */
export async function deleteExpired(pool: pg.Pool, aheadMs: number, isStopped: () => boolean): Promise<void> {
  let removed: number | null;
  do {
    if (isStopped()) return;
    removed = (await pool.query(oldest, [aheadMs])).rowCount;
  } while (removed === limits.deliverySweepRows);
}

const archived = `
  select known.tenant, known.no from delivery_queues as known
   where jsonb_path_exists(
     (select document from config_versions as config where config.tenant = known.tenant order by version desc limit 1),
     '$.webhooks[*] ? (@.no == $no && @.archived == true)', jsonb_build_object('no', known.no))`;

/** Deletes the deliveries of a queue, and then its row with the secrets. */
export async function deleteQueue(pool: pg.Pool, { tenant, no }: QueueKey, isStopped: () => boolean = () => false): Promise<void> {
  let removed: number | null;
  do {
    if (isStopped()) return;
    const { rowCount } = await pool.query(
      `delete from deliveries where id in (
         select id from deliveries where tenant = $1 and endpoint = $2 limit ${limits.deliverySweepRows})`,
      [tenant, no],
    );
    removed = rowCount;
  } while (removed === limits.deliverySweepRows);
  await pool.query('delete from delivery_queues where tenant = $1 and no = $2', [tenant, no]);
}

/** Deletes the rows of archived endpoints, which can't be read any more. */
export async function deleteArchivedEndpoints(pool: pg.Pool, isStopped: () => boolean): Promise<void> {
  const { rows } = await pool.query<QueueKey>(archived);
  for (const queue of rows) await deleteQueue(pool, queue, isStopped);
}

/** Deletes expired messages and deliveries, and those of deleted endpoints, in bounded steps. */
import type pg from 'pg';
import { limits } from '../shared/limits.js';

// Message ids ascend with time, so only the lowest have to be read.
const oldest = `
  with old as (
    select id from (select id, created from outbox order by id limit ${limits.webhookSweepRows}) as first
     where created < clock_timestamp() + $1 * interval '1 millisecond' - ${limits.webhookRetentionMs} * interval '1 millisecond'
  ), deliveries as (
    delete from deliveries where outbox in (select id from old)
  )
  delete from outbox where id in (select id from old)`;

/** Deletes messages and deliveries older than limits.webhookRetentionMs, whatever their status. */
export async function deleteExpired(pool: pg.Pool, aheadMs: number, isStopped: () => boolean): Promise<void> {
  for (let removed: number = limits.webhookSweepRows; removed === limits.webhookSweepRows && !isStopped();) {
    removed = (await pool.query(oldest, [aheadMs])).rowCount ?? 0;
  }
}

const archived = `
  select known.tenant, known.no from webhook_endpoints as known
   where jsonb_path_exists(
     (select document from config_versions as config where config.tenant = known.tenant order by version desc limit 1),
     '$.webhooks[*] ? (@.no == $no && @.archived == true)', jsonb_build_object('no', known.no))`;

/** Deletes the deliveries of an endpoint, and then its secrets. */
export async function deleteEndpoint(pool: pg.Pool, tenant: number, no: number, isStopped: () => boolean = () => false): Promise<void> {
  for (let removed: number = limits.webhookSweepRows; removed === limits.webhookSweepRows;) {
    if (isStopped()) return;
    const { rowCount } = await pool.query(
      `delete from deliveries where id in (
         select id from deliveries where tenant = $1 and endpoint = $2 limit ${limits.webhookSweepRows})`,
      [tenant, no],
    );
    removed = rowCount ?? 0;
  }
  await pool.query('delete from webhook_endpoints where tenant = $1 and no = $2', [tenant, no]);
}

/** Deletes the rows of archived endpoints, which can't be read any more. */
export async function deleteArchivedEndpoints(pool: pg.Pool, isStopped: () => boolean): Promise<void> {
  const { rows } = await pool.query<{ tenant: number; no: number }>(archived);
  for (const { tenant, no } of rows) await deleteEndpoint(pool, tenant, no, isStopped);
}

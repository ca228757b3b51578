import type pg from 'pg';

/** The deliveries of all tenants that wait or have failed; those of the last week (limits.deliveryRetentionMs) are stored. */
export interface DeliveryCounts {
  readonly webhooks: {
    readonly pending: number;
    readonly failed: number;
    /** Endpoints without a success since their last failure, those that were switched off for it included. */
    readonly failingEndpoints: number;
  };
  readonly messages: { readonly pending: number; readonly failed: number };
}

// Indexes have the pending and the failed deliveries alone. The queues of channels have negative numbers.
const counts = `
  select json_build_object(
    'webhooks', json_build_object(
      'pending', (select count(*) from deliveries where status = 'pending' and endpoint > 0),
      'failed', (select count(*) from deliveries where status = 'failed' and endpoint > 0),
      'failingEndpoints', (select count(*) from delivery_queues where no > 0 and failing_since is not null)),
    'messages', json_build_object(
      'pending', (select count(*) from deliveries where status = 'pending' and endpoint < 0),
      'failed', (select count(*) from deliveries where status = 'failed' and endpoint < 0))) as counts`;

/** Counts the deliveries of all tenants that wait or have failed. */
export async function countDeliveries(pool: pg.Pool): Promise<DeliveryCounts> {
  const { rows } = await pool.query<{ counts: DeliveryCounts }>(counts);
  const [row] = rows;
  if (!row) throw new Error('Postgres returned no counts of deliveries');
  return row.counts;
}

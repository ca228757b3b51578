import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { limits } from '../shared/limits.js';

/** Whether all attempts were made, some not until the deadline, or none for limits.clockAttemptMs, since no worker can make them. */
export type Attempts = 'made' | 'unfinished' | 'none';

/** Waits until every message to the users of a tenant has been attempted once. `deadline` is a time of the process's clock. */
export async function untilAttempted(pool: pg.Pool, tenant: number, deadline: number): Promise<Attempts> {
  let left = Infinity;
  for (let giveUpAt = 0; ;) {
    const { rows } = await pool.query<{ count: number }>(
      "select count(*)::integer as count from deliveries where tenant = $1 and endpoint < 0 and status = 'pending' and attempts = 0",
      [tenant],
    );
    const count = rows[0]?.count ?? 0;
    if (count === 0) return 'made';
    if (count < left) giveUpAt = Date.now() + limits.clockAttemptMs;
    else if (Date.now() > giveUpAt) return 'none';
    if (Date.now() >= deadline) return 'unfinished';
    left = Math.min(left, count);
    await delay(limits.clockAttemptPollMs);
  }
}

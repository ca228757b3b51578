import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { limits } from '../shared/limits.js';

/** Whether all attempts were made, some not until the deadline, or none for limits.clockAttemptMs, since no worker can make them. */
export type Attempts = 'made' | 'unfinished' | 'none';

/** Notifications that were not attempted, except those behind an earlier one of their subject that is retried: they wait for it, in real time. */
const unattempted = `
  select count(*)::integer as count from deliveries as waiting
   where tenant = $1 and endpoint < 0 and status = 'pending' and attempts = 0 and not exists (
     select 1 from deliveries as earlier
      where earlier.tenant = $1 and earlier.endpoint = waiting.endpoint and earlier.subject = waiting.subject
        and earlier.status = 'pending' and earlier.attempts > 0 and earlier.outbox < waiting.outbox)`;

/** Waits until every notification of a tenant that can be attempted has been, once. `deadline` is a time of the process's clock. */
export async function untilAttempted(pool: pg.Pool, tenant: number, deadline: number): Promise<Attempts> {
  let left = Infinity;
  let giveUpAt = 0;
  while (true) {
    const { rows } = await pool.query<{ count: number }>(unattempted, [tenant]);
    const count = rows[0]?.count ?? 0;
    if (count === 0) return 'made';
    if (count < left) giveUpAt = Date.now() + limits.clockAttemptMs;
    else if (Date.now() > giveUpAt) return 'none';
    if (Date.now() >= deadline) return 'unfinished';
    left = Math.min(left, count);
    await delay(limits.clockAttemptPollMs);
  }
}

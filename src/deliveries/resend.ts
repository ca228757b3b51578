/** Sends failed deliveries again, in bounded steps. */
import type pg from 'pg';
import { numberArray, textArray } from '../postgres/arrays.js';
import { boundsOf } from '../postgres/long-reads.js';
import { limits } from '../shared/limits.js';
import type { Span } from '../shared/open-rows.js';

export interface FailedDeliveries {
  readonly tenant: number;
  /** Queues by their `no`. */
  readonly queues: readonly number[];
  readonly kinds: readonly string[];
  /** When they were queued. */
  readonly span: Span;
  /** `next` of the step before; undefined for the first one. */
  readonly after: string | undefined;
}

export interface ResentStep {
  readonly resent: number;
  /** How many failed deliveries later steps have to look at, up to limits.resendCounted. */
  readonly remaining: number;
  /** Null after the last step. */
  readonly next: string | null;
}

// A step looks at so many failed deliveries, whether or not they match, so its cost does not depend on the filters. Ids of the outbox ascend, and those
// that fail again keep theirs: no delivery is looked at twice.
const step = `
  with page as (
    select found.outbox, found.endpoint
      from unnest($2::integer[]) as queue
     cross join lateral (
       select outbox, endpoint from deliveries
        where tenant = $1 and endpoint = queue and status = 'failed' and outbox > $3::bigint order by outbox limit ${limits.resendRows}) as found
     order by found.outbox limit ${limits.resendRows}
  ), again as (
    update deliveries as d set status = 'pending', next_attempt_at = now(), finished = null, attempts = 0
      from page
     where d.outbox = page.outbox and d.endpoint = page.endpoint and d.status = 'failed' and d.claim is null
       and d.kind = any($4::text[]) and d.created >= $5::timestamptz and d.created < $6::timestamptz
    returning d.outbox
  ), marked as (
    update outbox set payload = jsonb_set(payload::jsonb, '{resent}', to_jsonb($7::text))::json
      from again where outbox.id = again.outbox and $7::text is not null
  ), last as (
    select max(outbox) as outbox from page
  )
  select (select count(*) from again)::integer as resent, last.outbox::text as next, (
    select count(*) from (
      select 1 from unnest($2::integer[]) as queue
       cross join lateral (
         select 1 from deliveries
          where tenant = $1 and endpoint = queue and status = 'failed' and outbox > last.outbox limit ${limits.resendCounted}) as later
       limit ${limits.resendCounted}) as counted)::integer as remaining
    from last`;

/**
 * Makes failed deliveries pending again, with all retries: those of the next limits.resendRows that match. `mark`, if there is one, becomes the field
 * `resent` of their payloads.
 */
export async function resendFailed(
  pool: pg.Pool,
  { tenant, queues, kinds, span, after = '0' }: FailedDeliveries,
  mark: string | null,
): Promise<ResentStep> {
  const { rows } = await pool.query<ResentStep>(step, [tenant, numberArray(queues), after, textArray(kinds), ...boundsOf(span), mark]);
  const [row = { resent: 0, remaining: 0, next: null }] = rows;
  return row.remaining > 0 ? row : { ...row, next: null };
}

/** The queue of deliveries in Postgres: due deliveries, claims and attempts. */
import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { limits } from '../shared/limits.js';
import { numberArray, textArray } from '../postgres/arrays.js';
import { inTransaction } from '../postgres/pool.js';
import { newSecret, type Secrets } from './transport.js';
import type { Outcome } from './transport.js';

export interface EndpointKey {
  readonly tenant: number;
  readonly no: number;
}

/** A delivery to attempt now. */
export interface ClaimedDelivery {
  readonly id: string;
  readonly claim: string;
  /** Attempts before this one, since the delivery became pending. */
  readonly attempts: number;
  readonly body: string;
}

/** A finished attempt. */
export interface Attempt {
  readonly delivery: ClaimedDelivery;
  readonly at: Date;
  readonly outcome: Outcome;
}

/** The result of a batch of an endpoint's queue. */
export interface Batch {
  readonly claimed: readonly ClaimedDelivery[];
  readonly secrets: Secrets;
  /** Whether more deliveries may be due. */
  readonly hasMore: boolean;
  readonly delivered: number;
  readonly failed: number;
  /** The time since which the endpoint has failed, if this batch switched it off. */
  readonly switchedOff: Date | null;
}

export interface BatchOptions {
  readonly attempts: readonly Attempt[];
  /** How many deliveries to claim; 0 only saves attempts. */
  readonly maxClaims: number;
  /** How far the clock of deliveries is ahead of Postgres' clock; only tests set it. */
  readonly aheadMs: number;
}

/** The delay after a failed attempt, by the number of attempts before it; undefined after the last. */
export const retryAfterMs = (attempts: number): number | undefined =>
  attempts < limits.webhookRetries ? limits.webhookFirstRetryMs * 2 ** attempts : undefined;

// An index has the pending deliveries by endpoint, so each endpoint costs two index scans, however long its queue is.
const waiting = `
  with recursive waiting as (
    (select tenant, endpoint from deliveries where status = 'pending' order by tenant, endpoint limit 1)
    union all
    select next.tenant, next.endpoint from waiting, lateral (
      select tenant, endpoint from deliveries as d
       where status = 'pending' and (d.tenant, d.endpoint) > (waiting.tenant, waiting.endpoint) order by tenant, endpoint limit 1) as next
  )`;

const due = `${waiting}
  select tenant, endpoint as no, (extract(epoch from clock_timestamp() - first) * 1000)::float8 + $1::float8 as "overdueMs"
    from waiting, lateral (
      select next_attempt_at as first from deliveries as d
       where d.tenant = waiting.tenant and d.endpoint = waiting.endpoint and status = 'pending'
       order by next_attempt_at limit 1) as firsts
   where first <= clock_timestamp() + $1::float8 * interval '1 millisecond' order by first`;

/** An endpoint with a due delivery, and how long its first one has been due. */
export interface DueEndpoint extends EndpointKey {
  readonly overdueMs: number;
}

/** The endpoints with due deliveries, of all tenants, the longest due first. */
export async function dueEndpoints(pool: pg.Pool, aheadMs: number): Promise<DueEndpoint[]> {
  const { rows } = await pool.query<DueEndpoint>({ name: 'due-webhooks', text: due, values: [aheadMs] });
  return rows;
}

export async function countSwitchedOff(pool: pg.Pool): Promise<number> {
  const { rows } = await pool.query<{ count: number }>(
    'select count(*)::integer as count from webhook_endpoints where switched_off is not null',
  );
  return rows[0]?.count ?? 0;
}

interface EndpointRow {
  readonly secret: string;
  readonly previous: string | null;
  readonly failing_since: Date | null;
  readonly switched_off: Date | null;
  readonly now: Date;
}

/**
 * Locks the row of an endpoint until the transaction ends; inserts a missing one. `now` is rounded up to a whole millisecond, so that a delivery
 * added just now is due.
 */
async function lockEndpoint(client: pg.ClientBase, { tenant, no }: EndpointKey, aheadMs: number): Promise<EndpointRow> {
  const select = {
    name: 'lock-webhook',
    text: `select secret, failing_since, switched_off, clock.now,
             case when previous_until > clock.now then previous_secret end as previous
             from webhook_endpoints, (select clock_timestamp() + ($3 + 1) * interval '1 millisecond' as now) as clock
            where tenant = $1 and no = $2 for update of webhook_endpoints`,
    values: [tenant, no, aheadMs],
  };
  const found = await client.query<EndpointRow>(select);
  if (found.rows[0]) return found.rows[0];
  await ensureSecrets(client, tenant, [no]);
  const created = await client.query<EndpointRow>(select);
  if (!created.rows[0]) throw new Error(`webhook endpoint ${no} of tenant ${tenant} has no row`);
  return created.rows[0];
}

/** Creates secrets for those endpoints of a tenant that have none. */
export async function ensureSecrets(client: pg.Pool | pg.ClientBase, tenant: number, nos: readonly number[]): Promise<void> {
  await client.query(
    `insert into webhook_endpoints (tenant, no, secret) select $1, no, secret from unnest($2::integer[], $3::text[]) as made (no, secret)
     on conflict do nothing`,
    [tenant, numberArray(nos), textArray(nos.map(() => newSecret()))],
  );
}

const write = `
  update deliveries as d
     set status = t.status, attempts = t.attempts, claim = null,
         next_attempt_at = $1::timestamptz + t.wait_ms * interval '1 millisecond',
         finished = case when t.status = 'pending' then null else $1::timestamptz end,
         tries = case when jsonb_array_length(d.tries) >= ${limits.webhookTriesKept} then d.tries - 0 else d.tries end || t.try::jsonb
    from unnest($2::uuid[], $3::uuid[], $4::text[], $5::integer[], $6::float8[], $7::text[])
      as t (id, claim, status, attempts, wait_ms, try)
   where d.id = t.id and d.claim = t.claim and d.status = 'pending'
  returning d.subject, d.status`;

/** Makes the next delivery of a subject due: it waits until the one before has ended. */
const promote = `
  update deliveries set next_attempt_at = $4
   where id in (
     select next.id from unnest($3::text[]) as ended (subject), lateral (
       select id from deliveries
        where tenant = $1 and endpoint = $2 and deliveries.subject = ended.subject and status = 'pending'
        order by outbox limit 1) as next)
     and claim is null and status = 'pending' and attempts = 0`;

const attemptRow = ({ at, outcome: { status, answer, error, durationMs } }: Attempt): object => ({
  ...{ at: at.toISOString(), durationMs, status, answer, error },
});

/** Saves attempts. An attempt whose claim has expired is discarded: another worker has claimed the delivery since. */
async function writeAttempts(
  client: pg.ClientBase,
  { tenant, no }: EndpointKey,
  now: Date,
  attempts: readonly Attempt[],
): Promise<{ delivered: number; failed: number }> {
  if (attempts.length === 0) return { delivered: 0, failed: 0 };
  const states = attempts.map(({ delivery, outcome }) => {
    const waitMs = outcome.isAccepted ? undefined : retryAfterMs(delivery.attempts);
    const status = outcome.isAccepted ? 'delivered' : waitMs === undefined ? 'failed' : 'pending';
    return { status, waitMs: waitMs ?? 0 };
  });
  const { rows } = await client.query<{ subject: string; status: string }>({
    name: 'write-webhook-tries',
    text: write,
    values: [
      now,
      textArray(attempts.map(({ delivery }) => delivery.id)),
      textArray(attempts.map(({ delivery }) => delivery.claim)),
      textArray(states.map(({ status }) => status)),
      numberArray(attempts.map(({ delivery }) => delivery.attempts + 1)),
      numberArray(states.map(({ waitMs }) => waitMs)),
      textArray(attempts.map((each) => JSON.stringify(attemptRow(each)))),
    ],
  });
  const ended = rows.filter(({ status }) => status !== 'pending');
  if (ended.length > 0) {
    const subjects = textArray(ended.map(({ subject }) => subject));
    await client.query({ name: 'promote-webhooks', text: promote, values: [tenant, no, subjects, now] });
  }
  const delivered = ended.filter(({ status }) => status === 'delivered').length;
  return { delivered, failed: ended.length - delivered };
}

/** Updates the time since which no attempt has succeeded. Returns whether a delivery has failed for good and the endpoint must be switched off. */
async function updateHealth(
  client: pg.ClientBase,
  { tenant, no }: EndpointKey,
  { failing_since: since, now }: EndpointRow,
  { isAnyAccepted, isAnyFinal }: { readonly isAnyAccepted: boolean; readonly isAnyFinal: boolean },
): Promise<boolean> {
  if (isAnyAccepted ? since !== null : since === null) {
    await client.query('update webhook_endpoints set failing_since = $3 where tenant = $1 and no = $2', [
      ...[tenant, no],
      isAnyAccepted ? null : now,
    ]);
  }
  if (isAnyAccepted || !isAnyFinal || since === null || now.getTime() - since.getTime() < limits.webhookSwitchOffMs) return false;
  await client.query('update webhook_endpoints set switched_off = $3 where tenant = $1 and no = $2', [tenant, no, now]);
  return true;
}

// New deliveries, retries and deliveries behind others are due, but of each subject only the first may be attempted. The others are postponed until
// the first one's claim expires; when it ends earlier, it makes the next one due (`promote`).
const claim = `
  with due as (
    select id, subject from deliveries
     where tenant = $1 and endpoint = $2 and status = 'pending' and next_attempt_at <= $3
     order by next_attempt_at, outbox limit ${limits.webhookPage}
  ), first as (
    select head.id, head.outbox, head.next_attempt_at from (select distinct subject from due) as subjects, lateral (
      select id, outbox, next_attempt_at from deliveries
       where tenant = $1 and endpoint = $2 and deliveries.subject = subjects.subject and status = 'pending'
       order by outbox limit 1) as head
  ), chosen as (
    select id from first where next_attempt_at <= $3 order by outbox limit $4
  ), behind as (
    update deliveries set next_attempt_at = $3::timestamptz + ${limits.webhookClaimMs} * interval '1 millisecond'
     where status = 'pending' and id in (select id from due except select id from first)
  ), claimed as (
    update deliveries as d
       set claim = $5, next_attempt_at = $3::timestamptz + ${limits.webhookClaimMs} * interval '1 millisecond'
      from chosen where d.id = chosen.id and d.status = 'pending'
    returning d.id, d.outbox, d.attempts
  )
  select claimed.id, claimed.attempts, outbox.payload::text as body, (select count(*) from due)::integer as seen
    from (select 1) as one left join claimed on true left join outbox on outbox.id = claimed.outbox order by claimed.outbox`;

interface ClaimedRow {
  readonly id: string | null;
  readonly attempts: number;
  readonly body: string | null;
  readonly seen: number;
}

async function claimDue(
  client: pg.ClientBase,
  { tenant, no }: EndpointKey,
  now: Date,
  maxClaims: number,
): Promise<{ claimed: ClaimedDelivery[]; hasMore: boolean }> {
  if (maxClaims === 0) return { claimed: [], hasMore: false };
  const token = randomUUID();
  const { rows } = await client.query<ClaimedRow>({ name: 'claim-webhooks', text: claim, values: [tenant, no, now, maxClaims, token] });
  const claimed = rows.flatMap(({ id, attempts, body }) => (id === null || body === null ? [] : [{ id, claim: token, attempts, body }]));
  // With room left after a full page, that page had deliveries that wait behind others.
  return { claimed, hasMore: claimed.length < maxClaims && (rows[0]?.seen ?? 0) >= limits.webhookPage };
}

/** Fails the pending deliveries of an endpoint that was switched off; an operator can resend them. */
async function failPending(client: pg.ClientBase, { tenant, no }: EndpointKey, now: Date): Promise<number> {
  const { rowCount } = await client.query(
    `update deliveries set status = 'failed', claim = null, finished = $3
      where id in (select id from deliveries where tenant = $1 and endpoint = $2 and status = 'pending'
                   order by next_attempt_at limit ${limits.webhookSweepRows})`,
    [tenant, no, now],
  );
  return rowCount ?? 0;
}

/**
 * Saves the finished attempts of an endpoint and claims the next deliveries, in one transaction that excludes other batches of the endpoint. A claim
 * expires after limits.webhookClaimMs, so a delivery that a killed worker was attempting is attempted again.
 */
export function processBatch(pool: pg.Pool, endpoint: EndpointKey, { attempts, maxClaims, aheadMs }: BatchOptions): Promise<Batch> {
  return inTransaction(pool, async (client) => {
    const row = await lockEndpoint(client, endpoint, aheadMs);
    const { now } = row;
    const { delivered, failed } = await writeAttempts(client, endpoint, now, attempts);
    const isAnyAccepted = attempts.some(({ outcome }) => outcome.isAccepted);
    const isSwitchedOff = attempts.length > 0 && (await updateHealth(client, endpoint, row, { isAnyAccepted, isAnyFinal: failed > 0 }));
    const result = {
      ...{ delivered, failed, secrets: { secret: row.secret, previous: row.previous } },
      switchedOff: isSwitchedOff && row.switched_off === null ? row.failing_since : null,
    };
    if (isSwitchedOff || row.switched_off !== null) {
      const ended = await failPending(client, endpoint, now);
      return { ...result, claimed: [], hasMore: ended === limits.webhookSweepRows, failed: failed + ended };
    }
    return { ...result, ...(await claimDue(client, endpoint, now, maxClaims)) };
  });
}

/** Releases claims without counting an attempt, for a worker that stops. */
export async function releaseClaims(pool: pg.Pool, deliveries: readonly ClaimedDelivery[]): Promise<void> {
  if (deliveries.length === 0) return;
  await pool.query(
    `update deliveries as d set claim = null, next_attempt_at = clock_timestamp()
       from unnest($1::uuid[], $2::uuid[]) as released (id, claim)
      where d.id = released.id and d.claim = released.claim and d.status = 'pending'`,
    [textArray(deliveries.map(({ id }) => id)), textArray(deliveries.map(({ claim: token }) => token))],
  );
}

/** The queue of deliveries in Postgres: due deliveries, claims and attempts. */
import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { limits } from '../shared/limits.js';
import { numberArray, textArray } from '../postgres/arrays.js';
import { inTransaction } from '../postgres/pool.js';

/** A queue of deliveries: those to a webhook endpoint, or by a channel (messages/rules/channels.ts), whose `no` is negative. */
export interface QueueKey {
  readonly tenant: number;
  readonly no: number;
}

/** How a delivery ended. `skipped`: it must not be sent any more. `logged`: MESSAGES=log. `bounced` and `complained` come after `delivered`. */
export const deliveryStatuses = ['pending', 'delivered', 'failed', 'skipped', 'logged', 'bounced', 'complained'] as const;
export type DeliveryStatus = (typeof deliveryStatuses)[number];

/** A delivery to attempt now. */
export interface ClaimedDelivery {
  readonly id: string;
  readonly claim: string;
  /** Attempts before this one, since the delivery became pending. */
  readonly attempts: number;
  /** The entry's kind and its user; null for one that is about no user. */
  readonly kind: string;
  readonly user: string | null;
  readonly body: string;
}

/** The result of an attempt. A `pending` delivery is attempted again after `retryMs`. */
export type AttemptResult = { readonly record: AttemptRecord } & (
  { readonly status: 'delivered' | 'failed' | 'skipped' | 'logged' } | { readonly status: 'pending'; readonly retryMs: number }
);

/** What is stored of an attempt, for the Admin API. */
export interface AttemptRecord {
  readonly durationMs: number;
  /** The status of the response; null without one. */
  readonly status: number | null;
  /** The start of the response. */
  readonly answer: string | null;
  /** Why the delivery was not accepted, or not sent. */
  readonly error: string | null;
}

/** A finished attempt. */
export interface Attempt {
  readonly delivery: ClaimedDelivery;
  readonly at: Date;
  readonly result: AttemptResult;
}

/** A delivery that has ended. */
export interface EndedDelivery {
  readonly kind: string;
  readonly status: DeliveryStatus;
}

/** What signs events to an endpoint; a channel has no secrets. */
export interface QueueSecrets {
  readonly secret: string | null;
  /** The previous secret, while both are valid. */
  readonly previous: string | null;
}

/** The result of a batch of a queue. */
export interface Batch {
  readonly claimed: readonly ClaimedDelivery[];
  readonly secrets: QueueSecrets;
  /** Whether more deliveries may be due. */
  readonly hasMore: boolean;
  readonly ended: readonly EndedDelivery[];
  /** Deliveries that failed because the queue is switched off. */
  readonly abandoned: number;
  /** The time since which the queue has failed, if this batch switched it off. */
  readonly switchedOff: Date | null;
}

export interface BatchOptions {
  readonly attempts: readonly Attempt[];
  /** How many deliveries to claim; 0 only saves attempts. */
  readonly maxClaims: number;
  /** How far the clock of deliveries is ahead of Postgres' clock; only tests set it. */
  readonly aheadMs: number;
  /** Undefined for a channel, which has no secret and is never switched off. */
  readonly endpoint?: EndpointRules | undefined;
}

/** What the queue of a webhook endpoint needs besides. */
export interface EndpointRules {
  /** After how long without a success it is switched off. */
  readonly switchOffMs: number;
  /** Creates the secret of a new queue. */
  newSecret(): string;
}

// An index has the pending deliveries by queue, so each queue costs two index scans, however long it is.
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

/** A queue with a due delivery, and how long its first one has been due. */
export interface DueQueue extends QueueKey {
  readonly overdueMs: number;
}

/** The queues with due deliveries, of all tenants, the longest due first. */
export async function dueQueues(pool: pg.Pool, aheadMs: number): Promise<DueQueue[]> {
  const { rows } = await pool.query<DueQueue>({ name: 'due-queues', text: due, values: [aheadMs] });
  return rows;
}

export async function countSwitchedOff(pool: pg.Pool): Promise<number> {
  const { rows } = await pool.query<{ count: number }>(
    'select count(*)::integer as count from delivery_queues where switched_off is not null',
  );
  return rows[0]?.count ?? 0;
}

interface QueueRow {
  readonly secret: string | null;
  readonly previous: string | null;
  readonly failing_since: Date | null;
  readonly switched_off: Date | null;
  readonly now: Date;
}

/**
 * Locks the row of a queue until the transaction ends; inserts a missing one. `now` is rounded up to a whole millisecond, so that a delivery added
 * just now is due.
 */
async function lockQueue(client: pg.ClientBase, { tenant, no }: QueueKey, { aheadMs, endpoint }: BatchOptions): Promise<QueueRow> {
  const select = {
    name: 'lock-queue',
    text: `select secret, failing_since, switched_off, clock.now,
             case when previous_until > clock.now then previous_secret end as previous
             from delivery_queues, (select clock_timestamp() + ($3 + 1) * interval '1 millisecond' as now) as clock
            where tenant = $1 and no = $2 for update of delivery_queues`,
    values: [tenant, no, aheadMs],
  };
  const found = await client.query<QueueRow>(select);
  if (found.rows[0]) return found.rows[0];
  await ensureQueues(client, tenant, [{ no, secret: endpoint?.newSecret() ?? null }]);
  const created = await client.query<QueueRow>(select);
  if (!created.rows[0]) throw new Error(`queue ${no} of tenant ${tenant} has no row`);
  return created.rows[0];
}

/** Creates the rows of those queues of a tenant that have none. */
export async function ensureQueues(
  client: pg.Pool | pg.ClientBase,
  tenant: number,
  queues: readonly { readonly no: number; readonly secret: string | null }[],
): Promise<void> {
  await client.query(
    `insert into delivery_queues (tenant, no, secret) select $1, no, secret from unnest($2::integer[], $3::text[]) as made (no, secret)
     on conflict do nothing`,
    [tenant, numberArray(queues.map(({ no }) => no)), textArray(queues.map(({ secret }) => secret))],
  );
}

const write = `
  update deliveries as d
     set status = t.status, attempts = t.attempts, claim = null,
         next_attempt_at = $1::timestamptz + t.wait_ms * interval '1 millisecond',
         finished = case when t.status = 'pending' then null else $1::timestamptz end,
         tries = case when jsonb_array_length(d.tries) >= ${limits.deliveryTriesKept} then d.tries - 0 else d.tries end || t.try::jsonb
    from unnest($2::uuid[], $3::uuid[], $4::text[], $5::integer[], $6::float8[], $7::text[])
      as t (id, claim, status, attempts, wait_ms, try)
   where d.id = t.id and d.claim = t.claim and d.status = 'pending'
  returning d.subject, d.kind, d.status`;

/** Makes the next delivery of a subject due: it waits until the one before has ended. */
const promote = `
  update deliveries set next_attempt_at = $4
   where id in (
     select next.id from unnest($3::text[]) as ended (subject), lateral (
       select id from deliveries
        where tenant = $1 and endpoint = $2 and deliveries.subject = ended.subject and status = 'pending'
        order by outbox limit 1) as next)
     and claim is null and status = 'pending' and attempts = 0`;

/** Saves attempts. An attempt whose claim has expired is discarded: another worker has claimed the delivery since. Returns the deliveries that ended. */
async function writeAttempts(
  client: pg.ClientBase,
  { tenant, no }: QueueKey,
  now: Date,
  attempts: readonly Attempt[],
): Promise<readonly EndedDelivery[]> {
  if (attempts.length === 0) return [];
  const { rows } = await client.query<EndedDelivery & { readonly subject: string }>({
    name: 'write-attempts',
    text: write,
    values: [
      now,
      textArray(attempts.map(({ delivery }) => delivery.id)),
      textArray(attempts.map(({ delivery }) => delivery.claim)),
      textArray(attempts.map(({ result }) => result.status)),
      numberArray(attempts.map(({ delivery }) => delivery.attempts + 1)),
      numberArray(attempts.map(({ result }) => (result.status === 'pending' ? result.retryMs : 0))),
      textArray(attempts.map(({ at, result }) => JSON.stringify({ at: at.toISOString(), ...result.record }))),
    ],
  });
  const ended = rows.filter(({ status }) => status !== 'pending');
  if (ended.length > 0) {
    const subjects = textArray(ended.map(({ subject }) => subject));
    await client.query({ name: 'promote-deliveries', text: promote, values: [tenant, no, subjects, now] });
  }
  return ended;
}

/** Updates the time since which no attempt has succeeded. Returns whether a delivery has failed for good and the queue must be switched off. */
async function updateHealth(
  client: pg.ClientBase,
  { tenant, no }: QueueKey,
  { failing_since: since, now }: QueueRow,
  { isAnyAccepted, isAnyFinal, switchOffMs = Infinity }: { isAnyAccepted: boolean; isAnyFinal: boolean; switchOffMs: number | undefined },
): Promise<boolean> {
  if (isAnyAccepted ? since !== null : since === null) {
    await client.query('update delivery_queues set failing_since = $3 where tenant = $1 and no = $2', [
      tenant,
      no,
      isAnyAccepted ? null : now,
    ]);
  }
  if (isAnyAccepted || !isAnyFinal || since === null || now.getTime() - since.getTime() < switchOffMs) return false;
  await client.query('update delivery_queues set switched_off = $3 where tenant = $1 and no = $2', [tenant, no, now]);
  return true;
}

// New deliveries, retries and deliveries behind others are due, but of each subject only the first may be attempted. The others are postponed until
// the first one's claim expires; when it ends earlier, it makes the next one due (`promote`).
const claim = `
  with due as (
    select id, subject from deliveries
     where tenant = $1 and endpoint = $2 and status = 'pending' and next_attempt_at <= $3
     order by next_attempt_at, outbox limit ${limits.deliveryPage}
  ), first as (
    select head.id, head.outbox, head.next_attempt_at from (select distinct subject from due) as subjects, lateral (
      select id, outbox, next_attempt_at from deliveries
       where tenant = $1 and endpoint = $2 and deliveries.subject = subjects.subject and status = 'pending'
       order by outbox limit 1) as head
  ), chosen as (
    select id from first where next_attempt_at <= $3 order by outbox limit $4
  ), behind as (
    update deliveries set next_attempt_at = $3::timestamptz + ${limits.deliveryClaimMs} * interval '1 millisecond'
     where status = 'pending' and id in (select id from due except select id from first)
  ), claimed as (
    update deliveries as d
       set claim = $5, next_attempt_at = $3::timestamptz + ${limits.deliveryClaimMs} * interval '1 millisecond'
      from chosen where d.id = chosen.id and d.status = 'pending'
    returning d.id, d.outbox, d.attempts, d.kind, d.user_id
  )
  select claimed.id, claimed.attempts, claimed.kind, claimed.user_id as user, outbox.payload::text as body, (select count(*) from due)::integer as seen
    from (select 1) as one left join claimed on true left join outbox on outbox.id = claimed.outbox order by claimed.outbox`;

type ClaimedRow = Omit<ClaimedDelivery, 'id' | 'claim' | 'body'> & {
  /** Null in the only row without a claimed delivery. */
  readonly id: string | null;
  readonly body: string | null;
  readonly seen: number;
};

async function claimDue(
  client: pg.ClientBase,
  { tenant, no }: QueueKey,
  now: Date,
  maxClaims: number,
): Promise<{ claimed: ClaimedDelivery[]; hasMore: boolean }> {
  if (maxClaims === 0) return { claimed: [], hasMore: false };
  const token = randomUUID();
  const { rows } = await client.query<ClaimedRow>({ name: 'claim-deliveries', text: claim, values: [tenant, no, now, maxClaims, token] });
  const claimed = rows.flatMap(({ id, attempts, kind, user, body }) =>
    id === null || body === null ? [] : [{ id, claim: token, attempts, kind, user, body }],
  );
  // With room left after a full page, that page had deliveries that wait behind others.
  return { claimed, hasMore: claimed.length < maxClaims && (rows[0]?.seen ?? 0) >= limits.deliveryPage };
}

/** Fails the pending deliveries of a queue that was switched off; an operator can resend them. */
async function failPending(client: pg.ClientBase, { tenant, no }: QueueKey, now: Date): Promise<number> {
  const { rowCount } = await client.query(
    `update deliveries set status = 'failed', claim = null, finished = $3
      where id in (select id from deliveries where tenant = $1 and endpoint = $2 and status = 'pending'
                   order by next_attempt_at limit ${limits.deliverySweepRows})`,
    [tenant, no, now],
  );
  return rowCount ?? 0;
}

/**
 * Saves the finished attempts of a queue and claims the next deliveries, in one transaction that excludes other batches of the queue. A claim
 * expires after limits.deliveryClaimMs, so a delivery that a killed worker was attempting is attempted again.
 */
export function processBatch(pool: pg.Pool, queue: QueueKey, options: BatchOptions): Promise<Batch> {
  const { attempts, maxClaims, endpoint } = options;
  return inTransaction(pool, async (client) => {
    const row = await lockQueue(client, queue, options);
    const { now } = row;
    const ended = await writeAttempts(client, queue, now, attempts);
    // An attempt that was skipped or logged says nothing about the receiver.
    const tried = attempts.filter(({ result: { status } }) => status !== 'skipped' && status !== 'logged');
    const isAnyAccepted = tried.some(({ result }) => result.status === 'delivered');
    const isAnyFinal = ended.some(({ status }) => status === 'failed');
    const isSwitchedOff =
      tried.length > 0 && (await updateHealth(client, queue, row, { isAnyAccepted, isAnyFinal, switchOffMs: endpoint?.switchOffMs }));
    const result = {
      ended,
      abandoned: 0,
      secrets: { secret: row.secret, previous: row.previous },
      switchedOff: isSwitchedOff && row.switched_off === null ? row.failing_since : null,
    };
    if (isSwitchedOff || row.switched_off !== null) {
      const abandoned = await failPending(client, queue, now);
      return { ...result, claimed: [], hasMore: abandoned === limits.deliverySweepRows, abandoned };
    }
    return { ...result, ...(await claimDue(client, queue, now, maxClaims)) };
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

/** The deliveries that wait, in Postgres: which are due, who tries them, and what came of it. */
import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { limits } from '../shared/limits.js';
import { numberArray, textArray } from '../postgres/arrays.js';
import { inTransaction } from '../postgres/pool.js';
import { newSecret, type Secrets } from './transport.js';
import type { Outcome } from './transport.js';

/** An endpoint by its tenant and its number. */
export interface EndpointKey {
  readonly tenant: number;
  readonly no: number;
}

/** A delivery that is to be tried now. */
export interface Claimed {
  readonly id: string;
  readonly claim: string;
  /** Tries before this one, since the delivery became pending. */
  readonly attempts: number;
  readonly body: string;
}

/** A try that has ended. */
export interface Tried {
  readonly delivery: Claimed;
  readonly at: Date;
  readonly outcome: Outcome;
}

/** What a turn of an endpoint's queue did. */
export interface Batch {
  readonly claimed: readonly Claimed[];
  readonly secrets: Secrets;
  /** Whether there may be more that is due, which this turn did not look at. */
  readonly isMore: boolean;
  readonly delivered: number;
  readonly failed: number;
  /** Since when the endpoint had failed, if that has switched it off in this turn. */
  readonly switchedOff: Date | null;
}

export interface BatchOptions {
  readonly tried: readonly Tried[];
  /** How many deliveries may be claimed; 0 only writes down what has been tried. */
  readonly claims: number;
  /** How far the clock of deliveries is ahead of Postgres': 0, except in tests. */
  readonly aheadMs: number;
}

/** The pause after a try that failed, by how many have failed before it; undefined when it was the last. */
export const retryAfterMs = (attempts: number): number | undefined =>
  attempts < limits.webhookRetries ? limits.webhookFirstRetryMs * 2 ** attempts : undefined;

// An index holds what is pending by endpoint, so each endpoint costs two looks into it, however much waits there.
const waiting = `
  with recursive waiting as (
    (select tenant, endpoint from webhook_deliveries where status = 'pending' order by tenant, endpoint limit 1)
    union all
    select next.tenant, next.endpoint from waiting, lateral (
      select tenant, endpoint from webhook_deliveries as d
       where status = 'pending' and (d.tenant, d.endpoint) > (waiting.tenant, waiting.endpoint) order by tenant, endpoint limit 1) as next
  )`;

const due = `${waiting}
  select tenant, endpoint as no, (extract(epoch from clock_timestamp() - first) * 1000)::float8 + $1::float8 as "overdueMs"
    from waiting, lateral (
      select next_attempt_at as first from webhook_deliveries as d
       where d.tenant = waiting.tenant and d.endpoint = waiting.endpoint and status = 'pending'
       order by next_attempt_at limit 1) as firsts
   where first <= clock_timestamp() + $1::float8 * interval '1 millisecond' order by first`;

/** An endpoint that has a delivery whose time has come, and for how long the first of them has been due. */
export interface DueEndpoint extends EndpointKey {
  readonly overdueMs: number;
}

/** The endpoints that have a delivery whose time has come, of all tenants, those that nobody works for included; the longest due first. */
export async function dueEndpoints(pool: pg.Pool, aheadMs: number): Promise<DueEndpoint[]> {
  const { rows } = await pool.query<DueEndpoint>({ name: 'due-webhooks', text: due, values: [aheadMs] });
  return rows;
}

/** How many endpoints are switched off. */
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

/** The row of an endpoint, locked until the transaction ends; it is made when it is missing. `now` is the moment of deliveries, which
 * loses its microseconds here: the next whole millisecond, so that what has come just now is not of the future. */
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
  const made = await client.query<EndpointRow>(select);
  if (!made.rows[0]) throw new Error(`webhook endpoint ${no} of tenant ${tenant} has no row`);
  return made.rows[0];
}

/** Makes secrets for those endpoints of a tenant that have none. */
export async function ensureSecrets(client: pg.Pool | pg.ClientBase, tenant: number, nos: readonly number[]): Promise<void> {
  await client.query(
    `insert into webhook_endpoints (tenant, no, secret) select $1, no, secret from unnest($2::integer[], $3::text[]) as made (no, secret)
     on conflict do nothing`,
    [tenant, numberArray(nos), textArray(nos.map(() => newSecret()))],
  );
}

const write = `
  update webhook_deliveries as d
     set status = t.status, attempts = t.attempts, claim = null,
         next_attempt_at = $1::timestamptz + t.wait_ms * interval '1 millisecond',
         finished = case when t.status = 'pending' then null else $1::timestamptz end,
         tries = case when jsonb_array_length(d.tries) >= ${limits.webhookTriesKept} then d.tries - 0 else d.tries end || t.try::jsonb
    from unnest($2::uuid[], $3::uuid[], $4::text[], $5::integer[], $6::float8[], $7::text[])
      as t (id, claim, status, attempts, wait_ms, try)
   where d.id = t.id and d.claim = t.claim and d.status = 'pending'
  returning d.subject, d.status`;

/** A later one of a subject waits until the earlier one has ended: now it is the next one's turn. */
const promote = `
  update webhook_deliveries set next_attempt_at = $4
   where id in (
     select next.id from unnest($3::text[]) as ended (subject), lateral (
       select id from webhook_deliveries
        where tenant = $1 and endpoint = $2 and webhook_deliveries.subject = ended.subject and status = 'pending'
        order by outbox limit 1) as next)
     and claim is null and status = 'pending' and attempts = 0`;

const tryRow = ({ at, outcome: { status, answer, error, durationMs } }: Tried): object => ({
  ...{ at: at.toISOString(), durationMs, status, answer, error },
});

/** Writes down tries. A try whose claim has run out is not counted: whoever claimed the delivery since then counts. */
async function writeTries(
  client: pg.ClientBase,
  { tenant, no }: EndpointKey,
  now: Date,
  tried: readonly Tried[],
): Promise<{ delivered: number; failed: number }> {
  if (tried.length === 0) return { delivered: 0, failed: 0 };
  const states = tried.map(({ delivery, outcome }) => {
    const waitMs = outcome.isTaken ? undefined : retryAfterMs(delivery.attempts);
    const status = outcome.isTaken ? 'delivered' : waitMs === undefined ? 'failed' : 'pending';
    return { status, waitMs: waitMs ?? 0 };
  });
  const { rows } = await client.query<{ subject: string; status: string }>({
    name: 'write-webhook-tries',
    text: write,
    values: [
      now,
      textArray(tried.map(({ delivery }) => delivery.id)),
      textArray(tried.map(({ delivery }) => delivery.claim)),
      textArray(states.map(({ status }) => status)),
      numberArray(tried.map(({ delivery }) => delivery.attempts + 1)),
      numberArray(states.map(({ waitMs }) => waitMs)),
      textArray(tried.map((each) => JSON.stringify(tryRow(each)))),
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

/** Notes since when nothing has succeeded. Returns whether that has been so for too long, now that a delivery has failed for good. */
async function noteHealth(
  client: pg.ClientBase,
  { tenant, no }: EndpointKey,
  { failing_since: since, now }: EndpointRow,
  { isAnyTaken, isAnyFinal }: { readonly isAnyTaken: boolean; readonly isAnyFinal: boolean },
): Promise<boolean> {
  if (isAnyTaken ? since !== null : since === null) {
    await client.query('update webhook_endpoints set failing_since = $3 where tenant = $1 and no = $2', [
      ...[tenant, no],
      isAnyTaken ? null : now,
    ]);
  }
  if (isAnyTaken || !isAnyFinal || since === null || now.getTime() - since.getTime() < limits.webhookSwitchOffMs) return false;
  await client.query('update webhook_endpoints set switched_off = $3 where tenant = $1 and no = $2', [tenant, no, now]);
  return true;
}

// Due are new ones, ones to try again, and ones that wait behind others: of each subject only the first may be tried. The others are put off
// until the first may have ended; what ends calls the next (`promote`), so that nobody waits for longer than that.
const claim = `
  with due as (
    select id, subject from webhook_deliveries
     where tenant = $1 and endpoint = $2 and status = 'pending' and next_attempt_at <= $3
     order by next_attempt_at, outbox limit ${limits.webhookPage}
  ), first as (
    select head.id, head.outbox, head.next_attempt_at from (select distinct subject from due) as subjects, lateral (
      select id, outbox, next_attempt_at from webhook_deliveries
       where tenant = $1 and endpoint = $2 and webhook_deliveries.subject = subjects.subject and status = 'pending'
       order by outbox limit 1) as head
  ), chosen as (
    select id from first where next_attempt_at <= $3 order by outbox limit $4
  ), behind as (
    update webhook_deliveries set next_attempt_at = $3::timestamptz + ${limits.webhookClaimMs} * interval '1 millisecond'
     where status = 'pending' and id in (select id from due except select id from first)
  ), claimed as (
    update webhook_deliveries as d
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
  most: number,
): Promise<{ claimed: Claimed[]; isMore: boolean }> {
  if (most === 0) return { claimed: [], isMore: false };
  const token = randomUUID();
  const { rows } = await client.query<ClaimedRow>({ name: 'claim-webhooks', text: claim, values: [tenant, no, now, most, token] });
  const claimed = rows.flatMap(({ id, attempts, body }) => (id === null || body === null ? [] : [{ id, claim: token, attempts, body }]));
  // With room left after a whole page, the page was of those that wait behind others.
  return { claimed, isMore: claimed.length < most && (rows[0]?.seen ?? 0) >= limits.webhookPage };
}

/** Ends what still waits for an endpoint that has been switched off: it can be sent again by hand. */
async function failPending(client: pg.ClientBase, { tenant, no }: EndpointKey, now: Date): Promise<number> {
  const { rowCount } = await client.query(
    `update webhook_deliveries set status = 'failed', claim = null, finished = $3
      where id in (select id from webhook_deliveries where tenant = $1 and endpoint = $2 and status = 'pending'
                   order by next_attempt_at limit ${limits.webhookSweepRows})`,
    [tenant, no, now],
  );
  return rowCount ?? 0;
}

/**
 * One turn of an endpoint's queue, in one transaction that no other turn of the endpoint runs beside: writes down what has been tried, and
 * claims what is to be tried next. A claim ends by itself after limits.webhookClaimMs, so what a killed worker was trying is tried again.
 */
export function processBatch(pool: pg.Pool, endpoint: EndpointKey, { tried, claims, aheadMs }: BatchOptions): Promise<Batch> {
  return inTransaction(pool, async (client) => {
    const row = await lockEndpoint(client, endpoint, aheadMs);
    const { now } = row;
    const { delivered, failed } = await writeTries(client, endpoint, now, tried);
    const isAnyTaken = tried.some(({ outcome }) => outcome.isTaken);
    const isSwitchedOff = tried.length > 0 && (await noteHealth(client, endpoint, row, { isAnyTaken, isAnyFinal: failed > 0 }));
    const result = {
      ...{ delivered, failed, secrets: { secret: row.secret, previous: row.previous } },
      switchedOff: isSwitchedOff && row.switched_off === null ? row.failing_since : null,
    };
    if (isSwitchedOff || row.switched_off !== null) {
      const ended = await failPending(client, endpoint, now);
      return { ...result, claimed: [], isMore: ended === limits.webhookSweepRows, failed: failed + ended };
    }
    return { ...result, ...(await claimDue(client, endpoint, now, claims)) };
  });
}

/** Gives claims back without a try having counted, for a worker that stops. */
export async function releaseClaims(pool: pg.Pool, deliveries: readonly Claimed[]): Promise<void> {
  if (deliveries.length === 0) return;
  await pool.query(
    `update webhook_deliveries as d set claim = null, next_attempt_at = clock_timestamp()
       from unnest($1::uuid[], $2::uuid[]) as released (id, claim)
      where d.id = released.id and d.claim = released.claim and d.status = 'pending'`,
    [textArray(deliveries.map(({ id }) => id)), textArray(deliveries.map(({ claim: token }) => token))],
  );
}

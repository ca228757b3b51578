import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import type { Webhook } from '../config/schema/model.js';
import { numberArray } from '../postgres/arrays.js';
import { withPostgresErrors } from '../postgres/failure.js';
import { limits } from '../shared/limits.js';
import { type WebhookKind, webhookKinds } from '../config/schema/webhook-kinds.js';
import { exampleOf } from './examples.js';
import { type AttemptRecord, ensureQueues } from '../deliveries/queue.js';
import { type FailedDeliveries, resendFailed, type ResentStep } from '../deliveries/resend.js';
import { type Outcome, type Secrets, type Transport, newSecret, signatureHeaders } from './transport.js';

export interface EndpointState {
  /** The time since which no attempt has succeeded. */
  readonly failingSince: Date | null;
  readonly switchedOff: Date | null;
}

export const webhookStatuses = ['pending', 'delivered', 'failed'] as const;
type WebhookStatus = (typeof webhookStatuses)[number];

/** An event to an endpoint. */
export interface Delivery {
  readonly id: string;
  readonly kind: WebhookKind;
  readonly status: WebhookStatus;
  readonly user_id: string | null;
  /** When it happened, by the engine's clock. */
  readonly at: Date;
  readonly created: Date;
  readonly attempts: number;
  readonly next_attempt_at: Date;
  readonly finished: Date | null;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly tries: readonly (AttemptRecord & { readonly at: string })[];
}

/** How many deliveries of an endpoint wait, and how many have failed. */
export interface DeliveryTotals {
  readonly pending: number;
  readonly failed: number;
}

export interface DeliveryQuery {
  readonly status?: WebhookStatus | undefined;
  readonly kind?: WebhookKind | undefined;
  readonly limit: number;
  readonly skip: number;
}

/** Failed deliveries to send again; of all kinds without `kinds`. */
interface FailedQuery extends Pick<FailedDeliveries, 'span' | 'after'> {
  readonly kinds?: readonly WebhookKind[] | undefined;
}

const deliveries = `
  select d.id, d.kind, d.status, d.user_id, outbox.at, d.created, d.attempts, d.next_attempt_at, d.finished, outbox.payload, d.tries
    from deliveries as d join outbox on outbox.id = d.outbox`;

/** The operators' view of webhooks, besides their configuration. Throws a LaurelError `not_ready` while Postgres is unavailable. */
export class WebhookAdmin {
  private readonly pool: pg.Pool;
  private readonly transport: Transport;

  constructor(pool: pg.Pool, transport: Transport) {
    this.pool = pool;
    this.transport = transport;
  }

  /** The states of endpoints by their `no`; endpoints to which nothing has been sent have none. */
  async states(tenant: number, nos: readonly number[]): Promise<ReadonlyMap<number, EndpointState>> {
    const { rows } = await this.query<{ no: number; failing_since: Date | null; switched_off: Date | null }>(
      'select no, failing_since, switched_off from delivery_queues where tenant = $1 and no = any($2::integer[])',
      [tenant, numberArray(nos)],
    );
    return new Map(rows.map(({ no, failing_since: failingSince, switched_off: switchedOff }) => [no, { failingSince, switchedOff }]));
  }

  /** How many deliveries of the endpoints of a tenant wait or have failed, by their `no`; endpoints without any are left out. */
  async totals(tenant: number): Promise<ReadonlyMap<number, DeliveryTotals>> {
    const { rows } = await this.query<DeliveryTotals & { no: number }>(
      `select no, sum(pending)::integer as pending, sum(failed)::integer as failed
         from (select endpoint as no, count(*) as pending, 0 as failed from deliveries
                where tenant = $1 and endpoint > 0 and status = 'pending' group by endpoint
               union all
               select endpoint, 0, count(*) from deliveries where tenant = $1 and endpoint > 0 and status = 'failed' group by endpoint) as counted
        group by no`,
      [tenant],
    );
    return new Map(rows.map(({ no, pending, failed }) => [no, { pending, failed }]));
  }

  /** The secrets of endpoints by their `no`, created where missing. */
  async secrets(tenant: number, nos: readonly number[]): Promise<ReadonlyMap<number, string>> {
    await this.ensureSecrets(tenant, nos);
    const { rows } = await this.query<{ no: number; secret: string }>(
      'select no, secret from delivery_queues where tenant = $1 and no = any($2::integer[])',
      [tenant, numberArray(nos)],
    );
    return new Map(rows.map(({ no, secret }) => [no, secret]));
  }

  /** Rotates an endpoint's secret. The current one stays valid for `overlapHours`; an older one ends now. */
  async rotate(tenant: number, no: number, overlapHours: number): Promise<{ secret: string; previousUntil: Date | null }> {
    await this.ensureSecrets(tenant, [no]);
    const { rows } = await this.query<{ secret: string; previous_until: Date | null }>(
      `update delivery_queues set secret = $3, previous_secret = case when $4 > 0 then secret end,
              previous_until = case when $4 > 0 then now() + $4 * interval '1 hour' end
        where tenant = $1 and no = $2 returning secret, previous_until`,
      [tenant, no, newSecret(), overlapHours],
    );
    const [row] = rows;
    if (!row) throw new Error(`webhook endpoint ${no} of tenant ${tenant} has no row`);
    return { secret: row.secret, previousUntil: row.previous_until };
  }

  /** Switches on endpoints that were switched off for failing. */
  async switchOn(tenant: number, nos: readonly number[]): Promise<void> {
    if (nos.length === 0) return;
    await this.query(
      `update delivery_queues set switched_off = null, failing_since = null
        where tenant = $1 and no = any($2::integer[]) and (switched_off is not null or failing_since is not null)`,
      [tenant, numberArray(nos)],
    );
  }

  /** Sends an example of a kind to an endpoint, active or not, once and without storing it. */
  async test(tenant: number, { no, url }: Webhook, kind: WebhookKind): Promise<Outcome & { readonly id: string }> {
    const secrets = await this.secretsOf(tenant, no);
    const id = `test_${randomUUID()}`;
    const body = JSON.stringify(exampleOf(kind));
    const outcome = await this.transport.post(url, signatureHeaders(id, new Date(), body, secrets), body, limits.webhookTestMs);
    return { ...outcome, id };
  }

  /** The secrets that sign events to an endpoint now. */
  private async secretsOf(tenant: number, no: number): Promise<Secrets> {
    await this.ensureSecrets(tenant, [no]);
    const { rows } = await this.query<Secrets>(
      `select secret, case when previous_until > now() then previous_secret end as previous from delivery_queues where tenant = $1 and no = $2`,
      [tenant, no],
    );
    const [secrets] = rows;
    if (!secrets) throw new Error(`webhook endpoint ${no} of tenant ${tenant} has no row`);
    return secrets;
  }

  /** The deliveries of an endpoint, newest first. */
  async deliveries(tenant: number, no: number, { status, kind, limit, skip }: DeliveryQuery): Promise<readonly Delivery[]> {
    const { rows } = await this.query<Delivery>(
      `${deliveries} where d.tenant = $1 and d.endpoint = $2 ${status === undefined ? '' : `and d.status = '${status}'`}
         and ($3::text is null or d.kind = $3) order by d.outbox desc limit $4 offset $5`,
      [tenant, no, kind ?? null, limit, skip],
    );
    return rows;
  }

  /**
   * Makes a delivery pending again, with all retries, whatever its status; one that waits for a retry is attempted now. Undefined if the endpoint has no
   * such delivery.
   */
  async resend(tenant: number, no: number, id: string): Promise<Delivery | undefined> {
    await this.query(
      `update deliveries
          set status = 'pending', next_attempt_at = now(), finished = null, attempts = case when status = 'pending' then attempts else 0 end
        where tenant = $1 and endpoint = $2 and id = $3 and claim is null`,
      [tenant, no, id],
    );
    const { rows } = await this.query<Delivery>(`${deliveries} where d.tenant = $1 and d.endpoint = $2 and d.id = $3`, [tenant, no, id]);
    return rows[0];
  }

  /** Sends failed deliveries of an endpoint again: see resendFailed. */
  resendFailed(tenant: number, no: number, { kinds = webhookKinds, span, after }: FailedQuery): Promise<ResentStep> {
    return withPostgresErrors(resendFailed(this.pool, { tenant, queues: [no], kinds, span, after }, null));
  }

  /** Creates secrets for those endpoints that have none. */
  private ensureSecrets(tenant: number, nos: readonly number[]): Promise<void> {
    const queues = nos.map((no) => ({ no, secret: newSecret() }));
    return withPostgresErrors(ensureQueues(this.pool, tenant, queues));
  }

  private query<T extends pg.QueryResultRow>(text: string, values: unknown[]): Promise<pg.QueryResult<T>> {
    return withPostgresErrors(this.pool.query<T>(text, values));
  }
}

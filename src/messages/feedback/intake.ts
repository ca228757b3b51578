import addressparser from 'nodemailer/lib/addressparser';
import type pg from 'pg';
import type { Logger } from 'pino';
import type { Engine } from '../../engine/engine.js';
import { identifyUser } from '../../engine/users.js';
import { withPostgresErrors } from '../../postgres/failure.js';
import { LaurelError } from '../../shared/errors.js';
import { limits } from '../../shared/limits.js';
import { queueOf } from '../rules/channels.js';
import type { SuppressionReason, Suppressions } from '../addresses/suppressions.js';

/** What a provider reports about an address, after it has accepted an email. `restored`: the provider sends to the address again. */
export interface Feedback {
  readonly kind: Exclude<SuppressionReason, 'refused'> | 'restored';
  readonly address: string;
  /** The delivery that it is about; undefined if the provider does not say. */
  readonly delivery: string | undefined;
  /** The provider's words for the cause, such as a status code; without personal data. */
  readonly detail: string;
}

const emailQueue = queueOf('email');

/** A user to whom an address belongs. */
interface Owner {
  readonly tenant: number;
  /** Null: only the tenant is known. */
  readonly user: string | null;
}

export interface FeedbackOptions {
  readonly pool: pg.Pool;
  readonly engine: Engine;
  readonly suppressions: Suppressions;
  readonly log: Logger;
}

// A complaint may follow a bounce. A delivery that is still pending is decided by its worker, which checks suppressions before each attempt.
const mark = `
  update deliveries
     set status = $2, finished = now(), claim = null,
         tries = case when jsonb_array_length(tries) >= ${limits.deliveryTriesKept} then tries - 0 else tries end || $3::jsonb
   where id = $1 and endpoint = ${emailQueue} and (status in ('delivered', 'failed') or status = 'bounced' and $2 = 'complained')`;

// One look-up in an index for each tenant: only for reports that name no delivery.
const ownersOfAddress = `
  select tenants.no as tenant, users.id as user from tenants join users on users.tenant = tenants.no and lower(users.email) = lower($1)
   where $2::integer is null or tenants.no = $2 limit ${limits.maxUsersOfAddress}`;

/** The plain address in what a provider calls the recipient, which may have a name beside it. */
const plainAddress = (recipient: string): string => addressparser(recipient, { flatten: true })[0]?.address ?? '';

/** Records bounces and complaints: the address is suppressed, a complaint also unsubscribes its user, and the delivery shows it. */
export class FeedbackIntake {
  private readonly options: FeedbackOptions;

  constructor(options: FeedbackOptions) {
    this.options = options;
  }

  /** Records what a provider reports. An address that no user has, without a delivery, is not recorded. Recording it again changes nothing. */
  async record(feedback: Feedback): Promise<void> {
    const address = plainAddress(feedback.address);
    const owners = await this.ownersOf({ ...feedback, address });
    if (address === '' || owners.length === 0) {
      this.options.log.info({ kind: feedback.kind, detail: feedback.detail }, 'report on an unknown address ignored');
      return;
    }
    for (const tenant of new Set(owners.map((owner) => owner.tenant))) await this.apply(tenant, address, feedback.kind);
    if (feedback.kind === 'complained') for (const owner of owners) await this.unsubscribe(owner);
    await this.markDelivery(feedback);
    this.options.log.info({ kind: feedback.kind, detail: feedback.detail, tenant: owners[0]?.tenant }, 'report on an address recorded');
  }

  /** Unsubscribes the users of a tenant who have an address. */
  async unsubscribeAll(tenant: number, address: string): Promise<void> {
    const { rows } = await withPostgresErrors(this.options.pool.query<Owner>(ownersOfAddress, [address, tenant]));
    for (const owner of rows) await this.unsubscribe(owner);
  }

  private async apply(tenant: number, address: string, kind: Feedback['kind']): Promise<void> {
    if (kind === 'restored') await this.options.suppressions.remove(tenant, address);
    else await this.options.suppressions.add(tenant, address, kind);
  }

  private async ownersOf({ delivery, address }: Feedback): Promise<Owner[]> {
    const { pool } = this.options;
    if (delivery !== undefined) {
      const { rows } = await withPostgresErrors(
        pool.query<Owner>(`select tenant, user_id as user from deliveries where id = $1 and endpoint = ${emailQueue}`, [delivery]),
      );
      if (rows.length > 0) return rows;
    }
    return address === '' ? [] : (await withPostgresErrors(pool.query<Owner>(ownersOfAddress, [address, null]))).rows;
  }

  private async unsubscribe({ tenant, user }: Owner): Promise<void> {
    if (user === null) return;
    try {
      await identifyUser(this.options.engine, tenant, 'update', { id: user, subscribeToEmails: false });
    } catch (error) {
      // The user was deleted in between.
      if (!(error instanceof LaurelError && error.code === 'not_found')) throw error;
    }
  }

  private async markDelivery({ delivery, kind, detail }: Feedback): Promise<void> {
    if (delivery === undefined || (kind !== 'bounced' && kind !== 'complained')) return;
    const attempt = { at: new Date().toISOString(), durationMs: 0, status: null, answer: null, error: `${kind}: ${detail}` };
    await withPostgresErrors(this.options.pool.query(mark, [delivery, kind, JSON.stringify(attempt)]));
  }
}

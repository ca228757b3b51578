import type pg from 'pg';
import { channels, notificationTypes, type Channel, type NotificationType } from '../../config/schema/message-types.js';
import { type AttemptRecord, deliveryStatuses, type DeliveryStatus } from '../../deliveries/queue.js';
import { type FailedDeliveries, resendFailed, type ResentStep } from '../../deliveries/resend.js';
import { numberArray, textArray } from '../../postgres/arrays.js';
import { withPostgresErrors } from '../../postgres/failure.js';
import { boundsOf, type LongReads } from '../../postgres/long-reads.js';
import type { OpenRows, Span } from '../../shared/open-rows.js';
import { messageKind, queueOf } from '../rules/channels.js';
import type { NotificationAbout, StoredNotification } from '../rules/notification.js';

/** A message to a user by one channel, and to one device. */
export interface MessageDelivery {
  readonly id: string;
  readonly type: NotificationType;
  readonly channel: Channel;
  readonly status: DeliveryStatus;
  readonly user: string;
  /** When it became due, by the engine's clock. */
  readonly due: Date;
  readonly created: Date;
  readonly finished: Date | null;
  readonly attempts: number;
  readonly nextAttempt: Date;
  readonly clicks: number;
  readonly about: NotificationAbout;
  readonly tries: readonly (AttemptRecord & { readonly at: string })[];
}

export interface MessageQuery {
  readonly type?: NotificationType | undefined;
  readonly channel?: Channel | undefined;
  readonly status?: DeliveryStatus | undefined;
  readonly userId?: string | undefined;
  readonly limit: number;
  readonly skip: number;
}

/** Failed messages to send again. */
interface FailedQuery extends Pick<MessageQuery, 'type' | 'channel'>, Pick<FailedDeliveries, 'span' | 'after'> {}

/** How many messages of a type, channel and status there are. */
export interface MessageTotal {
  readonly type: NotificationType;
  readonly channel: Channel;
  readonly status: DeliveryStatus;
  readonly count: number;
}

const columns = `
  d.id, d.kind, d.endpoint as queue, d.status, d.user_id as user, outbox.at as due, d.created, d.finished, d.attempts, d.next_attempt_at as "nextAttempt",
  d.clicks, outbox.payload, d.tries`;

type Row = Omit<MessageDelivery, 'type' | 'channel' | 'about'> & { readonly payload: StoredNotification };

const shown = ({ payload: { channel, about }, ...row }: Row): MessageDelivery => ({ ...row, type: about.type, channel, about });

// For each combination of channel, type and status, an index has the messages in order: only as many as the page needs are read of each.
const ofTenant = `
  select ${columns} from (
    select found.outbox, found.endpoint
      from unnest($2::integer[]) as queue cross join unnest($3::text[]) as kind cross join unnest($4::text[]) as status
     cross join lateral (
       select outbox, endpoint from deliveries
        where tenant = $1 and endpoint = queue and endpoint < 0 and deliveries.kind = kind.kind and deliveries.status = status.status
        order by outbox desc limit $5::integer + $6::integer) as found
     order by outbox desc limit $5::integer offset $6::integer) as page
  join deliveries as d using (outbox, endpoint) join outbox on outbox.id = d.outbox order by d.outbox desc`;

const ofUser = `
  select ${columns} from deliveries as d join outbox on outbox.id = d.outbox
   where d.tenant = $1 and d.user_id = $7 and d.endpoint = any($2::integer[]) and d.kind = any($3::text[]) and d.status = any($4::text[])
   order by d.outbox desc limit $5 offset $6`;

const exportQuery = `
  select ${columns} from deliveries as d join outbox on outbox.id = d.outbox
   where d.tenant = $1 and d.endpoint < 0 and d.created >= $2::timestamptz and d.created < $3::timestamptz order by d.outbox, d.endpoint`;

/** All messages to users that were queued in a span, the oldest first. Throws as LongReads.open does. */
export class MessageExport {
  private readonly reads: LongReads;

  constructor(reads: LongReads) {
    this.reads = reads;
  }

  messages(tenant: number, span: Span): Promise<OpenRows<MessageDelivery>> {
    return this.reads.open(tenant, { text: exportQuery, values: [tenant, ...boundsOf(span)] }, shown);
  }
}

/** The operators' view of messages to users. Throws a LaurelError `not_ready` while Postgres is unavailable. */
export class MessageAdmin {
  private readonly pool: pg.Pool;

  constructor(pool: pg.Pool) {
    this.pool = pool;
  }

  /** The messages that match, newest first. */
  async list(tenant: number, { type, channel, status, userId, limit, skip }: MessageQuery): Promise<readonly MessageDelivery[]> {
    const filters = [
      tenant,
      numberArray((channel === undefined ? channels : [channel]).map(queueOf)),
      textArray((type === undefined ? notificationTypes : [type]).map(messageKind)),
      textArray(status === undefined ? deliveryStatuses : [status]),
      limit,
      skip,
    ];
    const { rows } = await (userId === undefined ? this.query<Row>(ofTenant, filters) : this.query<Row>(ofUser, [...filters, userId]));
    return rows.map(shown);
  }

  /** How many messages there are by type, channel and status, of those that have not been deleted yet. */
  async totals(tenant: number): Promise<readonly MessageTotal[]> {
    const { rows } = await this.query<{ kind: string; queue: number; status: DeliveryStatus; count: number }>(
      `select kind, endpoint as queue, status, count(*)::integer as count from deliveries
        where tenant = $1 and endpoint < 0 group by 1, 2, 3`,
      [tenant],
    );
    const counts = new Map(rows.map(({ kind, queue, status, count }) => [`${kind} ${queue} ${status}`, count]));
    return notificationTypes.flatMap((type) =>
      channels.flatMap((channel) =>
        deliveryStatuses.flatMap((status) => {
          const count = counts.get(`${messageKind(type)} ${queueOf(channel)} ${status}`) ?? 0;
          return count === 0 ? [] : [{ type, channel, status, count }];
        }),
      ),
    );
  }

  /**
   * Makes a message pending again, whatever its status; one that waits for a retry is attempted now. `now` is the engine's time: the message is as
   * recent as a new one. Undefined if there is no such message.
   */
  async resend(tenant: number, id: string, now: number): Promise<MessageDelivery | undefined> {
    await this.query(
      `with again as (
         update deliveries
            set status = 'pending', next_attempt_at = now(), finished = null, attempts = case when status = 'pending' then attempts else 0 end
          where tenant = $1 and endpoint < 0 and id = $2 and claim is null returning outbox
       )
       update outbox set payload = jsonb_set(payload::jsonb, '{resent}', to_jsonb($3::text))::json from again where outbox.id = again.outbox`,
      [tenant, id, new Date(now).toISOString()],
    );
    const { rows } = await this.query<Row>(
      `select ${columns} from deliveries as d join outbox on outbox.id = d.outbox where d.tenant = $1 and d.endpoint < 0 and d.id = $2`,
      [tenant, id],
    );
    return rows[0] && shown(rows[0]);
  }

  /** Sends failed messages again: see resendFailed. `now` as for `resend`. */
  resendFailed(tenant: number, { type, channel, span, after }: FailedQuery, now: number): Promise<ResentStep> {
    const queues = (channel === undefined ? channels : [channel]).map(queueOf);
    const kinds = (type === undefined ? notificationTypes : [type]).map(messageKind);
    return withPostgresErrors(resendFailed(this.pool, { tenant, queues, kinds, span, after }, new Date(now).toISOString()));
  }

  private query<T extends pg.QueryResultRow>(text: string, values: unknown[]): Promise<pg.QueryResult<T>> {
    return withPostgresErrors(this.pool.query<T>(text, values));
  }
}

import type pg from 'pg';
import type { WebhookKind } from '../config/webhook-kinds.js';
import type { ActiveConfig } from '../plan/active-config.js';
import { numberArray, textArray } from '../postgres/arrays.js';

/** Something that subscribers are told. */
export interface OutboxMessage {
  readonly kind: WebhookKind;
  /** What order is kept for: `user:<id>`, `leaderboard:<no>`, `boost:<no>`. Messages of one subject reach an endpoint in the order in which they were added. */
  readonly subject: string;
  /** The user whom the message is about: it goes when the user is deleted. */
  readonly user?: string;
  /** Other users whom the payload names, by a field `userId` of an element of a list: the element goes when such a user is deleted. */
  readonly others?: readonly string[];
  /** When it happened, by the engine's clock. */
  readonly at: Date;
  /** The whole body that is sent, `type` included. */
  readonly payload: unknown;
}

/** The kinds that an active endpoint subscribes to: nobody hears of others, so they need not be made. */
export function subscribedKinds({ webhooks }: ActiveConfig): ReadonlySet<WebhookKind> {
  return new Set(webhooks.filter(({ status }) => status === 'active').flatMap(({ events }) => events));
}

// An endpoint that Laurel has switched off gets nothing, as if it were inactive (docs/webhooks.md).
const insert = `
  with message as (
    select * from unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::float8[], $7::text[])
      with ordinality as message (kind, subject, user_id, others, at, payload, ordinal)
  ), kept as (
    insert into outbox (tenant, kind, subject, user_id, others, at, payload)
    select $1, kind, subject, user_id, others::text[], to_timestamp(at / 1000.0), payload::json from message order by ordinal
    returning id, kind, subject, user_id
  )
  insert into webhook_deliveries (tenant, outbox, endpoint, kind, subject, user_id)
  select $1, kept.id, subscription.endpoint, kept.kind, kept.subject, kept.user_id
    from kept join unnest($8::text[], $9::integer[]) as subscription (kind, endpoint) on subscription.kind = kept.kind
   where not exists (
     select 1 from webhook_endpoints as known
      where known.tenant = $1 and known.no = subscription.endpoint and known.switched_off is not null)`;

/**
 * Keeps messages for the active endpoints of a tenant that subscribe to their kinds, within the transaction of `client`: when that commits,
 * they will be delivered; nobody is told of what was rolled back. Messages of kinds to which nobody subscribes are left out. Two statements
 * of one tenant that run at the same time would give no order, so only the holder of the tenant's lease adds messages. Returns how many
 * deliveries there are to make; when it is not 0, wake the Deliverer after the commit.
 */
export async function addToOutbox(
  client: pg.ClientBase,
  tenant: number,
  config: ActiveConfig,
  messages: readonly OutboxMessage[],
): Promise<number> {
  const kinds = subscribedKinds(config);
  const wanted = messages.filter(({ kind }) => kinds.has(kind));
  if (wanted.length === 0) return 0;
  const active = config.webhooks.filter(({ status }) => status === 'active');
  const subscriptions = active.flatMap(({ no, events }) => events.map((kind) => ({ kind, no })));
  const { rowCount } = await client.query({
    name: 'add-to-outbox',
    text: insert,
    values: [
      tenant,
      textArray(wanted.map(({ kind }) => kind)),
      textArray(wanted.map(({ subject }) => subject)),
      textArray(wanted.map(({ user }) => user ?? null)),
      textArray(wanted.map(({ others = [] }) => (others.length === 0 ? null : textArray(others)))),
      numberArray(wanted.map(({ at }) => at.getTime())),
      textArray(wanted.map(({ payload }) => JSON.stringify(payload))),
      textArray(subscriptions.map(({ kind }) => kind)),
      numberArray(subscriptions.map(({ no }) => no)),
    ],
  });
  return rowCount ?? 0;
}

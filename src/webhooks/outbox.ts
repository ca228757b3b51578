import type pg from 'pg';
import type { WebhookKind } from '../config/webhook-kinds.js';
import type { ActiveConfig } from '../plan/active-config.js';
import { numberArray, textArray } from '../postgres/arrays.js';

/** A message to subscribers. */
export interface OutboxMessage {
  readonly kind: WebhookKind;
  /** The unit of ordering: `user:<id>`, `leaderboard:<no>`, `boost:<no>`. An endpoint receives the messages of a subject in the order in which they were added. */
  readonly subject: string;
  /** The user of the message, which is deleted with the user. */
  readonly user?: string;
  /** Other users in the payload, by a field `userId` of a list element: the element is deleted with the user. */
  readonly others?: readonly string[];
  /** When it happened, by the engine's clock. */
  readonly at: Date;
  /** The whole body that is sent, `type` included. */
  readonly payload: unknown;
}

/** The kinds that active endpoints subscribe to. */
export function subscribedKinds({ webhooks }: ActiveConfig): ReadonlySet<WebhookKind> {
  return new Set(webhooks.filter(({ status }) => status === 'active').flatMap(({ events }) => events));
}

// An endpoint that Laurel has switched off receives no messages, like an inactive one (docs/rules/webhooks.md).
const insert = `
  with message as (
    select * from unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::float8[], $7::text[])
      with ordinality as message (kind, subject, user_id, others, at, payload, ordinal)
  ), added as (
    insert into outbox (tenant, kind, subject, user_id, others, at, payload)
    select $1, kind, subject, user_id, others::text[], to_timestamp(at / 1000.0), payload::json from message order by ordinal
    returning id, kind, subject, user_id
  )
  insert into deliveries (tenant, outbox, endpoint, kind, subject, user_id)
  select $1, added.id, subscription.endpoint, added.kind, added.subject, added.user_id
    from added join unnest($8::text[], $9::integer[]) as subscription (kind, endpoint) on subscription.kind = added.kind
   where not exists (
     select 1 from webhook_endpoints as known
      where known.tenant = $1 and known.no = subscription.endpoint and known.switched_off is not null)`;

/**
 * Adds messages for the active endpoints that subscribe to their kinds, within the transaction of `client`; other messages are ignored. Concurrent
 * statements of one tenant would have no order, so only the holder of the tenant's lease adds messages. Returns the number of deliveries; unless it
 * is 0, wake the Deliverer after the commit.
 */
export async function addToOutbox(
  client: pg.ClientBase,
  tenant: number,
  config: ActiveConfig,
  messages: readonly OutboxMessage[],
): Promise<number> {
  const kinds = subscribedKinds(config);
  const subscribed = messages.filter(({ kind }) => kinds.has(kind));
  if (subscribed.length === 0) return 0;
  const active = config.webhooks.filter(({ status }) => status === 'active');
  const subscriptions = active.flatMap(({ no, events }) => events.map((kind) => ({ kind, no })));
  const { rowCount } = await client.query({
    name: 'add-to-outbox',
    text: insert,
    values: [
      tenant,
      textArray(subscribed.map(({ kind }) => kind)),
      textArray(subscribed.map(({ subject }) => subject)),
      textArray(subscribed.map(({ user }) => user ?? null)),
      textArray(subscribed.map(({ others = [] }) => (others.length === 0 ? null : textArray(others)))),
      numberArray(subscribed.map(({ at }) => at.getTime())),
      textArray(subscribed.map(({ payload }) => JSON.stringify(payload))),
      textArray(subscriptions.map(({ kind }) => kind)),
      numberArray(subscriptions.map(({ no }) => no)),
    ],
  });
  return rowCount ?? 0;
}

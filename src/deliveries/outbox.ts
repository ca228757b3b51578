import type pg from 'pg';
import type { WebhookKind } from '../config/schema/webhook-kinds.js';
import type { ActiveConfig } from '../plan/active-config.js';
import { numberArray, textArray } from '../postgres/arrays.js';

/** What endpoints that subscribe to its kind receive. */
export interface WebhookEvent {
  readonly kind: WebhookKind;
  /**
   * The unit of ordering: `user:<id>`, `leaderboard:<no>`, `boost:<no>`; of a notification its kind and recipient. An endpoint receives the events
   * of a subject in the order in which they were added.
   */
  readonly subject: string;
  /** The user of the event, which is deleted with the user. */
  readonly user?: string;
  /** Other users in the payload, by a field `userId` of a list element: the element is deleted with the user. */
  readonly others?: readonly string[];
  /** When it happened, by the engine's clock. */
  readonly at: Date;
  /** The whole body that is sent, `type` included. */
  readonly payload: unknown;
}

/** A row of the outbox: an event of webhooks, or a notification by one channel and to one device; and the queues that deliver it. */
export interface OutboxEntry extends Omit<WebhookEvent, 'kind'> {
  readonly kind: string;
  /** Webhook endpoints and channels, each once. */
  readonly queues: readonly number[];
  /** Why its deliveries are not to be sent: they are only recorded. */
  readonly skipped?: string;
}

/** The kinds that active endpoints subscribe to. */
export function subscribedKinds({ webhooks }: ActiveConfig): ReadonlySet<WebhookKind> {
  return new Set(webhooks.filter(({ status }) => status === 'active').flatMap(({ events }) => events));
}

// An endpoint that Laurel has switched off receives no events, like an inactive one (docs/rules/webhooks.md). Ids ascend in the order of the insert.
const insert = `
  with entry as (
    select * from unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::float8[], $7::text[], $8::text[], $9::text[])
      with ordinality as entry (kind, subject, user_id, others, at, payload, queues, skipped, ordinal)
  ), added as (
    insert into outbox (tenant, kind, subject, user_id, others, at, payload)
    select $1, kind, subject, user_id, others::text[], to_timestamp(at / 1000.0), payload::json from entry order by ordinal
    returning id
  ), numbered as (
    select id, row_number() over (order by id) as ordinal from added
  )
  insert into deliveries (tenant, outbox, endpoint, kind, subject, user_id, status, finished, tries)
  select $1, numbered.id, queue, kind, subject, user_id, case when skipped is null then 'pending' else 'skipped' end,
         case when skipped is not null then now() end,
         case when skipped is null then '[]' else jsonb_build_array(jsonb_build_object(
           'at', to_char(now() at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'durationMs', 0, 'status', null, 'answer', null, 'error', skipped)) end
    from numbered join entry using (ordinal) cross join lateral unnest(queues::integer[]) as queue
   where not exists (
     select 1 from delivery_queues as known where known.tenant = $1 and known.no = queue and known.switched_off is not null)`;

/**
 * Adds entries with their deliveries, within the transaction of `client`. Concurrent statements of one tenant would have no order, so only the holder
 * of the tenant's lease adds entries. Returns the number of deliveries; unless it is 0, wake the Deliverer after the commit.
 */
export async function addEntries(client: pg.ClientBase, tenant: number, entries: readonly OutboxEntry[]): Promise<number> {
  if (entries.length === 0) return 0;
  const { rowCount } = await client.query({
    name: 'add-entries',
    text: insert,
    values: [
      tenant,
      textArray(entries.map(({ kind }) => kind)),
      textArray(entries.map(({ subject }) => subject)),
      textArray(entries.map(({ user }) => user ?? null)),
      textArray(entries.map(({ others = [] }) => (others.length === 0 ? null : textArray(others)))),
      numberArray(entries.map(({ at }) => at.getTime())),
      textArray(entries.map(({ payload }) => JSON.stringify(payload))),
      textArray(entries.map(({ queues }) => numberArray(queues))),
      textArray(entries.map(({ skipped }) => skipped ?? null)),
    ],
  });
  return rowCount ?? 0;
}

/** Events for the active endpoints that subscribe to their kinds; other events are left out. */
export function entriesOf(config: ActiveConfig, events: readonly WebhookEvent[]): OutboxEntry[] {
  const active = config.webhooks.filter(({ status }) => status === 'active');
  return events.flatMap((event) => {
    const subscribers = active.filter((webhook) => webhook.events.includes(event.kind));
    return subscribers.length === 0 ? [] : [{ ...event, queues: subscribers.map(({ no }) => no) }];
  });
}

/** Adds events for the endpoints that subscribe to their kinds, as addEntries does. */
export const publishEvents = (client: pg.ClientBase, config: ActiveConfig, events: readonly WebhookEvent[]): Promise<number> =>
  addEntries(client, config.tenant, entriesOf(config, events));

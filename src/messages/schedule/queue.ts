/** Puts what is due into the outbox: a user's notifications by every channel that reaches the user, and the webhooks about them. */
import type pg from 'pg';
import type { Channel, NotificationType } from '../../config/schema/message-types.js';
import { addEntries, entriesOf, type OutboxEntry, type WebhookEvent } from '../../deliveries/outbox.js';
import type { ProfileFact } from '../../ledger/entry.js';
import type { ActiveConfig } from '../../plan/active-config.js';
import { numberArray, textArray } from '../../postgres/arrays.js';
import { userFields } from '../../redis/contract.js';
import { userResponse } from '../../responses/users.js';
import { localDayOf } from '../../shared/zones.js';
import { channelsFor, messageKind, queueOf } from '../rules/channels.js';
import { type Audience, type Notification, type StoredNotification, webhookOf } from '../rules/notification.js';
import { deviceTokensOf, reachOf, receivesEmail, zoneOf } from '../rules/profiles.js';
import { sendableAt } from '../rules/times.js';

export interface QueueOptions {
  /** The engine's time, in milliseconds since 1970. */
  readonly now: number;
  /** The channels that this installation has. */
  readonly open: ReadonlySet<Channel>;
  readonly audiences: readonly Audience[];
}

/** A notification with the profile of its user. */
export interface DueNotification extends Notification {
  readonly profile: ProfileFact;
}

/** A notification that waits for its time. */
export interface Waiting {
  readonly audience: Audience;
  readonly notification: Notification;
  readonly dueAt: number;
}

/** Keeps notifications for later, within the transaction of `client`. */
export async function keepWaiting(client: pg.ClientBase, tenant: number, waiting: readonly Waiting[]): Promise<void> {
  if (waiting.length === 0) return;
  await client.query(
    `insert into scheduled_notifications (tenant, user_id, audience, type, at, due_at, data)
     select $1, user_id, audience, type, at, due_at, data::json
       from unnest($2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::text[]) as later (user_id, audience, type, at, due_at, data)`,
    [
      tenant,
      textArray(waiting.map(({ notification }) => notification.user)),
      textArray(waiting.map(({ audience }) => audience)),
      textArray(waiting.map(({ notification }) => notification.about.type)),
      numberArray(waiting.map(({ notification }) => notification.at)),
      numberArray(waiting.map(({ dueAt }) => dueAt)),
      textArray(waiting.map(({ notification }) => JSON.stringify(notification.about))),
    ],
  );
}

/** The payload of a webhook, without `type`, `timestamp` and `user`. */
function bodyOf({ about, streak }: Notification): Readonly<Record<string, unknown>> {
  switch (about.type) {
    case 'achievement_completed':
      return { achievement: about.achievements[0] };
    case 'recap':
      return { recap: { periodStart: about.periodStart, periodEnd: about.periodEnd } };
    case 'reactivation':
      return { reactivation: { messageNumber: about.messageNumber, daysSinceLastActive: about.daysSinceLastActive } };
    case 'streak_reminder':
      return { streak };
  }
}

/** The webhooks about users who receive emails: neither quiet hours nor the daily limit hold them back. */
function eventsOf(config: ActiveConfig, due: readonly DueNotification[], now: number): WebhookEvent[] {
  return due
    .filter(({ profile, about }) => receivesEmail(profile, about.type))
    .map((notification) => {
      const { user, at, about, profile } = notification;
      const kind = webhookOf[about.type];
      const head = { type: kind, timestamp: new Date(at).toISOString(), user: userResponse(config, user, profile) };
      return { kind, subject: `user:${user}`, user, at: new Date(now), payload: { ...head, ...bodyOf(notification) } };
    });
}

/** How far back notifications of a user's current day can be. */
const dayAndZonesMs = 50 * 3_600_000;

/** How many notifications each user was sent on each local day, by user and day. */
async function countSent(client: pg.ClientBase, tenant: number, users: readonly string[], now: number): Promise<Map<string, number>> {
  const { rows } = await client.query<{ user: string; day: string; count: number }>({
    name: 'count-notifications',
    text: `select user_id as user, payload ->> 'day' as day, count(distinct (kind, at))::integer as count from outbox
            where tenant = $1 and user_id = any($2::text[]) and starts_with(kind, 'message.') and at >= to_timestamp($3 / 1000.0)
              and payload ->> 'isOverLimit' is null
            group by 1, 2`,
    values: [tenant, textArray(users), now - dayAndZonesMs],
  });
  return new Map(rows.map(({ user, day, count }) => [`${day} ${user}`, count]));
}

/** The entries of a notification: one for each channel, and of push one for each device. */
function entriesOfUser(
  { user, at, about, profile }: DueNotification,
  { reach, day, isOverLimit }: { readonly reach: readonly Channel[]; readonly day: number; readonly isOverLimit: boolean },
): OutboxEntry[] {
  const base = {
    kind: messageKind(about.type),
    user,
    at: new Date(at),
    ...(isOverLimit ? { skipped: 'The daily limit is reached.' } : {}),
  };
  const stored = {
    timestamp: base.at.toISOString(),
    day,
    about,
    user: { tz: profile[userFields.tz] ?? null },
    ...(isOverLimit ? { isOverLimit: true as const } : {}),
  };
  return reach.flatMap((channel): OutboxEntry[] => {
    // Ordered within a type only: a notification that waits for its hour must not hold back those of other types.
    const of = (recipient: string, more: Pick<StoredNotification, 'token'>): OutboxEntry => {
      const payload: StoredNotification = { channel, ...stored, ...more };
      return { ...base, subject: `${base.kind} ${recipient}`, payload, queues: [queueOf(channel)] };
    };
    return channel === 'email' ? [of(`user:${user}`, {})] : deviceTokensOf(profile).map((token) => of(`device:${token}`, { token }));
  });
}

/** The entries of what may be sent to users now. Notifications in quiet hours are kept until these end. */
async function entriesOfUsers(
  client: pg.ClientBase,
  config: ActiveConfig,
  notifications: readonly DueNotification[],
  { now, open }: QueueOptions,
): Promise<OutboxEntry[]> {
  const { tenant, document } = config;
  const due = notifications.flatMap((notification) => {
    const { type } = notification.about;
    const reach = reachOf(notification.profile, type, channelsFor(document, type, open));
    return reach.length > 0 ? [{ notification, reach }] : [];
  });
  if (due.length === 0) return [];
  const users = due.map(({ notification }) => notification.user);
  const sent = await countSent(client, tenant, users, now);
  const later: Waiting[] = [];
  const entries = due.flatMap(({ notification, reach }) => {
    const zone = zoneOf(config, notification.profile);
    const dueAt = sendableAt(notification.about.type, document, zone, now);
    if (dueAt === undefined) return [];
    if (dueAt > now) {
      later.push({ audience: 'user', notification, dueAt });
      return [];
    }
    const day = localDayOf(now, zone);
    const key = `${day} ${notification.user}`;
    const count = sent.get(key) ?? 0;
    sent.set(key, count + 1);
    return entriesOfUser(notification, { reach, day, isOverLimit: count >= document.messages.maxPerUserDay });
  });
  await keepWaiting(client, tenant, later);
  return entries;
}

/**
 * Queues what is due within the transaction of `client`, in the order of the tenant's ledger: webhooks for the endpoints that subscribe to them, and
 * notifications to users, those in quiet hours later. At most `maxPerUserDay` of a user's day are sent. Returns the number of deliveries; unless it is
 * 0, wake the Deliverer after the commit.
 */
export async function queueNotifications(
  client: pg.ClientBase,
  config: ActiveConfig,
  due: readonly DueNotification[],
  options: QueueOptions,
): Promise<number> {
  const { audiences, now } = options;
  const webhooks = audiences.includes('webhook') ? entriesOf(config, eventsOf(config, due, now)) : [];
  const notifications = audiences.includes('user') ? await entriesOfUsers(client, config, due, options) : [];
  return addEntries(client, config.tenant, [...webhooks, ...notifications]);
}

/** Whether notifications of a type are sent to users at all. */
export const isSent = ({ document }: ActiveConfig, type: NotificationType, open: ReadonlySet<Channel>): boolean =>
  channelsFor(document, type, open).length > 0;

/** Queues notifications: messages of a type to a user, by every channel that reaches the user. */
import type pg from 'pg';
import type { Channel, NotificationType } from '../../config/schema/message-types.js';
import type { ProfileFact } from '../../ledger/entry.js';
import type { ActiveConfig } from '../../plan/active-config.js';
import { type OutboxEntry, addEntries } from '../../deliveries/outbox.js';
import { numberArray, textArray } from '../../postgres/arrays.js';
import { userFields } from '../../redis/contract.js';
import type { NotificationAbout, StoredNotification } from '../rules/notification.js';
import { channelsFor, messageKind, queueOf } from '../rules/channels.js';
import { deviceTokensOf, reachOf, readProfiles, zoneOf } from '../rules/profiles.js';
import { localDayOf, sendableAt } from '../rules/times.js';

/** A message of a type that is due for a user. */
export interface Notification {
  readonly user: string;
  /** When it became due, in milliseconds since 1970. */
  readonly at: number;
  readonly about: NotificationAbout;
}

export interface QueueOptions {
  /** The engine's time, in milliseconds since 1970. */
  readonly now: number;
  /** The channels that this installation has. */
  readonly open: ReadonlySet<Channel>;
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

/** The messages of a notification: one for each channel, and of push one for each device. */
function messagesOf(
  { user, at, about }: Notification,
  profile: ProfileFact,
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
    ...{ day, about, user: { tz: profile[userFields.tz] ?? null } },
    ...(isOverLimit ? { isOverLimit: true as const } : {}),
  };
  return reach.flatMap((channel): OutboxEntry[] => {
    // Ordered within a type only: a message that waits for its hour must not hold back those of other types.
    const of = (recipient: string, more: Pick<StoredNotification, 'token'>): OutboxEntry => {
      const payload: StoredNotification = { channel, ...stored, ...more };
      return { ...base, subject: `${base.kind} ${recipient}`, payload, queues: [queueOf(channel)] };
    };
    return channel === 'email' ? [of(`user:${user}`, {})] : deviceTokensOf(profile).map((token) => of(`device:${token}`, { token }));
  });
}

/** Keeps notifications for later, within the transaction of `client`. */
export async function schedule(
  client: pg.ClientBase,
  tenant: number,
  later: readonly { readonly notification: Notification; readonly dueAt: number }[],
): Promise<void> {
  if (later.length === 0) return;
  await client.query(
    `insert into scheduled_messages (tenant, user_id, type, at, due_at, data)
     select $1, user_id, type, at, due_at, data::json
       from unnest($2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::text[]) as later (user_id, type, at, due_at, data)`,
    [
      tenant,
      textArray(later.map(({ notification }) => notification.user)),
      textArray(later.map(({ notification }) => notification.about.type)),
      numberArray(later.map(({ notification }) => notification.at)),
      numberArray(later.map(({ dueAt }) => dueAt)),
      textArray(later.map(({ notification }) => JSON.stringify(notification.about))),
    ],
  );
}

/** A notification with the user's profile and the channels that reach the user. */
interface Reachable {
  readonly notification: Notification;
  readonly profile: ProfileFact;
  readonly reach: readonly Channel[];
}

/** Those notifications that reach their users. */
async function reachable(
  client: pg.ClientBase,
  { tenant, document }: ActiveConfig,
  notifications: readonly Notification[],
  open: ReadonlySet<Channel>,
): Promise<Reachable[]> {
  const profiles = await readProfiles(
    client,
    tenant,
    notifications.map(({ user }) => user),
  );
  return notifications.flatMap((notification) => {
    const { type } = notification.about;
    const profile = profiles.get(notification.user);
    const reach = profile ? reachOf(profile, type, channelsFor(document, type, open)) : [];
    return profile && reach.length > 0 ? [{ notification, profile, reach }] : [];
  });
}

/**
 * Queues notifications within the transaction of `client`, in the order of the tenant's ledger; those in quiet hours are scheduled for their end. At
 * most `maxPerUserDay` of a user's day are sent. Returns the number of deliveries; unless it is 0, wake the Deliverer after the commit.
 */
export async function queueNotifications(
  client: pg.ClientBase,
  config: ActiveConfig,
  notifications: readonly Notification[],
  { now, open }: QueueOptions,
): Promise<number> {
  const { tenant, document } = config;
  const found = await reachable(client, config, notifications, open);
  if (found.length === 0) return 0;
  const sent = await countSent(
    client,
    tenant,
    found.map(({ notification }) => notification.user),
    now,
  );
  const later: { notification: Notification; dueAt: number }[] = [];
  const messages = found.flatMap(({ notification, profile, reach }) => {
    const zone = zoneOf(config, profile);
    const dueAt = sendableAt(notification.about.type, document, zone, now);
    if (dueAt === undefined) return [];
    if (dueAt > now) {
      later.push({ notification, dueAt });
      return [];
    }
    const day = localDayOf(now, zone);
    const key = `${day} ${notification.user}`;
    const count = sent.get(key) ?? 0;
    sent.set(key, count + 1);
    return messagesOf(notification, profile, { reach, day, isOverLimit: count >= document.messages.maxPerUserDay });
  });
  await schedule(client, tenant, later);
  return addEntries(client, tenant, messages);
}

/** Whether messages of a type are sent at all. */
export const isSent = ({ document }: ActiveConfig, type: NotificationType, open: ReadonlySet<Channel>): boolean =>
  channelsFor(document, type, open).length > 0;

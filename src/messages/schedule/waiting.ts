/**
 * Notifications that wait for their time in `scheduled_notifications`: achievements for their hours and for others to join them, any for the end of
 * quiet hours, and the webhooks about achievements for the hours of emails.
 */
import type pg from 'pg';
import type { Channel } from '../../config/schema/message-types.js';
import type { ProfileFact } from '../../ledger/entry.js';
import type { ActiveConfig } from '../../plan/active-config.js';
import { numberArray, textArray } from '../../postgres/arrays.js';
import { userFields } from '../../redis/contract.js';
import { limits } from '../../shared/limits.js';
import { channelsFor } from '../rules/channels.js';
import type { Audience, CompletedAchievement, Notification, NotificationAbout } from '../rules/notification.js';
import { reachOf, readProfiles, zoneOf } from '../rules/profiles.js';
import { achievementDueAt, isAchievementHour, newestOccurrence, nextAchievementHour, sendableAt } from '../rules/times.js';
import { keepWaiting, queueNotifications, type QueueOptions, type Waiting } from './queue.js';
import { hasChangedDefaultZone } from './recipients.js';

/** An achievement that a user has completed, and the user's profile then. */
export interface Completion {
  readonly user: string;
  /** When it was completed, in milliseconds since 1970. */
  readonly at: number;
  readonly achievement: CompletedAchievement;
  readonly profile: ProfileFact;
}

/** Whether the webhook about an achievement is due at once. */
export const isDueAtOnce = (config: ActiveConfig, { at, profile }: Completion): boolean =>
  isAchievementHour(config.document, zoneOf(config, profile), at);

/** Schedules what is sent about completed achievements later, within the transaction of `client`: to users, and with `isSubscribed` to endpoints. */
export async function scheduleAchievements(
  client: pg.ClientBase,
  config: ActiveConfig,
  completions: readonly Completion[],
  { open, isSubscribed }: { readonly open: ReadonlySet<Channel>; readonly isSubscribed: boolean },
): Promise<void> {
  const channels = channelsFor(config.document, 'achievement_completed', open);
  const later = completions.flatMap((completion): Waiting[] => {
    const { user, at, achievement, profile } = completion;
    const notification: Notification = { user, at, about: { type: 'achievement_completed', achievements: [achievement] } };
    const zone = zoneOf(config, profile);
    const isReached = reachOf(profile, 'achievement_completed', channels).length > 0;
    const toUser = { audience: 'user', notification, dueAt: achievementDueAt(config.document, zone, at) } as const;
    const toEndpoints = { audience: 'webhook', notification, dueAt: nextAchievementHour(config.document, zone, at) } as const;
    return [...(isReached ? [toUser] : []), ...(isSubscribed && !isDueAtOnce(config, completion) ? [toEndpoints] : [])];
  });
  await keepWaiting(client, config.tenant, later);
}

interface Row {
  readonly id: string;
  readonly user: string;
  readonly at: string;
  readonly about: NotificationAbout;
}

/** Whether the time of anything that waits has come. */
export async function isAnyDue(pool: pg.Pool, tenant: number, audience: Audience, now: number): Promise<boolean> {
  const { rowCount } = await pool.query(
    'select 1 from scheduled_notifications where tenant = $1 and audience = $2 and due_at <= $3 limit 1',
    [tenant, audience, now],
  );
  return rowCount === 1;
}

/** The notifications whose time has come; of achievements to a user, all that the same user has completed, which join them. Locks them. */
async function readDue(client: pg.ClientBase, tenant: number, audience: Audience, now: number): Promise<Row[]> {
  const { rows } = await client.query<Row>({
    name: 'due-scheduled-notifications',
    text: `with due as (
        select id, user_id, audience, type from scheduled_notifications
         where tenant = $1 and audience = $2 and due_at <= $3 order by due_at, id limit ${limits.emailPageUsers}
      ), joined as (
        select id from due
        union
        select together.id from (
          select distinct user_id from due where audience = 'user' and type = 'achievement_completed') as users cross join lateral (
          select id from scheduled_notifications
           where tenant = $1 and user_id = users.user_id and audience = 'user' and type = 'achievement_completed' offset 0) as together
      )
      select id, user_id as user, at, data as about from scheduled_notifications where id in (select id from joined) order by id for update`,
    values: [tenant, audience, now],
  });
  return rows;
}

/** Notifications of the same type and user as one, by the ids of their rows. */
interface Group {
  readonly ids: string[];
  readonly notification: Notification;
}

/** One notification for each row; for the achievements of a user, one for all of them. A webhook is about one achievement. */
function grouped(rows: readonly Row[], audience: Audience): Group[] {
  const groups = new Map<string, Group>();
  for (const { id, user, at, about } of rows) {
    const key = audience === 'user' && about.type === 'achievement_completed' ? `user ${user}` : `row ${id}`;
    const { ids, notification } = groups.get(key) ?? { ids: [], notification: { user, at: Number(at), about } };
    const earlier = ids.length > 0 ? notification.about : undefined;
    const joined =
      earlier?.type === 'achievement_completed' && about.type === 'achievement_completed'
        ? { ...about, achievements: [...earlier.achievements, ...about.achievements] }
        : about;
    groups.set(key, { ids: [...ids, id], notification: { ...notification, about: joined } });
  }
  return [...groups.values()];
}

/** The time from which a notification may be queued; undefined if it is dropped. A time that has passed is when it became due. */
type TimeOf = (notification: Notification, profile: ProfileFact) => number | undefined;

const userTimes =
  (config: ActiveConfig, now: number): TimeOf =>
  ({ about }, profile) =>
    sendableAt(about.type, config.document, zoneOf(config, profile), now);

/** The times since which users live in their zones, in milliseconds since 1970. */
async function readMoved(client: pg.ClientBase, tenant: number, users: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const { rows } = await client.query<{ id: string; moved: Date }>(
    'select id, moved from users where tenant = $1 and id = any($2::text[])',
    [tenant, textArray(users)],
  );
  return new Map(rows.map(({ id, moved }) => [id, moved.getTime()]));
}

/**
 * A webhook is due when the hours for achievements have begun in the user's zone, after the achievement and after the user moved there: a user who moves
 * follows the clock of the new zone. (Users without a zone move when the default zone changes.)
 */
async function webhookTimes(client: pg.ClientBase, config: ActiveConfig, users: readonly string[], now: number): Promise<TimeOf> {
  const { document, tenant } = config;
  const moved = await readMoved(client, tenant, users);
  const { defaultTimeZone } = document.settings;
  const ofDefaultZone = newestOccurrence('emails.achievement_due', document, defaultTimeZone, now);
  const isDefaultNew = ofDefaultZone !== undefined && (await hasChangedDefaultZone(client, config, ofDefaultZone.at));
  return ({ user, at }, profile) => {
    const zone = zoneOf(config, profile);
    const newest = newestOccurrence('emails.achievement_due', document, zone, now);
    const hasMoved = (moved.get(user) ?? Infinity) > (newest?.at ?? 0) || (!profile[userFields.tz] && isDefaultNew);
    return newest && at < newest.at && !hasMoved ? newest.at : nextAchievementHour(document, zone, now);
  };
}

async function postpone(client: pg.ClientBase, later: readonly { readonly id: string; readonly time: number }[]): Promise<void> {
  if (later.length === 0) return;
  await client.query(
    `update scheduled_notifications set due_at = later.due_at from unnest($1::bigint[], $2::bigint[]) as later (id, due_at)
      where scheduled_notifications.id = later.id`,
    [textArray(later.map(({ id }) => id)), numberArray(later.map(({ time }) => time))],
  );
}

/** Queues a page of what waits for an audience and whose time has come. A user who has moved may have to wait longer. Returns the deliveries. */
export async function queueWaiting(
  client: pg.ClientBase,
  config: ActiveConfig,
  audience: Audience,
  { now, open }: Omit<QueueOptions, 'audiences'>,
): Promise<number> {
  const { tenant } = config;
  const groups = grouped(await readDue(client, tenant, audience, now), audience);
  if (groups.length === 0) return 0;
  const users = groups.map(({ notification }) => notification.user);
  const profiles = await readProfiles(client, tenant, users);
  const timeOf = audience === 'user' ? userTimes(config, now) : await webhookTimes(client, config, users, now);
  const timed = groups.map(({ ids, notification }) => {
    const profile = profiles.get(notification.user);
    return { ids, notification, profile, time: profile && timeOf(notification, profile) };
  });
  const isLater = (time: number | undefined): time is number => time !== undefined && time > now;
  await postpone(
    client,
    timed.flatMap(({ ids, time }) => (isLater(time) ? ids.map((id) => ({ id, time })) : [])),
  );
  const done = timed.filter(({ time }) => !isLater(time));
  await client.query('delete from scheduled_notifications where id = any($1::bigint[])', [textArray(done.flatMap(({ ids }) => ids))]);
  const due = done.flatMap(({ notification, profile, time }) => {
    if (!profile || time === undefined) return [];
    return [{ ...notification, profile, at: audience === 'webhook' ? time : notification.at }];
  });
  return queueNotifications(client, config, due, { now, open, audiences: [audience] });
}

/** Has the times of webhooks computed again at the next sweep: those about some users, or all. */
export async function computeTimesAgain(client: pg.ClientBase | pg.Pool, tenant: number, users?: readonly string[]): Promise<void> {
  if (users?.length === 0) return;
  await client.query(
    `update scheduled_notifications set due_at = 0
      where tenant = $1 and audience = 'webhook' and ($2::text[] is null or user_id = any($2::text[]))`,
    [tenant, users ? textArray(users) : null],
  );
}

/** Deletes what waits of types that are switched off: once they are on again, it would be too old. */
export async function unscheduleOthers(
  pool: pg.Pool,
  tenant: number,
  sent: readonly { readonly audience: Audience; readonly type: string }[],
): Promise<void> {
  await pool.query(
    `delete from scheduled_notifications
      where tenant = $1 and not exists (
        select 1 from unnest($2::text[], $3::text[]) as sent (audience, type)
         where sent.audience = scheduled_notifications.audience and sent.type = scheduled_notifications.type)`,
    [tenant, textArray(sent.map(({ audience }) => audience)), textArray(sent.map(({ type }) => type))],
  );
}

/** Messages that wait for their time: achievements for their hours and for others to join them, and any message for the end of quiet hours. */
import type pg from 'pg';
import type { Channel, NotificationType } from '../../config/schema/message-types.js';
import { betweenBatches } from '../../ledger/offsets.js';
import type { ProfileFact } from '../../ledger/entry.js';
import type { ActiveConfig } from '../../plan/active-config.js';
import { numberArray, textArray } from '../../postgres/arrays.js';
import { limits } from '../../shared/limits.js';
import type { CompletedAchievement, NotificationAbout } from '../rules/notification.js';
import { channelsFor } from '../rules/channels.js';
import { type Notification, queueNotifications, type QueueOptions, schedule } from './notifications.js';
import type { CompletedDraft } from './pending-achievements.js';
import { reachOf, readProfiles, zoneOf } from '../rules/profiles.js';
import { achievementDueAt, sendableAt } from '../rules/times.js';

/** An achievement that a user has completed, and the user's profile then. */
export interface Completion {
  readonly draft: CompletedDraft;
  readonly profile: ProfileFact;
}

/** Schedules the messages about completed achievements, within the transaction of `client`. */
export async function scheduleAchievements(
  client: pg.ClientBase,
  config: ActiveConfig,
  completions: readonly Completion[],
  open: ReadonlySet<Channel>,
): Promise<void> {
  const channels = channelsFor(config.document, 'achievement_completed', open);
  const later = completions
    .filter(({ profile }) => reachOf(profile, 'achievement_completed', channels).length > 0)
    .map(({ draft: { user, at, body }, profile }) => {
      const achievements = [body['achievement'] as CompletedAchievement];
      const notification: Notification = { user, at, about: { type: 'achievement_completed', achievements } };
      return { notification, dueAt: achievementDueAt(config.document, zoneOf(config, profile), at) };
    });
  await schedule(client, config.tenant, later);
}

interface Row {
  readonly id: string;
  readonly user: string;
  readonly at: string;
  readonly about: NotificationAbout;
}

/** The messages whose time has come; of achievements, all that the same users have completed, which join them. Locks them. */
async function readDue(client: pg.ClientBase, tenant: number, now: number): Promise<Row[]> {
  const { rows } = await client.query<Row>({
    name: 'due-scheduled-messages',
    text: `with due as (
        select id, user_id, type from scheduled_messages where tenant = $1 and due_at <= $2 order by due_at, id limit ${limits.emailPageUsers}
      ), joined as (
        select id from due
        union
        select together.id from (select distinct user_id from due where type = 'achievement_completed') as users cross join lateral (
          select id from scheduled_messages where tenant = $1 and user_id = users.user_id and type = 'achievement_completed' offset 0) as together
      )
      select id, user_id as user, at, data as about from scheduled_messages where id in (select id from joined) order by id for update`,
    values: [tenant, now],
  });
  return rows;
}

/** Notifications of the same type and user as one, by the ids of their rows. */
interface Group {
  readonly ids: string[];
  readonly notification: Notification;
}

/** One notification for each row; for the achievements of a user, one for all of them. */
function grouped(rows: readonly Row[]): Group[] {
  const groups = new Map<string, Group>();
  for (const { id, user, at, about } of rows) {
    const key = about.type === 'achievement_completed' ? `user ${user}` : `row ${id}`;
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

/** The time from which a notification may be sent to a user with this profile; undefined if it is not sent. */
function timeOf(config: ActiveConfig, type: NotificationType, profile: ProfileFact | undefined, now: number): number | undefined {
  return profile && sendableAt(type, config.document, zoneOf(config, profile), now);
}

/** Queues a page of messages whose time has come. A user who has moved may have to wait longer. Returns the deliveries, and whether there was a page. */
async function publishPage(client: pg.ClientBase, config: ActiveConfig, options: QueueOptions): Promise<[sent: number, found: boolean]> {
  const { tenant } = config;
  const { now } = options;
  const groups = grouped(await readDue(client, tenant, now));
  if (groups.length === 0) return [0, false];
  const profiles = await readProfiles(
    client,
    tenant,
    groups.map(({ notification }) => notification.user),
  );
  const timed = groups.map((group) => {
    const { user, about } = group.notification;
    return { ...group, time: timeOf(config, about.type, profiles.get(user), now) };
  });
  const later = timed.flatMap(({ ids, time }) => (time !== undefined && time > now ? ids.map((id) => ({ id, time })) : []));
  await client.query(
    'update scheduled_messages set due_at = later.due_at from unnest($1::bigint[], $2::bigint[]) as later (id, due_at) where scheduled_messages.id = later.id',
    [textArray(later.map(({ id }) => id)), numberArray(later.map(({ time }) => time))],
  );
  const done = timed.filter(({ time }) => time === undefined || time <= now);
  await client.query('delete from scheduled_messages where id = any($1::bigint[])', [textArray(done.flatMap(({ ids }) => ids))]);
  const due = done.filter(({ time }) => time !== undefined);
  const sent = await queueNotifications(
    client,
    config,
    due.map(({ notification }) => notification),
    options,
  );
  return [sent, true];
}

/** Queues the messages whose time has come, in at most `pages` transactions. Returns the number of deliveries. */
export async function publishScheduled(
  pool: pg.Pool,
  config: ActiveConfig,
  { pages, ...options }: QueueOptions & { readonly pages: number },
): Promise<number> {
  let sent = 0;
  for (let page = 0; page < pages; page += 1) {
    const { rowCount } = await pool.query('select 1 from scheduled_messages where tenant = $1 and due_at <= $2 limit 1', [
      config.tenant,
      options.now,
    ]);
    if (rowCount === 0) break;
    const [more, found] = await betweenBatches(pool, config.tenant, (client) => publishPage(client, config, options));
    sent += more;
    if (!found) break;
  }
  return sent;
}

/** Deletes the scheduled messages of types that are switched off: once they are on again, the messages would be too old. */
export async function unscheduleOthers(pool: pg.Pool, tenant: number, sent: readonly NotificationType[]): Promise<void> {
  await pool.query('delete from scheduled_messages where tenant = $1 and type <> all($2::text[])', [tenant, textArray(sent)]);
}

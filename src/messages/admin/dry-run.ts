import type pg from 'pg';
import { type Channel, type NotificationType } from '../../config/schema/message-types.js';
import type { Stores } from '../../engine/leaderboards.js';
import { readStreaks } from '../../engine/streaks.js';
import type { ActiveConfig } from '../../plan/active-config.js';
import { userFields } from '../../redis/contract.js';
import { dayToDate } from '../../shared/calendar.js';
import { limits } from '../../shared/limits.js';
import { localDayOf } from '../../shared/zones.js';
import { configuredChannels } from '../rules/channels.js';
import { reachOf, readProfiles } from '../rules/profiles.js';
import { readPage, readWeekChanges, zonesOf } from '../schedule/recipients.js';
import { typeOf, webhookOf } from '../rules/notification.js';
import { periodToRemindOf } from '../rules/streak-reminder.js';
import { dueOn, isScheduledDay, type Rules, rulesIn, sendableAt, type UserScheduleKind } from '../rules/times.js';
import type { Confirmations } from '../addresses/confirmations.js';
import type { Suppressions } from '../addresses/suppressions.js';

export interface DryRunTools {
  readonly stores: Stores;
  readonly pool: pg.Pool;
  readonly suppressions: Suppressions;
  /** Undefined unless CONFIRM_ADDRESSES is on. */
  readonly confirmations: Confirmations | undefined;
}

/** How many users messages of a type reach by each channel. */
export type RecipientCounts = Readonly<Record<Channel, number>>;

const none: RecipientCounts = { email: 0, push: 0 };

const sum = (a: RecipientCounts, b: RecipientCounts): RecipientCounts => ({ email: a.email + b.email, push: a.push + b.push });

/** Counts those users whom messages of a type reach; users of suppressed addresses, and of those that are not confirmed, are not reached by email. */
async function countReached(
  { pool, suppressions, confirmations }: DryRunTools,
  { tenant, document }: ActiveConfig,
  type: NotificationType,
  ids: readonly string[],
): Promise<RecipientCounts> {
  const profiles = await readProfiles(pool, tenant, ids);
  const channels = configuredChannels(document, type);
  const reached = Array.from(profiles, ([user, profile]) => ({
    user,
    address: profile[userFields.email] ?? '',
    channels: reachOf(profile, type, channels),
  }));
  const emails = reached.filter(({ channels: by }) => by.includes('email'));
  const suppressed = await suppressions.among(
    pool,
    tenant,
    emails.map(({ address }) => address),
  );
  const confirmed = await confirmations?.among(tenant, new Map(emails.map(({ user, address }) => [user, address])));
  return {
    email: emails.filter(({ user, address }) => !suppressed.has(address) && confirmed?.has(user) !== false).length,
    push: reached.filter(({ channels: by }) => by.includes('push')).length,
  };
}

/** Those users who are reminded of their streak on a local day, and whose period is not over on the one on which quiet hours let the message leave. */
async function toRemind(
  { engine }: Stores,
  config: ActiveConfig,
  ids: readonly string[],
  { day, leaves }: { readonly day: number; readonly leaves: number },
): Promise<string[]> {
  const reminded: string[] = [];
  for (let first = 0; first < ids.length; first += limits.dryRunStreaks) {
    const some = ids.slice(first, first + limits.dryRunStreaks);
    const facts = await readStreaks(engine, config.tenant, some);
    reminded.push(...some.filter((_, i) => (periodToRemindOf(config, facts[i], day) ?? '') >= dayToDate(leaves)));
  }
  return reminded;
}

/** Counts the recipients of a zone on its current local day, page by page. */
async function countZone(
  tools: DryRunTools,
  config: ActiveConfig,
  kind: UserScheduleKind,
  place: { readonly zone: string; readonly day: number; readonly at: number; readonly rules: Rules },
): Promise<RecipientCounts> {
  const type = typeOf[kind];
  const channels = configuredChannels(config.document, type);
  const isReachable = (profile: Parameters<typeof reachOf>[0]): boolean => reachOf(profile, type, channels).length > 0;
  const name = place.zone || config.document.settings.defaultTimeZone;
  const leaves = localDayOf(sendableAt(type, config.document, name, place.at) ?? place.at, name);
  let counts = none;
  let after: string | undefined = '';
  while (after !== undefined) {
    const page = await readPage(tools.pool, config, { kind, isReachable, ...place, after });
    const all = page.recipients.map(({ id }) => id);
    const ids = type === 'streak_reminder' ? await toRemind(tools.stores, config, all, { day: place.day, leaves }) : all;
    counts = sum(counts, await countReached(tools, config, type, ids));
    after = page.last;
  }
  return counts;
}

/** Counts the users with achievements whose messages are scheduled; none if all hours of these messages are quiet. */
async function countScheduled(tools: DryRunTools, config: ActiveConfig, now: number): Promise<RecipientCounts> {
  const { defaultTimeZone } = config.document.settings;
  if (sendableAt('achievement_completed', config.document, defaultTimeZone, now) === undefined) return none;
  let counts = none;
  let after: string | undefined = '';
  while (after !== undefined) {
    const { rows }: { rows: { user: string }[] } = await tools.pool.query<{ user: string }>(
      `select distinct user_id as user from scheduled_notifications
        where tenant = $1 and audience = 'user' and type = 'achievement_completed' and user_id > $2 order by 1 limit ${limits.emailPageUsers}`,
      [config.tenant, after],
    );
    const users = rows.map(({ user }) => user);
    counts = sum(counts, await countReached(tools, config, 'achievement_completed', users));
    after = users.length === limits.emailPageUsers ? users.at(-1) : undefined;
  }
  return counts;
}

/**
 * Counts the users whom messages of a type would reach today, on each user's local day, by channel. `now` is the engine's time. Streaks that are
 * extended and users who become active later in the day change the numbers. Of achievements, those that wait for their time. Nothing is queued or sent.
 */
export async function countRecipients(
  tools: DryRunTools,
  config: ActiveConfig,
  type: NotificationType,
  now: number,
): Promise<RecipientCounts> {
  const { tenant, document } = config;
  const { clock, history } = tools.stores;
  await history.waitFor(tenant, (await clock.ledgerId(tenant)).ledgerId);
  const kind = webhookOf[type];
  if (kind === 'emails.achievement_due') return countScheduled(tools, config, now);
  const weekChanges = await readWeekChanges(tools.pool, config);
  let counts = none;
  for (const zone of await zonesOf(tools.pool, tenant)) {
    const name = zone || document.settings.defaultTimeZone;
    const day = localDayOf(now, name);
    const rules = rulesIn(name, document, weekChanges);
    if (!isScheduledDay(kind, rules, day)) continue;
    counts = sum(counts, await countZone(tools, config, kind, { zone, day, at: dueOn(kind, rules, name, day), rules }));
  }
  return counts;
}

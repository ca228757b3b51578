/** What is checked right before a message is sent: much may have happened since it was queued. */
import type pg from 'pg';
import type { Channel, NotificationType } from '../../config/schema/message-types.js';
import type { UserState } from '../../engine/users.js';
import { numberArray } from '../../postgres/arrays.js';
import { dateToDay } from '../../shared/calendar.js';
import { limits } from '../../shared/limits.js';
import { localDayOf } from '../../shared/zones.js';
import { configuredChannels } from '../rules/channels.js';
import type { StoredNotification } from '../rules/notification.js';
import { hasDevice, hasStreaks, reachOf, zoneOf } from '../rules/profiles.js';
import { endingPeriod } from '../rules/streak-reminder.js';
import { quietUntil, sendableAt } from '../rules/times.js';

/** For how long after it became due a message of a type is sent. */
export const maxAgeMs = (type: NotificationType): number =>
  type === 'achievement_completed' ? limits.achievementMaxAgeMs : limits.messageMaxAgeMs;

/** Why a user is not reached any more; undefined if the user is. */
function unreachable({ config, profile }: UserState, type: NotificationType, { channel, token }: StoredNotification): string | undefined {
  if (!configuredChannels(config.document, type).includes(channel)) return 'Messages of this type are switched off for the channel.';
  if (reachOf(profile, type, [channel]).length === 0) return reasons[channel];
  if (token !== undefined && !hasDevice(profile, token)) return 'The user no longer has the device token.';
  return undefined;
}

const reasons: Readonly<Record<Channel, string>> = {
  email: 'The user no longer receives emails of this type.',
  push: 'The user no longer receives push notifications of this type.',
};

/** The user's local day on which a message became due, in days since 1970-01-01. It may have been queued on the next one, after quiet hours. */
const dueDayOf = ({ config }: UserState, { timestamp, user }: StoredNotification): number =>
  localDayOf(Date.parse(timestamp), user.tz ?? config.document.settings.defaultTimeZone);

/** Whether a user had an event after a local day, in days since 1970-01-01. */
async function isActiveSince(pool: pg.Pool, { config }: UserState, user: string, day: number): Promise<boolean> {
  const metrics = numberArray(config.document.metrics.map(({ no }) => no));
  const { rows } = await pool.query<{ day: string | null }>({
    name: 'newest-day-with-events',
    text: `select to_char(max(day), 'YYYY-MM-DD') as day from user_days
            where tenant = $1 and user_id = $2 and object = any($3::integer[]) and events > 0`,
    values: [config.tenant, user, metrics],
  });
  const newest = rows[0]?.day ?? null;
  return newest !== null && dateToDay(newest) > day;
}

/** Why a message is no longer true or useful; undefined if it is. */
async function outdated(pool: pg.Pool, state: UserState, user: string, message: StoredNotification): Promise<string | undefined> {
  const { about } = message;
  switch (about.type) {
    case 'achievement_completed':
    case 'recap':
      return undefined;
    case 'reactivation': {
      const lastDay = dueDayOf(state, message) - about.daysSinceLastActive;
      return (await isActiveSince(pool, state, user, lastDay)) ? 'The user is active again.' : undefined;
    }
    case 'streak_reminder': {
      const isStillEnding = hasStreaks(state.profile) && endingPeriod(state.config, state.streak)?.last === about.periodEnd;
      return isStillEnding ? undefined : 'The streak was extended, lost, paused or switched off.';
    }
  }
}

/** How long ago a message became due, or was sent again by an operator, at a time of the engine's clock. */
export const ageMs = ({ timestamp, resent = timestamp }: StoredNotification, now: number): number => now - Date.parse(resent);

/** Why a message must not be sent to a user in this state; undefined if it may be. Whether an address is suppressed is checked apart. */
export async function whySkipped(pool: pg.Pool, state: UserState, user: string, message: StoredNotification): Promise<string | undefined> {
  const { about } = message;
  if (ageMs(message, state.now) > maxAgeMs(about.type)) return 'It could not be sent in time.';
  return unreachable(state, about.type, message) ?? outdated(pool, state, user, message);
}

/** Why a message waits, and until when; `until` is undefined if its hours are all quiet. */
export interface Wait {
  readonly reason: string;
  readonly until: number | undefined;
}

/**
 * Why a message must not be sent yet: quiet hours, or the end of the hours for achievements, which a retry can miss. An operator may send it again at
 * any time that is not quiet. Undefined if it may be sent.
 */
export function whyWaiting({ config, profile, now }: UserState, { about, resent }: StoredNotification): Wait | undefined {
  const { document } = config;
  const zone = zoneOf(config, profile);
  const quietEnd = quietUntil(document.messages, zone, now);
  const until = resent === undefined ? sendableAt(about.type, document, zone, now) : (quietEnd ?? now);
  if (until === now) return undefined;
  return { reason: quietEnd === undefined ? 'Outside of the hours for achievements.' : 'Quiet hours.', until };
}

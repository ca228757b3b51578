import type pg from 'pg';
import type { Channel, NotificationType } from '../../config/schema/message-types.js';
import type { ProfileFact } from '../../ledger/entry.js';
import { profileColumns, profileOf, type ProfileRow } from '../../history/user-directory.js';
import type { ActiveConfig } from '../../plan/active-config.js';
import { textArray } from '../../postgres/arrays.js';
import { userFields } from '../../redis/contract.js';
import { userResponse } from '../../responses/users.js';
import type { UserResponse } from '../../responses/users.js';
import { deviceOf } from '../../shared/device-tokens.js';

// One look-up in the primary key for each user, whatever the statistics: `id = any(…)` read the whole tenant while a table had not been analyzed yet.
const query = {
  name: 'profiles-of-users',
  text: `select ${profileColumns} from unnest($2::text[]) as wanted (user_id)
          cross join lateral (select * from users where tenant = $1 and id = wanted.user_id limit 1) as users`,
};

/** The profiles of users in Postgres, in the fields of their hashes; unknown users have none. */
export async function readProfiles(
  client: pg.ClientBase | pg.Pool,
  tenant: number,
  ids: readonly string[],
): Promise<Map<string, ProfileFact>> {
  const unique = [...new Set(ids)];
  if (unique.length === 0) return new Map();
  const { rows } = await client.query<ProfileRow>({ ...query, values: [tenant, textArray(unique)] });
  return new Map(rows.map((row) => [row.id, profileOf(row)]));
}

/** The same, as API responses. */
export async function readUsers(client: pg.ClientBase, config: ActiveConfig, ids: readonly string[]): Promise<Map<string, UserResponse>> {
  const profiles = await readProfiles(client, config.tenant, ids);
  return new Map([...profiles].map(([id, profile]) => [id, userResponse(config, id, profile)]));
}

/** The time zone of a user with a profile. */
export const zoneOf = ({ document }: ActiveConfig, profile: ProfileFact): string =>
  profile[userFields.tz] || document.settings.defaultTimeZone;

/** Whether a user takes messages of a type by a channel: has not opted out of it, and is not in the control group. */
function takes(profile: ProfileFact, type: NotificationType, channel: Channel): boolean {
  const preferred = profile[userFields.notification + type];
  const isOn = preferred === undefined || (JSON.parse(preferred) as Channel[]).includes(channel);
  return isOn && profile[userFields.control] !== '1';
}

/** Whether a user receives emails of a type: takes them, is subscribed, and has an address. */
export function receivesEmail(profile: ProfileFact, type: NotificationType): boolean {
  const hasAddress = (profile[userFields.email] ?? '') !== '';
  return hasAddress && profile[userFields.subscribeToEmails] === '1' && takes(profile, type, 'email');
}

/** Whether a user has not switched streaks off. */
export function hasStreaks(profile: ProfileFact): boolean {
  const stored = profile[userFields.streakPreferences];
  return !stored || (JSON.parse(stored) as { enabled?: boolean }).enabled !== false;
}

/** A token of each of the user's devices, the first in the list. */
export function deviceTokensOf(profile: ProfileFact): readonly string[] {
  const stored = profile[userFields.deviceTokens];
  const tokens = new Map<string, string>();
  for (const token of stored ? (JSON.parse(stored) as string[]) : []) {
    const device = deviceOf(token);
    if (!tokens.has(device)) tokens.set(device, token);
  }
  return [...tokens.values()];
}

/** Whether a user has the device of a token. */
export const hasDevice = (profile: ProfileFact, token: string): boolean =>
  deviceTokensOf(profile).some((other) => deviceOf(other) === deviceOf(token));

/** Those of some channels by which a user receives messages of a type. */
export function reachOf(profile: ProfileFact, type: NotificationType, channels: readonly Channel[]): Channel[] {
  return channels.filter((channel) => {
    switch (channel) {
      case 'email':
        return receivesEmail(profile, type);
      case 'push':
        return deviceTokensOf(profile).length > 0 && takes(profile, type, 'push');
    }
  });
}

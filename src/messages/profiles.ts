import type pg from 'pg';
import type { ProfileFact } from '../ledger/entry.js';
import { profileColumns, profileOf, type ProfileRow } from '../ledger/user-directory.js';
import type { ActiveConfig } from '../plan/active-config.js';
import { textArray } from '../postgres/arrays.js';
import { userFields } from '../redis/contract.js';
import { userResponse } from '../responses/users.js';
import type { UserResponse } from '../responses/users.js';

const query = {
  name: 'profiles-of-users',
  text: `select ${profileColumns} from users where tenant = $1 and id = any($2::text[])`,
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

/**
 * Whether a user receives emails of a type (`achievement_completed`, `recap`, `reactivation`, `streak_reminder`): subscribed, with an address, not
 * opted out of the type, and not in the control group.
 */
export function receivesEmail(profile: ProfileFact, type: string): boolean {
  const channels = profile[userFields.notification + type];
  const isOn = channels === undefined || (JSON.parse(channels) as string[]).includes('email');
  const hasAddress = (profile[userFields.email] ?? '') !== '';
  return isOn && hasAddress && profile[userFields.subscribeToEmails] === '1' && profile[userFields.control] !== '1';
}

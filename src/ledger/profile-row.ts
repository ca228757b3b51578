import { userFields } from '../redis/contract.js';
import type { ProfileFact } from './entry.js';

/** What of a row of `users` makes the profile. */
export interface ProfileRow {
  readonly id: string;
  readonly name: string | null;
  readonly email: string | null;
  readonly tz: string | null;
  readonly subscribe_to_emails: boolean;
  readonly device_tokens: readonly string[] | null;
  readonly attributes: Readonly<Record<string, string>>;
  readonly preferences: Readonly<Record<string, string>>;
  readonly control: boolean;
  readonly created: Date;
  readonly updated: Date;
}

/** The columns of a `ProfileRow`. */
export const profileColumns = 'id, name, email, tz, subscribe_to_emails, device_tokens, attributes, preferences, control, created, updated';

/** A row as the fields of the user's hash; what is not set has none. */
export function profileOf(row: ProfileRow): ProfileFact {
  const fields: Record<string, string | null> = {
    ...row.preferences,
    [userFields.name]: row.name,
    [userFields.email]: row.email,
    [userFields.tz]: row.tz,
    [userFields.subscribeToEmails]: row.subscribe_to_emails ? '1' : '0',
    [userFields.deviceTokens]: row.device_tokens && JSON.stringify(row.device_tokens),
    [userFields.control]: row.control ? '1' : '0',
    [userFields.created]: String(row.created.getTime()),
    [userFields.updated]: String(row.updated.getTime()),
  };
  for (const [no, value] of Object.entries(row.attributes)) fields[userFields.attribute + no] = value;
  return Object.fromEntries(Object.entries(fields).filter((field): field is [string, string] => field[1] !== null));
}

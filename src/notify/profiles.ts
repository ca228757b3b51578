import type pg from 'pg';
import type { ProfileFact } from '../ledger/entry.js';
import type { ActiveConfig } from '../plan/active-config.js';
import { textArray } from '../postgres/arrays.js';
import { userFields } from '../redis/contract.js';
import { userResponse } from '../users/response.js';
import type { UserResponse } from '../users/shapes.js';

interface Row {
  readonly id: string;
  readonly name: string | null;
  readonly email: string | null;
  readonly tz: string | null;
  readonly subscribed: boolean;
  readonly tokens: unknown;
  readonly attributes: Readonly<Record<string, string>>;
  readonly control: boolean;
  readonly preferences: Readonly<Record<string, string>>;
  readonly created: string;
  readonly updated: string;
}

const moment = (column: string): string => `(extract(epoch from ${column}) * 1000)::bigint::text`;

const query = {
  name: 'profiles-of-users',
  text: `select id, name, email, tz, subscribe_to_emails as subscribed, device_tokens as tokens, attributes, control, preferences,
                ${moment('created')} as created, ${moment('updated')} as updated
           from users where tenant = $1 and id = any($2::text[])`,
};

/** A row as the fields of the user's hash. */
function fieldsOf({ name, email, tz, subscribed, tokens, attributes, control, preferences, created, updated }: Row): ProfileFact {
  const texts = Object.entries({ [userFields.name]: name, [userFields.email]: email, [userFields.tz]: tz });
  return {
    ...preferences,
    ...Object.fromEntries(texts.filter((field): field is [string, string] => field[1] !== null)),
    ...(tokens === null ? {} : { [userFields.deviceTokens]: JSON.stringify(tokens) }),
    ...Object.fromEntries(Object.entries(attributes).map(([no, value]) => [userFields.attribute + no, value])),
    [userFields.subscribeToEmails]: subscribed ? '1' : '0',
    [userFields.control]: control ? '1' : '0',
    [userFields.created]: created,
    [userFields.updated]: updated,
  };
}

/** The profiles of users, by the fields of their hashes, as Postgres has them in the transaction of `client`; those whom it does not have are left out. */
export async function readProfiles(
  client: pg.ClientBase | pg.Pool,
  tenant: number,
  ids: readonly string[],
): Promise<Map<string, ProfileFact>> {
  const unique = [...new Set(ids)];
  if (unique.length === 0) return new Map();
  const { rows } = await client.query<Row>({ ...query, values: [tenant, textArray(unique)] });
  return new Map(rows.map((row) => [row.id, fieldsOf(row)]));
}

/** The same, as the APIs show them. */
export async function readUsers(client: pg.ClientBase, config: ActiveConfig, ids: readonly string[]): Promise<Map<string, UserResponse>> {
  const profiles = await readProfiles(client, config.tenant, ids);
  return new Map([...profiles].map(([id, profile]) => [id, userResponse(config, id, profile)]));
}

/**
 * Whether a user is written to: one who is subscribed and has an address, has not turned off e-mails of this type (`achievement_completed`, `recap`,
 * `reactivation`, `streak_reminder`), and is not in the control group.
 */
export function isWrittenTo(profile: ProfileFact, type: string): boolean {
  const channels = profile[userFields.notification + type];
  const isOn = channels === undefined || (JSON.parse(channels) as string[]).includes('email');
  const hasAddress = (profile[userFields.email] ?? '') !== '';
  return isOn && hasAddress && profile[userFields.subscribeToEmails] === '1' && profile[userFields.control] !== '1';
}

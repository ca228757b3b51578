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
  readonly created: string;
  readonly updated: string;
}

const moment = (column: string): string => `(extract(epoch from ${column}) * 1000)::bigint::text`;

const query = {
  name: 'profiles-of-users',
  text: `select id, name, email, tz, subscribe_to_emails as subscribed, device_tokens as tokens, attributes, control,
                ${moment('created')} as created, ${moment('updated')} as updated
           from users where tenant = $1 and id = any($2::text[])`,
};

/** A row as the fields of the user's hash. */
function fieldsOf({ name, email, tz, subscribed, tokens, attributes, control, created, updated }: Row): ProfileFact {
  const texts = Object.entries({ [userFields.name]: name, [userFields.email]: email, [userFields.tz]: tz });
  return {
    ...Object.fromEntries(texts.filter((field): field is [string, string] => field[1] !== null)),
    ...(tokens === null ? {} : { [userFields.deviceTokens]: JSON.stringify(tokens) }),
    ...Object.fromEntries(Object.entries(attributes).map(([no, value]) => [userFields.attribute + no, value])),
    [userFields.subscribeToEmails]: subscribed ? '1' : '0',
    [userFields.control]: control ? '1' : '0',
    [userFields.created]: created,
    [userFields.updated]: updated,
  };
}

/** Users as the APIs show them, as Postgres has them in the transaction of `client`; those whom it does not have are left out. */
export async function readUsers(client: pg.ClientBase, config: ActiveConfig, ids: readonly string[]): Promise<Map<string, UserResponse>> {
  const unique = [...new Set(ids)];
  if (unique.length === 0) return new Map();
  const { rows } = await client.query<Row>({ ...query, values: [config.tenant, textArray(unique)] });
  return new Map(rows.map((row) => [row.id, userResponse(config, row.id, fieldsOf(row))]));
}

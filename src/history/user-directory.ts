import type pg from 'pg';
import { withPostgresErrors } from '../postgres/failure.js';
import { userFields } from '../redis/contract.js';
import type { ProfileFact } from '../ledger/entry.js';

/** The columns of `users` that make the profile. */
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

export const profileColumns = 'id, name, email, tz, subscribe_to_emails, device_tokens, attributes, preferences, control, created, updated';

/** A row as the fields of the user's hash; unset columns have no field. */
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

/** A listed user; the profile has the fields of the user's Redis hash. */
export interface ListedUser {
  readonly id: string;
  readonly profile: ProfileFact;
}

export interface UserListQuery {
  readonly limit: number;
  readonly skip: number;
  /** A prefix of the id or the email address, or words of which each is a prefix of a word of the name. Without it, all users. */
  readonly search?: string | undefined;
}

/** The LIKE pattern of a prefix. */
const prefixPattern = (text: string): string => `${text.replace(/[\\%_]/g, '\\$&')}%`;

/** The text search query for names in which each word is a prefix of a word; empty when there are no words. */
const wordQuery = (text: string): string =>
  text
    .split(/\s+/)
    .filter((word) => /[\p{L}\p{N}]/u.test(word))
    .map((word) => `'${word.replace(/[\\']/g, '$&$&')}':*`)
    .join(' & ');

const allUsers = `select ${profileColumns} from users where tenant = $1 order by id collate "C" limit $2 offset $3`;

/** The search is materialized first, from its indexes: finding few users among many in id order would read nearly all rows. */
const foundUsers = `
  with found as materialized (
    select ${profileColumns} from users
     where tenant = $1 and (id collate "C" like $4 or lower(email) like lower($4)
       or to_tsvector('simple', coalesce(name, '')) @@ to_tsquery('simple', $5)))
  select * from found order by id collate "C" limit $2 offset $3`;

/** Lists and searches users in Postgres. */
export class UserDirectory {
  private readonly pool: pg.Pool;

  constructor(pool: pg.Pool) {
    this.pool = pool;
  }

  /** Users in the byte order of their ids. Callers first wait for the write-behind (HistoryReader.waitFor). */
  async list(tenant: number, { limit, skip, search }: UserListQuery): Promise<ListedUser[]> {
    const query =
      search === undefined
        ? this.pool.query<ProfileRow>(allUsers, [tenant, limit, skip])
        : this.pool.query<ProfileRow>(foundUsers, [tenant, limit, skip, prefixPattern(search), wordQuery(search)]);
    const { rows } = await withPostgresErrors(query);
    return rows.map((row) => ({ id: row.id, profile: profileOf(row) }));
  }
}

import type pg from 'pg';
import { postgresFailure } from '../postgres/pool.js';
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

/** A user of the list: the profile in the fields that Redis has it in. */
export interface ListedUser {
  readonly id: string;
  readonly profile: ProfileFact;
}

export interface UserListQuery {
  readonly limit: number;
  readonly skip: number;
  /** The start of an id or an e-mail address, or words of which each begins a word of the name. Without it, everybody. */
  readonly search?: string | undefined;
}

/** A pattern of LIKE for the texts that start so. */
const startsWith = (text: string): string => `${text.replace(/[\\%_]/g, '\\$&')}%`;

/** A text search for names in which each of the words begins a word; empty when there are no words. */
const hasWords = (text: string): string =>
  text
    .split(/\s+/)
    .filter((word) => /[\p{L}\p{N}]/u.test(word))
    .map((word) => `'${word.replace(/[\\']/g, '$&$&')}':*`)
    .join(' & ');

const everybody = `select ${profileColumns} from users where tenant = $1 order by id collate "C" limit $2 offset $3`;

/** Whom a search finds is worked out first, from the indexes: looking for few users among many by their order would read nearly all. */
const found = `
  with found as materialized (
    select ${profileColumns} from users
     where tenant = $1 and (id collate "C" like $4 or lower(email) like lower($4)
       or to_tsvector('simple', coalesce(name, '')) @@ to_tsquery('simple', $5)))
  select * from found order by id collate "C" limit $2 offset $3`;

/** The list of users, which Postgres answers. */
export class UserDirectory {
  private readonly pool: pg.Pool;

  constructor(pool: pg.Pool) {
    this.pool = pool;
  }

  /** Users by id, byte by byte. Postgres must have what the caller may know already (HistoryReader.waitFor). */
  async list(tenant: number, { limit, skip, search }: UserListQuery): Promise<ListedUser[]> {
    const values = [tenant, limit, skip];
    try {
      const { rows } =
        search === undefined
          ? await this.pool.query<ProfileRow>(everybody, values)
          : await this.pool.query<ProfileRow>(found, [...values, startsWith(search), hasWords(search)]);
      return rows.map((row) => ({ id: row.id, profile: profileOf(row) }));
    } catch (error) {
      throw postgresFailure(error);
    }
  }
}

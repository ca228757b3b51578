import type pg from 'pg';
import { withPostgresErrors } from '../postgres/failure.js';
import { userFields } from '../redis/contract.js';
import { limits } from '../shared/limits.js';
import { addressTerm, wordsOf } from '../shared/search-terms.js';
import type { ProfileFact } from '../ledger/entry.js';

/** The columns of `users` that make the profile. */
export interface ProfileRow {
  readonly id: string;
  readonly name: string | null;
  readonly email: string | null;
  readonly tz: string | null;
  /** In days since 1970-01-01. */
  readonly sign_up_day: number | null;
  readonly subscribe_to_emails: boolean;
  readonly device_tokens: readonly string[] | null;
  readonly attributes: Readonly<Record<string, string>>;
  readonly preferences: Readonly<Record<string, string>>;
  readonly control: boolean;
  readonly created: Date;
  readonly updated: Date;
}

export const profileColumns = `
  id, name, email, tz, sign_up_date - date '1970-01-01' as sign_up_day, subscribe_to_emails, device_tokens, attributes, preferences, control, created,
  updated`;

/** A row as the fields of the user's hash; unset columns have no field. */
export function profileOf(row: ProfileRow): ProfileFact {
  const fields: Record<string, string | null> = {
    ...row.preferences,
    [userFields.name]: row.name,
    [userFields.email]: row.email,
    [userFields.tz]: row.tz,
    [userFields.signUpDay]: row.sign_up_day === null ? null : String(row.sign_up_day),
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

const beginning = (term: string): string => `'${term.replace(/[\\']/g, '$&$&')}':*`;

/** The tsquery of a search among users of a tenant: the address begins with the text, or each word begins a word of the name. */
const termsQuery = (tenant: number, text: string): string => {
  const ofTenant = (term: string): string => beginning(`${tenant} ${term}`);
  const words = wordsOf(text).map(ofTenant);
  return [ofTenant(addressTerm(text)), ...(words.length > 0 ? [`(${words.join(' & ')})`] : [])].join(' | ');
};

/** Reads the rows of a page of ids, and no row that is skipped: the index has the ids. */
const pageOf = (ids: string): string => `
  with ${ids}
  select ${profileColumns.replace('id,', 'users.id,')} from page join users on tenant = $1 and users.id = page.id order by users.id collate "C"`;

const allUsers = pageOf(`page as materialized (select id from users where tenant = $1 order by id collate "C" limit $2 offset $3)`);

/** As the index users_by_search. */
const terms = `array_to_tsvector(string_to_array(tenant::text || ' ' || replace(search_terms, e'\\n', e'\\n' || tenant::text || ' '), e'\\n'))`;
const hasPrefix = 'id collate "C" like $4';
const hasTerms = `${terms} @@ $5::tsquery`;

/** Looks at the first users by id only: a page of a search that finds many is among them, and an index would list all before the first. */
const foundNear = `
  select ${profileColumns} from (
    select * from users where tenant = $1 order by id collate "C" limit ${limits.searchedUsersNear}) as users
   where ${hasPrefix} or ${hasTerms} order by id collate "C" limit $2 offset $3`;

/**
 * Finds ids first, from the indexes: finding few users among many in id order would read nearly all rows. Ids with a prefix stand next to each other
 * in the index, so that no more of them than the page needs are read, however many there are.
 */
const foundAnywhere = pageOf(`
  prefixed as materialized (
    select id from users where tenant = $1 and ${hasPrefix} order by id collate "C" limit $2::bigint + $3::bigint),
  named as materialized (select id from users where tenant = $1 and ${hasTerms}),
  page as materialized (
    select id from (select id from prefixed union select id from named) as found order by id collate "C" limit $2 offset $3)`);

/** Lists and searches users in Postgres. */
export class UserDirectory {
  private readonly pool: pg.Pool;

  constructor(pool: pg.Pool) {
    this.pool = pool;
  }

  /** Users in the byte order of their ids. Callers first wait for the write-behind (HistoryReader.waitFor). */
  async list(tenant: number, { limit, skip, search }: UserListQuery): Promise<ListedUser[]> {
    const rows =
      search === undefined
        ? await this.query(allUsers, [tenant, limit, skip])
        : await this.search([tenant, limit, skip, prefixPattern(search), termsQuery(tenant, search)]);
    return rows.map((row) => ({ id: row.id, profile: profileOf(row) }));
  }

  private async search(values: readonly [tenant: number, limit: number, skip: number, ...unknown[]]): Promise<ProfileRow[]> {
    const [, limit, skip] = values;
    const near = skip < limits.searchedUsersNear ? await this.query(foundNear, values) : [];
    return near.length === limit ? near : this.query(foundAnywhere, values);
  }

  private async query(text: string, values: readonly unknown[]): Promise<ProfileRow[]> {
    return (await withPostgresErrors(this.pool.query<ProfileRow>(text, [...values]))).rows;
  }
}

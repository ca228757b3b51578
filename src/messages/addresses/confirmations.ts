import type pg from 'pg';
import { withPostgresErrors } from '../../postgres/failure.js';
import type { Suppressions } from './suppressions.js';

/** A user's address. */
export interface UserAddress {
  readonly tenant: number;
  readonly user: string;
  readonly address: string;
}

/** Whether the user has confirmed the address. `sent`: the user has a confirmation with a link. */
export interface Confirmation {
  readonly status: 'none' | 'sent' | 'confirmed';
  /** When the newest confirmation was sent. */
  readonly sent: Date | null;
  readonly confirmed: Date | null;
}

/**
 * Addresses that users have confirmed (docs/messages-unsubscribe.md). There is one entry for each user, with the hash of the address that it is about:
 * another address needs a confirmation of its own.
 */
export class Confirmations {
  private readonly pool: pg.Pool;
  private readonly suppressions: Suppressions;

  constructor(pool: pg.Pool, suppressions: Suppressions) {
    this.pool = pool;
    this.suppressions = suppressions;
  }

  async find({ tenant, user, address }: UserAddress): Promise<Confirmation> {
    const { rows } = await this.query<Omit<Confirmation, 'status'>>(
      'select sent, confirmed from address_confirmations where tenant = $1 and user_id = $2 and address = $3',
      [tenant, user, await this.suppressions.hash(address)],
    );
    const [row] = rows;
    if (!row) return { status: 'none', sent: null, confirmed: null };
    return { status: row.confirmed === null ? 'sent' : 'confirmed', ...row };
  }

  /** Those of `users`, whose addresses they are, who have confirmed them: one statement for a page of users. */
  async among(tenant: number, users: ReadonlyMap<string, string>): Promise<Set<string>> {
    const { rows } = await this.query<{ user: string; address: Buffer }>(
      `select user_id as user, address from address_confirmations
        where tenant = $1 and user_id = any($2::text[]) and confirmed is not null`,
      [tenant, [...users.keys()]],
    );
    const hashes = await Promise.all(rows.map(({ user }) => this.suppressions.hash(users.get(user) ?? '')));
    return new Set(rows.filter(({ address }, i) => hashes[i]?.equals(address)).map(({ user }) => user));
  }

  /** Notes that a confirmation was sent. An address that is confirmed stays so. */
  noteSent(address: UserAddress): Promise<void> {
    return this.save(address, 'sent');
  }

  /** Notes that the user has confirmed the address. */
  noteConfirmed(address: UserAddress): Promise<void> {
    return this.save(address, 'confirmed');
  }

  /** The entry of a user who was deleted is not created again. */
  private async save({ tenant, user, address }: UserAddress, column: 'sent' | 'confirmed'): Promise<void> {
    const first = column === 'confirmed' ? 'coalesce(old.confirmed, now())' : 'old.confirmed';
    await this.query(
      `insert into address_confirmations as old (tenant, user_id, address, ${column})
       select $1, $2, $3, now() from users where tenant = $1 and id = $2
       on conflict (tenant, user_id) do update set
         address = excluded.address,
         sent = coalesce(excluded.sent, old.sent),
         confirmed = case when old.address = excluded.address then ${first} else excluded.confirmed end`,
      [tenant, user, await this.suppressions.hash(address)],
    );
  }

  private query<T extends pg.QueryResultRow>(text: string, values: unknown[]): Promise<pg.QueryResult<T>> {
    return withPostgresErrors(this.pool.query<T>(text, values));
  }
}

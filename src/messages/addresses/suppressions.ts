import { createHmac } from 'node:crypto';
import type pg from 'pg';
import { withPostgresErrors } from '../../postgres/failure.js';
import { canonicalAddress } from './address.js';
import { Secret } from '../../access/secret.js';

/** Why an address is suppressed, as the check of the table has it. */
export const suppressionReasons = ['refused', 'bounced', 'complained', 'manual'] as const;
export type SuppressionReason = (typeof suppressionReasons)[number];

/** The entry of an address. */
export interface Suppression {
  readonly reason: SuppressionReason;
  readonly created: Date;
}

/**
 * The addresses of each tenant that receive no emails. Only the HMAC-SHA-256 of an address is stored, with a key of the installation, so the entry
 * stays after its user was deleted (docs/messages-unsubscribe.md).
 */
export class Suppressions {
  private readonly pool: pg.Pool;
  private readonly secret: Secret;

  constructor(pool: pg.Pool) {
    this.pool = pool;
    this.secret = new Secret(pool, 'suppressions');
  }

  /** Suppresses an address. A newer reason replaces an older one. */
  async add(tenant: number, address: string, reason: SuppressionReason): Promise<Suppression> {
    const { rows } = await this.query<Suppression>(
      `insert into suppressions (tenant, address, reason) values ($1, $2, $3)
       on conflict (tenant, address) do update set reason = excluded.reason returning reason, created`,
      [tenant, await this.hash(address), reason],
    );
    const [row] = rows;
    if (!row) throw new Error('a suppression was not stored');
    return row;
  }

  /** Allows emails to an address again. Returns whether it was suppressed. */
  async remove(tenant: number, address: string): Promise<boolean> {
    const { rowCount } = await this.query('delete from suppressions where tenant = $1 and address = $2', [
      tenant,
      await this.hash(address),
    ]);
    return rowCount === 1;
  }

  /** The entry of an address; undefined for an address that is not suppressed. */
  async find(tenant: number, address: string): Promise<Suppression | undefined> {
    const { rows } = await this.query<Suppression>('select reason, created from suppressions where tenant = $1 and address = $2', [
      tenant,
      await this.hash(address),
    ]);
    return rows[0];
  }

  async has(tenant: number, address: string): Promise<boolean> {
    return (await this.find(tenant, address)) !== undefined;
  }

  /** Those of `addresses`, as they are written there, that are suppressed: one statement for a page of users. */
  async among(client: pg.ClientBase | pg.Pool, tenant: number, addresses: readonly string[]): Promise<Set<string>> {
    if (addresses.length === 0) return new Set();
    const hashes = await Promise.all(addresses.map((address) => this.hash(address)));
    const { rows } = await client.query<{ address: Buffer }>({
      name: 'suppressed-addresses',
      text: 'select address from suppressions where tenant = $1 and address = any($2::bytea[])',
      values: [tenant, hashes],
    });
    const found = new Set(rows.map(({ address }) => address.toString('hex')));
    return new Set(addresses.filter((_, i) => found.has(hashes[i]?.toString('hex') ?? '')));
  }

  /** The hash of an address, by which it is stored. */
  async hash(address: string): Promise<Buffer> {
    return createHmac('sha256', await this.secret.read())
      .update(canonicalAddress(address))
      .digest();
  }

  private query<T extends pg.QueryResultRow>(text: string, values: unknown[]): Promise<pg.QueryResult<T>> {
    return withPostgresErrors(this.pool.query<T>(text, values));
  }
}

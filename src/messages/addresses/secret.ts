import { randomBytes } from 'node:crypto';
import type pg from 'pg';
import { withPostgresErrors } from '../../postgres/failure.js';
import { limits } from '../../shared/limits.js';

/** The keys that messages use: to sign links, and to hash suppressed addresses. */
export type SecretName = 'message-links' | 'suppressions';

/** A key of the installation, the same in all processes: generated when it is first needed, then cached. */
export class Secret {
  private readonly pool: pg.Pool;
  private readonly name: SecretName;
  private value: Promise<Buffer> | undefined;

  constructor(pool: pg.Pool, name: SecretName) {
    this.pool = pool;
    this.name = name;
  }

  /** The key. Throws a LaurelError `not_ready` if Postgres is away before the first read. */
  read(): Promise<Buffer> {
    this.value ??= withPostgresErrors(this.load()).catch((error: unknown) => {
      this.value = undefined;
      throw error;
    });
    return this.value;
  }

  private async load(): Promise<Buffer> {
    // Of processes that generate it at once, one inserts, and all read what it has inserted.
    await this.pool.query('insert into secrets (name, value) values ($1, $2) on conflict do nothing', [
      this.name,
      randomBytes(limits.secretBytes),
    ]);
    const { rows } = await this.pool.query<{ value: Buffer }>('select value from secrets where name = $1', [this.name]);
    const [row] = rows;
    if (!row) throw new Error(`the secret ${this.name} was deleted`);
    return row.value;
  }
}

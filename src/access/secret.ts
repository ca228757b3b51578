import { randomBytes } from 'node:crypto';
import type pg from 'pg';
import { withPostgresErrors } from '../postgres/failure.js';
import { limits } from '../shared/limits.js';

/** The keys: to sign the links of messages, to hash suppressed addresses, and to sign live tokens. */
export type SecretName = 'message-links' | 'suppressions' | 'live-tokens';

/** A key of the installation, the same in all processes: generated when it is first needed, then cached for limits.secretFreshMs. */
export class Secret {
  private readonly pool: pg.Pool;
  private readonly name: SecretName;
  private readonly now: () => number;
  private known: Buffer | undefined;
  private freshUntil = -Infinity;
  private reading: Promise<Buffer> | undefined;

  constructor(pool: pg.Pool, name: SecretName, now: () => number = () => performance.now()) {
    this.pool = pool;
    this.name = name;
    this.now = now;
  }

  /** The key; while Postgres is away, the last one that was read. Throws a LaurelError `not_ready` if Postgres is away before the first read. */
  async read(): Promise<Buffer> {
    if (this.known && this.now() < this.freshUntil) return this.known;
    this.reading ??= this.readAgain();
    return this.reading;
  }

  /** Replaces the key. Other processes use the new one within limits.secretFreshMs. */
  async rotate(): Promise<void> {
    const sql = 'insert into secrets (name, value) values ($1, $2) on conflict (name) do update set value = excluded.value';
    await withPostgresErrors(this.pool.query(sql, [this.name, randomBytes(limits.secretBytes)]));
    this.freshUntil = -Infinity;
  }

  private async readAgain(): Promise<Buffer> {
    try {
      this.known = await withPostgresErrors(this.load());
    } catch (error) {
      if (!this.known) throw error;
    } finally {
      this.reading = undefined;
    }
    this.freshUntil = this.now() + limits.secretFreshMs;
    return this.known;
  }

  private async load(): Promise<Buffer> {
    const known = await this.find();
    if (known) return known;
    // Of processes that generate it at once, one inserts, and all read what it has inserted.
    await this.pool.query('insert into secrets (name, value) values ($1, $2) on conflict do nothing', [
      this.name,
      randomBytes(limits.secretBytes),
    ]);
    const created = await this.find();
    if (!created) throw new Error(`the secret ${this.name} was deleted`);
    return created;
  }

  private async find(): Promise<Buffer | undefined> {
    return (await this.pool.query<{ value: Buffer }>('select value from secrets where name = $1', [this.name])).rows[0]?.value;
  }
}

import type pg from 'pg';
import { numberArray, textArray } from '../postgres/arrays.js';

/** When keys were last used: noted in memory with each request, and written down for each key at most once an interval. */
export class KeyUse {
  private used = new Map<string, number>();

  note(keyId: string): void {
    this.used.set(keyId, Date.now());
  }

  /** Writes down what has been noted since the last time. */
  async flush(pool: pg.Pool): Promise<void> {
    if (this.used.size === 0) return;
    const noted = this.used;
    this.used = new Map();
    try {
      await pool.query(
        `update api_keys as key set last_used = greatest(key.last_used, to_timestamp(row.at / 1000.0))
           from unnest($1::uuid[], $2::float8[]) as row (id, at) where key.id = row.id`,
        [textArray([...noted.keys()]), numberArray([...noted.values()])],
      );
    } catch (error) {
      for (const [id, at] of noted) if (!this.used.has(id)) this.used.set(id, at);
      throw error;
    }
  }
}

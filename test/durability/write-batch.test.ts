import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { collectBatch, type ParsedEntry } from '../../src/ledger/batch.js';
import type { UserEntry } from '../../src/ledger/entry.js';
import { writeBatch } from '../../src/ledger/write-batch.js';
import { limits } from '../../src/shared/limits.js';
import { inTransaction } from '../../src/postgres/pool.js';
import { placeOf, userLayouts } from '../../src/redis/layout.js';
import { freshDatabase, tenant, type TestDatabase } from '../support/world.js';

/** A core with a daily streak of one day. */
const core = userLayouts.core.map((_, at) => (at === placeOf('core', 'daily.length') ? 1 : 0));

const entryOf = (user: string, rev: number, facts: Partial<UserEntry>): UserEntry => ({
  kind: 'streak',
  id: randomUUID(),
  user,
  at: 0,
  day: 0,
  rev,
  points: [],
  boards: [],
  state: [],
  ...facts,
});

describe('A batch that takes several statements for a table', function () {
  this.timeout(60_000);
  let database: TestDatabase;
  before(async () => {
    database = await freshDatabase();
  });
  after(() => database.drop());

  it('writes all of them before the table that comes after it', async () => {
    const users = Array.from({ length: limits.writeBehindStatementRows + 1 }, (_, i) => `user-${i}`);
    const last = users.at(-1)!;
    const extended = users.map((user) =>
      entryOf(user, 1, { streaks: core, periods: [{ frequency: 'daily', period: 0, length: 1, how: 'extended' }] }),
    );
    const pause = { id: randomUUID(), first: 1, last: 2 };
    const entries = [...extended, entryOf(last, 2, { pauses: [pause] })].map((entry, i): ParsedEntry => ({ id: `${i + 1}-0`, entry }));
    await inTransaction(database.pool, (client) => writeBatch(client, tenant, collectBatch(entries)));
    const { rows } = await database.pool.query('select daily, pauses from user_streaks where tenant = $1 and user_id = $2', [tenant, last]);
    expect(rows).to.deep.equal([{ daily: 1, pauses: [pause] }]);
  });

  it('keeps when a streak was reset in a period, whatever comes later in the same batch or in the next', async () => {
    const at = Date.parse('2040-01-03T11:00:00.000Z');
    const period = { frequency: 'daily', period: 7 } as const;
    const reset = entryOf('reset', 1, { streaks: core, periods: [{ ...period, length: 0, how: 'lost', resetAt: at, resetLength: 5 }] });
    const extended = (length: number) => entryOf('reset', length + 1, { streaks: core, periods: [{ ...period, length, how: 'extended' }] });
    const batches = [[reset, extended(1)], [extended(2)]];
    for (const [no, entries] of batches.entries()) {
      const parsed = entries.map((entry, i): ParsedEntry => ({ id: `${no + 1}-${i}`, entry }));
      await inTransaction(database.pool, (client) => writeBatch(client, tenant, collectBatch(parsed)));
      const { rows } = await database.pool.query(
        `select length, how, reset_at, reset_length from streak_periods where tenant = $1 and user_id = 'reset'`,
        [tenant],
      );
      expect(rows).to.deep.equal([{ length: no + 1, how: 'extended', reset_at: new Date(at), reset_length: 5 }]);
    }
  });
});

import { expect } from 'chai';
import type pg from 'pg';
import { MonthlyPartitions, monthsOf } from '../../src/ledger/partitions.js';
import { type TimelineQuery, TimelineReader, readTimelinePage } from '../../src/history/timeline.js';
import { limits } from '../../src/shared/limits.js';
import { type TestDatabase, freshDatabase } from '../support/world.js';

const events = 200_000;
const months = 24;
const [startMs, endMs] = [Date.UTC(2040, 0, 1), Date.UTC(2042, 0, 1)];
const metrics = [1, 2, 3];
const systems = [11, 12];
const timeTrigger = 22;

/** An event every few minutes for two years, each with an award of the first system, and an award by time of the second system every hour. */
async function fill(pool: pg.Pool): Promise<void> {
  const starts = Array.from({ length: months }, (_, i) => Date.UTC(2040, i, 1));
  await new MonthlyPartitions(pool).ensure(monthsOf(starts));
  const at = `timestamptz '2040-01-01T00:00:00Z' + i * interval '315.36 seconds'`;
  await pool.query(
    `with numbered as (select i, gen_random_uuid() as id, date_trunc('milliseconds', ${at}) as at from generate_series(0, ${events - 1}) as i),
          counted as (
       insert into events (tenant, id, user_id, metric, value, total, day, at)
       select 1, id, 'busy', 1 + i % ${metrics.length}, 1, i, at::date, at from numbered)
     insert into awards (tenant, id, event_id, user_id, system, trigger, awarded, total, boosts, day, at)
     select 1, gen_random_uuid(), id, 'busy', 11, 21, 1, i, '{}', at::date, at from numbered`,
  );
  await pool.query(
    `insert into awards (tenant, id, event_id, user_id, system, trigger, awarded, total, boosts, day, at)
     select 1, gen_random_uuid(), gen_random_uuid(), 'busy', 12, ${timeTrigger}, 1, 1, '{}', at::date, at
       from generate_series(timestamptz '2040-01-01T00:30:00Z', '2041-12-31T23:30:00Z', interval '1 hour') as at`,
  );
  await pool.query(
    `insert into user_metrics (tenant, user_id, metric, total, at, rev) select 1, 'busy', unnest($1::integer[]), 1, now(), 1`,
    [metrics],
  );
  await pool.query(
    `insert into user_points (tenant, user_id, system, total, at, rev) select 1, 'busy', unnest($1::integer[]), 1, now(), 1`,
    [systems],
  );
}

/** The rows of events and awards that this session has read. */
async function rowsRead(client: pg.ClientBase): Promise<number> {
  const { rows } = await client.query<{ read: number }>(
    `select sum(seq_tup_read + idx_tup_fetch)::integer as read from pg_stat_xact_user_tables where relname like 'events%' or relname like 'awards%'`,
  );
  return rows[0]?.read ?? 0;
}

describe('A page of the timeline of a user with 200,000 events in two years', function () {
  this.timeout(120_000);
  let database: TestDatabase;
  before(async () => {
    database = await freshDatabase({ connections: 1 });
    await fill(database.pool);
  });
  after(() => database.drop());

  const query: TimelineQuery = {
    tenant: 1,
    user: 'busy',
    limit: limits.maxTimelinePage,
    after: undefined,
    fromMs: undefined,
    untilMs: undefined,
    frequency: 'daily',
    weekShift: 3,
    timeTriggers: [timeTrigger],
  };

  const pages: readonly (readonly [which: string, more: Partial<TimelineQuery>])[] = [
    ['the newest', {}],
    ['one in the middle', { untilMs: (startMs + endMs) / 2 }],
    ['the oldest', { untilMs: startMs + 8 * 3_600_000 }],
    ['one that few entries are in', { fromMs: startMs, untilMs: startMs + 3_600_000 }],
  ];
  for (const statistics of ['without statistics', 'with statistics']) {
    describe(statistics, () => {
      before(async () => {
        if (statistics === 'with statistics') await database.pool.query('analyze');
      });

      for (const [which, more] of pages) {
        it(`reads few rows: ${which}`, async () => {
          const client = await database.pool.connect();
          try {
            await client.query('begin isolation level repeatable read read only');
            const before = await rowsRead(client);
            const { rows } = await readTimelinePage(client, { ...query, ...more });
            expect(rows.length).to.be.within(10, query.limit);
            // As many rows as the page has entries: of each metric and points system, and the awards of events, twice, and the events of awards.
            expect((await rowsRead(client)) - before).to.be.within(rows.length, (metrics.length + systems.length + 4) * (query.limit + 1));
          } finally {
            await client.query('rollback');
            client.release();
          }
        });
      }
    });
  }

  it('keeps an award by time apart from the event whose call settled the user, although both have one id and moment', async () => {
    const [id, at] = ['00000000-0000-4000-8000-000000000001', '2040-05-01T00:00:00Z'];
    const { pool } = database;
    await pool.query(
      `insert into events (tenant, id, user_id, metric, value, total, day, at) values (1, $1, 'settled', 1, 1, 1, '2040-05-01', $2)`,
      [id, at],
    );
    await pool.query(
      `insert into awards (tenant, id, event_id, user_id, system, trigger, awarded, total, boosts, day, at, ordinal)
       select 1, gen_random_uuid(), $1, 'settled', 11, trigger, 1, 1, '{}', '2040-05-01', $2, trigger
         from unnest($3::integer[]) as trigger`,
      [id, at, [timeTrigger, 21]],
    );
    await pool.query(`insert into user_metrics (tenant, user_id, metric, total, at, rev) values (1, 'settled', 1, 1, $1, 1)`, [at]);
    await pool.query(`insert into user_points (tenant, user_id, system, total, at, rev) values (1, 'settled', 11, 1, $1, 1)`, [at]);
    const { rows } = await new TimelineReader(pool).read({ ...query, user: 'settled' });
    const shown = rows.map((row) => [row.type, row.type === 'award' ? row.trigger : row.type === 'event' ? row.awards.length : null]);
    expect(shown).to.deep.equal([
      ['award', timeTrigger],
      ['event', 1],
    ]);
  });
});

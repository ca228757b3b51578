import { expect } from 'chai';
import pg from 'pg';
import { createPool } from '../../src/postgres/pool.js';
import { until } from '../support/stage.js';
import { freshDatabase, startWorld, type TestDatabase } from '../support/world.js';

describe('A statement that has to wait for a lock', () => {
  let database: TestDatabase;

  beforeEach(async () => {
    database = await freshDatabase();
  });
  afterEach(() => database.drop());

  it('is given up by Postgres too, so that those who try again do not pile up there', async () => {
    const { pool, url } = database;
    const hasty = createPool(url, 2, () => undefined, 200);
    const reader = await pool.connect();
    try {
      await reader.query('begin; lock table events in access share mode');
      const waiting = hasty.query('truncate events').catch((error: unknown) => error);
      expect(await waiting).to.be.an('error');
      const stillWaiting = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
      await until('Postgres has given it up', async () => (await pool.query(stillWaiting)).rowCount === 0, 5_000);
    } finally {
      await reader.query('rollback');
      reader.release();
      await hasty.end();
    }
  });
});

describe('A backup that reads every table for hours', () => {
  it('does not keep the ledger from being committed when a month begins', async () => {
    const world = await startWorld({ now: '2040-01-31T12:00:00.000Z' });
    const backup = new pg.Client({ connectionString: world.settings.databaseUrl! });
    try {
      const event = (): Promise<unknown> => world.event('flashcards-viewed', { user: { id: 'ana' }, value: 1 });
      await event();
      await world.drain();
      await backup.connect();
      await backup.query('begin; lock table events, awards in access share mode');
      await world.setClock('2040-02-01T12:00:00.000Z');
      await event();
      await world.drain();
      const { rows } = await world.pool.query('select tableoid::regclass::text as part, count(*)::int from events group by 1 order by 1');
      expect(rows).to.deep.equal([
        { part: 'events_2040_01', count: 1 },
        { part: 'events_2040_02', count: 1 },
      ]);
    } finally {
      await backup.end();
      await world.stop();
    }
  });
});

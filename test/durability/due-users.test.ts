import { expect } from 'chai';
import type { UserScheduleKind } from '../../src/messages/rules/times.js';
import { readPage } from '../../src/messages/schedule/recipients.js';
import { dateToDay } from '../../src/shared/calendar.js';
import { limits } from '../../src/shared/limits.js';
import { startWorld, type World } from '../support/world.js';

const users = 20_000;
const day = dateToDay('2040-01-09');
const config = {
  metrics: [{ key: 'm', name: 'M' }],
  streaks: { enabled: true, frequency: 'daily', metrics: [{ metricKey: 'm', threshold: 1 }] },
  settings: { recapFrequency: 'daily', reactivationDays: [1] },
};

describe('The users of a page of due messages', function () {
  this.timeout(60_000);
  let world: World;
  before(async () => {
    world = await startWorld({ config: JSON.stringify(config) });
    const { pool, tenant } = world;
    await pool.query(
      `insert into users (tenant, id, rev, email, subscribe_to_emails, attributes, control, created, updated, moved)
       select $1, 'user-' || i, 1, i || '@example.com', true, '{}', false, now(), now(), to_timestamp(0) from generate_series(1, ${users}) as i`,
      [tenant],
    );
    await pool.query(
      `insert into user_days (tenant, user_id, object, day, total, change, events, rev, year_change)
       select $1, 'user-' || i, 1, '2040-01-08', 0, 1, 1, 1, 1 from generate_series(1, ${users}) as i`,
      [tenant],
    );
    await pool.query(
      `insert into user_streaks (tenant, user_id, daily, rev) select $1, 'user-' || i, 1, 1 from generate_series(1, ${users}) as i`,
      [tenant],
    );
    // Without statistics, so the other tables are read as after a large import.
    await pool.query('analyze user_days');
  });
  after(() => world.stop());

  for (const kind of ['emails.recap_due', 'emails.reactivation_due', 'emails.streak_reminder_due'] satisfies UserScheduleKind[]) {
    it(`are found without reading those of other pages: ${kind}`, async () => {
      const active = await world.engine.config(world.tenant);
      const client = await world.pool.connect();
      try {
        await client.query('begin');
        const page = await readPage(client, active, {
          kind,
          isReachable: () => true,
          zone: '',
          day,
          rules: active.document,
          at: 0,
          after: '',
        });
        const { rows } = await client.query<{ read: number }>(
          `select sum(seq_tup_read + idx_tup_fetch)::integer as read from pg_stat_xact_user_tables where relname in ('users', 'user_days', 'user_streaks')`,
        );
        expect(page.recipients).to.have.lengthOf(limits.emailPageUsers);
        // Some rows for each user of the page. Any of the tables has more in all.
        expect(rows[0]?.read).to.be.below(users);
      } finally {
        await client.query('rollback');
        client.release();
      }
    });
  }
});

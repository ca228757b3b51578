import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import pg from 'pg';
import { PlainPostgres, plainSchema } from '../../benchmarks/alternatives/plain-postgres.js';
import { drawn, trafficEvents, trafficOf } from '../../benchmarks/load/traffic.js';
import { readConfigFile } from '../../src/config/file/file.js';
import { freshDatabase, startWorld, type TestDatabase, type World } from '../support/world.js';

const file = new URL('../../benchmarks/load/wide.yaml', import.meta.url);
const schema = 'plain';

/** What responses of both have in common. */
interface Seen {
  readonly total: number;
  readonly achievements: readonly { readonly key: string }[];
  readonly currentStreak: { readonly length: number };
  readonly points: {
    readonly xp?: {
      readonly total: number;
      readonly added: number;
      readonly level?: { readonly key: string } | null;
      readonly awards: readonly { readonly awarded: number; readonly total: number }[];
    };
  };
  readonly leaderboards: Readonly<Record<string, { readonly rank: number | null }>>;
  readonly idempotentReplayed: boolean;
}

const seen = (status: number, body: unknown): object => {
  const { total, achievements, currentStreak, points, leaderboards, idempotentReplayed } = body as Seen;
  const { xp } = points;
  return {
    ...{ status, total, achievements: achievements.map(({ key }) => key).sort(), streak: currentStreak.length, idempotentReplayed },
    ...(xp && { xp: [xp.total, xp.added, xp.level?.key, ...xp.awards.map(({ awarded, total: after }) => [awarded, after])] }),
    ranks: Object.fromEntries(Object.entries(leaderboards).map(([key, { rank }]) => [key, rank])),
  };
};

describe('The benchmark in plain SQL', () => {
  let world: World;
  let database: TestDatabase;
  let pool: pg.Pool;
  let now = new Date('2040-01-02T12:00:00Z');
  let plain: PlainPostgres;
  before(async () => {
    const config = readFileSync(file, 'utf8');
    world = await startWorld({ config, now: now.toISOString() });
    database = await freshDatabase();
    await database.pool.query(`create schema ${schema}`);
    pool = new pg.Pool({ connectionString: database.url, max: 8, options: `-c search_path=${schema}` });
    await pool.query(plainSchema());
    plain = new PlainPostgres(pool, () => now);
  });
  after(async () => {
    await pool.end();
    await database.drop();
    await world.stop();
  });

  const userCount = 10;
  const days = 30;
  const eventsOfDay = 25;

  it('gives the results of Laurel: totals, points, levels, achievements, streaks with freezes, ranks and replays', async () => {
    const traffic = trafficOf(readConfigFile(readFileSync(file, 'utf8'), 'wide.yaml'));
    const next = trafficEvents(traffic, { name: 'plain', seed: 7, senders: drawn(userCount, 7) });
    const streaks = new Set<unknown>();
    for (let day = 0; day < days; day += 1) {
      for (let no = 0; no < eventsOfDay; no += 1) {
        const { metricKey: metric, idempotencyKey, user, value } = next();
        // Each user stays in one zone, so days differ between users.
        const tz = user.tz ?? 'UTC';
        const event = { metric, idempotencyKey, value, user: { ...user, tz } };
        const repeated = no % 20 === 0 ? 2 : 1;
        for (let time = 0; time < repeated; time += 1) {
          const ours = await world.event(metric, { user, value }, { 'idempotency-key': idempotencyKey });
          const { status, body } = await plain.track(event);
          expect(seen(status, body), `day ${day}, event ${no}`).to.deep.equal(seen(ours.status, ours.body));
          streaks.add((ours.body as Seen).currentStreak.length);
        }
      }
      now = new Date(now.getTime() + 86_400_000);
      await world.setClock(now.toISOString());
    }
    // Long enough that streaks have lasted a week, and that some have ended.
    expect([...streaks]).to.include.members([1, 2, 7]);
  });

  it('counts parallel first events of a user, and a key that is sent in parallel once', async () => {
    const event = (idempotencyKey: string) => ({ metric: 'flashcards-viewed', idempotencyKey, value: 1, user: { id: 'new', tz: 'UTC' } });
    const keys = ['a', 'a', 'b', 'c', 'c', 'c'];
    const statuses = (await Promise.all(keys.map((key) => plain.track(event(key))))).map(({ status }) => status);
    expect(statuses.sort()).to.deep.equal([201, 201, 201, 202, 202, 202]);
    // Now the user is there, and each transaction waits for the one before.
    const later = ['d', 'e', 'f', 'g', 'g'];
    expect((await Promise.all(later.map((key) => plain.track(event(key))))).map(({ status }) => status).sort()).to.deep.equal([
      ...[201, 201, 201, 201, 202],
    ]);
    const { rows } = await pool.query('select total, revision from users where id = $1', ['new']);
    expect(rows).to.deep.equal([{ total: 7, revision: 7 }]);
  });
});

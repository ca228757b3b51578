import { expect } from 'chai';
import { publishEvents, type WebhookEvent } from '../../src/deliveries/outbox.js';
import { ActiveConfig } from '../../src/plan/active-config.js';
import { inTransaction } from '../../src/postgres/pool.js';
import { after as applied } from '../support/config.js';
import { freshDatabase, type TestDatabase } from '../support/world.js';

const text = `webhooks:
  - {key: a, name: A, url: "https://a.example.com", events: [points.changed, streak.lost]}
  - {key: b, name: B, url: "https://b.example.com", events: [points.changed]}
  - {key: c, name: C, url: "https://c.example.com", events: [points.changed, leaderboard.changed], status: inactive}
  - {key: d, name: D, url: "https://d.example.com", events: [points.changed]}`;
const config = new ActiveConfig({ tenant: 7, version: 1, document: applied(text) });
const at = new Date('2040-01-02T12:00:00.123Z');

const message = (kind: WebhookEvent['kind'], user: string, payload: unknown = { type: kind }): WebhookEvent => ({
  ...{ kind, subject: `user:${user}`, user, at, payload },
});

describe('The outbox', () => {
  let database: TestDatabase;
  before(async () => {
    database = await freshDatabase();
    await database.pool.query(`insert into delivery_queues (tenant, no, secret, switched_off) values (7, 4, 'whsec_x', now())`);
  });
  after(() => database.drop());
  afterEach(() => database.pool.query('truncate outbox, deliveries'));

  const add = (messages: readonly WebhookEvent[]): Promise<number> =>
    inTransaction(database.pool, (client) => publishEvents(client, config, messages));
  const rows = async (sql: string): Promise<unknown[]> => (await database.pool.query({ text: sql, rowMode: 'array' })).rows;

  it('has a delivery for each active endpoint that subscribes to the kind and has not been switched off', async () => {
    const all = [message('points.changed', 'ana'), message('streak.lost', 'bo'), message('points.changed', 'cy')];
    expect(await add(all)).to.equal(5);
    expect(
      await rows('select o.subject, d.endpoint, d.kind, d.status from deliveries d join outbox o on o.id = d.outbox order by o.id, 2'),
    ).to.deep.equal([
      ['user:ana', 1, 'points.changed', 'pending'],
      ['user:ana', 2, 'points.changed', 'pending'],
      ['user:bo', 1, 'streak.lost', 'pending'],
      ['user:cy', 1, 'points.changed', 'pending'],
      ['user:cy', 2, 'points.changed', 'pending'],
    ]);
  });

  it('keeps messages in their order, as they were written', async () => {
    const odd = { type: 'points.changed', b: 1, a: ['"\\{}\u0000\u2028', 0.1, null], É: '😀' };
    const others = ['{a}', 'b"c\\', 'ü,'];
    await add([
      ...Array.from({ length: 500 }, (_, i) => message('points.changed', `u${i}`)),
      { ...message('points.changed', 'x', odd), others },
    ]);
    const kept = await rows('select user_id, payload::text, others, at from outbox order by id');
    expect(kept.map((row) => (row as string[])[0])).to.deep.equal([...Array.from({ length: 500 }, (_, i) => `u${i}`), 'x']);
    expect(kept.at(-1)).to.deep.equal(['x', JSON.stringify(odd), others, at]);
  });

  it('omits messages without a subscriber', async () => {
    expect(await add([message('leaderboard.changed', 'ana'), message('emails.recap_due', 'ana')])).to.equal(0);
    expect(await add([])).to.equal(0);
    expect(await rows('select 1 from outbox')).to.deep.equal([]);
  });

  it('has nothing of a transaction that was rolled back', async () => {
    const cut = inTransaction(database.pool, async (client) => {
      await publishEvents(client, config, [message('points.changed', 'ana')]);
      throw new Error('cut off');
    });
    expect(await cut.catch((error: unknown) => (error as Error).message)).to.equal('cut off');
    expect(await rows('select 1 from outbox union all select 1 from deliveries')).to.deep.equal([]);
  });
});

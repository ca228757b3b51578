import { expect } from 'chai';
import { keyNames } from '../../src/redis/contract.js';
import { bodyOf, type EventBody } from '../support/answers.js';
import { startHost, startTenant, startWorld, type Reply, type World } from '../support/world.js';

const city = { key: 'city', name: 'City', type: 'user' };
const kind = { key: 'kind', name: 'Kind', type: 'event' };
const cards = { key: 'cards', name: 'Cards' };
const spent = {
  key: 'spent',
  type: 'metric',
  metricKey: 'cards',
  metricThreshold: 1,
  points: -5,
  status: 'active',
  blockIfOutOfPoints: true,
};
const welcome = { key: 'welcome', type: 'user_creation', points: 5, status: 'active' };
const config = {
  attributes: [city, kind],
  metrics: [cards, { key: 'pages', name: 'Pages' }],
  points: [{ key: 'xp', name: 'XP', triggers: [welcome] }],
  streaks: { enabled: true, metrics: [{ metricKey: 'pages', threshold: 1 }] },
};

/** A body that the configuration takes in the beginning. */
const whole = { user: { id: 'ana', email: 'ana@example.com', attributes: { city: 'Nuuk' } }, value: 1, attributes: { kind: 'quiz' } };

/** What happens between the event and its replay; the replay's body, where it is another; and what a new key gets then. */
interface Row {
  readonly between: object | ((world: World) => Promise<unknown>);
  readonly body?: object;
  readonly fresh: number;
}

const rows: Readonly<Record<string, Row>> = {
  'an event attribute is archived': { between: { ...config, attributes: [city] }, fresh: 422 },
  'a user attribute is archived': { between: { ...config, attributes: [kind] }, fresh: 422 },
  'both are archived': { between: { ...config, attributes: [] }, fresh: 422 },
  'the attribute has become one of users': {
    between: { ...config, attributes: [city, { ...kind, type: 'user' }] },
    fresh: 422,
  },
  'the metric is archived': { between: { ...config, metrics: config.metrics.slice(1) }, fresh: 404 },
  'the metric and the attributes are archived': {
    between: { ...config, metrics: config.metrics.slice(1), attributes: [] },
    fresh: 404,
  },
  'the replay has an attribute that there never was': { between: config, body: { ...whole, attributes: { shelf: '1' } }, fresh: 422 },
  'the total would leave its range': {
    between: (world) => world.event('cards', { user: { id: 'ana' }, value: 999_999_999_999_999 }),
    fresh: 422,
  },
  'a trigger blocks, and the user is out of points': {
    between: async (world) => {
      await world.configure(JSON.stringify({ ...config, points: [{ key: 'xp', name: 'XP', triggers: [spent, welcome] }] }));
      bodyOf(await world.event('cards', { user: { id: 'ana' }, value: 1 }), 201);
    },
    fresh: 422,
  },
  'the replay subscribes a user without an address': {
    between: config,
    body: { user: { id: 'bo', subscribeToEmails: true }, value: 1 },
    fresh: 422,
  },
  'all users belong to the control group, and streaks are off': {
    between: { ...config, settings: { controlRatio: 1 }, streaks: { enabled: false } },
    fresh: 201,
  },
};

describe('What the configuration or the state refuses is refused after the idempotency key:', () => {
  let host: World;
  before(async () => {
    host = await startHost();
  });
  after(() => host.stop());

  const first = (body: object): object => ('attributes' in body && body.attributes !== whole.attributes ? whole : body);
  /** The same event without what a later configuration or state refuses. */
  const plain = (body: { readonly user?: object }): object => ({ ...first(body), user: { ...body.user, subscribeToEmails: undefined } });

  for (const [what, { between, body = whole, fresh }] of Object.entries(rows)) {
    it(what, async () => {
      const world = await startTenant(host, { config: JSON.stringify(config) });
      const send = (key: string, sent = body): Promise<Reply> => world.event('cards', sent, { 'idempotency-key': key });
      const batch = async (...keys: string[]): Promise<{ accepted: number; issues: { index: number }[] }> =>
        bodyOf(
          await world.request('POST', '/admin/v1/metrics/events', {
            body: keys.map((idempotencyKey) => ({ key: 'cards', ...body, idempotencyKey })),
          }),
          202,
        );
      try {
        const counted = bodyOf<EventBody>(await send('used', plain(body)), 201);
        await (typeof between === 'function' ? between(world) : world.configure(JSON.stringify(between), { prune: true }));
        // What time did before the change is settled first, as before any read.
        await world.get(`/v1/users/${(body as typeof whole).user.id}`);
        const before = await world.ledgerEnd();
        const replayed = bodyOf<EventBody>(await send('used'), 202);
        const { eventId, metricId } = counted;
        expect(replayed).to.include({ eventId, metricId, idempotencyKey: 'used', idempotentReplayed: true });
        expect(replayed.total).to.be.at.least(1);
        expect(replayed).to.deep.include({ achievements: [], points: {}, leaderboards: {} });
        expect(await batch('used', 'used')).to.deep.equal({ accepted: 2, issues: [] });
        expect(await world.ledgerEnd()).to.equal(before);
        const refused = fresh !== 201;
        const { accepted, issues } = await batch('used', 'other', 'used');
        expect([accepted, issues.map(({ index }) => index)]).to.deep.equal(refused ? [2, [1]] : [3, []]);
        expect((await send('new')).status).to.equal(fresh);
      } finally {
        await world.stop();
      }
    });
  }

  it('an event that the configuration refuses without a key, or on a metric that there never was, is refused as ever', async () => {
    const world = await startTenant(host, { config: JSON.stringify(config) });
    try {
      expect((await world.event('cards', { ...whole, attributes: { shelf: '1' } })).status).to.equal(422);
      expect((await world.event('dogs', whole, { 'idempotency-key': 'used' })).status).to.equal(404);
      expect(await world.ledgerEnd()).to.equal('0-0');
    } finally {
      await world.stop();
    }
  });

  it('the ledger is at its limit, and time has something to do to the user', async () => {
    const most = 30;
    const world = await startWorld({
      config: JSON.stringify(config),
      roles: { api: true, worker: false },
      settings: { maxLedgerEntries: most },
    });
    try {
      const send = (key: string): Promise<Reply> => world.event('pages', { user: { id: 'ana' }, value: 1 }, { 'idempotency-key': key });
      const { eventId } = bodyOf<EventBody>(await send('used'), 201);
      const length = (): Promise<number> => world.redis.xlen(world.partition + keyNames.ledger);
      while ((await length()) < most) await world.event('pages', { user: { id: 'bo' }, value: 1 });
      // Three days later ana's streak is lost, which can't be stored.
      await world.redis.set(world.partition + keyNames.clock, Date.parse('2040-01-05T12:00:00.000Z'));
      expect((await send('new')).status).to.equal(503);
      const replayed = bodyOf<EventBody>(await send('used'), 202);
      expect(replayed).to.deep.include({ eventId, total: 1 });
      expect(replayed.currentStreak.length).to.equal(0);
      expect(await length()).to.equal(most);
    } finally {
      await world.stop();
    }
  });
});

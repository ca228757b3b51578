import { expect } from 'chai';
import pino from 'pino';
import { commandAuthor } from '../../src/config/store/author.js';
import { forgetInConfig } from '../../src/config/store/forget.js';
import { FeedbackIntake } from '../../src/messages/feedback/intake.js';
import { Links } from '../../src/messages/addresses/links.js';
import { Suppressions } from '../../src/messages/addresses/suppressions.js';
import { limits } from '../../src/shared/limits.js';
import { webhookKinds } from '../../src/config/schema/webhook-kinds.js';
import { keyNames, partitionPrefix } from '../../src/redis/contract.js';
import { answer, bodyOf, configText, read, readBoard, repeated, track, userPath, type Rankings } from '../support/answers.js';
import { batchOf, first } from '../support/admin.js';
import { inParallel } from '../support/client.js';
import { cityAndDevice } from '../support/configs.js';
import { addEmailDelivery, unsubscribeLink } from '../support/email-deliveries.js';
import { differencesOf } from '../support/differences.js';
import { messagesOf, subscription } from '../support/messages.js';
import { until } from '../support/stage.js';
import { tracesOf } from '../support/traces.js';
import { startWorker } from '../support/worker.js';
import { defaultNow, startWorld, type Reply, type World, type WorldOptions } from '../support/world.js';
import { changedLines } from '../support/changed-lines.js';

const config = {
  attributes: cityAndDevice,
  metrics: [
    { key: 'm', name: 'M' },
    { key: 'n', name: 'N' },
  ],
  streaks: { enabled: true, frequency: 'daily', metrics: [{ metricKey: 'm', threshold: 1 }], personalization: true },
  achievements: [
    { key: 'ten', name: 'Ten', trigger: 'metric', metricKey: 'm', metricValue: 10, status: 'active' },
    {
      key: 'phone',
      name: 'Phone',
      trigger: 'metric',
      metricKey: 'm',
      metricValue: 1,
      status: 'active',
      eventAttributes: [{ attributeKey: 'device', attributeValue: 'phone' }],
    },
    { key: 'called', name: 'Called', trigger: 'api', status: 'active' },
  ],
  points: [
    {
      key: 'p',
      name: 'P',
      levels: [{ key: 'one', name: 'One', points: 5 }],
      triggers: [
        { key: 'earn', type: 'metric', metricKey: 'm', metricThreshold: 1, points: 2, status: 'active' },
        { key: 'daily', type: 'time', timeUnit: 'days', timeInterval: 1, points: 1, status: 'active' },
      ],
      boosts: [{ key: 'own', name: 'Own', start: '2020-01-01', multiplier: 2, userId: 'zoe-4711' }],
    },
  ],
  leaderboards: [
    { key: 'all', name: 'All', status: 'active', rankBy: 'metric', metricKey: 'm', maxParticipants: 3 },
    { key: 'points', name: 'Points', status: 'active', rankBy: 'points', pointsSystemKey: 'p' },
    { key: 'streak', name: 'Streak', status: 'active', rankBy: 'streak' },
    { key: 'day', name: 'Day', status: 'active', rankBy: 'metric', metricKey: 'm', start: '2040-01-01', runUnit: 'day', runInterval: 1 },
    { key: 'city', name: 'City', status: 'active', rankBy: 'metric', metricKey: 'm', breakdownAttributes: ['city'] },
    {
      key: 'city-day',
      name: 'City by day',
      status: 'active',
      rankBy: 'metric',
      metricKey: 'm',
      start: '2040-01-01',
      runUnit: 'day',
      runInterval: 1,
      breakdownAttributes: ['city'],
    },
  ],
};
/** The same, with a subscriber to every webhook. */
const heard = { ...config, webhooks: [subscription(...webhookKinds)] };

const zoe = 'zoe-4711';
/** What only Zoe's records contain. */
const texts = [zoe, 'Zoë Zimmer', 'zimmer@example.com', 'token-0815', 'Zwickau', 'Zella-Mehlis', 'key-of-zoe', 'desk-of-zoe'];

describe('Deleting a user', () => {
  const cleaning: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (let clean = cleaning.pop(); clean; clean = cleaning.pop()) await clean();
  });

  async function start(options: WorldOptions = {}): Promise<World> {
    const world = await startWorld({ config: configText(config), ...options });
    cleaning.push(() => world.stop());
    return world;
  }
  const remove = (world: World, id = zoe): Promise<Reply> => world.request('DELETE', `/admin/v1/users/${encodeURIComponent(id)}`);
  const traces = (world: World): Promise<string[]> => tracesOf(world.redis, world.pool, world.partition, texts);

  /** Something of everything that can be kept of a user. */
  async function live(world: World): Promise<void> {
    const profile = { name: 'Zoë Zimmer', email: 'zimmer@example.com', deviceTokens: ['token-0815'], attributes: { city: 'Zwickau' } };
    await bodyOf(await world.request('PUT', userPath(zoe), { body: { ...profile, tz: 'Europe/Berlin' } }), 200);
    const preferences = { notifications: { recap: ['email'] }, streak: { evaluationMode: 'OR', metrics: [{ key: 'm', threshold: 1 }] } };
    await bodyOf(await world.request('PATCH', userPath(zoe, '/preferences'), { body: preferences }), 200);
    await bodyOf(await world.request('POST', '/v1/achievements/called/complete', { body: { user: { id: zoe } } }), 201);
    await bodyOf(await world.request('POST', '/admin/v1/streaks/freezes', { body: { freezes: [{ userId: zoe }] } }), 201);
    const pause = { userId: zoe, start: '2040-02-01', end: '2040-02-02' };
    await bodyOf(await world.request('POST', '/admin/v1/streaks/pauses', { body: { pauses: [pause] } }), 201);
    const system = (await world.engine.config(world.tenant)).systems.get('p')!;
    const adjustment = { userId: zoe, amount: 3, reason: 'Promised to Zoë Zimmer', idempotencyKey: 'key-of-zoe-promised' };
    bodyOf(await world.request('POST', `/admin/v1/points/${system.id}/adjustments`, { body: { adjustments: [adjustment] } }), 201);
    for (const [date, city] of [
      ['2040-01-02', 'Zwickau'],
      ['2040-01-03', 'Zella-Mehlis'],
      ['2040-01-04', 'Zwickau'],
      ['2040-01-06', 'Zella-Mehlis'],
    ] as const) {
      await world.setClock(`${date}T12:30:00Z`);
      const user = { id: zoe, attributes: { city } };
      for (const metric of ['m', 'n']) {
        await track(world, metric, { user, value: 7, attributes: { device: 'phone' }, key: `key-of-zoe-${date}` });
        await track(world, metric, { user, value: 1, attributes: { device: 'desk-of-zoe' } });
      }
      for (const [id, value] of [
        ['ana', 9],
        ['bo', 3],
        ['cy', 2],
      ] as const)
        await track(world, 'm', { user: { id, attributes: { city: 'Porto' } }, value });
    }
  }

  it('leaves no trace of the user in any key, field or value of Redis and in any column of Postgres', async () => {
    const world = await start();
    await live(world);
    await world.drain();
    const before = (await traces(world)).join('\n');
    const stores = ['u:', 'i:', 'a:', 'b:', 'bg:', 'due', 'plan:', 'config_versions', 'events', 'leaderboard_rankings', 'user_hashes'];
    for (const where of [...stores, 'points_adjustments']) expect(before).to.contain(where);
    expect(answer(await remove(world))).to.deep.equal([200, { id: zoe }]);
    expect(await traces(world)).to.deep.equal([]);
    expect((await remove(world)).status).to.equal(404);
    expect((await world.get(userPath(zoe))).status).to.equal(404);
    expect(await differencesOf(world)).to.deep.equal([]);
  });

  it('leaves no trace in what receivers were told, nor in what was noted for it', async () => {
    const world = await start({ config: configText(heard) });
    await live(world);
    await world.drain();
    const before = (await traces(world)).join('\n');
    for (const where of [
      'outbox',
      'deliveries',
      'webhook_points_state',
      'webhook_leaderboard_state',
      'webhook_ranking_state',
      'webhook_user_rank_state',
    ])
      expect(before).to.contain(where);
    expect(answer(await remove(world))).to.deep.equal([200, { id: zoe }]);
    expect(await traces(world)).to.deep.equal([]);
  });

  it('leaves a readable user, and holds up no receiver, when it was interrupted behind the boosts of the user', async () => {
    const world = await start({ config: configText(heard) });
    await track(world, 'm', { user: zoe, value: 1 });
    await world.setClock('2040-01-02T12:00:10Z');
    await track(world, 'm', { user: zoe, value: 1 });
    await track(world, 'm', { user: 'ana', value: 1 });
    await world.drain();
    await forgetInConfig(world.pool, 1, zoe, { author: commandAuthor, now: defaultNow });
    // Any change makes the version without the boosts known.
    await world.configure(configText({ metrics: [...config.metrics, { key: 'o', name: 'O' }] }));
    const { awards } = await read<{ awards: { awarded: number; boosts: unknown[] }[] }>(world, userPath(zoe, '/points/p?awards=100'));
    expect(awards.map(({ awarded, boosts }) => [awarded, boosts])).to.deep.equal([
      [4, []],
      [4, []],
    ]);
    await world.setClock('2040-01-02T12:30:00Z');
    const told = (await messagesOf(world)).filter(({ kind }) => kind === 'points.changed').map(({ user }) => user);
    expect(told.sort()).to.deep.equal(['ana', zoe, zoe]);
    expect((await remove(world)).status).to.equal(200);
  });

  it('leaves no names, addresses or attributes in the statistics of Postgres', async () => {
    const world = await start({ config: configText(heard) });
    await live(world);
    await world.drain();
    await world.pool.query('analyze');
    const sampled = async (text: string): Promise<string[]> => {
      // Groups of leaderboards are named by attribute values of all who are in them.
      const { rows } = await world.pool.query<{ column: string }>(
        `select tablename || '.' || attname as column from pg_stats
          where schemaname = 'public' and attname <> 'group' and position(lower($1) in lower(pg_stats::text)) > 0`,
        [text],
      );
      return rows.map(({ column }) => `${text} in ${column}`);
    };
    for (const text of ['Zimmer', 'Zoë', 'zimmer@example.com', 'token-0815', 'Zwickau', 'Zella-Mehlis', 'desk-of-zoe'])
      expect(await sampled(text)).to.deep.equal([]);
    expect(await sampled(zoe)).to.not.deep.equal([]);
  });

  it('keeps a suppressed address as a hash, so that it stays suppressed, and no link of an email works on', async () => {
    const world = await start();
    await live(world);
    await world.drain();
    const delivery = await addEmailDelivery(world, zoe);
    const suppressions = new Suppressions(world.pool);
    const feedback = { pool: world.pool, engine: world.engine, suppressions, log: pino({ level: 'silent' }) };
    await new FeedbackIntake(feedback).record({ kind: 'bounced', address: 'Zimmer@example.com', delivery, detail: '5.1.1' });
    const link = await unsubscribeLink(world, new Links(world.pool, world.address), { user: zoe, delivery });
    expect(answer(await remove(world))).to.deep.equal([200, { id: zoe }]);
    expect(await tracesOf(world.redis, world.pool, world.partition, [...texts, 'Zimmer@example.com', delivery])).to.deep.equal([]);
    expect(await suppressions.has(world.tenant, 'zimmer@example.com')).to.equal(true);
    expect((await fetch(link, { method: 'POST' })).status).to.equal(200);
    expect(await traces(world)).to.deep.equal([]);
  });

  it('removes keys, boosts and messages of an id that was never a user', async () => {
    const [system] = config.points;
    const world = await start({ config: configText({ ...heard, points: [{ ...system, boosts: [] }] }) });
    await track(world, 'm', { user: 'ana', value: 1 });
    const boosts = [{ key: 'later', name: 'Later', start: '2040-01-04', multiplier: 2, userId: zoe }];
    await world.configure(configText({ points: [{ ...system, boosts }] }));
    const made = await world.request('POST', '/admin/v1/application-api-keys', { body: [{ userId: zoe }] });
    const key = first(batchOf(made).created).key;
    await world.setClock('2040-01-05T12:00:00Z');
    const before = (await traces(world)).join('\n');
    for (const where of ['plan:', 'config_versions', 'api_keys', 'outbox', 'deliveries']) expect(before).to.contain(where);
    expect(answer(await remove(world))).to.deep.equal([200, { id: zoe }]);
    expect(await traces(world)).to.deep.equal([]);
    expect((await world.request('GET', userPath(zoe), { key })).status).to.equal(401);
    expect((await remove(world)).status).to.equal(404);
    expect(await differencesOf(world)).to.deep.equal([]);
  });

  it('reaches the users of a tenant that is archived', async () => {
    const world = await start({ config: configText({ metrics: [{ key: 'm', name: 'M' }] }) });
    const created = await world.request('POST', '/admin/v1/tenants', { body: [{ customerId: 'kunde', name: 'Kunde' }] });
    const { id } = first(batchOf(created).created);
    const headers = { 'tenant-id': id };
    bodyOf(
      await world.request('POST', '/admin/v1/metrics', { body: [{ name: 'M', key: 'm', unitType: 'number', units: '' }], headers }),
      201,
    );
    for (const user of [{ id: zoe, name: 'Zoë Zimmer', email: 'zimmer@example.com' }, { id: 'ana' }])
      bodyOf(await world.request('POST', '/v1/metrics/m/event', { body: { user, value: 1 }, headers }), 201);
    bodyOf(await world.request('DELETE', `/admin/v1/tenants?ids=${id}`), 200);
    const erase = (tenant: string, user = zoe): Promise<Reply> =>
      world.request('DELETE', `/admin/v1/users/${user}`, { headers: { 'tenant-id': tenant } });
    expect((await erase('kunde')).status).to.equal(404);
    const partition = partitionPrefix(world.settings.redisPrefix, 2);
    const left = (): Promise<string[]> => tracesOf(world.redis, world.pool, partition, texts);
    expect(await left()).to.not.deep.equal([]);
    expect(answer(await erase(id))).to.deep.equal([200, { id: zoe }]);
    expect(await left()).to.deep.equal([]);
    expect((await erase(id)).status).to.equal(404);
    expect((await world.request('GET', userPath('ana'), { headers })).status).to.equal(404);
    expect((await erase(id, 'ana')).status).to.equal(200);
  });

  it('revokes the keys of the user at once', async () => {
    const world = await start();
    await live(world);
    const made = await world.request('POST', '/admin/v1/application-api-keys', { body: [{ userId: zoe }] });
    const key = first(batchOf(made).created).key;
    expect((await world.request('GET', userPath(zoe), { key })).status).to.equal(200);
    expect((await remove(world)).status).to.equal(200);
    expect((await world.request('GET', userPath(zoe), { key })).status).to.equal(401);
    expect(await traces(world)).to.deep.equal([]);
  });

  it('leaves no trace in archived metrics, systems and boards', async () => {
    const world = await start();
    await live(world);
    await world.configure(configText({ metrics: [{ key: 'other', name: 'Other' }], streaks: { enabled: false, metrics: [] } }), {
      prune: true,
    });
    expect((await remove(world)).status).to.equal(200);
    expect(await traces(world)).to.deep.equal([]);
  });

  it('finds the user on runs that the worker has not ended in time', async () => {
    const world = await start({ roles: { api: true, worker: false } });
    const worker = startWorker(world);
    cleaning.push(worker.stop);
    for (let day = 2; day <= 9; day += 1) {
      // Past the service, which would end the runs that are over.
      await world.redis.set(world.partition + keyNames.clock, String(Date.parse(`2040-01-0${day}T12:00:00Z`)));
      await track(world, 'm', { user: { id: zoe, attributes: { city: 'Zwickau' } }, value: 1 });
      await track(world, 'm', { user: { id: 'ana', attributes: { city: 'Porto' } }, value: 1 });
    }
    const boards = (await traces(world)).filter((trace) => /b:\d+:\d{5}/.test(trace));
    expect(boards).to.have.length.of.at.least(16);
    expect((await remove(world)).status).to.equal(200);
    expect(await traces(world)).to.deep.equal([]);
  });

  it('closes the gap on every leaderboard at once, and in final rankings', async () => {
    const world = await start();
    await live(world);
    expect(await readBoard(world, 'all')).to.deep.equal(['1 ana 36', '2 zoe-4711 32', '3 bo 12']);
    expect(await readBoard(world, 'day', '?run=2040-01-03')).to.deep.equal(['1 ana 9', '2 zoe-4711 8', '3 bo 3', '4 cy 2']);
    await remove(world);
    // The board is the best three of all who have a value.
    expect(await readBoard(world, 'all')).to.deep.equal(['1 ana 36', '2 bo 12', '3 cy 8']);
    expect((await track(world, 'm', { user: 'cy', value: 1 })).leaderboards['all']).to.include({ rank: 3, previousRank: 3 });
    expect(await readBoard(world, 'all')).to.deep.equal(['1 ana 36', '2 bo 12', '3 cy 9']);
    expect(await readBoard(world, 'day', '?run=2040-01-03')).to.deep.equal(['1 ana 9', '2 bo 3', '3 cy 2']);
    const place = await read<{ rank: number }>(world, userPath('cy', '/leaderboards/day?run=2040-01-03'));
    expect(place.rank).to.equal(3);
    const page = await read<Rankings>(world, '/v1/leaderboards/day?run=2040-01-03&userId=bo&offset=1');
    expect(page.rankings.map(({ userId, rank }) => [userId, rank])).to.deep.equal([['cy', 3]]);
    for (const board of ['points', 'streak', 'day']) {
      const rows = await readBoard(world, board);
      expect(
        rows.map((row) => row.split(' ').slice(0, 2).join(' ')),
        board,
      ).to.deep.equal(['1 ana', '2 bo', '3 cy']);
    }
  });

  it('removes the user from all counts', async () => {
    const world = await start();
    await live(world);
    type Stats = readonly { readonly key: string; readonly completions: number; readonly rarity: number }[];
    const stats = async (): Promise<unknown[]> =>
      (await read<Stats>(world, '/v1/achievements')).map(({ key, completions, rarity }) => [key, completions, rarity]);
    // Zoe, Ana and Bo of four have ten; only Zoe has the others.
    expect(await stats()).to.deep.equal([
      ['ten', 3, 75],
      ['phone', 1, 25],
      ['called', 1, 25],
    ]);
    await remove(world);
    expect(await stats()).to.deep.equal([
      ['ten', 2, 66.67],
      ['phone', 0, 0],
      ['called', 0, 0],
    ]);
  });

  it('frees the id for a new user without history', async () => {
    const world = await start();
    await live(world);
    await remove(world);
    const everything = async (id: string): Promise<unknown> => {
      // The same key as before: it is a new event.
      const user = { id, attributes: { city: `of ${id}` } };
      const event = await track(world, 'm', { user, value: 10, attributes: { device: 'phone' }, key: 'key-of-zoe-2040-01-02' });
      const paths = ['', '/metrics', '/points/p', '/streak?historyPeriods=10', '/achievements', '/preferences'];
      const boards = ['points', 'streak', 'day', 'city'].map((board) => `/leaderboards/${board}`);
      const reads: unknown[] = [event];
      for (const path of [...paths, ...boards]) reads.push(bodyOf(await world.get(userPath(id, path)), 200));
      return reads;
    };
    /** Without ids, and what depends on who else is there: ranks, a board that is full, counts. */
    const plain = (value: unknown, id: string): unknown =>
      JSON.parse(
        JSON.stringify(value, (name, part: unknown) =>
          ['id', 'eventId', 'rank', 'completions', 'rarity', 'timestamp', 'control', 'all'].includes(name) ? undefined : part,
        ).replaceAll(id, 'somebody'),
      );
    const again = plain(await everything(zoe), zoe);
    const fresh = plain(await everything('new'), 'new');
    expect(again).to.deep.equal(fresh);
    await world.drain();
    const { rows } = await world.pool.query('select 1 from events where user_id = $1', [zoe]);
    expect(rows).to.have.length(1);
    expect(await differencesOf(world)).to.deep.equal([]);
  });

  it('leaves, under load, only what came after it', async () => {
    const world = await start();
    await live(world);
    let isLoud = true;
    let sent = 0;
    const load = inParallel(8, async (lane) => {
      for (let i = 0; isLoud; i += 1) {
        const id = i % 3 === 0 ? zoe : `u${(i + lane) % 20}`;
        const user = id === zoe ? { id, name: 'Zoë Zimmer', attributes: { city: 'Zwickau' } } : { id, attributes: { city: 'Porto' } };
        const headers = { 'idempotency-key': `${id === zoe ? 'key-of-zoe' : 'key'}-${lane}-${i}` };
        const { status } = await repeated(() => world.event(i % 2 ? 'm' : 'n', { user, value: 1 }, headers));
        expect(status).to.be.oneOf([201, 202]);
        sent += 1;
      }
    });
    for (let n = 0; n < 2; n += 1) {
      const enough = sent + 50;
      await until('fifty events', () => sent > enough);
      expect((await repeated(() => remove(world))).status).to.be.oneOf([200, 404]);
    }
    isLoud = false;
    await load;
    expect(await differencesOf(world)).to.deep.equal([]);
    expect((await repeated(() => remove(world))).status).to.be.oneOf([200, 404]);
    expect(await traces(world)).to.deep.equal([]);
    expect(await differencesOf(world)).to.deep.equal([]);
  });

  it('is done by the write-behind, in order, when it comes to it', async () => {
    const world = await start({ roles: { api: true, worker: false } });
    const early = startWorker(world);
    cleaning.push(early.stop);
    await track(world, 'm', { user: zoe, value: 5, key: 'key-of-zoe' });
    await world.drain();
    const isGone = async (): Promise<boolean> => (await world.redis.exists(`${world.partition}${keyNames.user}${zoe}`)) === 0;
    const removing = remove(world);
    await until('the user to leave Redis', isGone);
    await early.stop();
    await track(world, 'm', { user: zoe, value: 2, key: 'key-of-zoe' });
    const late = startWorker(world);
    cleaning.push(late.stop);
    // A 503 after the wait for the worker says that the rest happens by itself.
    expect((await removing).status).to.be.oneOf([200, 503]);
    await world.drain();
    const { rows } = await world.pool.query('select user_id, total from events');
    expect(rows).to.deep.equal([{ user_id: zoe, total: 2 }]);
    expect(await differencesOf(world)).to.deep.equal([]);
    expect((await remove(world)).status).to.equal(200);
    expect(await traces(world)).to.deep.equal([]);
  });

  it('is not undone by a worker that is killed between its commit and its trim', async () => {
    const world = await start({ roles: { api: true, worker: false } });
    const ledger = world.partition + keyNames.ledger;
    await track(world, 'm', { user: zoe, value: 5, key: 'key-of-zoe' });
    const untrimmed = await world.redis.dumpBuffer(ledger);
    const first = startWorker(world);
    cleaning.push(first.stop);
    await world.drain();
    await first.stop();
    await world.redis.restore(ledger, 0, untrimmed, 'REPLACE');
    const second = startWorker(world);
    cleaning.push(second.stop);
    await until('the stream to be trimmed', async () => (await world.redis.xlen(ledger)) === 0);
  });

  it('runs in bounded steps for a long history', async () => {
    const world = await start();
    await track(world, 'm', { user: zoe, value: 5 });
    await world.drain();
    const events = limits.forgetRows * 2 + 10;
    await world.pool.query(
      `insert into events (tenant, id, user_id, metric, value, total, day, at)
       select 1, gen_random_uuid(), $1, metric, 1, 1, day, at from (select * from events limit 1) as one, generate_series(1, $2::integer)`,
      [zoe, events],
    );
    expect((await remove(world)).status).to.equal(200);
    expect(await traces(world)).to.deep.equal([]);
  });

  it('changes nothing for an unknown user', async () => {
    const world = await start();
    await live(world);
    await world.drain();
    const before = await world.snapshot();
    expect(answer(await remove(world, 'nobody'))).to.deep.equal([
      404,
      { error: 'There is no user with the id "nobody", and nothing is stored under it.' },
    ]);
    expect((await remove(world, 'x'.repeat(256))).status).to.equal(422);
    expect(changedLines(before, await world.snapshot())).to.deep.equal([]);
  });
});

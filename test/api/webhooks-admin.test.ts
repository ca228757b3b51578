import { expect } from 'chai';
import { loadConfig } from '../../src/config/store/store.js';
import { exampleOf } from '../../src/webhooks/examples.js';
import { webhookKinds } from '../../src/config/schema/webhook-kinds.js';
import { publishEvents, type WebhookEvent } from '../../src/deliveries/outbox.js';
import { ActiveConfig } from '../../src/plan/active-config.js';
import { inTransaction } from '../../src/postgres/pool.js';
import { limits } from '../../src/shared/limits.js';
import { bodyOf } from '../support/answers.js';
import { Contract } from '../support/contract.js';
import { isSigned, isSignedAsHosted, type Receiver, startReceiver } from '../support/receiver.js';
import { until } from '../support/stage.js';
import { startWorld, type World } from '../support/world.js';

interface Shown {
  readonly id: string;
  readonly secret?: string;
  readonly status: string;
  readonly switchedOff: string | null;
}
interface Delivery {
  readonly id: string;
  readonly kind: string;
  readonly status: string;
  readonly payload: unknown;
  readonly attempts: number;
  readonly finished: string | null;
  readonly nextAttempt: string | null;
  readonly tries: readonly { readonly status: number; readonly answer: string; readonly error: string | null }[];
}
interface Batch {
  readonly created: readonly Shown[];
  readonly updated: readonly Shown[];
  readonly issues: readonly { readonly message: string }[];
}

const path = '/admin/v1/webhooks';

describe('The Admin API of webhooks', () => {
  let world: World;
  let receiver: Receiver;
  before(async () => {
    receiver = await startReceiver();
    world = await startWorld();
  });
  after(async () => {
    await world.stop();
    await receiver.stop();
  });
  beforeEach(() => {
    receiver.received.length = 0;
  });

  async function create(at: string, fields: object = {}): Promise<Required<Shown>> {
    const body = [{ name: `At ${at}`, url: receiver.url + at, events: [...webhookKinds], ...fields }];
    const { created, issues } = bodyOf<Batch>(await world.request('POST', path, { body }), 201);
    expect(issues).to.deep.equal([]);
    return created[0] as Required<Shown>;
  }
  const remove = async (...ids: string[]): Promise<void> => {
    bodyOf(await world.request('DELETE', `${path}?${ids.map((id) => `ids=${id}`).join('&')}`), 200);
  };
  const list = async (id: string, query = ''): Promise<Delivery[]> => bodyOf(await world.get(`${path}/${id}/deliveries${query}`), 200);
  async function add(...messages: readonly WebhookEvent[]): Promise<void> {
    const config = new ActiveConfig(await loadConfig(world.pool, 1));
    await inTransaction(world.pool, (client) => publishEvents(client, config, messages));
  }
  const message = (user: string, payload: object = {}, kind: WebhookEvent['kind'] = 'points.level_changed'): WebhookEvent => ({
    ...{ kind, subject: `user:${user}`, user, at: new Date('2040-01-02T12:00:00Z'), payload: { type: kind, ...payload } },
  });

  it('shows the secret in the response to a create, and never again', async () => {
    const made = await create('/a', { events: ['streak.lost'], key: 'mine' });
    expect(made.secret).to.match(/^whsec_[A-Za-z0-9+/]{43}=$/);
    const { secret: _, ...rest } = made;
    expect(rest).to.deep.include({ key: 'mine', name: 'At /a', url: `${receiver.url}/a`, events: ['streak.lost'], status: 'active' });
    expect(rest).to.deep.include({ failingSince: null, switchedOff: null });
    expect(bodyOf(await world.get(`${path}/${made.id}`), 200)).to.deep.equal(rest);
    expect(bodyOf(await world.get(path), 200)).to.deep.equal([rest]);
    const body = [{ id: made.id, status: 'inactive', events: ['streak.lost', 'points.changed'] }];
    const { updated } = bodyOf<Batch>(await world.request('PATCH', path, { body }), 200);
    expect(updated[0]).to.deep.include({ id: made.id, status: 'inactive', events: ['streak.lost', 'points.changed'] });
    expect(updated[0]).to.not.have.property('secret');
    const exported = String((await world.get('/admin/v1/configuration/file')).body);
    expect(exported).to.include('key: mine').and.not.include('whsec_');
    await remove(made.id);
    expect((await world.get(`${path}/${made.id}`)).status).to.equal(404);
    expect((await world.get(`${path}/${made.id}/deliveries`)).status).to.equal(404);
  });

  const refused: readonly (readonly [fields: object, sentence: string])[] = [
    [{ url: 'nowhere' }, 'must be a URL like https://example.com/webhooks'],
    [{ url: 'ftp://example.com' }, 'must be a URL that starts with https://'],
    [{ url: 'https://ana:secret@example.com' }, 'must not contain a user name or a password'],
    [{ events: [] }, 'must have at least 1 item'],
    [{ events: ['points.exploded'] }, 'must be one of achievement.completed, '],
    [{ status: 'on' }, 'must be one of active, inactive'],
  ];
  for (const [fields, sentence] of refused) {
    it(`refuses ${JSON.stringify(fields)} with a sentence`, async () => {
      const body = [{ name: 'A', url: 'https://example.com', events: ['streak.lost'], ...fields }];
      const reply = await world.request('POST', path, { body });
      expect(reply.status).to.equal(422);
      expect((reply.body as { error: string }).error).to.include(sentence);
    });
  }

  it('refuses a kind that is named twice, item by item', async () => {
    const good = { name: 'A', url: 'https://example.com', events: ['streak.lost'] };
    const reply = await world.request('POST', path, { body: [{ ...good, events: ['streak.lost', 'streak.lost'] }, good] });
    const { created, issues } = bodyOf<Batch>(reply, 201);
    expect(issues.map(({ message: text }) => text)).to.deep.equal(['Webhook "a": events must not list a kind twice.']);
    await remove(...created.map(({ id }) => id));
  });

  it('sends a test of any kind, and says what became of it', async () => {
    const { id, secret } = await create('/test', { status: 'inactive' });
    for (const kind of [undefined, ...webhookKinds]) {
      const reply = await world.request('POST', `${path}/${id}/test`, kind === undefined ? {} : { body: { kind } });
      const sent = kind ?? 'achievement.completed';
      expect(bodyOf(reply, 200)).to.deep.include({ kind: sent, delivered: true, status: 204, error: null });
      const got = receiver.received.at(-1);
      expect(got?.body).to.deep.equal(exampleOf(sent));
      expect(got && isSigned(got, secret) && isSignedAsHosted(got, secret)).to.equal(true);
    }
    receiver.answers['/test'] = (_, response) => response.writeHead(418).end('short and stout');
    expect(bodyOf(await world.request('POST', `${path}/${id}/test`), 200)).to.deep.include({
      delivered: false,
      status: 418,
      answer: 'short and stout',
      error: 'responded with status 418',
    });
    expect(await list(id)).to.deep.equal([]);
    await remove(id);
  });

  it('has examples that match the contract', () => {
    const contract = new Contract('application');
    for (const kind of webhookKinds) expect(contract.webhookProblems(kind, exampleOf(kind)), kind).to.deep.equal([]);
  });

  it('gives a new secret while the old one stays valid for as long as is asked for', async () => {
    const { id, secret: first } = await create('/rotate');
    const rotate = async (body?: object): Promise<{ secret: string; previousSecretValidUntil: string | null }> =>
      bodyOf(await world.request('POST', `${path}/${id}/rotate-secret`, body ? { body } : {}), 200);
    const deliver = async (): Promise<string[]> => {
      receiver.received.length = 0;
      await add(message('ana'));
      const got = await until('the message', () => receiver.at('/rotate')[0]);
      return [first, secrets[0]?.secret ?? '', secrets[1]?.secret ?? ''].map(
        (secret) =>
          `${secret !== '' && isSigned(got, secret) ? 'standard' : ''} ${secret !== '' && isSignedAsHosted(got, secret) ? 'hosted' : ''}`,
      );
    };
    const second = await rotate();
    const secrets = [second];
    expect(Date.parse(second.previousSecretValidUntil ?? '') - Date.now()).to.be.within(86_300_000, 86_400_000);
    expect(await deliver()).to.deep.equal(['standard ', 'standard hosted', ' ']);
    // Tests are signed as messages are, so that they say how those would fare.
    bodyOf(await world.request('POST', `${path}/${id}/test`), 200);
    const tested = receiver.at('/rotate').at(-1);
    expect(tested && [first, second.secret].map((secret) => isSigned(tested, secret))).to.deep.equal([true, true]);
    await world.pool.query(`update delivery_queues set previous_until = now() where previous_until is not null`);
    expect(await deliver()).to.deep.equal([' ', 'standard hosted', ' ']);
    secrets.push(await rotate({ overlapHours: 0 }));
    expect(secrets[1]).to.deep.include({ previousSecretValidUntil: null });
    expect(await deliver()).to.deep.equal([' ', ' ', 'standard hosted']);
    expect((await world.request('POST', `${path}/${id}/rotate-secret`, { body: { overlapHours: 169 } })).status).to.equal(422);
    await remove(id);
  });

  it('lists deliveries by status and kind, and sends one again', async () => {
    const { id, secret } = await create('/list');
    receiver.answers['/list'] = (request, response) => {
      response.writeHead((request.body as { n: number }).n === 2 ? 500 : 200).end(`n is ${(request.body as { n: number }).n}`);
    };
    await add(message('ana', { n: 1 }), message('bo', { n: 2 }), message('cy', { n: 3 }, 'streak.lost'));
    await until('three tries', async () => (await list(id)).every(({ tries }) => tries.length === 1));
    const all = await list(id);
    expect(all.map(({ status, payload }) => [status, (payload as { n: number }).n])).to.deep.equal([
      ['delivered', 3],
      ['pending', 2],
      ['delivered', 1],
    ]);
    const [, failing, done] = all;
    expect(failing).to.deep.include({ attempts: 1, finished: null, userId: 'bo', occurred: '2040-01-02T12:00:00.000Z' });
    expect(failing?.tries[0]).to.deep.include({ status: 500, answer: 'n is 2', error: 'responded with status 500' });
    expect(Date.parse(failing?.nextAttempt ?? '') - Date.now()).to.be.within(50_000, 60_000);
    expect(done).to.deep.include({ attempts: 1, nextAttempt: null });
    expect((await list(id, '?kind=streak.lost')).map(({ kind }) => kind)).to.deep.equal(['streak.lost']);
    expect((await list(id, '?status=pending')).map(({ id: one }) => one)).to.deep.equal([failing?.id]);
    expect(await list(id, '?status=failed')).to.deep.equal([]);
    expect((await list(id, '?limit=1&skip=2')).map(({ id: one }) => one)).to.deep.equal([done?.id]);
    await world.pool.query(`update deliveries set status = 'failed', attempts = 4, finished = now() where id = $1`, [failing?.id]);
    receiver.answers['/list'] = 200;
    const resend = (delivery = ''): ReturnType<World['request']> => world.request('POST', `${path}/${id}/deliveries/${delivery}/resend`);
    expect(bodyOf(await resend(failing?.id), 200)).to.deep.include({ id: failing?.id, status: 'pending', attempts: 0 });
    await until('the second try', async () => (await list(id, '?status=delivered')).length === 3);
    const ids = receiver.received.filter(({ body }) => (body as { n: number }).n === 2).map(({ headers }) => headers['webhook-id']);
    expect(ids).to.deep.equal([failing?.id, failing?.id]);
    expect(receiver.received.every((one) => isSigned(one, secret))).to.equal(true);
    expect((await resend('5bb7b1f4-2f5b-4e5c-9d55-3a8cf4a0f00f')).status).to.equal(404);
    await remove(id);
    expect((await resend(failing?.id)).status).to.equal(404);
  });

  describe('sends failed deliveries again', () => {
    interface Step {
      readonly resent: number;
      readonly remaining: number;
      readonly next: string | null;
    }
    let id: string;
    let other: string;
    beforeEach(async () => {
      receiver.answers['/again'] = 500;
      id = (await create('/again')).id;
      other = (await create('/other', { events: ['streak.started'] })).id;
    });
    afterEach(() => remove(id, other));

    /** Lets every delivery fail for good. */
    async function fail(count: number): Promise<void> {
      await until('the attempts', async () => (await list(id, '?limit=100')).every(({ tries }) => tries.length === 1));
      const ids = (await list(id, '?status=pending')).map((delivery) => delivery.id);
      expect(ids.length).to.equal(count);
      const failed = `update deliveries set status = 'failed', attempts = 4, finished = now() where id = any($1::uuid[])`;
      await world.pool.query(failed, [ids]);
      receiver.received.length = 0;
      receiver.answers['/again'] = 200;
    }
    const resend = async (body?: object): Promise<Step> =>
      bodyOf(await world.request('POST', `${path}/${id}/deliveries/resend`, body ? { body } : {}), 200);
    const delivered = (): unknown[] => receiver.at('/again').map(({ body }) => (body as { n: number }).n);

    it('of one endpoint, with all of their attempts, and no others', async () => {
      await add(...[1, 2, 3].map((n) => message(`user-${n}`, { n })));
      await fail(3);
      const [newest] = await list(id);
      await world.pool.query(`update deliveries set status = 'delivered' where id = $1`, [newest?.id]);
      expect(await resend()).to.deep.equal({ resent: 2, remaining: 0, next: null });
      await until('the deliveries', async () => (await list(id, '?status=delivered')).length === 3);
      expect(delivered()).to.have.members([1, 2]);
      expect((await list(id)).map(({ attempts }) => attempts).toSorted()).to.deep.equal([1, 1, 4]);
      expect(await resend()).to.deep.equal({ resent: 0, remaining: 0, next: null });
    });

    it('of a kind and a span of time', async () => {
      await add(...[1, 2, 3, 4].map((n) => message(`user-${n}`, { n }, n === 3 ? 'streak.lost' : 'points.level_changed')));
      await fail(4);
      for (const [i, delivery] of (await list(id)).toReversed().entries()) {
        const created = `2039-12-31T0${i}:00:00Z`;
        await world.pool.query('update deliveries set created = $2 where id = $1', [delivery.id, created]);
      }
      const span = { from: '2039-12-31T01:00:00Z', until: '2039-12-31T04:00:00+01:00' };
      expect(await resend({ ...span, kind: 'streak.lost' })).to.deep.equal({ resent: 1, remaining: 0, next: null });
      await until('the delivery', () => delivered().length === 1);
      expect(await resend(span)).to.deep.include({ resent: 1 });
      await until('both', () => delivered().length === 2);
      expect(delivered()).to.deep.equal([3, 2]);
    });

    it('step by step, each of a bounded number, and none twice', async () => {
      await add(message('ana', { n: 1 }));
      await fail(1);
      receiver.answers['/again'] = 500;
      // Of one subject, so that the worker tries one of them.
      const copies = `
        with made as (
          insert into outbox (tenant, kind, subject, user_id, at, payload)
          select tenant, kind, subject, user_id, at, payload from outbox, generate_series(1, $1) where id = (select max(id) from outbox) returning *)
        insert into deliveries (tenant, outbox, endpoint, kind, subject, user_id, status)
        select tenant, made.id, (select endpoint from deliveries order by outbox desc limit 1), kind, subject, user_id, 'failed' from made`;
      await world.pool.query(copies, [limits.resendRows + 10]);
      const first = await resend();
      expect([first.resent, first.remaining]).to.deep.equal([limits.resendRows, 11]);
      await until('an attempt', () => receiver.at('/again').length === 1);
      await world.pool.query(`update deliveries set status = 'failed', claim = null where status = 'pending'`);
      expect(await resend({ cursor: first.next })).to.deep.equal({ resent: 11, remaining: 0, next: null });
    });

    it('not of an inactive one, of another tenant or with a cursor of its own making', async () => {
      const send = (body: object, headers = {}) => world.request('POST', `${path}/${id}/deliveries/resend`, { body, headers });
      for (const body of [{ cursor: 'x' }, { from: 'yesterday' }, { kind: 'nonsense' }]) expect((await send(body)).status).to.equal(422);
      const made = [{ customerId: 'again', name: 'Again' }];
      const tenant = bodyOf<Batch>(await world.request('POST', '/admin/v1/tenants', { body: made }), 201).created[0]?.id ?? '';
      expect((await send({}, { 'tenant-id': tenant })).status).to.equal(404);
      bodyOf(await world.request('PATCH', path, { body: [{ id, status: 'inactive' }] }), 200);
      const reply = await send({});
      expect([reply.status, (reply.body as { error: string }).error]).to.deep.equal([
        422,
        'The webhook is inactive: set its status to active first.',
      ]);
    });

    it('with an entry in the audit log, unless there are none', async () => {
      await add(message('ana', { n: 1 }));
      await fail(1);
      await resend();
      await resend();
      const log = await world.get('/admin/v1/audit-log?limit=100');
      const { entries } = bodyOf<{ entries: readonly { operation: string; summary: string }[] }>(log, 200);
      const own = entries.filter(({ operation }) => operation === 'admin_webhooks_deliveries_resend_failed');
      expect(own.map(({ summary }) => summary).filter((summary) => summary.includes(id))).to.deep.equal([
        `1 failed delivery of ${id} sent again`,
      ]);
    });
  });

  it('counts the pending and the failed deliveries of each endpoint, of one tenant', async () => {
    const busy = await create('/busy', { events: ['points.level_changed'] });
    const idle = await create('/idle', { events: ['streak.lost'] });
    receiver.answers['/busy'] = (request, response) => response.writeHead((request.body as { n: number }).n === 1 ? 200 : 500).end();
    await add(...[1, 2, 3, 4].map((n) => message(`user-${n}`, { n })));
    await until('four tries', async () => (await list(busy.id)).every(({ tries }) => tries.length === 1));
    const [newest] = await list(busy.id);
    await world.pool.query(`update deliveries set status = 'failed', finished = now() where id = $1`, [newest?.id]);
    const none = { pending: 0, failed: 0 };
    expect(bodyOf(await world.get(`${path}/totals`), 200)).to.deep.equal([
      { webhookId: busy.id, pending: 2, failed: 1 },
      { webhookId: idle.id, ...none },
    ]);
    const other = [{ customerId: 'totals', name: 'Totals' }];
    const tenant = bodyOf<Batch>(await world.request('POST', '/admin/v1/tenants', { body: other }), 201).created[0]?.id ?? '';
    const headers = { 'tenant-id': tenant };
    expect(bodyOf(await world.request('GET', `${path}/totals`, { headers }), 200)).to.deep.equal([]);
    await remove(busy.id, idle.id);
    expect(bodyOf(await world.get(`${path}/totals`), 200)).to.deep.equal([]);
  });

  it('shows an endpoint that has been switched off, until it is set to active', async () => {
    const { id } = await create('/off');
    await world.pool.query(`update delivery_queues set switched_off = now(), failing_since = now() - interval '6 days'`);
    const shown = bodyOf<Shown>(await world.get(`${path}/${id}`), 200);
    expect([shown.status, typeof shown.switchedOff]).to.deep.equal(['inactive', 'string']);
    await add(message('ana'));
    expect(await list(id)).to.deep.equal([]);
    const { updated } = bodyOf<Batch>(await world.request('PATCH', path, { body: [{ id, name: 'Off' }] }), 200);
    expect(updated[0]?.status).to.equal('inactive');
    const on = bodyOf<Batch>(await world.request('PATCH', path, { body: [{ id, status: 'active' }] }), 200);
    expect(on.updated[0]).to.deep.include({ status: 'active', switchedOff: null, failingSince: null });
    await add(message('ana'));
    await until('the message', () => receiver.at('/off').length === 1);
    await remove(id);
  });

  it('contains nothing of a deleted user', async () => {
    const { id } = await create('/user');
    // Which shows what it has got.
    receiver.answers['/user'] = ({ raw }, response) => response.writeHead(500).end(raw);
    const user = { id: 'zoe-4711', name: 'Zoe Zimmer' };
    for (const one of [user, { id: 'bo' }]) await world.event('flashcards-viewed', { user: one, value: 1 });
    const rankings = [user.id, 'bo'].map((userId, i) => ({ userId, userName: i === 0 ? user.name : null, rank: i + 1, value: 5 }));
    const payload = { type: 'leaderboard.finished', leaderboard: { key: 'l', rankings } };
    await add(message(user.id, { user }), message('bo'), {
      kind: 'leaderboard.finished',
      subject: 'leaderboard:1',
      others: [user.id, 'bo'],
      at: new Date(),
      payload,
    });
    const ofBoard = async (): Promise<Delivery | undefined> => (await list(id, '?kind=leaderboard.finished'))[0];
    await until('three tries', async () => receiver.at('/user').length >= 3 && (await ofBoard())?.tries.length === 1);
    expect((await ofBoard())?.tries[0]?.answer).to.include(user.name);
    bodyOf(await world.request('DELETE', `/admin/v1/users/${user.id}`), 200);
    const left = await list(id);
    expect(JSON.stringify(left)).to.not.include('zoe-4711').and.not.include('Zimmer');
    expect(left.map(({ kind }) => kind)).to.include.members(['leaderboard.finished', 'points.level_changed']);
    const board = left.find(({ kind }) => kind === 'leaderboard.finished');
    expect(board?.tries).to.deep.include.members([{ ...board?.tries[0], status: 500, answer: null }]);
    expect(board?.payload).to.deep.equal({ ...payload, leaderboard: { key: 'l', rankings: rankings.slice(1) } });
    await remove(id);
  });

  it('shows one tenant only', async () => {
    const { id } = await create('/mine');
    const tenant = bodyOf<Batch>(await world.request('POST', '/admin/v1/tenants', { body: [{ customerId: 'acme', name: 'Acme' }] }), 201);
    const headers = { 'tenant-id': tenant.created[0]?.id ?? '' };
    for (const [method, at] of [
      ['GET', ''],
      ['GET', '/deliveries'],
      ['POST', '/rotate-secret'],
      ['POST', '/test'],
    ] as const) {
      expect((await world.request(method, `${path}/${id}${at}`, { headers })).status, at).to.equal(404);
    }
    await remove(id);
  });

  it('knows endpoints of a file, whose secret comes with a rotation', async () => {
    await world.configure(`webhooks: [{key: f, name: F, url: "${receiver.url}/file", events: [streak.lost]}]`);
    const [{ id }] = bodyOf<[Shown]>(await world.get(path), 200);
    const { secret } = bodyOf<{ secret: string }>(await world.request('POST', `${path}/${id}/rotate-secret`), 200);
    await add(message('ana', {}, 'streak.lost'));
    const got = await until('the message', () => receiver.at('/file')[0]);
    expect(isSigned(got, secret)).to.equal(true);
    await remove(id);
  });
});

describe('Where private addresses are not allowed, the Admin API of webhooks', () => {
  it('refuses them, and http', async () => {
    const world = await startWorld({ settings: { webhookAllowPrivate: false } });
    try {
      const hosts = ['http://example.com', 'https://localhost', 'https://10.0.0.1', 'https://[::1]:3000', 'https://2130706433/'];
      const body = hosts.map((url, i) => ({ name: `W${i}`, url, events: ['streak.lost'] }));
      const { created, issues } = bodyOf<Batch>(await world.request('POST', path, { body }), 200);
      expect(created).to.deep.equal([]);
      const [http = '', ...others] = issues.map(({ message }) => message);
      expect(http).to.equal('Webhook "w0": url must start with https:// (WEBHOOK_ALLOW_PRIVATE=1 allows http).');
      for (const sentence of others) expect(sentence).to.include('url must not lead to a private address or to this machine');
    } finally {
      await world.stop();
    }
  });
});

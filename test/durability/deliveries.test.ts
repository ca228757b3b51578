import { expect } from 'chai';
import pino from 'pino';
import { planApply } from '../../src/config/change/apply.js';
import { readConfigFile } from '../../src/config/file/file.js';
import { emptyConfig } from '../../src/config/schema/model.js';
import { limits } from '../../src/shared/limits.js';
import { Deliverer } from '../../src/deliveries/deliverer.js';
import { webhookKinds } from '../../src/config/schema/webhook-kinds.js';
import { publishEvents, type WebhookEvent } from '../../src/deliveries/outbox.js';
import { processBatch } from '../../src/deliveries/queue.js';
import { type DeliveryCounts, WebhookTargets } from '../../src/webhooks/target.js';
import { newSecret, Transport } from '../../src/webhooks/transport.js';
import { ActiveConfig } from '../../src/plan/active-config.js';
import { inTransaction } from '../../src/postgres/pool.js';
import { idsFrom1, monday } from '../support/config.js';
import { isSigned, isSignedAsHosted, type Receiver, startReceiver } from '../support/receiver.js';
import { until } from '../support/stage.js';
import { freshDatabase, type TestDatabase } from '../support/world.js';

const minuteMs = 60_000;
const dayMs = 86_400_000;
const batch = { attempts: [], maxClaims: 0, aheadMs: 0, endpoint: { newSecret, switchOffMs: limits.webhookSwitchOffMs } };

type Worker = Deliverer & { readonly counts: DeliveryCounts };

describe('Webhook deliveries', () => {
  let database: TestDatabase;
  let receiver: Receiver;
  let config: ActiveConfig;
  let aheadMs: number;
  let lines: { msg: string; level: number }[];
  const workers: Worker[] = [];

  before(async () => {
    database = await freshDatabase({ connections: 8 });
  });
  after(() => database.drop());
  beforeEach(async () => {
    receiver = await startReceiver();
    aheadMs = 0;
    lines = [];
  });
  afterEach(async () => {
    await Promise.all(workers.splice(0).map((worker) => worker.stop(0)));
    await receiver.stop();
    await database.pool.query('truncate outbox, deliveries, delivery_queues restart identity cascade');
  });

  /** Endpoints of some paths, for all kinds unless they say otherwise. */
  function configure(paths: readonly string[], fields = ''): void {
    const list = paths.map(
      (path, i) => `  - {key: w${i}, name: W, url: "${receiver.url}${path}", events: [${webhookKinds.join(', ')}]${fields}}`,
    );
    const file = readConfigFile(`webhooks:\n${list.join('\n')}`, 'f.yaml');
    const { document } = planApply(config.document, file, { now: monday, prune: true, newId: idsFrom1(), webhookReceivers: 'any' });
    config = new ActiveConfig({ tenant: 1, version: 1, document });
  }
  beforeEach(() => {
    config = new ActiveConfig({ tenant: 1, version: 0, document: emptyConfig });
  });

  function makeWorker(responseMs = 10_000): Worker {
    const log = pino({ level: 'warn' }, { write: (line) => void lines.push(JSON.parse(line) as { msg: string; level: number }) });
    const transport = new Transport({ receivers: 'any', responseMs });
    const targets = new WebhookTargets({ transport, log, configuration: () => Promise.resolve(config.document) });
    const deliverer = new Deliverer({
      pool: database.pool,
      log,
      aheadMs: () => aheadMs,
      targetOf: (queue) => targets.targetOf(queue),
      abort: () => transport.stop(),
    });
    return Object.assign(deliverer, { counts: targets.counts });
  }
  function startWorker({ responseMs = 10_000 } = {}): Worker {
    const worker = makeWorker(responseMs);
    workers.push(worker);
    worker.start();
    return worker;
  }

  const message = (user: string, payload: object = {}, kind: WebhookEvent['kind'] = 'points.level_changed'): WebhookEvent => ({
    ...{ kind, subject: `user:${user}`, user, at: new Date(), payload: { type: kind, ...payload } },
  });
  async function add(...messages: readonly WebhookEvent[]): Promise<void> {
    await inTransaction(database.pool, (client) => publishEvents(client, config, messages));
    for (const worker of workers) worker.wake();
  }
  function ahead(ms: number): void {
    aheadMs += ms;
    for (const worker of workers) worker.wake();
  }
  interface Row {
    readonly status: string;
    readonly attempts: number;
    readonly tries: readonly { readonly status: number | null; readonly error: string | null }[];
  }
  const rows = async (): Promise<Row[]> =>
    (await database.pool.query<Row>('select status, attempts, tries from deliveries order by outbox, endpoint')).rows;
  const triedTimes = (n: number): Promise<unknown> =>
    until(`${n} tries`, async () => (await rows()).reduce((sum, { tries }) => sum + tries.length, 0) >= n);
  const endpoint = async (no = 1): Promise<{ secret: string; failing_since: Date | null; switched_off: Date | null }> =>
    (await database.pool.query(`select secret, failing_since, switched_off from delivery_queues where no = $1`, [no])).rows[0] as never;
  const finished = (): Promise<unknown> => until('an end', async () => !(await rows()).some(({ status }) => status === 'pending'));

  it('reach every endpoint, of every kind, signed in both ways', async () => {
    configure(['/a', '/b']);
    startWorker();
    await add(...webhookKinds.map((kind) => message('ana', { text: 'Ünï 😀 \u2028 \u0000' }, kind)));
    await finished();
    for (const [no, path] of [
      [1, '/a'],
      [2, '/b'],
    ] as const) {
      const { secret } = await endpoint(no);
      const got = receiver.at(path);
      expect(got.map(({ body }) => (body as { type: string }).type)).to.deep.equal(webhookKinds);
      expect(new Set(got.map(({ headers }) => headers['webhook-id'])).size).to.equal(webhookKinds.length);
      for (const one of got) {
        expect(one.headers['content-type']).to.equal('application/json');
        expect(isSigned(one, secret) && isSignedAsHosted(one, secret)).to.equal(true);
        const tampered = { ...one, raw: one.raw.replace('ana', 'eve').replace('}', ' }') };
        expect(isSigned(tampered, secret) || isSignedAsHosted(tampered, secret)).to.equal(false);
        const other = (await endpoint(3 - no)).secret;
        expect(isSigned(one, other) || isSignedAsHosted(one, other)).to.equal(false);
      }
    }
  });

  it('come in order for each subject, however long one takes', async () => {
    configure(['/a']);
    receiver.answers['/a'] = (request, response) => {
      const { n } = request.body as { n: number };
      setTimeout(() => response.writeHead(200).end(), n % 7);
    };
    startWorker();
    const users = Array.from({ length: 20 }, (_, i) => `u${i}`);
    for (let n = 0; n < 10; n += 1) await add(...users.map((user) => message(user, { user, n })));
    await finished();
    for (const user of users) {
      const got = receiver.received.map(({ body }) => body as { user: string; n: number }).filter((body) => body.user === user);
      expect(got.map(({ n }) => n)).to.deep.equal([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    }
  });

  it('come at once, while another endpoint hangs and a third answers 500', async () => {
    configure(['/hangs', '/fails', '/works']);
    receiver.answers['/hangs'] = 'hang';
    receiver.answers['/fails'] = 500;
    const responseMs = 30_000;
    startWorker({ responseMs });
    const sent = new Map<number, number>();
    for (let n = 0; n < 100; n += 1) {
      sent.set(n, Date.now());
      await add(message(`u${n}`, { n }));
    }
    await until('all', () => receiver.at('/works').length === 100);
    const delays = receiver.at('/works').map(({ body, at }) => at - (sent.get((body as { n: number }).n) ?? 0));
    // None has waited for an answer of the one that hangs.
    expect(Math.max(...delays)).to.be.below(responseMs);
    // Only so many are under way to the one that hangs.
    expect(receiver.at('/hangs')).to.have.length(limits.webhookConcurrency);
  });

  it('are tried again after one, two and four minutes, with the same id, and then have failed', async () => {
    configure(['/a']);
    receiver.answers['/a'] = 500;
    startWorker();
    await add(message('ana', { n: 1 }), message('ana', { n: 2 }), message('bo', { n: 3 }));
    await triedTimes(2);
    let expected = 2;
    for (const minutes of [1, 2, 4]) {
      ahead(minutes * minuteMs - 5_000);
      // What is new is tried; what waits is not.
      await add(message(`at ${minutes}`));
      expected += 1;
      await triedTimes(expected);
      expect((await rows())[1]?.tries).to.deep.equal([]);
      await database.pool.query(`delete from deliveries where subject like 'user:at %'`);
      expected -= 1;
      ahead(5_000);
      expected += 2;
      await triedTimes(expected);
    }
    await until('the next', () => receiver.received.some(({ body }) => (body as { n: number }).n === 2));
    const [first, , third] = await rows();
    expect([first?.status, first?.attempts, third?.status]).to.deep.equal(['failed', 4, 'failed']);
    expect(first?.tries.map(({ status, error }) => [status, error])).to.deep.equal(
      Array.from({ length: 4 }, () => [500, 'responded with status 500']),
    );
    const ids = receiver.received.filter(({ body }) => (body as { n: number }).n === 1).map(({ headers }) => headers['webhook-id']);
    expect([ids.length, new Set(ids).size]).to.deep.equal([4, 1]);
  });

  it('go on in order when a try succeeds after some that failed', async () => {
    configure(['/a']);
    let fails = 2;
    receiver.answers['/a'] = (_, response) => response.writeHead((fails -= 1) >= 0 ? 503 : 200).end();
    startWorker();
    await add(...[1, 2, 3].map((n) => message('ana', { n })));
    await triedTimes(1);
    ahead(minuteMs);
    await triedTimes(2);
    ahead(2 * minuteMs);
    await finished();
    expect(receiver.received.map(({ body }) => (body as { n: number }).n)).to.deep.equal([1, 1, 1, 2, 3]);
    expect((await endpoint()).failing_since).to.equal(null);
  });

  it('switch an endpoint off that has failed for five days, and say so', async () => {
    configure(['/a', '/b']);
    receiver.answers['/a'] = 500;
    const worker = startWorker();
    const exhaust = async (user: string): Promise<void> => {
      await add(message(user));
      const mine = `select jsonb_array_length(tries) as tries from deliveries where endpoint = 1 and user_id = $1`;
      for (const [tries, minutes] of [1, 2, 4].entries()) {
        await until(
          'a try to be written down',
          async () => (await database.pool.query<{ tries: number }>(mine, [user])).rows[0]?.tries === tries + 1,
        );
        ahead(minutes * minuteMs);
      }
      await finished();
    };
    await exhaust('ana');
    const since = (await endpoint()).failing_since;
    expect(since).to.be.instanceOf(Date);
    ahead(4 * dayMs);
    await exhaust('bo');
    expect((await endpoint()).switched_off).to.equal(null);
    ahead(dayMs);
    await exhaust('cy');
    expect((await endpoint()).switched_off).to.be.instanceOf(Date);
    expect((await endpoint()).failing_since).to.deep.equal(since);
    expect((await endpoint(2)).switched_off).to.equal(null);
    expect(lines.filter(({ msg }) => msg.includes('switched off'))).to.have.length(1);
    expect(worker.counts).to.include({ switchedOff: 1, failed: 3, delivered: 3 });
    const before = receiver.at('/a').length;
    await add(message('dee'));
    await until('the other', () => receiver.at('/b').length === 4);
    expect(receiver.at('/a')).to.have.length(before);
  });

  it('end with an endpoint that is switched off', async () => {
    configure(['/a']);
    await add(...Array.from({ length: 1_500 }, (_, n) => message(`u${n}`)));
    await database.pool.query(`insert into delivery_queues (tenant, no, secret, switched_off) values (1, 1, 'whsec_MTIz', now())`);
    startWorker();
    await finished();
    expect(new Set((await rows()).map(({ status }) => status))).to.deep.equal(new Set(['failed']));
    expect(receiver.received).to.deep.equal([]);
  });

  it('wait while their endpoint is inactive, and go with one that is deleted', async () => {
    configure(['/a', '/b']);
    const active = config;
    await add(message('ana'));
    configure(['/a', '/b'], ', status: inactive');
    startWorker();
    await add(message('bo'));
    expect((await rows()).map(({ status }) => status)).to.deep.equal(['pending', 'pending']);
    config = active;
    configure(['/a']);
    ahead(0);
    await until('the deliveries of the other to go', async () => (await rows()).length === 1);
    await finished();
    expect(receiver.received.map(({ path }) => path)).to.deep.equal(['/a']);
    expect(await endpoint(2)).to.equal(undefined);
  });

  it('are late only where they are to be sent', async () => {
    configure(['/a', '/b']);
    const both = config.document;
    await add(message('ana'));
    await database.pool.query(`update deliveries set next_attempt_at = now() - (3 - endpoint) * interval '1 hour'`);
    const watcher = makeWorker();
    const lateHours = async (...fields: readonly object[]): Promise<number> => {
      const webhooks = both.webhooks.map((webhook, i) => ({ ...webhook, ...fields[i] }));
      config = new ActiveConfig({ tenant: 1, version: 1, document: { ...both, webhooks } });
      return Math.floor((await watcher.backlog()).overdueMs.webhooks / (60 * minuteMs));
    };
    const [inactive, archived] = [{ status: 'inactive' }, { archived: true }];
    expect(await lateHours()).to.equal(2);
    expect(await lateHours(inactive)).to.equal(1);
    expect(await lateHours({}, inactive)).to.equal(2);
    expect(await lateHours(archived, inactive)).to.equal(0);
    // Which this process has not heard of yet.
    expect(await lateHours(inactive, { no: 7 })).to.equal(1);
    expect(await lateHours(inactive, inactive)).to.equal(0);
    // What is to come is not late either.
    await database.pool.query(`update deliveries set next_attempt_at = now() + interval '1 hour'`);
    expect(await lateHours()).to.equal(0);
    ahead(2 * 60 * minuteMs);
    expect(await lateHours()).to.equal(1);
  });

  it('of a worker that was killed are tried again when its claim has ended, and no others before', async () => {
    configure(['/a']);
    await add(message('ana', { n: 1 }), message('ana', { n: 2 }), message('bo', { n: 3 }));
    const dead = await processBatch(database.pool, { tenant: 1, no: 1 }, { ...batch, maxClaims: 10 });
    expect(dead.claimed.map(({ body }) => (JSON.parse(body) as { n: number }).n)).to.deep.equal([1, 3]);
    startWorker();
    await add(message('cy', { n: 4 }));
    await until('what is not claimed', () => receiver.received.length === 1);
    ahead(limits.deliveryClaimMs - 1_000);
    await add(message('dee', { n: 5 }));
    await until('what is not claimed', () => receiver.received.length === 2);
    ahead(1_000);
    await finished();
    expect(receiver.received.map(({ body }) => (body as { n: number }).n).sort()).to.deep.equal([1, 2, 3, 4, 5]);
    // What the dead one finds out after all changes nothing.
    const [late] = dead.claimed;
    if (!late) throw new Error('nothing was claimed');
    const record = { status: 500, answer: null, error: 'x', durationMs: 1 };
    const attempts = [{ delivery: late, at: new Date(), result: { status: 'failed', record } as const }];
    await processBatch(database.pool, { tenant: 1, no: 1 }, { ...batch, attempts });
    expect(new Set((await rows()).map(({ status, tries }) => `${status} ${tries.length}`))).to.deep.equal(new Set(['delivered 1']));
  });

  it('are each made once by several workers, in order, while one stops', async () => {
    configure(['/a']);
    const [one] = [startWorker(), startWorker(), startWorker()];
    const users = Array.from({ length: 10 }, (_, i) => `u${i}`);
    for (let n = 0; n < 20; n += 1) {
      await add(...users.map((user) => message(user, { user, n })));
      if (n === 10) await one.stop(5_000);
    }
    await finished();
    expect(receiver.received).to.have.length(200);
    for (const user of users) {
      const got = receiver.received.map(({ body }) => body as { user: string; n: number }).filter((body) => body.user === user);
      expect(got.map(({ n }) => n)).to.deep.equal(Array.from({ length: 20 }, (_, n) => n));
    }
  });

  it('that are under way when a worker stops are given back, and are not counted as tries', async () => {
    configure(['/a']);
    receiver.answers['/a'] = 'hang';
    const worker = startWorker();
    await add(message('ana'), message('bo'));
    await until('both', () => receiver.received.length === 2);
    await worker.stop(0);
    const { rows: waiting } = await database.pool.query(
      'select claim, attempts, next_attempt_at <= clock_timestamp() as due from deliveries',
    );
    expect(waiting).to.deep.equal(Array.from({ length: 2 }, () => ({ claim: null, attempts: 0, due: true })));
  });

  it('of a long queue of one user delay no other user', async () => {
    configure(['/a']);
    await add(...Array.from({ length: 1_000 }, (_, n) => message('ana', { n })), message('bo', { n: -1 }));
    receiver.answers['/a'] = (request, response) => response.writeHead((request.body as { n: number }).n < 0 ? 200 : 500).end();
    startWorker();
    await until('the other', () => receiver.received.some(({ body }) => (body as { n: number }).n === -1), 2_000);
    expect(receiver.received).to.have.length(2);
  });

  it('are kept for seven days', async () => {
    configure(['/a']);
    await add(...Array.from({ length: 1_500 }, (_, n) => message(`u${n}`)));
    await database.pool.query(`update outbox set created = now() - interval '7 days 1 minute' where id <= 1200`);
    startWorker();
    await until('the old ones to go', async () => (await rows()).length === 300);
    const { rows: left } = await database.pool.query('select min(id)::integer as first, count(*)::integer as count from outbox');
    expect(left).to.deep.equal([{ first: 1201, count: 300 }]);
  });

  /** Starts a worker whose removal of one old message waits for a lock, and does `work`, with the pid of the removal's backend. */
  async function whileRemovalWaits(work: (pid: number) => Promise<void>): Promise<void> {
    configure(['/a']);
    await add(message('ana', { n: 1 }));
    await database.pool.query(`update outbox set created = now() - interval '8 days'`);
    await database.pool.query(`update deliveries set status = 'delivered'`);
    const client = await database.pool.connect();
    try {
      await client.query('begin; select 1 from outbox for update');
      startWorker();
      const pid = await until('the removal to wait', async () => {
        const { rows: waiting } = await database.pool.query<{ pid: number }>(
          `select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%delete from outbox%'`,
        );
        return waiting[0]?.pid;
      });
      await work(pid);
    } finally {
      await client.query('rollback');
      client.release();
    }
  }

  it('are found while old ones are being removed', async () => {
    await whileRemovalWaits(async () => {
      // The worker is not notified.
      await inTransaction(database.pool, (other) => publishEvents(other, config, [message('bo', { n: 2 })]));
      await until('the message', () => receiver.received.length === 1);
    });
    await until('the removal', async () => (await rows()).length === 1);
  });

  it('that are old are removed although a removal fails', async () => {
    // As a deadlock with a batch would end it.
    await whileRemovalWaits(async (pid) => {
      const { rows: ended } = await database.pool.query('select pg_terminate_backend($1) as ended', [pid]);
      expect(ended).to.deep.equal([{ ended: true }]);
    });
    await until('the next removal', async () => (await rows()).length === 0, limits.deliverySweepMs / 2);
  });

  it('survive a short failure of Postgres', async () => {
    configure(['/a']);
    let isBroken = true;
    receiver.answers['/a'] = (_, response) => {
      // While the answer is on its way, nothing can be written down.
      const breaking = isBroken ? database.pool.query('alter table deliveries rename to away') : Promise.resolve();
      isBroken = false;
      void breaking.then(() => response.writeHead(200).end());
    };
    startWorker();
    await add(message('ana'));
    await until('a failure', () => lines.some(({ msg }) => msg.includes('delivery poll failed')));
    await database.pool.query('alter table away rename to deliveries');
    await finished();
    expect(receiver.received).to.have.length(1);
  });
});

import { expect } from 'chai';
import { limits } from '../../src/shared/limits.js';
import { Client } from '../support/client.js';
import { type MailServer, type ReceivedEmail, startMailServer } from '../support/mail-server.js';
import { fromSources, killChildren, LaurelProcess, serve } from '../support/process.js';
import { countFrom, Random, runSeed } from '../support/random.js';
import { configFile, setStage, until, type Stage } from '../support/stage.js';
import { adminKey } from '../support/world.js';

const kills = countFrom('MESSAGE_KILLS', 20);
const users = countFrom('MESSAGE_USERS', 5_000);
const batchEvents = 1_000;

const config = {
  metrics: [{ key: 'm', name: 'M' }],
  settings: { recapFrequency: 'daily' },
  messages: { recap: ['email'], achievementCompleted: [], reactivation: [], streakReminder: [] },
};
const dayOfEvents = '2040-01-01T12:00:00Z';
/** Recaps are due at 9 o'clock of the next day. */
const recapTime = '2040-01-02T09:00:00Z';

const addressOf = (user: number): string => `user-${user}@example.com`;

/** The id of the delivery in the Message-ID of an email. */
function deliveryOf({ raw }: ReceivedEmail): string {
  const found = /^Message-ID: <([0-9a-f-]{36})@/im.exec(raw)?.[1];
  if (found === undefined) throw new Error(`no Message-ID in:\n${raw.slice(0, 1_000)}`);
  return found;
}

const seed = runSeed();

describe(`kill -9 of the worker, ${kills} times during ${users} messages to users (SEED=${seed})`, function () {
  this.timeout(600_000);
  const random = new Random(seed);
  let stage: Stage;
  let mail: MailServer;
  let client: Client;
  before(async () => {
    mail = await startMailServer();
    const sending = { MESSAGES: 'on', SMTP_URL: mail.url, EMAIL_FROM: 'Laurel <hello@laurel.example>', EMAIL_RATE_LIMIT: '10000' };
    stage = await setStage({
      env: { ...sending, PUBLIC_URL: 'https://laurel.example', TEST_CLOCK: '1', CONFIG: await configFile(config) },
    });
    client = new Client(adminKey, 4);
  });
  after(async () => {
    client.close();
    await killChildren();
    await stage.stop();
    await mail.stop();
  });

  const startWorker = (): LaurelProcess => {
    const { CONFIG: _, ...env } = stage.env;
    return new LaurelProcess(fromSources(), ['worker'], env);
  };

  /**
   * What the dead worker held would be free after limits.leaseMs, and limits.deliveryClaimMs. Its last transaction may still be running: it holds the
   * lock of the queue.
   */
  async function release(): Promise<void> {
    await stage.pool.query(`update stream_offsets set lease_until = '-infinity'`);
    await stage.pool.query('update delivery_queues set failing_since = failing_since where no < 0');
    await stage.pool.query(`update deliveries set claim = null, next_attempt_at = now() where status = 'pending' and claim is not null`);
  }

  /** Queues a recap to each user. */
  async function queueRecaps(): Promise<void> {
    const address = await serve(stage.env, ['--api-only']).address();
    // A 503 until the worker has taken its lease and written what happened before.
    const setClock = (now: string): Promise<boolean> =>
      until(`the clock at ${now}`, async () => (await client.send(address, 'PUT', '/admin/v1/clock', { body: { now } })).status === 200);
    await setClock(dayOfEvents);
    for (let first = 0; first < users; first += batchEvents) {
      const length = Math.min(batchEvents, users - first);
      const body = Array.from({ length }, (_, i) => ({
        key: 'm',
        value: 1,
        user: { id: `user-${first + i}`, email: addressOf(first + i) },
      }));
      expect((await client.send(address, 'POST', '/admin/v1/metrics/events', { body })).status).to.equal(202);
    }
    await setClock(recapTime);
  }

  /** The ids of the messages that the dead worker had claimed. */
  async function claimed(): Promise<Set<string>> {
    const { rows } = await stage.pool.query<{ id: string }>(
      "select id from deliveries where endpoint < 0 and status = 'pending' and claim is not null",
    );
    return new Set(rows.map(({ id }) => id));
  }

  it('loses none, and after a kill sends at most those again that the worker had claimed, with the same Message-ID', async () => {
    let worker = startWorker();
    await queueRecaps();
    const { rows } = await stage.pool.query<{ id: string; address: string }>(
      `select d.id, users.email as address from deliveries as d join users on users.tenant = d.tenant and users.id = d.user_id
        where d.endpoint < 0`,
    );
    expect(rows).to.have.lengthOf(users);
    const queued = new Map(rows.map(({ id, address }) => [id, address]));

    const mayBeDoubled = new Set<string>();
    for (let kill = 0; kill < kills; kill += 1) {
      // Resolves while the server has the email and the worker has no reply yet: the moment at which a kill doubles most.
      const left = users - mail.messages.length;
      await mail.received(mail.messages.length + 1 + random.below(Math.max(1, Math.floor((2 * left) / (kills - kill + 1)) - 1)));
      await worker.kill();
      // A transaction of the dead worker may still be running.
      await stage.pool.query('update delivery_queues set failing_since = failing_since where no < 0');
      const own = await claimed();
      expect(own.size, `claimed at kill ${kill}`).to.be.at.most(limits.messageConcurrency);
      for (const id of own) mayBeDoubled.add(id);
      await release();
      worker = startWorker();
    }
    const unsent = `select 1 from deliveries where endpoint < 0 and status <> 'delivered' limit 1`;
    await until('all deliveries', async () => (await stage.pool.query(unsent)).rowCount === 0, 120_000);
    await worker.stop();

    const received = new Map<string, number>();
    for (const message of mail.messages) {
      const id = deliveryOf(message);
      expect(message.to, id).to.deep.equal([queued.get(id)]);
      received.set(id, (received.get(id) ?? 0) + 1);
    }
    expect([...received.keys()].sort()).to.deep.equal([...queued.keys()].sort());
    const doubled = mail.messages.length - users;
    console.log(`      ${users} messages, ${doubled} of them sent again`);
    const others = [...received].filter(([id, count]) => count > 1 && !mayBeDoubled.has(id));
    expect(others).to.deep.equal([]);
  });
});

import { expect } from 'chai';
import { Client } from '../support/client.js';
import { fromSources, killChildren, LaurelProcess, serve } from '../support/process.js';
import { countFrom, Random, runSeed } from '../support/random.js';
import { startReceiver, type Receiver } from '../support/receiver.js';
import { configFile, setStage, until, type Stage } from '../support/stage.js';
import { adminKey } from '../support/world.js';

/** `WORKER_KILLS=20` plays the full run of 5,000 level changes. */
const kills = countFrom('WORKER_KILLS', 3);
const rounds = kills;
const users = 250;

const config = (url: string): object => ({
  metrics: [{ key: 'm', name: 'M' }],
  points: [
    {
      key: 'p',
      name: 'P',
      levels: Array.from({ length: rounds }, (_, i) => ({ key: `l${i + 1}`, name: `Level ${i + 1}`, points: i + 1 })),
      triggers: [{ key: 't', type: 'metric', metricKey: 'm', metricThreshold: 1, points: 1, status: 'active' }],
    },
  ],
  webhooks: [{ key: 'r', name: 'Receiver', url, events: ['points.level_changed'] }],
});

interface LevelChanged {
  readonly user: { readonly id: string };
  readonly previousLevel: { readonly points: number } | null;
  readonly newLevel: { readonly points: number };
}

const seed = runSeed();

describe(`kill -9 of the worker, ${kills} times during ${rounds * users} level changes (SEED=${seed})`, function () {
  this.timeout(600_000);
  const random = new Random(seed);
  let stage: Stage;
  let receiver: Receiver;
  let client: Client;
  before(async () => {
    receiver = await startReceiver();
    stage = await setStage({ env: { WEBHOOK_ALLOW_PRIVATE: '1', CONFIG: await configFile(config(`${receiver.url}/`)) } });
    client = new Client(adminKey, 4);
  });
  after(async () => {
    client.close();
    await killChildren();
    await stage.stop();
    await receiver.stop();
  });

  const startWorker = (): LaurelProcess => {
    const { CONFIG: _, ...env } = stage.env;
    return new LaurelProcess(fromSources(), ['worker'], env);
  };

  /** What the dead worker held would be free after limits.leaseMs, and limits.deliveryClaimMs. */
  async function release(): Promise<void> {
    await stage.pool.query(`update stream_offsets set lease_until = '-infinity'`);
    await stage.pool.query(`update deliveries set claim = null, next_attempt_at = now() where status = 'pending' and claim is not null`);
  }

  it('delivers every one at least once, in order for each user, and none besides', async () => {
    const address = await serve(stage.env, ['--api-only']).address();
    const send = async (): Promise<void> => {
      for (let round = 0; round < rounds; round += 1) {
        const events = Array.from({ length: users }, (_, i) => ({ key: 'm', value: 1, user: { id: `user-${i}` } }));
        const { status } = await client.send(address, 'POST', '/admin/v1/metrics/events', { body: events });
        expect(status).to.equal(202);
        // The next kill comes after some deliveries, so that each worker process has work.
        await until('messages', () => receiver.received.length > (round * users * 3) / 4, 120_000);
      }
    };
    let worker = startWorker();
    const sending = send();
    for (let kill = 0; kill < kills; kill += 1) {
      const enough = receiver.received.length + 1 + random.below(users);
      await Promise.race([sending, until(`${enough} messages`, () => receiver.received.length >= enough, 120_000)]);
      await worker.kill();
      await release();
      worker = startWorker();
    }
    await sending;
    await stage.drain();
    const pending = `select 1 from deliveries where status <> 'delivered' limit 1`;
    await until('all deliveries', async () => (await stage.pool.query(pending)).rowCount === 0, 120_000);
    await worker.stop();

    const first = new Map<string, LevelChanged>();
    for (const { headers, body } of receiver.received) {
      const id = headers['webhook-id'] ?? '';
      if (!first.has(id)) first.set(id, body as LevelChanged);
    }
    const levels = new Map<string, number[]>();
    for (const { user, previousLevel, newLevel } of first.values()) {
      expect(previousLevel?.points ?? 0).to.equal(newLevel.points - 1);
      levels.set(user.id, [...(levels.get(user.id) ?? []), newLevel.points]);
    }
    const inOrder = Array.from({ length: rounds }, (_, i) => i + 1);
    expect(Object.fromEntries(levels)).to.deep.equal(Object.fromEntries(Array.from({ length: users }, (_, i) => [`user-${i}`, inOrder])));
    const repeated = receiver.received.length - first.size;
    if (process.env['WORKER_KILLS'] !== undefined) console.log(`      ${first.size} messages, ${repeated} of them delivered again`);
  });
});

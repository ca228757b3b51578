import { expect } from 'chai';
import { hasCommitted } from '../../src/ledger/offsets.js';
import { HistoryReader } from '../../src/history/reader.js';
import { wakeWriteBehind } from '../../src/redis/partition.js';
import { limits } from '../../src/shared/limits.js';
import { until } from '../support/stage.js';
import { startWorker, type Worker } from '../support/worker.js';
import { startWorld, tenant, type World } from '../support/world.js';

/** Longer than a test may take: what is committed here did not wait for it. */
const collectMs = 3_600_000;

describe('The pace of the write-behind', () => {
  let world: World;
  let worker: Worker;

  beforeEach(async () => {
    world = await startWorld({ roles: { api: true, worker: false } });
    worker = startWorker(world, world.settings.databaseUrl!, limits.postgresQueryTimeoutMs, collectMs);
  });
  afterEach(async () => {
    await worker.stop();
    await world.stop();
  });

  const send = async (count: number): Promise<void> => {
    for (let i = 0; i < count; i += 1)
      expect((await world.event('flashcards-viewed', { user: { id: `u${i}` }, value: 1 })).status).to.equal(201);
  };
  const isCommitted = async (): Promise<boolean> => hasCommitted(world.pool, tenant, await world.ledgerEnd());
  const progress = () => worker.writeBehind.progress.of(tenant);
  const sent = async (count: number): Promise<void> => {
    await send(count);
    await until('the entries to be committed and counted', async () => (await isCommitted()) && progress().entries === count);
  };

  it('commits the first entry after a while at once', async () => {
    await sent(1);
    expect(progress().batches).to.equal(1);
  });

  it('collects the entries behind it until a reader waits, and commits them in one batch', async () => {
    await sent(1);
    await send(20);
    expect(await isCommitted()).to.equal(false);
    const reader = new HistoryReader(world.pool, () => {
      wakeWriteBehind(world.redis, world.partition);
    });
    await reader.waitFor(tenant, await world.ledgerEnd());
    await until('the batch to be counted', () => Promise.resolve(progress().entries === 21));
    expect(progress().batches).to.equal(2);
  });

  it('does not let a read of the API wait', async () => {
    await sent(1);
    await send(1);
    const reply = await world.get(
      '/v1/users/u0/metrics/flashcards-viewed/event-summary?aggregation=daily&start_date=2024-01-01&end_date=2024-01-02',
    );
    expect(reply.status).to.equal(200);
    expect(await isCommitted()).to.equal(true);
  });

  it('commits what it has collected when it stops', async () => {
    await sent(1);
    await send(5);
    await worker.stop();
    expect(await isCommitted()).to.equal(true);
  });
});

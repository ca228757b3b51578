import { expect } from 'chai';
import { Network } from '../support/network.js';
import { readLag } from '../../src/ledger/lag.js';
import { until } from '../support/stage.js';
import { startWorker, type Worker } from '../support/worker.js';
import { startWorld, tenant, type World } from '../support/world.js';

describe('The lag of Postgres', () => {
  let world: World;
  let network: Network;
  let worker: Worker;

  before(async () => {
    world = await startWorld({ roles: { api: true, worker: false } });
    network = await Network.before(world.settings.databaseUrl!);
    worker = startWorker(world, network.url);
  });
  after(async () => {
    await network.stop();
    await worker.stop();
    await world.stop();
  });

  const send = async (count: number): Promise<void> => {
    for (let i = 0; i < count; i += 1)
      expect((await world.event('flashcards-viewed', { user: { id: `u${i}` }, value: 1 })).status).to.equal(201);
  };

  it('is reported in entries and seconds while Postgres is down, with the failures, and is 0 once all is committed', async () => {
    await send(1);
    await world.drain();
    await until('the batch to be noted', () => Promise.resolve(worker.writeBehind.progress.of(tenant).entries > 0));
    const before = worker.writeBehind.progress.of(tenant);
    expect(before.batches).to.be.at.least(1);
    await network.cut();
    await send(30);
    await until('a batch to fail', () => Promise.resolve(worker.writeBehind.progress.of(tenant).failures > before.failures));
    const lag = await readLag(world.redis, world.partition, tenant);
    expect(lag).to.include({ tenant, lagEntries: 30 });
    expect(lag.lagSeconds).to.be.above(0).and.below(30);
    await network.heal();
    await world.drain();
    await until('the ledger to be trimmed', async () => (await readLag(world.redis, world.partition, tenant)).lagEntries === 0);
    await until('the batches to be noted', () => Promise.resolve(worker.writeBehind.progress.of(tenant).entries === before.entries + 30));
  });
});

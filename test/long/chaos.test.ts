import { expect } from 'chai';
import { playChaos } from './chaos/round.js';
import { runSeed } from '../support/random.js';

const seed = runSeed();

describe(`A service whose processes and stores are killed, frozen and stopped under load (SEED=${seed})`, function () {
  this.timeout(600_000);

  it('stores every acknowledged event exactly once, explains every response, and both stores agree', async () => {
    const reports = await playChaos({
      seed,
      rounds: 1,
      phases: 4,
      clients: 16,
      pauseMs: 50,
      maxPauseMs: 1_500,
      outageMs: 4_000,
      print: console.error,
    });
    for (const { events } of reports) expect(events).to.be.greaterThan(0);
  });
});

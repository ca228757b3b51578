import { expect } from 'chai';
import { namedFaults } from './faults/table.js';
import { candidates, plant, tryHistories, type Candidate } from './faults/trial.js';

const seeds = [20_400_102, 20_400_103, 20_400_104, 20_400_105];
const perSeed = 50;
const maxSteps = 45;
const lanes = 4;

/** The short form of `npm run faults`, which tries all of them. */
describe('A deliberate fault in the function library', function () {
  this.timeout(600_000);
  let histories: Candidate[];
  before(() => {
    histories = candidates(seeds, perSeed, maxSteps);
  });

  for (const fault of namedFaults) {
    it(`is caught by the model test: ${fault.name}`, async () => {
      const { by } = await tryHistories(histories, lanes, { library: plant(fault) });
      expect(by, `no difference in ${histories.length} histories`).not.to.equal(undefined);
    });
  }
});

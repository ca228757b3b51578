import fc from 'fast-check';
import { historyArbitrary } from '../support/model/arbitraries.js';
import { baseMs } from '../support/model/documents.js';
import { runHistory, type History } from '../support/model/history.js';
import { Model } from '../support/model/index.js';

describe('The model: many histories', () => {
  it('run on two models without a difference', async () => {
    const property = fc.asyncProperty(historyArbitrary(), (history: History) =>
      runHistory(history, new Model(history.config, baseMs), new Model(history.config, baseMs)),
    );
    await fc.assert(property, { seed: 20_400_102, numRuns: 40 });
  });
});

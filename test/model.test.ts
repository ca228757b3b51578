import fc from 'fast-check';
import { startArena, type Arena } from './support/engine-subject.js';
import { historyArbitrary } from './support/model/arbitraries.js';
import { baseMs } from './support/model/documents.js';
import { printHistory, runHistory } from './support/model/history.js';
import { Model } from './support/model/index.js';

/** How many histories, how long they are at the most, and from which seed: the longer run is `npm run model`. */
const histories = Number(process.env['MODEL_HISTORIES'] ?? 100);
const maxSteps = Number(process.env['MODEL_STEPS'] ?? 200);
const seed = Number(process.env['MODEL_SEED'] ?? 20_400_102);
/** Histories that run at once, each in a tenant of its own. */
const lanes = 6;
const laneTimeoutMs = 180 * 60_000;

describe('The engine, on random histories', () => {
  let arena: Arena;
  before(async function () {
    this.timeout(60_000);
    arena = await startArena();
  });
  after(() => arena.stop());

  const property = fc.asyncProperty(historyArbitrary({ maxSteps }), async (history) => {
    const contestant = await arena.enter(history.config, baseMs);
    try {
      await runHistory(history, new Model(history.config, baseMs), contestant.subject);
    } finally {
      await contestant.leave();
    }
  });

  it(`answers as the model does (${histories} histories from seed ${seed})`, async function () {
    this.timeout(laneTimeoutMs);
    const runs = Array.from({ length: lanes }, (_, lane) =>
      fc.check(property, {
        numRuns: Math.ceil(histories / lanes),
        seed: seed + lane,
        endOnFailure: process.env['MODEL_SHRINK'] === undefined,
      }),
    );
    const failures = (await Promise.all(runs)).flatMap((result, lane) => {
      if (!result.failed) return [];
      const [history] = result.counterexample ?? [];
      const error = result.errorInstance instanceof Error ? result.errorInstance.message : String(result.errorInstance);
      return [`seed ${seed + lane}, path ${result.counterexamplePath}\n${error}\n${history ? printHistory(history) : ''}`];
    });
    if (failures.length > 0) throw new Error(failures.join('\n\n'));
  });
});

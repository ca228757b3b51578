import fc from 'fast-check';
import { startArena, type Arena, type Contestant } from './support/engine-subject.js';
import { historyArbitrary } from './support/model/arbitraries.js';
import { baseMs } from './support/model/documents.js';
import { printHistory, runHistory } from './support/model/history.js';
import { Model } from './support/model/index.js';
import type { Subject } from './support/model/subject.js';

/** How many histories, how long they are at the most, and from which seed. */
const histories = Number(process.env['RESTORE_HISTORIES'] ?? 40);
const maxSteps = Number(process.env['RESTORE_STEPS'] ?? 100);
const seed = Number(process.env['RESTORE_SEED'] ?? 20_500_101);
/** Histories that run at once, each in a tenant of its own. */
const lanes = 6;
const laneTimeoutMs = 90 * 60_000;

async function verify(contestant: Contestant): Promise<void> {
  const differences = await contestant.verify();
  if (differences.length > 0) throw new Error(`Redis and Postgres differ: ${JSON.stringify(differences)}`);
}

/** Loses Redis and restores it before the operation that comes after `calls` others, and again after as many. Before that, both must agree. */
function losing(contestant: Contestant, calls: number): Subject {
  let called = 0;
  return new Proxy(contestant.subject, {
    get:
      (target, name) =>
      async (...args: unknown[]) => {
        if ((called += 1) % calls === 0) {
          await verify(contestant);
          await contestant.loseRedis();
        }
        return (target[name as keyof Subject] as (...all: unknown[]) => unknown)(...args);
      },
  });
}

describe('A Redis that was lost and restored, on random histories', () => {
  let arena: Arena;
  before(async function () {
    this.timeout(60_000);
    arena = await startArena();
  });
  after(() => arena.stop());

  const property = fc.asyncProperty(historyArbitrary({ maxSteps }), fc.integer({ min: 5, max: 60 }), async (history, calls) => {
    const contestant = await arena.enter(history.config, baseMs);
    try {
      await runHistory(history, new Model(history.config, baseMs), losing(contestant, calls));
      await verify(contestant);
    } finally {
      await contestant.leave();
    }
  });

  it(`answers as if nothing had been lost (${histories} histories from seed ${seed})`, async function () {
    this.timeout(laneTimeoutMs);
    const runs = Array.from({ length: lanes }, (_, lane) =>
      fc.check(property, { numRuns: Math.ceil(histories / lanes), seed: seed + lane, endOnFailure: true }),
    );
    const failures = (await Promise.all(runs)).flatMap((result, lane) => {
      if (!result.failed) return [];
      const [history, calls] = result.counterexample ?? [];
      const error = result.errorInstance instanceof Error ? result.errorInstance.message : String(result.errorInstance);
      return [
        `seed ${seed + lane}, path ${result.counterexamplePath}, lost every ${calls} calls\n${error}\n${history ? printHistory(history) : ''}`,
      ];
    });
    if (failures.length > 0) throw new Error(failures.join('\n\n'));
  });
});

import fc from 'fast-check';
import { startArena, type Arena, type Session, type Loss } from '../support/engine-subject.js';
import { playHistories } from '../support/histories.js';
import { countFrom } from '../support/random.js';
import { historyArbitrary } from '../support/model/arbitraries.js';
import { baseMs } from '../support/model/documents.js';
import { printHistory, runHistory } from '../support/model/history.js';
import { Model } from '../support/model/index.js';
import type { Subject } from '../support/model/subject.js';

/** How many histories, how long they are at the most, and from which seed. */
const histories = countFrom('RESTORE_HISTORIES', 40);
const maxSteps = countFrom('RESTORE_STEPS', 100);
const seed = countFrom('RESTORE_SEED', 20_500_101);
const longestMs = 90 * 60_000;

/** After so many calls since the one before, Redis is lost, or a copy is taken that it may come back as. */
interface Fault {
  readonly calls: number;
  readonly what: Loss | 'copy';
}

/** What befalls Redis, again and again from the first on, and in the end before everything is read. */
interface Faults {
  readonly list: readonly Fault[];
  readonly last: Loss;
}

const empty: fc.Arbitrary<Loss> = fc.constantFrom('empty', 'emptyByHand');
const older = fc.constant<Loss>('older');
const blows: fc.Arbitrary<Faults> = fc.record({
  list: fc.array(fc.record({ calls: fc.integer({ min: 2, max: 40 }), what: fc.oneof(empty, older, fc.constant('copy' as const)) }), {
    minLength: 1,
    maxLength: 6,
  }),
  last: fc.oneof(empty, older),
});

async function verify(contestant: Session): Promise<void> {
  const differences = await contestant.verify();
  if (differences.length > 0) throw new Error(`Redis and Postgres differ: ${JSON.stringify(differences)}`);
}

/** A contestant whose Redis is lost between calls. Before each loss, Redis and Postgres must agree. */
class FaultInjector {
  private readonly contestant: Session;
  private readonly list: readonly Fault[];
  private next = 0;
  private called = 0;

  constructor(contestant: Session, list: readonly Fault[]) {
    this.contestant = contestant;
    this.list = list;
  }

  subject(): Subject {
    return new Proxy(this.contestant.subject, {
      get:
        (target, name) =>
        async (...args: unknown[]) => {
          await this.beforeCall();
          return (target[name as keyof Subject] as (...all: unknown[]) => unknown)(...args);
        },
    });
  }

  /** The last loss, after which nothing more happens to Redis. */
  async end(loss: Loss): Promise<void> {
    await this.lose(loss);
    this.called = -Infinity;
  }

  private async beforeCall(): Promise<void> {
    const blow = this.list[this.next % this.list.length];
    if (!blow || (this.called += 1) < blow.calls) return;
    this.called = 0;
    this.next += 1;
    await (blow.what === 'copy' ? this.contestant.keepCopy() : this.lose(blow.what));
  }

  private async lose(loss: Loss): Promise<void> {
    await verify(this.contestant);
    await this.contestant.loseRedis(loss);
  }
}

describe('A Redis that was lost, or came back older, and was restored, on random histories', () => {
  let arena: Arena;
  before(async () => {
    arena = await startArena();
  });
  after(() => arena.stop());

  it(`answers as if nothing had been lost (${histories} histories from seed ${seed})`, async function () {
    this.timeout(longestMs);
    await playHistories({
      ...{ name: 'Lost and restored', histories, seed },
      arbitrary: fc.tuple(historyArbitrary({ maxSteps }), blows),
      play: async ([history, { list, last }]) => {
        const contestant = await arena.enter(history.config, baseMs);
        try {
          const losing = new FaultInjector(contestant, list);
          await runHistory(history, new Model(history.config, baseMs), losing.subject(), () => losing.end(last));
          await verify(contestant);
        } finally {
          await contestant.leave();
        }
      },
      print: ([history, befallen]) => `Redis: ${JSON.stringify(befallen)}\n${printHistory(history)}`,
    });
  });
});

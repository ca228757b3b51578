import fc from 'fast-check';
import { startArena, type Arena, type Session, type Loss } from '../support/engine-subject.js';
import { playHistories } from '../support/histories.js';
import { countFrom } from '../support/random.js';
import { historyArbitrary } from '../support/model/arbitraries.js';
import { baseMs } from '../support/model/documents.js';
import { printHistory, runHistory } from '../support/model/history.js';
import { Model } from '../support/model/index.js';
import type { Subject } from '../support/model/subject.js';

/** Number of histories, their longest length, and the first seed. */
const histories = countFrom('RESTORE_HISTORIES', 40);
const maxSteps = countFrom('RESTORE_STEPS', 100);
const seed = countFrom('RESTORE_SEED', 20_500_101);
const longestMs = 90 * 60_000;

/** After so many calls since the previous fault, Redis is lost, or a copy is taken for a later `older` loss. */
interface Fault {
  readonly calls: number;
  readonly what: Loss | 'copy';
}

/** Faults of Redis, cycled through, and the loss before the final reads. */
interface Faults {
  readonly list: readonly Fault[];
  readonly last: Loss;
}

const empty: fc.Arbitrary<Loss> = fc.constantFrom('empty', 'emptyByHand');
const older = fc.constant<Loss>('older');
const faults: fc.Arbitrary<Faults> = fc.record({
  list: fc.array(fc.record({ calls: fc.integer({ min: 2, max: 40 }), what: fc.oneof(empty, older, fc.constant('copy' as const)) }), {
    minLength: 1,
    maxLength: 6,
  }),
  last: fc.oneof(empty, older),
});

async function verify(session: Session): Promise<void> {
  const differences = await session.verify();
  if (differences.length > 0) throw new Error(`Redis and Postgres differ: ${JSON.stringify(differences)}`);
}

/** A session whose Redis is lost between calls. Redis and Postgres must agree before each loss. */
class FaultInjector {
  private readonly session: Session;
  private readonly list: readonly Fault[];
  private next = 0;
  private called = 0;

  constructor(session: Session, list: readonly Fault[]) {
    this.session = session;
    this.list = list;
  }

  subject(): Subject {
    return new Proxy(this.session.subject, {
      get:
        (target, name) =>
        async (...args: unknown[]) => {
          await this.beforeCall();
          return (target[name as keyof Subject] as (...all: unknown[]) => unknown)(...args);
        },
    });
  }

  /** The last loss; no fault follows it. */
  async end(loss: Loss): Promise<void> {
    await this.lose(loss);
    this.called = -Infinity;
  }

  private async beforeCall(): Promise<void> {
    const fault = this.list[this.next % this.list.length];
    if (!fault || (this.called += 1) < fault.calls) return;
    this.called = 0;
    this.next += 1;
    await (fault.what === 'copy' ? this.session.keepCopy() : this.lose(fault.what));
  }

  private async lose(loss: Loss): Promise<void> {
    await verify(this.session);
    await this.session.loseRedis(loss);
  }
}

describe('A Redis that was lost, or came back older, and was resynced, on random histories', () => {
  let arena: Arena;
  before(async () => {
    arena = await startArena();
  });
  after(() => arena.stop());

  it(`responds as if nothing had been lost (${histories} histories from seed ${seed})`, async function () {
    this.timeout(longestMs);
    await playHistories({
      name: 'Lost and restored',
      histories,
      seed,
      arbitrary: fc.tuple(historyArbitrary({ maxSteps }), faults),
      play: async ([history, { list, last }]) => {
        const session = await arena.enter(history.config, baseMs);
        try {
          const injector = new FaultInjector(session, list);
          await runHistory(history, new Model(history.config, baseMs), injector.subject(), () => injector.end(last));
          await verify(session);
        } finally {
          await session.leave();
        }
      },
      print: ([history, befallen]) => `Redis: ${JSON.stringify(befallen)}\n${printHistory(history)}`,
    });
  });
});

import fc from 'fast-check';
import { expect } from 'chai';
import { startArena, type Arena } from '../support/engine-subject.js';
import { documentSpecArbitrary } from '../support/model/arbitraries.js';
import { baseMs, buildDocument } from '../support/model/documents.js';
import { playOnModel } from '../support/model-histories.js';
import { allReads, askOf } from '../support/model/reads.js';
import { stepArbitrary } from '../support/model/step-arbitraries.js';
import { normalise, type EventRequest, type Subject } from '../support/model/subject.js';
import type { Answer } from '../support/model/world.js';
import { countFrom } from '../support/random.js';

/** Number of histories, their longest length, and the first seed. `npm run model` plays more. */
const histories = countFrom('MODEL_HISTORIES', 100);
const maxSteps = countFrom('MODEL_STEPS', 200);
const seed = countFrom('MODEL_SEED', 20_400_102);
const longestMs = 180 * 60_000;

const events: fc.Arbitrary<EventRequest[]> = fc.uniqueArray(
  stepArbitrary.filter((step) => step.do === 'event'),
  { minLength: 1, maxLength: 4, selector: ({ user }) => user.id },
);

/** All reads of users and leaderboards, without fields that differ between tenants. */
async function everything(subject: Subject, document: Parameters<typeof askOf>[0], userIds: readonly string[]): Promise<unknown[]> {
  const found: unknown[] = [];
  for (const read of allReads(document, userIds)) {
    const [name, ...args] = askOf(document, baseMs, read) ?? [];
    if (!name) continue;
    const { status, body } = await (subject[name] as (...all: unknown[]) => Promise<Answer>)(...args);
    found.push([name, args, status, normalise(JSON.parse(JSON.stringify(body ?? null)))]);
  }
  return found;
}

describe('The engine, on random histories', () => {
  let arena: Arena;
  before(async () => {
    arena = await startArena();
  });
  after(() => arena.stop());

  it(`responds as the model does (${histories} histories from seed ${seed})`, async function () {
    this.timeout(longestMs);
    await playOnModel(arena, {
      histories,
      maxSteps,
      seed,
      path: process.env['MODEL_PATH'],
      shrink: process.env['MODEL_SHRINK'] !== undefined,
    });
  });

  it('ends in the same state after a first event as after an identification and that event', async function () {
    this.timeout(10 * 60_000);
    await fc.assert(
      fc.asyncProperty(documentSpecArbitrary.map(buildDocument), events, async (document, requests) => {
        const inline = await arena.enter(document, baseMs);
        const explicit = await arena.enter(document, baseMs);
        try {
          const counted: string[] = [];
          for (const request of requests) {
            const { id, ...properties } = request.user;
            const { status } = await inline.subject.event(request);
            if (status >= 300) continue;
            await explicit.subject.identify('upsert', id, properties);
            expect((await explicit.subject.event(request)).status, JSON.stringify(request)).to.equal(status);
            counted.push(id);
          }
          expect(await everything(inline.subject, document, counted)).to.deep.equal(await everything(explicit.subject, document, counted));
        } finally {
          await inline.leave();
          await explicit.leave();
        }
      }),
      { numRuns: 40, seed },
    );
  });
});

import { expect } from 'chai';
import fc from 'fast-check';
import { freezesSchema, kinds, singles, type SingleName } from '../../src/config/schema/kinds.js';
import type { ConfigDocument, ListName } from '../../src/config/schema/model.js';
import { documentSpecArbitrary, historyArbitrary } from '../support/model/arbitraries.js';
import { baseMs, buildDocument } from '../support/model/documents.js';
import { editsArbitrary } from '../support/model/edit-arbitraries.js';
import { applyEdit, changedFields, type Edit } from '../support/model/edits.js';
import { runHistory, type History } from '../support/model/history.js';
import { Model } from '../support/model/index.js';
import type { EventRequest, IdentifyMode } from '../support/model/subject.js';
import type { UserProperties } from '../support/model/users.js';
import { hourMs } from '../support/model/time.js';
import type { Answer } from '../support/model/world.js';

const seed = 20_400_102;

/** What an object keeps for good: with another one, it is another object (docs/configuration.md). */
const keptForGood = ['attributes.type'];

/** Every field that a version of the configuration can change, by the tables from which files and requests are read. */
function everyField(): string[] {
  const ofLists = (Object.keys(kinds) as ListName[]).flatMap((list) => {
    const { fields, comesBack } = kinds[list];
    const names = ['key', 'archived true', ...(comesBack ? ['archived false'] : []), ...fields.map(({ stored }) => stored)];
    return names.map((name) => `${list}.${name}`);
  });
  const ofParts = (Object.keys(singles) as SingleName[]).flatMap((part) => singles[part].fields.map(({ stored }) => `${part}.${stored}`));
  const ofFreezes = Object.keys(freezesSchema.shape).map((field) => `streaks.freezes.${field}`);
  return [...ofLists, ...ofParts, ...ofFreezes].filter((field) => !keptForGood.includes(field));
}

/** Documents, and the versions of them that histories make. */
const versions = fc.record({
  config: documentSpecArbitrary.map(buildDocument),
  edits: fc.array(editsArbitrary(false), { minLength: 60, maxLength: 60 }),
});

/** The fields that versions change, one after the other. */
function changedBy(config: ConfigDocument, edits: readonly Edit[]): string[] {
  let document = config;
  return edits.flatMap((edit, index) => {
    const before = document;
    document = applyEdit(before, edit, baseMs + index * 5 * hourMs);
    return changedFields(before, document);
  });
}

/** A model with a fault: what time has done since the clock moved is settled when it is looked at, by the configuration of then. */
class SettlesLate extends Model {
  private pendingMs = baseMs;

  private catchUp(): void {
    super.setNow(this.pendingMs);
  }

  override setNow(ms: number): void {
    this.pendingMs = ms;
    this.catchUp();
  }

  override drift(ms: number): void {
    this.pendingMs = ms;
  }

  override configure(document: ConfigDocument): void {
    super.configure(document);
    this.catchUp();
  }

  override event(request: EventRequest): Answer {
    this.catchUp();
    return super.event(request);
  }

  override identify(mode: IdentifyMode, id: string, properties: UserProperties): Answer {
    this.catchUp();
    return super.identify(mode, id, properties);
  }
}

describe('The model: many histories', () => {
  it('run on two models without a difference', async () => {
    const property = fc.asyncProperty(historyArbitrary(), (history: History) =>
      runHistory(history, new Model(history.config, baseMs), new Model(history.config, baseMs)),
    );
    await fc.assert(property, { seed, numRuns: 40 });
  });

  it('change every field of the configuration', () => {
    const changed = new Set(fc.sample(versions, { seed, numRuns: 250 }).flatMap(({ config, edits }) => changedBy(config, edits.flat())));
    expect(everyField().filter((field) => !changed.has(field))).to.deep.equal([]);
  });

  it('tell a model apart that settles by the wrong configuration', async () => {
    const property = fc.asyncProperty(historyArbitrary(), (history: History) =>
      runHistory(history, new Model(history.config, baseMs), new SettlesLate(history.config, baseMs)),
    );
    const { failed, numRuns } = await fc.check(property, { seed, numRuns: 40, endOnFailure: true });
    expect({ failed, early: numRuns < 20 }).to.deep.equal({ failed: true, early: true });
  });
});

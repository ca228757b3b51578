/**
 * Changes of single objects, for the Admin API: each becomes a file with only this object and is planned like one (apply.ts), so that each
 * rule exists once. Pure: no input or output.
 */
import { limits } from '../../shared/limits.js';
import { planChanges } from './apply.js';
import { type FileFields, fileObject, type KeyOf, requestFields } from '../file/convert.js';
import { exportConfig, keysOf } from '../file/export.js';
import { configFileOf } from '../file/file.js';
import { freeKey } from './keys.js';
import { belongs, identityOf, type Kind, kindOf } from '../schema/kind.js';
import { kinds, type SingleName, singles, topLists } from '../schema/kinds.js';
import {
  type ConfigDocument,
  type ConfigObject,
  type Lists,
  type ListName,
  type PointsSystem,
  type TopListName,
  listIn,
} from '../schema/model.js';
import { partsOf } from '../check/parts.js';
import { type Problem, requestSentence } from '../file/problems.js';
import { referrersOf } from '../check/references.js';
import { validateConfig } from '../check/validate.js';
import type { WebhookReceivers } from '../schema/webhook-url.js';

/** A list of a configuration; `system` is the id of the points system that has it, for levels, triggers and boosts. */
export interface Place<N extends ListName = ListName> {
  readonly list: N;
  readonly system?: string | undefined;
}

export interface EditContext {
  /** ISO 8601 instant. */
  readonly now: string;
  readonly newId: () => string;
  /** As of PlanOptions. */
  readonly webhookReceivers?: WebhookReceivers | undefined;
}

/** A changed document, and the object in it that was created or changed. */
export interface Edited<T> {
  readonly document: ConfigDocument;
  readonly object: T;
}

/** Why an object can't be created, changed or deleted. Its message is a sentence for the caller. */
export class EditRefusal extends Error {
  readonly problems: readonly Problem[];

  constructor(problems: readonly Problem[]) {
    super(requestSentence(problems));
    this.name = 'EditRefusal';
    this.problems = problems;
  }
}

const kindAt = <N extends ListName>({ list }: Place<N>): Kind<N> => kinds[list];

/** The points system with an id, if it is in use. */
export const systemOf = (document: ConfigDocument, id: string | undefined): PointsSystem | undefined =>
  document.pointsSystems.find((system) => system.id === id && !system.archived);

/** The whole list, archived objects included; empty for an unknown points system. */
const listAt = <N extends ListName>(document: ConfigDocument, { list, system }: Place<N>): readonly Lists[N][] =>
  listIn((system === undefined ? document : systemOf(document, system)) ?? {}, list);

/** The objects of a list that are in use, in the order in which they were created. */
export const objectsAt = <N extends ListName>(document: ConfigDocument, place: Place<N>): readonly Lists[N][] =>
  listAt(document, place).filter(({ archived }) => !archived);

/** Throws an EditRefusal for an id that is not that of an object in use. */
function objectAt<N extends ListName>(document: ConfigDocument, place: Place<N>, id: string): Lists[N] {
  const found = objectsAt(document, place).find((object) => object.id === id);
  if (!found) throw new EditRefusal([{ code: 'unknown_id', kind: kindAt(place).name, id }]);
  return found;
}

/** The document with one object of a list changed. */
function withObject<N extends ListName>(document: ConfigDocument, { list, system }: Place<N>, changed: Lists[N]): ConfigDocument {
  const within = <T extends object>(owner: T): T => ({
    ...owner,
    [list]: listIn(owner, list).map((object) => (object.id === changed.id ? changed : object)),
  });
  if (system === undefined) return within(document);
  return { ...document, pointsSystems: document.pointsSystems.map((owner) => (owner.id === system ? within(owner) : owner)) };
}

/** The keys of what a request refers to by id. Throws an EditRefusal for ids of nothing that is in use. */
const requestedKeys =
  (document: ConfigDocument): KeyOf =>
  (kind, id) => {
    const isMeant = (list: TopListName) => (object: ConfigObject) =>
      object.id === id && !object.archived && kindOf(kinds[list], object) === kind;
    const found = topLists.map((list) => (document[list] as readonly ConfigObject[]).find(isMeant(list))).find((object) => object);
    if (!found) throw new EditRefusal([{ code: 'unknown_id', kind, id }]);
    return found.key;
  };

function plan(document: ConfigDocument, contents: FileFields, context: EditContext, lists: 'replaced' | 'extended'): ConfigDocument {
  const planned = planChanges(document, configFileOf(contents), { ...context, prune: false, lists });
  if (planned.problems.length > 0) throw new EditRefusal(planned.problems.map(({ problem }) => problem));
  return planned.document;
}

/** A file with one object. */
function fileWith(document: ConfigDocument, place: Place, fields: FileFields): FileFields {
  const contents = { [kindAt(place).file]: [fields] };
  const owner = systemOf(document, place.system);
  return owner ? { [kinds.pointsSystems.file]: [{ ...fileObject(kinds.pointsSystems, owner, keysOf(document)), ...contents }] } : contents;
}

/** The key in the request, or else a generated one. */
const keyFor = ({ name }: Kind, sent: object, fields: FileFields, taken: ReadonlySet<string>): string =>
  'key' in sent && typeof sent.key === 'string' ? sent.key : freeKey(name, fields, taken);

/** The lists inside a new object that come with it, with a key for each object that has none. */
function nestedLists(document: ConfigDocument, kind: Kind, sent: FileFields, key: string): FileFields {
  const keyOf = requestedKeys(document);
  const archived = document.pointsSystems.find((system) => system.key === key);
  const lists = kind.inside.map((list) => {
    const nested = kinds[list];
    const taken = new Set(listIn(archived ?? {}, list).map((object) => object.key));
    const objects = ((sent[list] ?? []) as readonly object[]).map((object) => {
      const fields = requestFields(nested.fields, object, keyOf);
      const own = keyFor(nested, object, fields, taken);
      taken.add(own);
      return { ...fields, key: own };
    });
    return [nested.file, objects] as const;
  });
  return Object.fromEntries(lists);
}

/**
 * Adds an object, or revives the archived one with its key, as a file does. `sent` has the fields of the Admin API; an object without a key
 * gets one made from its fields. Throws an EditRefusal.
 */
export function createObject<N extends ListName>(
  document: ConfigDocument,
  place: Place<N>,
  sent: object,
  context: EditContext,
): Edited<Lists[N]> {
  const kind = kindAt(place);
  const fields = requestFields(kind.fields, sent, requestedKeys(document));
  const key = keyFor(kind, sent, fields, new Set(listAt(document, place).map((object) => object.key)));
  const identity = identityOf(kind, { ...fields, key });
  const isMeant = (object: Lists[N]): boolean => identityOf(kind, object) === identity;
  const taken = objectsAt(document, place).find(isMeant);
  if (taken) throw existing(kind, taken);
  const contents = fileWith(document, place, { ...fields, ...nestedLists(document, kind, sent as FileFields, key), key });
  const changed = plan(document, contents, context, kind.inside.length > 0 ? 'replaced' : 'extended');
  const object = objectsAt(changed, place).find(isMeant);
  if (!object) throw new Error(`a ${kind.name} that was created is not in the configuration`);
  return { document: changed, object };
}

const existing = ({ name }: Kind, { key, archived }: ConfigObject): EditRefusal =>
  new EditRefusal([{ code: archived ? 'archived_key' : 'exists', subject: { kind: name, key } }]);

/** Changes the fields of an object that `sent` has, its `id` among them, and no others. Throws an EditRefusal. */
export function updateObject<N extends ListName>(
  document: ConfigDocument,
  place: Place<N>,
  sent: { readonly id: string; readonly key?: string | undefined },
  context: EditContext,
): Edited<Lists[N]> {
  const kind = kindAt(place);
  const was = objectAt(document, place, sent.id);
  const fields = requestFields(kind.fields, sent, requestedKeys(document));
  const { key = was.key } = sent;
  const isTaken = (object: Lists[N]): boolean => object.key === key && (kind.comesBack || !object.archived);
  const taken = key === was.key ? undefined : listAt(document, place).find(isTaken);
  if (taken) throw existing(kind, taken);
  // A new key changes only paths: ids and data stay.
  const renamed = key === was.key ? document : withObject(document, place, { ...was, key, updated: context.now });
  const stored = fileObject(kind, was, keysOf(document));
  const contents = fileWith(renamed, place, { ...remaining(kind, stored, fields), ...fields, key });
  const changed = plan(renamed, contents, context, 'extended');
  return { document: changed, object: objectAt(changed, place, sent.id) };
}

/** The stored fields that an object keeps: those of another variant go, and so does the interval of runs without a unit. */
function remaining(kind: Kind, stored: FileFields, sent: FileFields): FileFields {
  const changed = { ...stored, ...sent };
  const kept = kind.fields.filter((field) => belongs(kind, field, changed) && !(field.file === 'runInterval' && sent['runUnit'] === null));
  return Object.fromEntries(kept.flatMap(({ file }) => (stored[file] === undefined ? [] : [[file, stored[file]]])));
}

/** Archives an object: it no longer has an effect, but its data stays. Throws an EditRefusal, also for one that others refer to. */
export function archiveObject<N extends ListName>(
  document: ConfigDocument,
  place: Place<N>,
  id: string,
  { now }: EditContext,
): ConfigDocument {
  const was = objectAt(document, place, id);
  const by = referrersOf(document, partsOf(document), id);
  if (by.length > 0) throw new EditRefusal([{ code: 'referred_to', subject: { kind: kindAt(place).name, key: was.key }, by }]);
  const changed = withObject(document, place, { ...was, archived: true, updated: now });
  const problems = validateConfig(changed);
  if (problems.length > 0) throw new EditRefusal(problems);
  return changed;
}

/** Changes the fields of the settings or streak settings that `sent` has. Throws an EditRefusal. */
export function changeSettings(document: ConfigDocument, part: SingleName, sent: object, context: EditContext): ConfigDocument {
  const fields = requestFields(singles[part].fields, sent, requestedKeys(document));
  return plan(document, { [part]: fields }, context, 'extended');
}

/** How much longer a document can get as YAML: it has keys of up to 255 characters in place of ids. */
const maxGrowth = 8;

/** Whether a configuration still fits into a file that can be applied. */
export function fitsIntoFile(document: ConfigDocument): boolean {
  if (JSON.stringify(document).length * maxGrowth < limits.maxConfigFileBytes) return true;
  return Buffer.byteLength(exportConfig(document)) <= limits.maxConfigFileBytes;
}

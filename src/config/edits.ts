/**
 * Changes of single objects, as the Admin API makes them: each is laid out as a file that holds just this object and is planned like one
 * (apply.ts), so that every rule is the file's. Pure: nothing is read or written.
 */
import { planChanges } from './apply.js';
import { exportConfig, type FileFields, keysOf, objectFields, withKeys } from './export.js';
import { configFileOf } from './file.js';
import { andMore } from '../shared/errors.js';
import { freeKey } from './keys.js';
import { limits } from '../shared/limits.js';
import {
  type Achievement,
  type Attribute,
  type ConfigDocument,
  type ConfigObject,
  type Leaderboard,
  type Metric,
  type PointsBoost,
  type PointsLevel,
  type PointsSystem,
  type PointsTrigger,
  type Webhook,
} from './model.js';
import { partsOf } from './parts.js';
import { named } from './problems.js';
import { referrersOf } from './references.js';
import {
  achievementKinds,
  achievementSchema,
  attributeSchema,
  boostSchema,
  leaderboardKinds,
  leaderboardSchema,
  levelSchema,
  metricSchema,
  pointsSystemSchema,
  triggerKinds,
  triggerSchema,
  webhookSchema,
} from './schema.js';
import { type ReferenceKind } from './stored.js';
import { validateConfig } from './validate.js';
import { type Kinds } from './fields.js';

/** What the lists of a configuration hold. */
export interface Lists {
  readonly attributes: Attribute;
  readonly metrics: Metric;
  readonly pointsSystems: PointsSystem;
  readonly achievements: Achievement;
  readonly leaderboards: Leaderboard;
  readonly webhooks: Webhook;
  readonly levels: PointsLevel;
  readonly triggers: PointsTrigger;
  readonly boosts: PointsBoost;
}
export type ListName = keyof Lists;

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
  readonly allowPrivateWebhooks?: boolean | undefined;
}

/** A document that has been changed, and the object in it that was meant. */
export interface Edited<T> {
  readonly document: ConfigDocument;
  readonly object: T;
}

/** Why an object can't be created, changed or deleted: a sentence for the caller. */
export class EditRefusal extends Error {
  constructor(sentences: readonly string[]) {
    const all = [...new Set(sentences)].map((sentence) => sentence.charAt(0).toUpperCase() + sentence.slice(1));
    super(`${all.slice(0, limits.maxComplaints).join('; ')}${andMore(all.length)}.`);
    this.name = 'EditRefusal';
  }
}

interface Rules {
  /** What a sentence calls one of them. */
  readonly kind: string;
  /** The name of the list in a file. */
  readonly file: string;
  readonly schema: { readonly shape: Readonly<Record<string, unknown>> };
  /** The field that decides which other fields an object has. */
  readonly by?: string;
  readonly kinds?: Kinds;
}

const rules: Readonly<Record<ListName, Rules>> = {
  attributes: { kind: 'attribute', file: 'attributes', schema: attributeSchema },
  metrics: { kind: 'metric', file: 'metrics', schema: metricSchema },
  pointsSystems: { kind: 'points system', file: 'points', schema: pointsSystemSchema },
  achievements: { kind: 'achievement', file: 'achievements', schema: achievementSchema, by: 'trigger', kinds: achievementKinds },
  leaderboards: { kind: 'leaderboard', file: 'leaderboards', schema: leaderboardSchema, by: 'rankBy', kinds: leaderboardKinds },
  webhooks: { kind: 'webhook', file: 'webhooks', schema: webhookSchema },
  levels: { kind: 'level', file: 'levels', schema: levelSchema },
  triggers: { kind: 'trigger', file: 'triggers', schema: triggerSchema, by: 'type', kinds: triggerKinds },
  boosts: { kind: 'boost', file: 'boosts', schema: boostSchema },
};

/** The points system with an id, if it is in use. */
export const systemOf = (document: ConfigDocument, id: string | undefined): PointsSystem | undefined =>
  document.pointsSystems.find((system) => system.id === id && !system.archived);

/** The whole list, archived objects included; empty for a points system that there isn't. */
function listAt<N extends ListName>(document: ConfigDocument, { list, system }: Place<N>): readonly Lists[N][] {
  const owner: Partial<Record<ListName, readonly ConfigObject[]>> = (system === undefined ? document : systemOf(document, system)) ?? {};
  return (owner[list] ?? []) as readonly Lists[N][];
}

/** The objects of a list that are in use, in the order in which they were created. */
export const objectsAt = <N extends ListName>(document: ConfigDocument, place: Place<N>): readonly Lists[N][] =>
  listAt(document, place).filter(({ archived }) => !archived);

/** Throws an EditRefusal for an id that is not that of an object in use. */
function objectAt<N extends ListName>(document: ConfigDocument, place: Place<N>, id: string): Lists[N] {
  const found = objectsAt(document, place).find((object) => object.id === id);
  if (!found) throw new EditRefusal([`there is no ${rules[place.list].kind} with the id ${JSON.stringify(id)}`]);
  return found;
}

/** The document with one list changed. */
function withList<N extends ListName>(
  document: ConfigDocument,
  { list, system }: Place<N>,
  change: (objects: readonly Lists[N][]) => readonly Lists[N][],
): ConfigDocument {
  if (system === undefined) return { ...document, [list]: change(listAt(document, { list })) };
  const pointsSystems = document.pointsSystems.map((owner) =>
    owner.id === system ? { ...owner, [list]: change(owner[list as 'levels'] as unknown as readonly Lists[N][]) } : owner,
  );
  return { ...document, pointsSystems };
}

const withObject = <N extends ListName>(document: ConfigDocument, place: Place<N>, changed: Lists[N]): ConfigDocument =>
  withList(document, place, (objects) => objects.map((object) => (object.id === changed.id ? changed : object)));

/** Fields with ids as a file has them. Throws an EditRefusal for ids of nothing that is in use. */
function fromIds(document: ConfigDocument, fields: object): FileFields {
  const kinds: Readonly<Record<ReferenceKind, readonly ConfigObject[]>> = {
    metric: document.metrics,
    'points system': document.pointsSystems,
    achievement: document.achievements,
    'user attribute': document.attributes.filter(({ type }) => type === 'user'),
    'event attribute': document.attributes.filter(({ type }) => type === 'event'),
  };
  return withKeys(fields, (kind, id) => {
    const found = kinds[kind].find((object) => object.id === id && !object.archived);
    if (!found) throw new EditRefusal([`there is no ${kind} with the id ${JSON.stringify(id)}`]);
    return found.key;
  });
}

/** Sentences about files have keys where the Admin API has ids. What stands in quotes is a caller's own. */
function inApiWords(sentence: string): string {
  return sentence
    .split(/("(?:[^"\\]|\\.)*")/)
    .map((part) => (part.startsWith('"') ? part : part.replace(/\b(metric|pointsSystem|achievement|attribute)Key(s?)\b/g, '$1Id$2')))
    .join('');
}

function plan(document: ConfigDocument, contents: FileFields, context: EditContext, lists: 'replaced' | 'extended'): ConfigDocument {
  const planned = planChanges(document, configFileOf(contents), { ...context, prune: false, lists });
  if (planned.problems.length > 0) throw new EditRefusal(planned.problems.map(({ sentence }) => inApiWords(sentence)));
  return planned.document;
}

/** A file with one object. */
function fileWith(document: ConfigDocument, { list, system }: Place, fields: FileFields): FileFields {
  const { file } = rules[list];
  const owner = systemOf(document, system);
  if (!owner) return { [file]: [fields] };
  return { points: [{ ...objectFields(owner, pointsSystemSchema, keysOf(document)), [file]: [fields] }] };
}

/** The lists that come with a new points system, with a key for each object that has none. */
function nestedLists(document: ConfigDocument, fields: FileFields): FileFields {
  const archived = document.pointsSystems.find(({ key }) => key === fields['key']);
  const lists = (['levels', 'triggers', 'boosts'] as const).map((list) => {
    const taken = new Set(archived?.[list].map(({ key }) => key));
    const given = ((fields[list] ?? []) as readonly object[]).map((object) => {
      const own = fromIds(document, object);
      const key = typeof own['key'] === 'string' ? own['key'] : freeKey(rules[list].kind, own, taken);
      taken.add(key);
      return { ...own, key };
    });
    return [list, given] as const;
  });
  return Object.fromEntries(lists);
}

/**
 * Adds an object, or brings back the archived one of its key, as a file does. `given` has the fields of the Admin API; one without a key
 * gets one that is made from what it says. Throws an EditRefusal.
 */
export function createObject<N extends ListName>(
  document: ConfigDocument,
  place: Place<N>,
  given: object,
  context: EditContext,
): Edited<Lists[N]> {
  const { kind } = rules[place.list];
  const fields = fromIds(document, given);
  const key =
    typeof fields['key'] === 'string' ? fields['key'] : freeKey(kind, fields, new Set(listAt(document, place).map((one) => one.key)));
  const isMeant = (object: ConfigObject): boolean =>
    object.key === key && (place.list !== 'attributes' || (object as Attribute).type === fields['type']);
  if (objectsAt(document, place).some(isMeant)) throw new EditRefusal([`${named(kind, { key })} exists already: choose another key`]);
  const nested = place.list === 'pointsSystems' ? nestedLists(document, fields) : {};
  const contents = fileWith(document, place, { ...fields, ...nested, key });
  const changed = plan(document, contents, context, place.list === 'pointsSystems' ? 'replaced' : 'extended');
  const object = objectsAt(changed, place).find(isMeant);
  if (!object) throw new Error(`a ${kind} that was created is not in the configuration`);
  return { document: changed, object };
}

/** Changes the fields of an object that `given` has, and no others. Throws an EditRefusal. */
export function updateObject<N extends ListName>(
  document: ConfigDocument,
  place: Place<N>,
  id: string,
  given: object,
  context: EditContext,
): Edited<Lists[N]> {
  const was = objectAt(document, place, id);
  const { schema } = rules[place.list];
  const { id: _id, key = was.key, ...sent } = fromIds(document, given);
  const renamed = key === was.key ? document : rename(document, place, was, String(key), context);
  const stored = objectFields(was, schema, keysOf(document));
  const fields = { ...whatStays(place.list, stored, sent), ...sent, key };
  const changed = plan(renamed, fileWith(renamed, place, fields), context, 'extended');
  return { document: changed, object: objectAt(changed, place, id) };
}

/** A key can change where nothing but paths hangs on it: ids and data stay. */
function rename<N extends ListName>(
  document: ConfigDocument,
  place: Place<N>,
  was: Lists[N],
  key: string,
  { now }: EditContext,
): ConfigDocument {
  const { kind } = rules[place.list];
  if (objectsAt(document, place).some((object) => object.key === key)) {
    throw new EditRefusal([`${named(kind, { key })} exists already: choose another key`]);
  }
  return withObject(document, place, { ...was, key, updated: now });
}

/** The fields that an object keeps: what belongs to the kind that it no longer is goes, and so does the interval of runs without a unit. */
function whatStays(list: ListName, stored: FileFields, sent: FileFields): FileFields {
  const { by, kinds } = rules[list];
  const gone = new Set<string>(sent['runUnit'] === null ? ['runInterval'] : []);
  const kind = by === undefined ? undefined : sent[by];
  if (by !== undefined && kinds && typeof kind === 'string' && kind !== stored[by]) {
    const { needs = [], may = [] } = kinds[kind] ?? {};
    const others = Object.values(kinds).flatMap((other) => [...other.needs, ...(other.may ?? [])]);
    for (const field of others) if (!needs.includes(field) && !may.includes(field)) gone.add(field);
  }
  return Object.fromEntries(Object.entries(stored).filter(([field]) => !gone.has(field)));
}

/** Most names that one sentence lists. */
const shownNames = 5;

const listed = (names: readonly string[]): string =>
  names.length <= shownNames ? names.join(' and ') : `${names.slice(0, shownNames).join(', ')} and ${names.length - shownNames} others`;

/** Archives an object: it has no effect any more, but its data stays. Throws an EditRefusal, for one that is still referred to as well. */
export function archiveObject<N extends ListName>(
  document: ConfigDocument,
  place: Place<N>,
  id: string,
  { now }: EditContext,
): ConfigDocument {
  const was = objectAt(document, place, id);
  const name = named(rules[place.list].kind, was);
  const referrers = referrersOf(document, partsOf(document), id);
  if (referrers.length > 0) throw new EditRefusal([`${name} can't be deleted: it is referred to by ${listed(referrers)}`]);
  const changed = withObject(document, place, { ...was, archived: true, updated: now });
  const problems = validateConfig(changed);
  if (problems.length > 0) throw new EditRefusal(problems.map(({ sentence }) => inApiWords(sentence)));
  return changed;
}

/** Changes the fields that `given` has of what there is one of. Throws an EditRefusal. */
export function changeSettings(
  document: ConfigDocument,
  part: 'settings' | 'streaks',
  given: object,
  context: EditContext,
): ConfigDocument {
  return plan(document, { [part]: fromIds(document, given) }, context, 'extended');
}

/** How much longer a text can get as YAML than it is as a stored document: keys of 255 characters in place of ids. */
const maxGrowth = 8;

/** Whether a configuration still fits into a file that can be applied. */
export function fitsIntoFile(document: ConfigDocument): boolean {
  if (JSON.stringify(document).length * maxGrowth < limits.maxConfigFileBytes) return true;
  return Buffer.byteLength(exportConfig(document)) <= limits.maxConfigFileBytes;
}

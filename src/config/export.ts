/** A configuration as a file that applies as it: what readConfigFile takes, made from what is stored. */
import { stringify } from 'yaml';
import { type ConfigDocument, type ConfigObject, type PointsSystem } from './model.js';
import {
  achievementSchema,
  attributeSchema,
  boostSchema,
  freezesSchema,
  leaderboardSchema,
  levelSchema,
  metricSchema,
  pointsSystemSchema,
  settingsSchema,
  streaksSchema,
  triggerSchema,
  webhookSchema,
} from './schema.js';
import { type ReferenceKind } from './stored.js';

/** An object by the names that a file has for its fields. */
export type FileFields = Readonly<Record<string, unknown>>;

/** The key of what an id stands for. */
export type KeyOf = (kind: ReferenceKind, id: string) => string;

const references: Readonly<Record<string, readonly [field: string, kind: ReferenceKind]>> = {
  metricId: ['metricKey', 'metric'],
  pointsSystemId: ['pointsSystemKey', 'points system'],
  achievementId: ['achievementKey', 'achievement'],
  achievementIds: ['achievementKeys', 'achievement'],
  breakdownAttributes: ['breakdownAttributes', 'user attribute'],
};

/** Lists of objects that refer to something themselves, and which of their fields holds the id. */
const referring: Readonly<Record<string, readonly [idField: string, keyField: string, kind: ReferenceKind]>> = {
  userAttributes: ['attributeId', 'attributeKey', 'user attribute'],
  eventAttributes: ['attributeId', 'attributeKey', 'event attribute'],
  metrics: ['metricId', 'metricKey', 'metric'],
};

/** Fields with ids, as the Admin API and documents have them, as fields with keys. What is undefined is left out. */
export function withKeys(fields: object, keyOf: KeyOf): FileFields {
  const entries = Object.entries(fields) as [string, unknown][];
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined).map(([name, value]) => withKey(name, value, keyOf)));
}

function withKey(name: string, value: unknown, keyOf: KeyOf): [string, unknown] {
  const reference = references[name];
  if (reference) {
    const [field, kind] = reference;
    if (Array.isArray(value)) return [field, value.map((id) => keyOf(kind, String(id)))];
    return [field, typeof value === 'string' ? keyOf(kind, value) : value];
  }
  const list = referring[name];
  if (!list || !Array.isArray(value)) return [name, value];
  const [idField, keyField, kind] = list;
  return [name, (value as FileFields[]).map(({ [idField]: id, ...rest }) => ({ [keyField]: keyOf(kind, String(id)), ...rest }))];
}

/** Whether a field of an object says no more than its absence. (The default of a description is not an empty text everywhere.) */
const saysNothing = (value: unknown): boolean =>
  value === null || value === undefined || value === false || (Array.isArray(value) && value.length === 0);

type Shape = { readonly shape: Readonly<Record<string, unknown>> };

/** A stored object as a file has it, without the lists of a points system. Fields stand in the order of their schema. */
export function objectFields(object: ConfigObject, { shape }: Shape, keyOf: KeyOf): FileFields {
  const { badgeUrl, ...rest } = object as ConfigObject & { readonly badgeUrl?: string | null };
  const fields: FileFields = { ...withKeys(rest, keyOf), ...(typeof badgeUrl === 'string' ? { badge: { url: badgeUrl } } : {}) };
  const isPerpetual = fields['runInterval'] === 0;
  const given = Object.keys(shape).filter(
    (name) => !nestedLists.includes(name) && !saysNothing(fields[name]) && !(isPerpetual && name === 'runInterval'),
  );
  return Object.fromEntries(given.map((name) => [name, fields[name]]));
}

const nestedLists: readonly string[] = ['levels', 'triggers', 'boosts'];

/** What there is one of, whole: what it leaves out would stay as it is where the file is applied. */
const wholeFields = (fields: FileFields, { shape }: Shape): FileFields =>
  Object.fromEntries(Object.keys(shape).map((name) => [name, fields[name]]));

/** The key of everything that can be referred to in a document. */
export function keysOf({ attributes, metrics, pointsSystems, achievements }: ConfigDocument): KeyOf {
  const keys = new Map([attributes, metrics, pointsSystems, achievements].flat().map(({ id, key }) => [id, key]));
  return (kind, id) => {
    const key = keys.get(id);
    if (key === undefined) throw new Error(`the configuration refers to a ${kind} ${id}, which validation should have refused`);
    return key;
  };
}

/**
 * The whole configuration as YAML that `laurel apply` takes: applied to an empty tenant it makes the same configuration, with other ids;
 * applied to its own it changes nothing. What is archived is not in it.
 */
export function exportConfig(document: ConfigDocument): string {
  const keyOf = keysOf(document);
  const list = (objects: readonly ConfigObject[], shape: Shape): FileFields[] =>
    objects.filter(({ archived }) => !archived).map((object) => objectFields(object, shape, keyOf));
  const systems = document.pointsSystems.filter(({ archived }) => !archived);
  const lists = ({ levels, triggers, boosts }: PointsSystem): FileFields => ({
    levels: list(levels, levelSchema),
    triggers: list(triggers, triggerSchema),
    boosts: list(boosts, boostSchema),
  });
  const contents = {
    settings: wholeFields({ ...document.settings }, settingsSchema),
    attributes: list(document.attributes, attributeSchema),
    metrics: list(document.metrics, metricSchema),
    points: systems.map((system) => ({ ...objectFields(system, pointsSystemSchema, keyOf), ...lists(system) })),
    achievements: list(document.achievements, achievementSchema),
    streaks: {
      ...wholeFields(withKeys(document.streaks, keyOf), streaksSchema),
      freezes: wholeFields({ ...document.streaks.freezes }, freezesSchema),
    },
    leaderboards: list(document.leaderboards, leaderboardSchema),
    webhooks: list(document.webhooks, webhookSchema),
  };
  // Texts over several lines are written with escapes: a block would lose what its line ends are.
  return stringify(contents, { lineWidth: 0, blockQuote: false, aliasDuplicateObjects: false });
}

/** The difference between two configurations, as data and as lines for an operator. */
import { isDeepStrictEqual } from 'node:util';
import { type AttributeFilter, type ConfigObject } from './model.js';

export type ObjectKind = 'user attribute' | 'event attribute' | 'metric' | 'points system' | 'level' | 'trigger' | 'boost' | 'leaderboard';

/** `field` and the values are those of the file: keys in place of ids, `badge.url` for the badge. */
export interface FieldChange {
  readonly field: string;
  readonly from: unknown;
  readonly to: unknown;
}

export interface ObjectChange {
  /** `revive`: an archived object is used again, with its id, its number and its data. */
  readonly action: 'add' | 'revive' | 'change' | 'archive';
  readonly kind: ObjectKind;
  readonly key: string;
  /** The key of the points system that a level, trigger or boost is of; null for the others. */
  readonly within: string | null;
  /** What differs from the object as it was. Empty for `add` and `archive`. */
  readonly fields: readonly FieldChange[];
}

export interface SettingsChange {
  readonly action: 'change';
  readonly kind: 'settings';
  readonly fields: readonly FieldChange[];
}

export type Change = ObjectChange | SettingsChange;

/** What identifies an object, and the lists that are compared object by object. */
const notCompared: ReadonlySet<string> = new Set(['id', 'no', 'key', 'created', 'updated', 'archived', 'levels', 'triggers', 'boosts']);

/** The fields of a stored object as a file has them. `keyOf` gives the key of the object with an id. */
function fileFields(object: ConfigObject, keyOf: (id: string) => string): Map<string, unknown> {
  const entries = Object.entries(object) as [string, unknown][];
  return new Map(entries.filter(([field]) => !notCompared.has(field)).map(([field, value]) => fileField(field, value, keyOf)));
}

function fileField(field: string, value: unknown, keyOf: (id: string) => string): [string, unknown] {
  switch (field) {
    case 'badgeUrl':
      return ['badge.url', value];
    case 'metricId':
      return ['metricKey', keyOf(String(value))];
    case 'pointsSystemId':
      return ['pointsSystemKey', keyOf(String(value))];
    case 'userAttributes':
    case 'eventAttributes':
      return [
        field,
        (value as readonly AttributeFilter[]).map((filter) => ({
          attributeKey: keyOf(filter.attributeId),
          attributeValue: filter.attributeValue,
        })),
      ];
    default:
      return [field, value];
  }
}

/**
 * What differs between two states of one object (or of the settings), lists of a points system left out. A field that only one of them
 * has is undefined in the other. `keyOf` gives the key of the object with an id, in both states.
 */
export function fieldChanges<T extends ConfigObject>(from: T, to: T, keyOf: (id: string) => string): FieldChange[] {
  const before = fileFields(from, keyOf);
  const after = fileFields(to, keyOf);
  return [...new Set([...before.keys(), ...after.keys()])]
    .map((field) => ({ field, from: before.get(field), to: after.get(field) }))
    .filter((change) => !isDeepStrictEqual(change.from, change.to));
}

/**
 * A line for each change: `+ metric flashcards-viewed`, `~ points system points: maxPoints 100 -> 200`, `- leaderboard old`. Levels,
 * triggers and boosts are named with their system: `+ level points/bronze`.
 */
export function describeChanges(changes: readonly Change[]): string[] {
  return changes.map((change) => {
    const fields = change.fields.map(({ field, from, to }) => `${field} ${shown(from)} -> ${shown(to)}`).join(', ');
    if (change.kind === 'settings') return `~ settings: ${fields}`;
    const name = objectName(change);
    switch (change.action) {
      case 'add':
        return `+ ${name}`;
      case 'revive':
        return `+ ${name} (archived until now, with its data)${fields === '' ? '' : `: ${fields}`}`;
      case 'change':
        return `~ ${name}: ${fields}`;
      case 'archive':
        return `- ${name}`;
    }
  });
}

/** `level points/bronze`, `metric flashcards-viewed`. */
export function objectName({ kind, key, within }: Pick<ObjectChange, 'kind' | 'key' | 'within'>): string {
  return `${kind} ${within === null ? '' : `${within}/`}${key}`;
}

function shown(value: unknown): string {
  if (value === null || value === undefined) return 'none';
  if (!Array.isArray(value)) return JSON.stringify(value);
  const filters = value as readonly { attributeKey: string; attributeValue: string }[];
  return `[${filters.map(({ attributeKey, attributeValue }) => `${attributeKey} = ${JSON.stringify(attributeValue)}`).join(', ')}]`;
}

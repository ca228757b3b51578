/** The difference between two configurations, as data and as lines for an operator. */
import { isDeepStrictEqual } from 'node:util';
import { flatFields, type KeyOf } from '../file/convert.js';
import { type Field, type ObjectKind } from '../schema/kind.js';
import { type SingleName } from '../schema/kinds.js';

/**
 * `field` is the file's, with `badge.url` for the badge and `freezes.initial` and its like. Values have keys in place of ids; a list is one
 * of texts: keys, `city = "Rome"` for a filter, `flashcards-viewed >= 5` for a streak condition.
 */
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

/** A change of what there is one of, under no key. */
interface SettingsChange {
  readonly action: 'change';
  readonly kind: SingleName;
  readonly fields: readonly FieldChange[];
}

export type Change = ObjectChange | SettingsChange;

/**
 * What differs between two states of one object, or of the settings, without the lists of a points system. A field that only one of them
 * has is undefined in the other. `keyOf` gives the key of the object with an id, in both states.
 */
export function fieldChanges<T extends object>(fields: readonly Field[], from: T, to: T, keyOf: KeyOf): FieldChange[] {
  const before = flatFields(fields, from, keyOf);
  const after = flatFields(fields, to, keyOf);
  return [...new Set([...before.keys(), ...after.keys()])]
    .map((field) => ({ field, from: before.get(field), to: after.get(field) }))
    .filter((change) => !isDeepStrictEqual(change.from, change.to));
}

/** The change of the order of triggers, in which they award points: of those that both lists of keys have. */
export function orderChanges(before: readonly string[], after: readonly string[]): FieldChange[] {
  const [from, to] = [before.filter((key) => after.includes(key)), after.filter((key) => before.includes(key))];
  return isDeepStrictEqual(from, to) ? [] : [{ field: 'triggers', from, to }];
}

/**
 * A line for each change: `+ metric flashcards-viewed`, `~ points system points: maxPoints 100 -> 200`, `- leaderboard old`. Levels,
 * triggers and boosts are named with their system: `+ level points/bronze`.
 */
export function describeChanges(changes: readonly Change[]): string[] {
  return changes.map((change) => {
    const fields = change.fields.map(({ field, from, to }) => `${field} ${shown(from)} -> ${shown(to)}`).join(', ');
    if (!('key' in change)) return `~ ${change.kind}: ${fields}`;
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

const signs = { add: '+', revive: '+', change: '~', archive: '-' } as const;

/** What changed, without the values, which may name users: `~ points system points`. */
export const nameChanges = (changes: readonly Change[]): string[] =>
  changes.map((change) => `${signs[change.action]} ${'key' in change ? objectName(change) : change.kind}`);

/** `level points/bronze`, `metric flashcards-viewed`. */
export function objectName({ kind, key, within }: Pick<ObjectChange, 'kind' | 'key' | 'within'>): string {
  return `${kind} ${within === null ? '' : `${within}/`}${key}`;
}

function shown(value: unknown): string {
  if (value === null || value === undefined) return 'none';
  return Array.isArray(value) ? `[${(value as readonly string[]).join(', ')}]` : JSON.stringify(value);
}

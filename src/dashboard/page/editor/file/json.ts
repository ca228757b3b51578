/** Values of a configuration file, and changes of them that leave the original as it was. */
import { own } from '../../../../shared/own.js';

export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [field: string]: Json;
}

/** Where a value is in a file: names of fields, and indexes in lists. */
export type Path = readonly (string | number)[];

/** An object of a list that is found by its key. */
export type Keyed = JsonObject & { readonly key: string };

export const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const isList = (value: Json | undefined): value is readonly Json[] => Array.isArray(value);

/** The value of a field; undefined for a field that there isn't, so that a type says so. */
export const fieldOf = (object: JsonObject, field: string): Json | undefined => own(object, field);

/** The value at a path; undefined when there is none. */
export function valueAt(value: Json | undefined, path: Path): Json | undefined {
  const [step, ...rest] = path;
  if (step === undefined) return value;
  if (typeof step === 'number') return isList(value) ? valueAt(value[step], rest) : undefined;
  return isObject(value) ? valueAt(fieldOf(value, step), rest) : undefined;
}

/** A copy with another value at a path; `undefined` removes the field or the item. Objects and lists on the way are made. */
export function withValueAt(value: Json | undefined, path: Path, next: Json | undefined): Json | undefined {
  const [step, ...rest] = path;
  if (step === undefined) return next;
  if (typeof step === 'number') {
    const items = isList(value) ? value : [];
    const item = withValueAt(items[step], rest, next);
    if (item === undefined) return items.filter((_item, at) => at !== step);
    return step < items.length ? items.with(step, item) : [...items, item];
  }
  const object = isObject(value) ? value : {};
  const changed = withValueAt(fieldOf(object, step), rest, next);
  if (changed !== undefined) return { ...object, [step]: changed };
  return Object.fromEntries(Object.entries(object).filter(([field]) => field !== step));
}

/** Whether two values are the same, whatever the order of their fields. */
export function isSame(a: Json | undefined, b: Json | undefined): boolean {
  if (a === b) return true;
  if (isList(a) && isList(b)) return a.length === b.length && a.every((item, at) => isSame(item, b[at]));
  if (!isObject(a) || !isObject(b)) return false;
  const fields = Object.keys(a);
  return fields.length === Object.keys(b).length && fields.every((field) => Object.hasOwn(b, field) && isSame(a[field], b[field]));
}

export const isKeyed = (value: Json | undefined): value is Keyed => isObject(value) && typeof value['key'] === 'string';

/** Whether the items of a list are found by their keys. An empty list can be either. */
export const isKeyedList = (value: Json | undefined): value is readonly Keyed[] => isList(value) && value.every((item) => isKeyed(item));

/** A value as a text: that of a text or a number, empty for none. */
export function textOf(value: Json | undefined): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** What tells the objects of a list apart: the key, and for attributes their type too, because two of different types may share a key. */
export const identityOf = (list: string, object: Keyed): string =>
  list === 'attributes' ? `${textOf(object['type'])}:${object.key}` : object.key;

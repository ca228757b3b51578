/** Objects and settings from one form to another: as a file gives them, as they are stored, as the Admin API has them (kinds.ts). */
import { belongs, type Field, type Kind, type ReferenceKind } from '../schema/kind.js';
import { type ConfigObject, type Lists, type ListName } from '../schema/model.js';
import { type Path } from './yaml.js';

/** An object by the names that a file has for its fields. */
export type FileFields = Readonly<Record<string, unknown>>;

/** What an object has whatever it is. Its name is its own field. */
export type Identity = Omit<ConfigObject, 'name'>;

/** The id of the object with a key. `field` is where, in the object that refers to it, the key stands. */
export type Resolve = (kind: ReferenceKind, key: string, field: Path) => string;

/** The key of the object with an id. */
export type KeyOf = (kind: ReferenceKind, id: string) => string;

/** What is stored for a value that a file gives. */
function storedValue({ file, refers, wraps, store }: Field, value: unknown, resolve: Resolve): unknown {
  if (wraps !== undefined) return (value as FileFields)[wraps];
  if (store) return store(value as never);
  if (!refers) return value;
  const { to, inside } = refers;
  if (!Array.isArray(value)) return resolve(to, String(value), [file]);
  if (!inside) return value.map((key, index) => resolve(to, String(key), [file, index]));
  return (value as FileFields[]).map(({ [inside.file]: key, ...rest }, index) => ({
    ...rest,
    [inside.stored]: resolve(to, String(key), [file, index, inside.file]),
  }));
}

/**
 * The object that is stored for one of a file, which its schema has parsed: with the default of each field that is left out, and ids for
 * keys. The lists inside it are merged apart. Throws if it lacks a field that its kind needs, which the schema refuses.
 */
export function storedObject<N extends ListName>(kind: Kind<N>, identity: Identity, given: FileFields, resolve: Resolve): Lists[N] {
  const fields = kind.fields.filter((field) => belongs(kind, field, given));
  const values = fields.map((field): [string, unknown] => {
    const value = given[field.file];
    if (value !== undefined && value !== null) return [field.stored, storedValue(field, value, resolve)];
    if (field.absent === undefined) throw new Error(`${kind.name} without ${field.file}, which its schema should have refused`);
    return [field.stored, field.absent];
  });
  return { ...identity, name: identity.key, ...Object.fromEntries(values) } as unknown as Lists[N];
}

/** Settings with the fields of a file: a field that it leaves out stays as it is. */
export function storedSingle<T extends object>(fields: readonly Field[], existing: T, given: FileFields, resolve: Resolve): T {
  const values = fields.flatMap((field): [string, unknown][] => {
    const value = given[field.file];
    if (value === undefined || (value === null && !field.nullIsValue)) return [];
    return [[field.stored, value === null ? null : storedValue(field, value, resolve)]];
  });
  return { ...existing, ...Object.fromEntries(values) };
}

/** A value with keys in place of ids; null stays null. */
function withKeys({ refers }: Field, value: unknown, keyOf: KeyOf): unknown {
  if (!refers || value === null) return value;
  const { to, inside } = refers;
  if (!Array.isArray(value)) return keyOf(to, value as string);
  if (!inside) return value.map((id) => keyOf(to, String(id)));
  return (value as FileFields[]).map(({ [inside.stored]: id, ...rest }) => ({ [inside.file]: keyOf(to, String(id)), ...rest }));
}

/** What is stored as a file has it, every field that there is. */
export function fileFields(fields: readonly Field[], stored: object, keyOf: KeyOf): FileFields {
  const values = stored as FileFields;
  return Object.fromEntries(
    fields
      .filter((field) => values[field.stored] !== undefined)
      .map((field) => {
        const value = withKeys(field, values[field.stored], keyOf);
        return [field.file, field.wraps === undefined || value === null ? value : { [field.wraps]: value }];
      }),
  );
}

/** Whether a field can be left out of a file. (Defaults that are texts or numbers above 0 are written all the same.) */
const isRedundant = (value: unknown, { absent }: Field): boolean =>
  value === null || value === undefined || value === false || (Array.isArray(value) && value.length === 0) || (value === 0 && absent === 0);

/** A stored object as a file has it, without the lists inside it. */
export function fileObject(kind: Kind, object: ConfigObject, keyOf: KeyOf): FileFields {
  const values = fileFields(kind.fields, object, keyOf);
  const written = kind.fields.filter((field) => !isRedundant(values[field.file], field));
  return { key: object.key, ...Object.fromEntries(written.map(({ file }) => [file, values[file]])) };
}

/** The name of a field in the Admin API, which has ids where a file has keys. */
export const apiNameOf = ({ file, stored, wraps }: Field): string => (wraps === undefined ? stored : file);

/** The fields of a request as a file has them; what is undefined is left out. */
export function requestFields(fields: readonly Field[], sent: object, keyOf: KeyOf): FileFields {
  const values = sent as FileFields;
  return Object.fromEntries(
    fields
      .filter((field) => values[apiNameOf(field)] !== undefined)
      .map((field) => [field.file, withKeys(field, values[apiNameOf(field)], keyOf)]),
  );
}

/** Comparable forms of the values of what is stored, by the names of a file: keys and texts in place of references, maps flattened. */
export function flatFields(fields: readonly Field[], stored: object, keyOf: KeyOf): Map<string, unknown> {
  const values = fileFields(fields, stored, keyOf);
  return new Map(
    fields.flatMap(({ file, refers, wraps }): [string, unknown][] => {
      const value = values[file];
      if (wraps !== undefined) return [[`${file}.${wraps}`, (value as FileFields | null)?.[wraps] ?? null]];
      if (value === undefined) return [];
      if (refers?.inside) return [[file, (value as FileFields[]).map(conditionText)]];
      if (typeof value !== 'object' || value === null || Array.isArray(value)) return [[file, value]];
      return Object.entries(value).map(([part, own]): [string, unknown] => [`${file}.${part}`, own]);
    }),
  );
}

/** `city = "Rome"` for a filter, `flashcards-viewed >= 5` for a streak condition. */
const conditionText = (condition: FileFields): string => {
  const { attributeKey, attributeValue, metricKey, threshold } = condition as Record<string, string>;
  return attributeKey === undefined ? `${metricKey ?? ''} >= ${threshold ?? ''}` : `${attributeKey} = ${JSON.stringify(attributeValue)}`;
};

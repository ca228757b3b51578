import { fieldOf, isKeyedList, isList, isObject, isSame, type Json, type JsonObject, type Path, valueAt } from './json.js';

/** What forms read of a JSON Schema. */

export const numberOf = (schema: JsonObject, field: string): number | undefined => {
  const value = fieldOf(schema, field);
  return typeof value === 'number' ? value : undefined;
};

export function optionsOf(schema: JsonObject): string[] | undefined {
  const options = fieldOf(schema, 'enum');
  return isList(options) ? options.filter((option) => typeof option === 'string') : undefined;
}

export function requiredOf(schema: JsonObject): readonly Json[] {
  const required = fieldOf(schema, 'required');
  return isList(required) ? required : [];
}

export function formatOf(schema: JsonObject): 'any' | 'date' | 'time' {
  const format = schema['format'];
  return format === 'date' || format === 'time' ? format : 'any';
}

interface Variants {
  readonly by: string;
  readonly fields: JsonObject;
}

/** `x-variants`: the field that decides, and the fields of each of its values. */
export function variantsOf(schema: JsonObject): Variants | undefined {
  const variants = fieldOf(schema, 'x-variants');
  if (!isObject(variants)) return undefined;
  const { by, fields } = variants;
  return typeof by === 'string' && isObject(fields) ? { by, fields } : undefined;
}

const namesIn = (fields: JsonObject, variant: string, which: 'required' | 'optional'): readonly Json[] => {
  const names = valueAt(fields, [variant, which]);
  return isList(names) ? names : [];
};

/** Whether an object of a variant has a field: one that all variants have, or one of its own. */
export function isOfVariant(variants: Variants | undefined, name: string, variant: Json | undefined): boolean {
  if (!variants) return true;
  const has = (each: string): boolean =>
    namesIn(variants.fields, each, 'required').includes(name) || namesIn(variants.fields, each, 'optional').includes(name);
  const isCommon = !Object.keys(variants.fields).some(has);
  return isCommon || (typeof variant === 'string' && has(variant));
}

export const isNeeded = (variants: Variants | undefined, name: string, variant: Json | undefined): boolean =>
  variants !== undefined && typeof variant === 'string' && namesIn(variants.fields, variant, 'required').includes(name);

/**
 * The fields of the object at a path that the service does not let change: by `x-permanent`, those of an object that is not inactive. One that
 * differs in the draft is not among them, so that it can be put right.
 */
export function keptFields(
  schema: JsonObject,
  { file, applied }: { readonly file: JsonObject; readonly applied: JsonObject },
  path: Path,
): string[] {
  const names = fieldOf(schema, 'x-permanent');
  const object = valueAt(file, path);
  const list = valueAt(applied, path.slice(0, -1));
  const was = isObject(object) && isKeyedList(list) ? list.find(({ key }) => key === object['key']) : undefined;
  if (!isObject(object) || !was || !isList(names) || typeof was['status'] !== 'string' || was['status'] === 'inactive') return [];
  return names.filter((name) => typeof name === 'string').filter((name) => isSame(object[name], was[name]));
}

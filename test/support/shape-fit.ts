import { flatten, type Schema } from './openapi.js';

/** A schema of a document. */
interface Shape {
  readonly document: object;
  readonly schema: Schema;
}

/** The schemas that a value may be of, one by one. */
function alternatives({ document, schema }: Shape): Schema[] {
  const flat = flatten(document, schema);
  const { anyOf, oneOf, ...common } = flat;
  const inner = anyOf ?? oneOf;
  if (!inner) return [flat];
  return inner
    .flatMap((one) => alternatives({ document, schema: one }))
    .map((one) => ({
      ...common,
      ...one,
      properties: { ...common.properties, ...one.properties },
      required: [...(common.required ?? []), ...(one.required ?? [])],
    }));
}

const nameOf = (value: unknown): string => (value === null ? 'null' : typeof value);

function typesOf({ type, enum: values = [], ...schema }: Schema): string[] {
  if (type !== undefined) return [type].flat();
  return [...values, ...('const' in schema ? [schema.const] : [])].map(nameOf);
}

const valuesOf = ({ enum: values, ...schema }: Schema): readonly unknown[] => values ?? ('const' in schema ? [schema.const] : []);

const accepts = (types: readonly string[], type: string): boolean =>
  types.length === 0 || types.includes(type) || (type === 'integer' && types.includes('number'));

/** What of a schema is a schema itself: its items, or the values of a map. */
const innerOf = (schemas: readonly Schema[], pick: (schema: Schema) => Schema | boolean | undefined): Schema | undefined =>
  schemas.map(pick).find((one): one is Schema => typeof one === 'object');

/**
 * What values of a shape may be that another shape forbids to a strict reader, a line for each: a type, a value of an enumeration, a required field that
 * may be absent. Fields that only the first has are ignored, as clients ignore them. `at` says where, in the lines.
 */
export function unfit(ours: Shape, theirs: Shape, at: string): string[] {
  const mine = alternatives(ours);
  const wanted = alternatives(theirs);
  const types = wanted.flatMap(typesOf);
  const badTypes = [...new Set(mine.flatMap(typesOf))].filter((type) => !accepts(types, type)).map((type) => `${at} may be ${type}`);
  const values = wanted.flatMap(valuesOf);
  const badValues = (values.length === 0 ? [] : mine.flatMap(valuesOf))
    .filter((value) => value !== null && !values.includes(value))
    .map((value) => `${at} may be ${JSON.stringify(value)}`);
  const open = values.length > 0 && mine.every((one) => valuesOf(one).length === 0) ? [`${at} may be any text`] : [];

  const object = wanted.find(({ properties }) => Object.keys(properties ?? {}).length > 0);
  const absent: string[] = [];
  const inner: string[] = [];
  for (const { properties = {}, required = [] } of object ? mine.filter((one) => one.properties) : []) {
    if (Object.keys(properties).length === 0) continue;
    absent.push(...(object?.required ?? []).filter((field) => !required.includes(field)).map((field) => `${at}.${field} may be absent`));
    for (const [field, schema] of Object.entries(properties)) {
      const other = object?.properties?.[field];
      if (other) inner.push(...unfit({ ...ours, schema }, { ...theirs, schema: other }, `${at}.${field}`));
    }
  }
  const steps = [
    ['[]', ({ items }: Schema) => items],
    ['{}', ({ additionalProperties }: Schema) => additionalProperties],
  ] as const;
  for (const [step, pick] of steps) {
    const [own, other] = [innerOf(mine, pick), innerOf(wanted, pick)];
    if (own && other) inner.push(...unfit({ ...ours, schema: own }, { ...theirs, schema: other }, at + step));
  }
  return [...new Set([...badTypes, ...badValues, ...open, ...absent, ...inner])];
}

import { randomUUID } from 'node:crypto';
import { flatten, type Described, type Schema } from './openapi.js';

/** The input of an operation. A list parameter is sent once per item. */
export interface Input {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string | number | boolean | readonly unknown[]>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** An input with one violation. */
export interface BadInput {
  readonly what: string;
  readonly input: Input;
  /** Sent verbatim instead of the body. */
  readonly raw?: string;
  /** Whether the first of two equal items may succeed. */
  readonly partly?: true;
}

/** A text longer than any limit of ours, which still fits into a body. */
const endless = 'x'.repeat(70_000);
const unknownId = '00000000-0000-4000-8000-000000000000';

const typesOf = ({ type, enum: values, properties, items }: Schema): readonly string[] => {
  if (typeof type === 'string') return [type];
  if (type) return type;
  if (values) return [...new Set(values.map((value) => (value === null ? 'null' : typeof value)))];
  return properties ? ['object'] : items ? ['array'] : [];
};

/** The other schemas of `anyOf` and `oneOf` one after the other; the schema itself where it has none. */
const branches = (document: object, schema: Schema): Schema[] => {
  const flat = flatten(document, schema);
  const { anyOf, oneOf, ...own } = flat;
  const options = anyOf ?? oneOf;
  if (!options) return [flat];
  return options.flatMap((option) => branches(document, { allOf: [own, option] }));
};

const isNull = (schema: Schema): boolean => typesOf(schema).every((type) => type === 'null');

/** A value that a schema allows, with only what it requires. */
function sample(document: object, schema: Schema): unknown {
  const options = branches(document, schema);
  const flat = options.find((option) => !isNull(option)) ?? options[0] ?? {};
  if (flat.const !== undefined) return flat.const;
  if (flat.enum) return flat.enum[0];
  const [type = 'string'] = typesOf(flat);
  switch (type) {
    case 'object':
      return Object.fromEntries((flat.required ?? []).map((name) => [name, sample(document, flat.properties?.[name] ?? {})]));
    case 'array':
      return Array.from({ length: Math.max(flat.minItems ?? 1, 1) }, () => sample(document, flat.items ?? {}));
    case 'integer':
    case 'number':
      return Math.max(flat.minimum ?? 1, (flat.exclusiveMinimum ?? 0) + 1);
    case 'boolean':
      return true;
    case 'null':
      return null;
    default:
      return sampleText(flat);
  }
}

function sampleText({ format, minLength = 1 }: Schema): string {
  switch (format) {
    case 'uuid':
      return randomUUID();
    case 'date':
      return '2040-01-03';
    case 'date-time':
      return '2040-01-03T00:00:00.000Z';
    default:
      return 'x'.repeat(minLength);
  }
}

/** Values of other types than a schema has, by what JSON calls them. */
function wrongTypes(options: readonly Schema[]): (readonly [what: string, value: unknown])[] {
  const types = new Set(options.flatMap(typesOf));
  if (types.size === 0) return [];
  const values: readonly (readonly [type: string, what: string, value: unknown])[] = [
    ['null', 'null', null],
    ['string', 'a text', 'nonsense'],
    ['number', 'a number', 12.5],
    ['boolean', 'a boolean', true],
    ['array', 'a list', []],
    ['object', 'an object', {}],
  ];
  return values.filter(([type]) => !types.has(type) || (type === 'string' && types.size === 0)).map(([, what, value]) => [what, value]);
}

type BadValue = readonly [what: string, value: unknown];

/** Values of a schema's type that it does not allow. */
function outside(schema: Schema): BadValue[] {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, minLength = 0, maxLength, minItems = 0, maxItems, items, format } = schema;
  const values: BadValue[] = [];
  if (minimum !== undefined) values.push(['too small', minimum - 1]);
  if (maximum !== undefined) values.push(['too large', maximum + 1]);
  if (exclusiveMinimum !== undefined) values.push(['too small', exclusiveMinimum]);
  if (exclusiveMaximum !== undefined) values.push(['too large', exclusiveMaximum]);
  const [type] = typesOf(schema);
  if (type === 'integer') values.push(['not whole', (minimum ?? 0) + 0.5]);
  if (schema.enum || schema.const !== undefined) values.push(['none of the words', 'none of these']);
  else if (type === 'string') {
    if (minLength > 0) values.push(['empty', '']);
    values.push(['too long', maxLength === undefined ? endless : 'x'.repeat(maxLength + 1)]);
    if (format === 'uuid') values.push(['no UUID', 'x']);
    if (format === 'date') values.push(['no date', '2040-02-30']);
    if (format === 'date-time') values.push(['no moment', 'tomorrow']);
    if (!['uuid', 'date', 'date-time'].includes(format ?? '')) values.push(['a NUL', '\0']);
    if (schema.pattern !== undefined) values.push(['a pattern broken', '\n ,:!']);
  }
  if (type === 'array') {
    if (minItems > 0) values.push(['no items', []]);
    if (maxItems !== undefined) values.push([`${maxItems + 1} items`, { repeat: maxItems + 1, items }]);
  }
  return values;
}

/** Addresses and headers may not be as long as bodies. */
const short = (value: unknown): unknown =>
  typeof value === 'string' ? value.slice(0, 2_000) : Array.isArray(value) ? value.map(short) : value;

type Path = readonly (string | number)[];

/** A place in a body, with the schemas that it may have. */
interface Site {
  readonly path: Path;
  readonly options: readonly Schema[];
  readonly required: boolean;
}

/** Every place in a body, parents before children. Lists are entered at their first item. */
function sitesOf(document: object, schema: Schema, path: Path = [], required = true): Site[] {
  const options = branches(document, schema);
  const inner = options.flatMap((option) => [
    ...Object.entries(option.properties ?? {}).flatMap(([name, property]) =>
      sitesOf(document, property, [...path, name], option.required?.includes(name) === true),
    ),
    ...(option.items ? sitesOf(document, option.items, [...path, 0], false) : []),
    ...(typeof option.additionalProperties === 'object' && option.additionalProperties.type !== undefined
      ? sitesOf(document, option.additionalProperties, [...path, 'city'], false)
      : []),
  ]);
  return [{ path, options, required }, ...inner];
}

const gone = Symbol('gone');

/** A copy of a value with another value at a path; missing parents are filled in by the schema. */
function withAt(document: object, schema: Schema, value: unknown, [step, ...rest]: Path, changed: unknown): unknown {
  if (step === undefined) return changed;
  const options = branches(document, schema).filter((option) => !isNull(option));
  if (typeof step === 'number') {
    const items = options.find((option) => option.items)?.items ?? {};
    const list = Array.isArray(value) && value.length > 0 ? [...(value as unknown[])] : [sample(document, items)];
    list[step] = withAt(document, items, list[step], rest, changed);
    return list.filter((item) => item !== gone);
  }
  const owner = options.find((option) => option.properties?.[step]) ?? options[0] ?? {};
  const property = owner.properties?.[step] ?? (typeof owner.additionalProperties === 'object' ? owner.additionalProperties : {});
  const whole: Record<string, unknown> = {
    ...(typeof value === 'object' && value !== null && !Array.isArray(value) ? value : (sample(document, owner) as object)),
  };
  const next = withAt(document, property, whole[step] ?? sample(document, property), rest, changed);
  if (next === gone) return Object.fromEntries(Object.entries(whole).filter(([name]) => name !== step));
  return { ...whole, [step]: next };
}

interface Repeat {
  readonly repeat: number;
  readonly items: Schema | undefined;
}
const isRepeat = (value: unknown): value is Repeat => typeof value === 'object' && value !== null && 'repeat' in value;

function badBodies(document: object, schema: Schema, good: unknown): BadInput[] {
  const bodies = sitesOf(document, schema).flatMap(({ path, options, required }): BadInput[] => {
    const name = path.length === 0 ? 'the body' : path.join('.');
    const put = (what: string, value: unknown): BadInput => ({
      what: `${name}: ${what}`,
      input: { body: withAt(document, schema, good, path, value) },
    });
    const allowed = options.filter((option) => !isNull(option));
    const bad = allowed.length === 1 ? allowed.flatMap(outside) : [];
    const at = path.reduce<unknown>((value, step) => (value as Record<string | number, unknown> | undefined)?.[step], good);
    return [
      ...(required && path.length > 0 ? [put('missing', gone)] : []),
      ...wrongTypes(options).map(([what, value]) => put(what, value)),
      ...bad.map(([what, value]) => {
        if (!isRepeat(value)) return put(what, value);
        const item = Array.isArray(at) && at.length > 0 ? (at[0] as unknown) : sample(document, value.items ?? {});
        return put(
          what,
          Array.from({ length: value.repeat }, () => item),
        );
      }),
      ...(allowed.some(({ format }) => format === 'uuid') ? [put('an id that nothing has', unknownId)] : []),
      ...twice(path, at, allowed, put),
    ];
  });
  return [...bodies, { what: 'no body', input: {}, raw: '' }, { what: 'half a body', input: {}, raw: '{"a":' }];
}

/** A batch that names one object twice: only one of the two items can succeed. */
function twice(path: Path, at: unknown, options: readonly Schema[], put: (what: string, value: unknown) => BadInput): BadInput[] {
  if (path.length > 1 || !options.some(({ items }) => items) || !Array.isArray(at) || at.length === 0) return [];
  const item = at[0] as unknown;
  const names = typeof item === 'object' && item !== null ? Object.keys(item) : [];
  // The key of an event is its metric's, and the same may happen twice.
  if (names.includes('user') || !['id', 'key', 'customerId'].some((name) => names.includes(name))) return [];
  return [{ ...put('one item twice', [item, item]), partly: true }];
}

/** Parameters that refuse nothing: any value but `true` counts as false. */
const refuseNothing = new Set(['includeIncomplete']);

const asText = ([what, value]: BadValue): BadValue => [what, Array.isArray(value) && value.length === 0 ? '' : value];

function badParameters(document: object, { parameters }: Described, good: Input): BadInput[] {
  return parameters.flatMap(({ name, in: place, required = false, schema }): BadInput[] => {
    if (refuseNothing.has(name)) return [];
    const option = branches(document, schema).find((one) => !isNull(one)) ?? {};
    const part = place === 'path' ? 'params' : place === 'header' ? 'headers' : 'query';
    const put = (what: string, value: unknown): BadInput => ({
      what: `${name}: ${what}`,
      input: { ...good, [part]: { ...good[part], [name]: short(value) } },
    });
    if (place === 'header') return name === 'Tenant-ID' ? [put('unknown', 'nobody')] : [put('empty', ''), put('too long', 'x'.repeat(256))];
    const [type] = typesOf(option);
    const all = [...(type === 'string' || type === 'array' ? [] : [['no such value', 'nonsense'] as const]), ...outside(option)];
    // Without its last part a path is another one, and a list without items is no parameter.
    const values = place === 'path' ? all.filter(([what]) => what !== 'empty') : all.map(asText);
    const { [name]: _, ...others } = good.query ?? {};
    return [
      ...values.map(([what, value]) =>
        put(what, isRepeat(value) ? Array.from({ length: value.repeat }, () => sample(document, value.items ?? {})) : value),
      ),
      ...(place === 'query' && type !== 'array' ? [put('twice', ['1', '2'])] : []),
      ...(place === 'query' && option.items ? outside(option.items).map(([what, value]) => put(`an item that is ${what}`, [value])) : []),
      ...(place === 'query' && required ? [{ what: `${name}: missing`, input: { ...good, query: others } }] : []),
      ...(option.format === 'uuid' || option.items?.format === 'uuid' ? [put('unknown', option.items ? [unknownId] : unknownId)] : []),
      ...(place === 'path' && name === 'key' ? [put('unknown', 'nothing')] : []),
    ];
  });
}

/** Every single violation of an operation's description. `known` is its otherwise valid input. */
export function badInputs(document: object, operation: Described, known: Input): BadInput[] {
  const pathNames = operation.parameters
    .filter((parameter) => parameter.in === 'path')
    .map(({ name, schema }) => [name, sample(document, schema)]);
  const needed = operation.parameters.filter((parameter) => parameter.in === 'query' && parameter.required === true);
  const good: Input = {
    headers: {},
    ...known,
    params: { ...(Object.fromEntries(pathNames) as Record<string, string>), ...known.params },
    query: { ...Object.fromEntries(needed.map(({ name, schema }) => [name, sample(document, schema) as string])), ...known.query },
    ...(operation.body && known.body === undefined ? { body: sample(document, operation.body) } : {}),
  };
  const all = operation.body ? badBodies(document, operation.body, good.body) : [];
  const bodies = operation.isBodyOptional === true ? all.filter(({ what }) => what !== 'no body') : all;
  return [...badParameters(document, operation, good), ...bodies.map((bad) => ({ ...bad, input: { ...good, ...bad.input } }))];
}

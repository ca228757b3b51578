/** The JSON Schema of a configuration file, from kinds.ts: for forms, and for editors of YAML. Rules between objects are not in it. */
import { z } from 'zod';
import { limits } from '../../shared/limits.js';
import { formHints } from './fields.js';
import { type Field, type Kind, type Refers, type Single } from './kind.js';
import { fileNameOf, fileParts, isSingle, kinds, singles } from './kinds.js';
import { type ListName } from './model.js';

type Json = z.core.JSONSchema.BaseSchema & Record<string, unknown>;

const isNull = ({ type }: Json): boolean => type === 'null';

/** A schema without the alternative of null, which is the same as leaving a field out. */
function withoutNull({ anyOf, properties, ...schema }: Json): Json {
  const alternatives = ((anyOf ?? []) as Json[]).filter((each) => !isNull(each));
  const [only] = alternatives;
  const fields = properties && {
    properties: Object.fromEntries(Object.entries(properties).map(([name, own]) => [name, withoutNull(own as Json)])),
  };
  return { ...schema, ...fields, ...(only && alternatives.length === 1 ? withoutNull(only) : {}) };
}

function schemaOf(schema: z.ZodType): Json {
  const { $schema: _, ...json } = z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      Object.assign(jsonSchema, formHints.get(zodSchema));
    },
  }) as Json;
  return withoutNull(json);
}

/** Names the kind of object where its key stands: in a field, in the elements of a list, or in a field of these. */
function withReference(json: Json, { to, inside }: Refers): Json {
  const key = (schema: unknown): Json => ({ ...(schema as Json), 'x-refers-to': to });
  if (json.type !== 'array') return key(json);
  const items = json.items as Json;
  if (!inside) return { ...json, items: key(items) };
  return { ...json, items: { ...items, properties: { ...items.properties, [inside.file]: key(items.properties?.[inside.file]) } } };
}

function fieldSchema({ schema, absent, refers, nullIsValue, wraps }: Field): Json {
  const json = refers ? withReference(schemaOf(schema), refers) : schemaOf(schema);
  // What is stored without a value need not be a value that a file can give.
  const hasDefault = wraps === undefined && absent !== undefined && absent !== null && schema.safeParse(absent).success;
  return {
    ...json,
    ...(nullIsValue ? { type: [json.type, 'null'] } : {}),
    ...(hasDefault ? { default: absent } : {}),
  } as Json;
}

const properties = (fields: readonly Field[]): Record<string, Json> =>
  Object.fromEntries(fields.map((field) => [field.file, fieldSchema(field)]));

const nameOf = ({ name }: Pick<Kind, 'name'>): string => name.replaceAll(' ', '-');

const listOf = (list: ListName): Json => ({
  type: 'array',
  items: { $ref: `#/$defs/${nameOf(kinds[list])}` },
  maxItems: limits.maxListItems,
});

/** The fields that an object has by the value of one of them. */
const variantsOf = ({ by, variants }: Kind): object =>
  by === undefined
    ? {}
    : {
        'x-variants': {
          by,
          fields: Object.fromEntries(
            Object.entries(variants).map(([value, { needs, may = [] }]) => [value, { required: needs, optional: may }]),
          ),
        },
        allOf: Object.entries(variants).map(([value, { needs }]) => ({
          if: { properties: { [by]: { const: value } }, required: [by] },
          then: { required: needs },
        })),
      };

function objectSchema(kind: Kind): Json {
  const required = kind.fields.filter(({ file, absent }) => absent === undefined && !kind.varying.has(file)).map(({ file }) => file);
  const lists = kind.inside.map((inside) => [kinds[inside].file, listOf(inside)]);
  return {
    title: kind.name,
    type: 'object',
    properties: { key: schemaOf(kind.schema.shape['key'] as z.ZodType), ...properties(kind.fields), ...Object.fromEntries(lists) } as never,
    required: ['key', ...required],
    additionalProperties: false,
    'x-permanent': [...kind.permanent],
    ...variantsOf(kind),
  };
}

const singleSchema = ({ fields }: Single): Json => ({
  type: 'object',
  properties: properties(fields),
  additionalProperties: false,
});

/**
 * JSON Schema 2020-12 of a file, with: `x-refers-to`, the kind of object whose key a text is; `x-variants`, the fields of an object by the value
 * of the field `by`; `x-permanent`, the fields that an active object keeps; `x-format`, of texts without a format of JSON Schema. An optional
 * field that is null is the same as one that is left out; the schema lists null only where it is a value of its own.
 */
export function configFileJsonSchema(): Record<string, unknown> {
  const parts = fileParts.map((part) => [fileNameOf(part), isSingle(part) ? singleSchema(singles[part]) : listOf(part)]);
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Laurel configuration',
    type: 'object',
    properties: Object.fromEntries(parts) as Record<string, Json>,
    additionalProperties: false,
    $defs: Object.fromEntries(Object.values(kinds).map((kind) => [nameOf(kind), objectSchema(kind)])),
  };
}

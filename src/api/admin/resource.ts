/** Resources of the Admin API: their schemas, derived from their kinds (config/schema/kinds.ts), and the response form of stored objects. */
import { z } from 'zod';
import { apiNameOf } from '../../config/file/convert.js';
import { day, imageUrl } from '../../config/schema/fields.js';
import { belongs, type Field } from '../../config/schema/kind.js';
import { kinds } from '../../config/schema/kinds.js';
import type { ConfigObject, ListName, Lists } from '../../config/schema/model.js';
import { dateShape } from '../../shared/shapes.js';
import type { Services } from '../route.js';
import { badge, filter, key, listOf, uuid } from './requests.js';

/** A list of the configuration as the Admin API has it. Its fields are those of its kind (config/schema/kinds.ts), with ids in place of keys. */
export interface Resource<N extends ListName = ListName> {
  readonly list: N;
  /** Relative to /admin/v1, with `{systemId}` for a list inside a points system. */
  readonly path: string;
  /** The start of the names of its operations: `admin_metrics`. */
  readonly operations: string;
  /** The plural in sentences. */
  readonly many: string;
  /** Whether a create requires a key, accepts one, or always generates one that the API does not show. */
  readonly key: 'required' | 'optional' | 'made';
  /** Whether an update can change the key. */
  readonly renamable?: true;
  /** Fields that an update can't change; a key that is shown and not renamable is another one. */
  readonly fixed?: readonly string[];
  /** Fields that accept null for their default; `clearable` ones only in an update. */
  readonly nullable?: readonly string[];
  readonly clearable?: readonly string[];
  /** Schemas of fields that differ from the kind's: in requests, and in responses. */
  readonly sent?: Readonly<Record<string, z.ZodType>>;
  readonly shown?: Readonly<Record<string, z.ZodType>>;
  /** Whether fields without a value are left out of responses. */
  readonly omitsEmpty?: true;
  /** Computes the fields of `shown` that are not stored. `today` is the date in UTC. */
  readonly show?: (object: Lists[N], today: string) => object;
  /** Adds data from outside the configuration to the objects of a response, in their order. */
  readonly complete?: (completing: Completing<N>) => Promise<readonly Shown[]>;
  /** Runs after an update; `fields` are those of the request. */
  readonly changed?: (services: Services, tenant: number, changes: readonly Changed<N>[]) => Promise<void>;
  /** Translates the fields of a request before they are merged. Throws an EditRefusal. `was` is undefined for a create. */
  readonly prepare?: (sent: object, was: Lists[N] | undefined, today: string) => object;
  /** The schema of the ids of a deletion; UUIDs without it. */
  readonly ids?: z.ZodType<string, string>;
  /** Fields that a list can be filtered by, with the schemas of their values. */
  readonly filters?: Readonly<Record<string, z.ZodType<string, string>>>;
}

/** An object of a response. */
export type Shown = { readonly id: string } & Readonly<Record<string, unknown>>;

/** The objects of a response in the making. */
interface Completing<N extends ListName> {
  readonly services: Services;
  readonly tenant: number;
  readonly objects: readonly Lists[N][];
  readonly shown: readonly Shown[];
  /** Whether this request has created them. */
  readonly isNew: boolean;
}

/** An object that a request has changed. */
interface Changed<N extends ListName> {
  readonly object: Lists[N];
  readonly fields: Readonly<Record<string, unknown>>;
}

/** A resource with the schemas of its requests and responses. */
export interface Schemas {
  readonly create: z.ZodType<object>;
  readonly update: z.ZodType<{ readonly id: string }>;
  readonly shown: z.ZodType<Shown>;
  /** The response to a create. */
  readonly created: z.ZodType<Shown>;
}

/** The fields of an update that must be as they are. */
export const fixedFields = ({ key: keys, renamable, fixed = [] }: Resource): readonly string[] =>
  keys === 'made' || renamable ? fixed : ['key', ...fixed];

const fixedHint = 'Cannot change: another value than the present one is an issue.';

/** The schema of a field in requests. */
function sentSchema({ refers, wraps, schema }: Field): z.ZodType {
  if (wraps !== undefined) return z.object({ [wraps]: imageUrl });
  if (!refers) return schema;
  return refers.most === undefined ? uuid : listOf(refers.inside ? filter : uuid, refers.most);
}

/** The type of a field in responses: that of its schema without the rules for requests. */
export function shownType(schema: z.ZodType): z.ZodType {
  if (schema === day) return dateShape;
  if (schema instanceof z.ZodString) return z.string();
  if (schema instanceof z.ZodNumber) return schema.isInt ? z.number().int() : z.number();
  if (schema instanceof z.ZodBoolean) return z.boolean();
  if (schema instanceof z.ZodEnum) return z.enum(schema.options.map(String));
  if (schema instanceof z.ZodPipe) return shownType(schema.out as z.ZodType);
  if (schema instanceof z.ZodArray) return z.array(shownType(schema.element as z.ZodType));
  throw new Error('a field of the configuration whose shape in responses is not known');
}

function shownSchema({ refers, wraps, schema }: Field): z.ZodType {
  if (wraps !== undefined) return badge;
  if (!refers) return shownType(schema);
  return refers.most === undefined ? z.uuid() : z.array(refers.inside ? filter : z.uuid());
}

/** The schemas of a resource. `inside` are those of the lists inside its objects, which come with a new one. */
export function schemasOf<N extends ListName>(resource: Resource<N>, inside: readonly (readonly [ListName, Schemas])[]): Schemas {
  const kind = kinds[resource.list];
  const { fixed = [], nullable = [], clearable = [], sent = {}, omitsEmpty } = resource;
  const fields = kind.fields.map((field) => ({ ...field, name: apiNameOf(field), varies: kind.varying.has(field.file) }));
  const schemaOf = (field: (typeof fields)[number]): z.ZodType => sent[field.name] ?? sentSchema(field);

  const keys = resource.key === 'made' ? {} : { key: resource.key === 'required' ? key : key.optional() };
  const create = fields.map((field) => {
    const schema = nullable.includes(field.name) ? schemaOf(field).nullable() : schemaOf(field);
    return [field.name, field.varies || field.absent !== undefined ? schema.optional() : schema];
  });
  const update = fields.map((field) => {
    const takesNull = nullable.includes(field.name) || clearable.includes(field.name);
    const schema = (takesNull ? schemaOf(field).nullable() : schemaOf(field)).optional();
    return [field.name, fixed.includes(field.name) ? schema.meta({ description: fixedHint }) : schema];
  });
  const updatedKey = resource.renamable ? key.optional() : key.optional().meta({ description: fixedHint });
  const shownFields = fields.map((field) => {
    const schema = field.absent === null && !omitsEmpty ? shownSchema(field).nullable() : shownSchema(field);
    const canLack = field.varies || (omitsEmpty && isEmpty(field.absent, field));
    return [field.name, canLack ? schema.optional() : schema];
  });
  const shown = z.object({
    id: z.uuid(),
    ...(resource.key === 'made' ? {} : { key: z.string() }),
    ...Object.fromEntries(shownFields),
    ...resource.shown,
  });
  const ofInside = <S extends keyof Schemas>(part: S) => inside.map(([list, schemas]) => [list, schemas[part]] as const);
  return {
    create: z.object({
      ...keys,
      ...Object.fromEntries(create),
      ...Object.fromEntries(ofInside('create').map(([list, schema]) => [list, listOf(schema).optional()])),
    }),
    update: z.object({ id: uuid, ...(resource.key === 'made' ? {} : { key: updatedKey }), ...Object.fromEntries(update) }),
    shown,
    created: shown.extend(Object.fromEntries(ofInside('shown').map(([list, schema]) => [list, z.array(schema)]))),
  } as unknown as Schemas;
}

/** Whether a stored value is empty: null, or 0 where that is the default. */
const isEmpty = (value: unknown, { absent }: Pick<Field, 'absent'>): boolean => value === null || (value === 0 && absent === 0);

/** An object as responses have it. `today` is the date in UTC. */
export function shownObject({ list, key: keys, omitsEmpty, show }: Resource, object: ConfigObject, today: string): Shown {
  const kind = kinds[list];
  const values = object as unknown as Readonly<Record<string, unknown>>;
  const fields = kind.fields.flatMap((field): [string, unknown][] => {
    const value = values[field.stored];
    if (!belongs(kind, field, object) || (omitsEmpty && isEmpty(value, field))) return [];
    return [[apiNameOf(field), field.wraps === undefined || value === null ? value : { [field.wraps]: value }]];
  });
  return {
    id: object.id,
    ...(keys === 'made' ? {} : { key: object.key }),
    ...Object.fromEntries(fields),
    ...show?.(object as never, today),
  };
}

/** How a kind of configuration object is declared (kinds.ts): its fields, and the schema made from them. */
import { z } from 'zod';
import { limits } from '../../shared/limits.js';
import { own } from '../../shared/own.js';
import { fieldsOfVariant, imageUrl, keySchema, list, object, text, type Variants, whatever } from './fields.js';
import { type ListName, type ObjectKind, type ReferenceKind } from './kind-names.js';

export { type ObjectKind, type ReferenceKind } from './kind-names.js';

/** Why a list may not refer to the same object twice. */
export type Repetition = 'named' | 'filtered' | 'two_conditions';

/** What the value of a field refers to: one object, a list of objects, or objects from inside the elements of a list. */
export interface Refers {
  readonly to: ReferenceKind;
  /** The field of each element that names the object, where elements have other fields too. */
  readonly inside?: { readonly file: string; readonly stored: string };
  /** Of lists: how long one may be, and why one object may not be given twice. */
  readonly most?: number;
  readonly repetition?: Repetition;
}

export interface Field {
  /** The name in files. */
  readonly file: string;
  /** The name in documents, and in the Admin API unless `wraps`. */
  readonly stored: string;
  /** What a file may give. */
  readonly schema: z.ZodType;
  /** What is stored where a file gives nothing; undefined if it must give something, or if the field keeps its stored value. */
  readonly absent: unknown;
  readonly refers: Refers | undefined;
  /** The value is one field of a map: `badge: {url}` is stored as `badgeUrl`. */
  readonly wraps: string | undefined;
  /** What is stored for a value, where that is not the value itself. */
  readonly store: ((value: never) => unknown) | undefined;
  readonly nullIsValue: boolean;
}

/** A declared field: `V` is what is stored. The types of stored objects (model.ts) are made of it. */
export interface FieldSpec<V> {
  readonly schema: z.ZodType;
  readonly file?: string;
  readonly absent?: V;
  readonly refers?: Refers;
  readonly wraps?: string;
  readonly store?: (value: never) => V;
  readonly nullIsValue?: boolean;
}

/** A field of a part that exists once, and its value in the empty configuration. */
export interface SettingSpec<V> extends FieldSpec<V> {
  readonly initial: V;
}

/** The fields of an object by their names in documents, without what all objects have and the lists inside it. */
export type Specs = Readonly<Record<string, FieldSpec<unknown>>>;
/** The fields that only some variants of an object have, by the variant. */
export type Variations<F extends Specs> = Readonly<Record<string, readonly (keyof F)[]>>;
export type SettingSpecs = Readonly<Record<string, SettingSpec<unknown>>>;

const fieldsOf = (specs: Specs): Field[] =>
  Object.entries(specs).map(([stored, spec]) => ({
    file: stored,
    absent: undefined,
    refers: undefined,
    wraps: undefined,
    store: undefined,
    nullIsValue: false,
    ...spec,
    stored,
  }));

/** What is stored for a value that a schema parses. */
type Parsed<S extends z.ZodType> = Frozen<z.output<S>>;
type Frozen<T> = T extends readonly (infer E)[] ? readonly E[] : T;

/** A field whose stored value is not what its schema parses. */
export const field = <V>(spec: FieldSpec<V>): FieldSpec<V> => spec;
export const given = <S extends z.ZodType>(schema: S): FieldSpec<Parsed<S>> => ({ schema });
export const optional = <S extends z.ZodType, const V extends z.output<S> | null>(schema: S, absent: V): FieldSpec<Parsed<S> | V> => ({
  schema,
  absent,
});
export const setting = <S extends z.ZodType>(schema: S, initial: Parsed<S>): SettingSpec<Parsed<S>> => ({ schema, initial });
/** Null is a value of its own: none. */
export const orNone = <S extends z.ZodType>(schema: S, initial: Parsed<S> | null = null): SettingSpec<Parsed<S> | null> => ({
  schema,
  initial,
  nullIsValue: true,
});
export const badge: FieldSpec<string | null> = { schema: object({ url: imageUrl }), file: 'badge', absent: null, wraps: 'url' };
export const reference = (to: ReferenceKind, file: string): FieldSpec<string> => ({ schema: keySchema, file, refers: { to } });
/** All must match. */
export const filters = (to: ReferenceKind): FieldSpec<readonly { readonly attributeId: string; readonly attributeValue: string }[]> => ({
  schema: list(object({ attributeKey: keySchema, attributeValue: text() }), limits.maxFilters),
  absent: [],
  refers: { to, inside: { file: 'attributeKey', stored: 'attributeId' }, most: limits.maxFilters, repetition: 'filtered' },
});

/** A map that schemas of objects and of the two parts without a key are. */
export type MapSchema = z.ZodType<Readonly<Record<string, unknown>>> & { readonly shape: Readonly<Record<string, z.ZodType>> };

/** Values for required fields, put in where the file's were refused: the rules between objects are then checked all the same. */
export type StandIns = readonly Readonly<Record<string, unknown>>[];

export interface Kind<N extends ListName = ListName> {
  readonly list: N;
  /** The name of the list in a file. */
  readonly file: string;
  /** What sentences call one of them, whatever its type. */
  readonly name: string;
  /** The fields in the order of a file, without `key`. */
  readonly fields: readonly Field[];
  /** The field that decides which other fields an object has, and these by its value. */
  readonly by: string | undefined;
  readonly variants: Variants;
  /** The fields that not all variants have. */
  readonly varying: ReadonlySet<string>;
  /** An object of a file without the elements of the lists in it. */
  readonly schema: MapSchema;
  /** Each set makes another object, unless it makes the same. */
  readonly standIns: StandIns;
  /** The lists of objects inside it. */
  readonly inside: readonly ListName[];
  /** Whether an archived object comes back, with its data, when its key does. Otherwise the key then gets a new object. */
  readonly comesBack: boolean;
  /** Fields of a file that an active object cannot change, because data of users would mean something else. */
  readonly permanent: ReadonlySet<string>;
  /** How many there can be that are not archived: in all points systems together, for levels, triggers and boosts. */
  readonly most: number;
}

/** Lists whose elements are parsed one by one, so that a mistake in one doesn't hide those of the others. */
export const rawList = list(z.unknown(), limits.maxListItems).nullish();

interface KindSpec {
  readonly name: string;
  readonly file?: string;
  readonly by?: string;
  /** The fields that only some variants have, by the value of `by`. */
  readonly variants?: Readonly<Record<string, readonly string[]>>;
  readonly check?: (schema: ReturnType<typeof object>) => ReturnType<typeof object>;
  readonly standIns: StandIns;
  readonly inside?: readonly ListName[];
  readonly comesBack?: boolean;
  /** For each field, by the name in documents, whether an active object keeps it. Absent: it keeps none. */
  readonly permanent?: Readonly<Record<string, boolean>>;
  readonly most?: number;
  readonly fields: Specs;
}

/** Which of its own fields a variant needs, and which it may have: those with a default. */
function variantOf(fields: readonly Field[], names: readonly string[]) {
  const own = fields.filter(({ stored }) => names.includes(stored));
  return {
    needs: own.filter(({ absent }) => absent === undefined).map(({ file }) => file),
    may: own.filter(({ absent }) => absent !== undefined).map(({ file }) => file),
  };
}

export function kind<N extends ListName>(list: N, { check = (schema) => schema, ...spec }: KindSpec): Kind<N> {
  const fields = fieldsOf(spec.fields);
  const { by, inside = [], permanent = {} } = spec;
  const variants = Object.fromEntries(Object.entries(spec.variants ?? {}).map(([value, names]) => [value, variantOf(fields, names)]));
  const varying = new Set(Object.values(variants).flatMap(({ needs, may }) => [...needs, ...may]));
  const shape = Object.fromEntries(
    fields.map(({ file, schema, absent }) => [file, varying.has(file) || absent !== undefined ? schema.nullish() : schema]),
  );
  const plain = object({ key: keySchema, ...shape, ...Object.fromEntries(inside.map((name) => [name, rawList])) });
  const schema = check(by === undefined ? plain : plain.superRefine(fieldsOfVariant(by, variants), whatever)) as unknown as MapSchema;
  return {
    file: list,
    comesBack: true,
    most: limits.maxConfigObjects,
    by,
    ...spec,
    list,
    variants,
    varying,
    inside,
    permanent: new Set(fields.flatMap(({ stored, file }) => (permanent[stored] ? [file] : []))),
    fields,
    schema,
  };
}

/** What there is one of, under no key. A field that a file leaves out keeps its stored value. */
export interface Single {
  readonly fields: readonly Field[];
  readonly schema: MapSchema;
}

export function single(specs: SettingSpecs): Single {
  const fields = fieldsOf(specs);
  const schema = object(Object.fromEntries(fields.map(({ file, schema: value }) => [file, value.nullish()]))) as unknown as MapSchema;
  return { fields, schema };
}

/** Whether a field is one of an object, or else of another variant of its kind. */
export function belongs({ by = '', variants, varying }: Kind, { file }: Field, object: object): boolean {
  if (!varying.has(file)) return true;
  const variant = own(variants, String((object as Record<string, unknown>)[by]));
  return variant !== undefined && (variant.needs.includes(file) || (variant.may ?? []).includes(file));
}

/** What sentences and references call an object. The type of an attribute is part of what it is: two of different types may share a key. */
export const kindOf = ({ name: own }: Pick<Kind, 'name'>, object: object): ObjectKind =>
  (own === 'attribute' && 'type' in object ? `${String(object.type)} attribute` : own) as ObjectKind;

/** What an object of a file and one of a document have in common if they are the same. */
export const identityOf = (kind: Pick<Kind, 'name'>, object: { readonly key: string }): string => `${kindOf(kind, object)} ${object.key}`;

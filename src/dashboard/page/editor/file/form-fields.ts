import { fieldOf, isList, isObject, type Json, type JsonObject } from './json.js';
import { numberOf, optionsOf, requiredOf, formatOf, variantsOf, isOfVariant, isNeeded } from './schema-parts.js';

/** The words of a field of a form. */
export interface FieldText {
  readonly label: string;
  readonly help?: string;
  /** What the words of a choice mean. Words that are not here, such as synonyms, are not offered. */
  readonly options?: Readonly<Record<string, string>>;
  /** Texts that are written over several lines. */
  readonly isLong?: true;
}

/** What edits a value: chosen by the JSON Schema of the file, so that a field that is new gets a control too. */
export type Control =
  | { readonly kind: 'text'; readonly format: 'any' | 'date' | 'time'; readonly maxChars: number | undefined }
  | { readonly kind: 'number' }
  | { readonly kind: 'boolean' }
  | { readonly kind: 'choice'; readonly options: readonly string[] }
  | { readonly kind: 'reference'; readonly to: string }
  /** Some of a few words. */
  | { readonly kind: 'choices'; readonly options: readonly string[] }
  /** Texts or numbers, with commas between. */
  | { readonly kind: 'words'; readonly areNumbers: boolean }
  | { readonly kind: 'references'; readonly to: string }
  /** A map of fields. */
  | { readonly kind: 'map'; readonly fields: readonly FormField[] }
  /** Maps of fields, one below the other. */
  | { readonly kind: 'rows'; readonly fields: readonly FormField[] }
  /** Anything else, as JSON. */
  | { readonly kind: 'json' };

export interface FormField {
  readonly name: string;
  readonly text: FieldText;
  readonly control: Control;
  readonly isRequired: boolean;
  /** Whether null is a value: none, or for ever. Otherwise a value that is taken out leaves the field out. */
  readonly isNullable: boolean;
  /** What the field has when it is left out; undefined when the schema does not say. */
  readonly default: Json | undefined;
}

type Texts = Readonly<Record<string, FieldText>>;

/** A schema without its reference, its null and what is around its only alternative. */
interface Plain {
  readonly schema: JsonObject;
  readonly isNullable: boolean;
}

/** A JSON Schema with what its references lead to. */
export class FileSchema {
  private readonly root: JsonObject;

  constructor(root: JsonObject) {
    this.root = root;
  }

  /** The schema of a part; undefined for one that the file does not have. */
  part(name: string): JsonObject | undefined {
    const parts = fieldOf(this.plain(this.root).schema, 'properties');
    const part = isObject(parts) ? fieldOf(parts, name) : undefined;
    return isObject(part) ? this.plain(part).schema : undefined;
  }

  /** The names of the parts, in the order of the file. */
  get partNames(): string[] {
    const parts = fieldOf(this.plain(this.root).schema, 'properties');
    return isObject(parts) ? Object.keys(parts) : [];
  }

  /** The schema of the objects of a list; undefined for what is no list. */
  items(schema: JsonObject): JsonObject | undefined {
    const items = fieldOf(schema, 'items');
    return isObject(items) ? this.plain(items).schema : undefined;
  }

  /** The lists of objects with keys inside an object: levels, triggers, boosts. */
  innerLists(schema: JsonObject): string[] {
    return Object.entries(this.properties(schema)).flatMap(([name, property]) => (this.isKeyedList(property) ? [name] : []));
  }

  inner(schema: JsonObject, list: string): JsonObject | undefined {
    const property = this.properties(schema)[list];
    return property && this.items(this.plain(property).schema);
  }

  /** The fields of a form, without the key and the lists of objects: those with words first, in their order. */
  fields(schema: JsonObject, texts: Texts, variant?: Json): FormField[] {
    const required = requiredOf(schema);
    const properties = Object.entries(this.properties(schema)).filter(([name, each]) => name !== 'key' && !this.isKeyedList(each));
    const order = Object.keys(texts);
    const rank = (name: string): number => (order.includes(name) ? order.indexOf(name) : order.length);
    const variants = variantsOf(schema);
    return properties
      .filter(([name]) => isOfVariant(variants, name, variant))
      .toSorted(([a], [b]) => rank(a) - rank(b))
      .map(([name, property]) => {
        const { schema: plain, isNullable } = this.plain(property);
        return {
          name,
          isNullable,
          text: texts[name] ?? { label: labelOf(name) },
          control: this.control(plain, texts),
          isRequired: required.includes(name) || isNeeded(variants, name, variant),
          default: fieldOf(property, 'default') ?? fieldOf(plain, 'default'),
        };
      });
  }

  /** The names of all fields of all variants, without the lists of objects. */
  allFields(schema: JsonObject): string[] {
    return Object.entries(this.properties(schema)).flatMap(([name, each]) => (name === 'key' || this.isKeyedList(each) ? [] : [name]));
  }

  /** The field that decides which other fields an object has. */
  variantField(schema: JsonObject): string | undefined {
    return variantsOf(schema)?.by;
  }

  private properties(schema: JsonObject): Readonly<Record<string, JsonObject>> {
    const properties = fieldOf(schema, 'properties');
    if (!isObject(properties)) return {};
    return Object.fromEntries(Object.entries(properties).filter((entry): entry is [string, JsonObject] => isObject(entry[1])));
  }

  private isKeyedList(property: JsonObject): boolean {
    const items = this.items(this.plain(property).schema);
    return items !== undefined && Object.hasOwn(this.properties(items), 'key');
  }

  private plain(schema: JsonObject): Plain {
    const target = this.target(schema);
    const alternatives = fieldOf(target, 'anyOf') ?? fieldOf(target, 'oneOf');
    if (isList(alternatives)) {
      const others = alternatives.filter((each): each is JsonObject => isObject(each) && each['type'] !== 'null');
      const [only] = others;
      if (only && others.length === 1) {
        const inner = this.plain(only);
        const { anyOf: _anyOf, oneOf: _oneOf, ...around } = target;
        return { schema: { ...inner.schema, ...around }, isNullable: inner.isNullable || alternatives.length > 1 };
      }
    }
    const type = fieldOf(target, 'type');
    if (!isList(type)) return { schema: target, isNullable: false };
    const types = type.filter((each) => each !== 'null');
    return { schema: types[0] === undefined ? target : { ...target, type: types[0] }, isNullable: types.length < type.length };
  }

  private target(schema: JsonObject): JsonObject {
    const reference = schema['$ref'];
    if (typeof reference !== 'string' || !reference.startsWith('#/')) return schema;
    const found = reference
      .slice('#/'.length)
      .split('/')
      .reduce<Json | undefined>((value, step) => (isObject(value) ? fieldOf(value, step) : undefined), this.root);
    const { $ref: _ref, ...around } = schema;
    return isObject(found) ? { ...this.target(found), ...around } : schema;
  }

  private control(schema: JsonObject, texts: Texts): Control {
    const options = optionsOf(schema);
    if (options) return { kind: 'choice', options };
    const to = fieldOf(schema, 'x-refers-to');
    switch (schema['type']) {
      case 'string':
        if (typeof to === 'string') return { kind: 'reference', to };
        return { kind: 'text', format: formatOf(schema), maxChars: numberOf(schema, 'maxLength') };
      case 'number':
      case 'integer':
        return { kind: 'number' };
      case 'boolean':
        return { kind: 'boolean' };
      case 'object':
        return { kind: 'map', fields: this.fieldsWithin(schema, texts) };
      case 'array':
        return this.listControl(schema, texts);
      default:
        return { kind: 'json' };
    }
  }

  private listControl(schema: JsonObject, texts: Texts): Control {
    const items = this.items(schema);
    if (!items) return { kind: 'json' };
    const options = optionsOf(items);
    if (options) return { kind: 'choices', options };
    const to = fieldOf(items, 'x-refers-to');
    switch (items['type']) {
      case 'string':
        return typeof to === 'string' ? { kind: 'references', to } : { kind: 'words', areNumbers: false };
      case 'number':
      case 'integer':
        return { kind: 'words', areNumbers: true };
      case 'object':
        return { kind: 'rows', fields: this.fieldsWithin(items, texts) };
      default:
        return { kind: 'json' };
    }
  }

  private fieldsWithin(schema: JsonObject, texts: Texts): FormField[] {
    const words: Texts = { ...rowTexts, ...texts };
    return Object.entries(this.properties(schema)).map(([name, property]) => {
      const { schema: plain, isNullable } = this.plain(property);
      return {
        name,
        isNullable,
        text: words[name] ?? { label: labelOf(name) },
        control: this.control(plain, texts),
        isRequired: requiredOf(schema).includes(name),
        default: fieldOf(property, 'default'),
      };
    });
  }
}

/** The words for fields of rows and maps that several forms have. */
const rowTexts: Texts = { attributeKey: { label: 'Attribute' }, attributeValue: { label: 'Value' }, url: { label: 'URL' } };

/** `blockIfOutOfPoints` as a label: `Block if out of points`. */
export function labelOf(name: string): string {
  const words = name.replace(/([a-z\d])([A-Z])/g, '$1 $2').toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** A JSON schema as OpenAPI 3.1 has it: what the tests read of it. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly pattern?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly default?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly exclusiveMaximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly allOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
}

interface Parameter {
  readonly $ref?: string;
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required?: boolean;
  readonly schema: Schema;
}

interface Operation {
  readonly operationId: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly required?: boolean; readonly content: { readonly 'application/json': { readonly schema: Schema } } };
  readonly responses: Readonly<Record<string, unknown>>;
}

export interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly webhooks?: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

/** One operation of a document, with what it refers to filled in. */
export interface Described {
  readonly id: string;
  readonly method: string;
  /** Below the API's base, with its parameters in braces. */
  readonly path: string;
  readonly parameters: readonly Parameter[];
  readonly body: Schema | undefined;
  /** Whether it can be called without its body. */
  readonly isBodyOptional?: boolean;
}

const methods = ['get', 'post', 'put', 'patch', 'delete'];

/** What a reference inside a document points to. */
export function resolve(document: object, pointer: string): unknown {
  let value: unknown = document;
  for (const segment of pointer.split('/').slice(1)) {
    value = (value as Record<string, unknown>)[segment.replaceAll('~1', '/').replaceAll('~0', '~')];
    if (value === undefined) throw new Error(`the document has nothing at ${pointer}`);
  }
  return value;
}

/** A schema without references and `allOf`: what they bring is put into the schema itself. */
export function flatten(document: object, schema: Schema): Schema {
  const { $ref, allOf = [], ...own } = schema;
  const parts = [...($ref === undefined ? [] : [resolve(document, $ref) as Schema]), ...allOf].map((part) => flatten(document, part));
  return [...parts, own].reduce<Schema>(
    (whole, part) => ({
      ...whole,
      ...part,
      ...(whole.properties || part.properties ? { properties: { ...whole.properties, ...part.properties } } : {}),
      ...(whole.required || part.required ? { required: [...(whole.required ?? []), ...(part.required ?? [])] } : {}),
    }),
    {},
  );
}

/** All operations of a document, in its order. */
export function operationsOf(document: OpenApi): Described[] {
  return Object.entries(document.paths).flatMap(([path, item]) => {
    const shared = (item['parameters'] ?? []) as unknown as readonly Parameter[];
    return Object.entries(item)
      .filter(([method]) => methods.includes(method))
      .map(([method, { operationId, parameters = [], requestBody }]) => ({
        id: operationId,
        method: method.toUpperCase(),
        path,
        parameters: [...shared, ...parameters].map((parameter) =>
          parameter.$ref === undefined ? parameter : (resolve(document, parameter.$ref) as Parameter),
        ),
        body: requestBody?.content['application/json'].schema,
        isBodyOptional: requestBody?.required === false,
      }));
  });
}

import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { adminRoutes, applicationRoutes } from '../../src/api/router.js';
import { referenceOf } from '../../src/api/reference.js';
import type { Api, Route } from '../../src/api/route.js';

/** The routes of each API, and the addresses under which they are. */
export const apis: readonly (readonly [api: Api, bases: readonly string[], routes: readonly Route[]])[] = [
  ['admin', ['/admin/v1'], adminRoutes],
  ['application', ['/v1', '/api'], applicationRoutes],
];

/** Checks the responses of one operation against the reference. */
interface Operation {
  readonly name: string;
  readonly method: string;
  readonly address: RegExp;
  /** Its documented statuses. */
  readonly statuses: ReadonlySet<number>;
  /** Whether its responses, except errors, are JSON. */
  readonly isJson: boolean;
  /** Compiled at first use: most tests call few operations. */
  readonly validator: (status: number) => ValidateFunction;
}

const escaped = (segment: string): string => segment.replaceAll('~', '~0').replaceAll('/', '~1');
const literal = (text: string): string => text.replace(/[.*+?^$()|[\]\\]/g, '\\$&');

function operationsOf([api, bases, routes]: (typeof apis)[number]): Operation[] {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  formats.default(ajv);
  const document = referenceOf(api, routes, { closed: true });
  ajv.addSchema(document, 'reference');
  return routes.map(({ operation, method, path, produces }) => {
    const responses = document.paths?.[path]?.[method]?.responses ?? {};
    const compiled = new Map<number, ValidateFunction>();
    const validator = (status: number): ValidateFunction => {
      const { $ref } = responses[String(status)] as { $ref?: string };
      const pointer = $ref ?? `#/paths/${escaped(path)}/${method}/responses/${status}`;
      const validate = compiled.get(status) ?? ajv.compile({ $ref: `reference${pointer}/content/application~1json/schema` });
      compiled.set(status, validate);
      return validate;
    };
    const address = new RegExp(`^(${bases.map(literal).join('|')})${literal(path).replace(/\{\w+\}/g, '[^/]+')}$`);
    return {
      name: operation,
      method,
      address,
      statuses: new Set(Object.keys(responses).map(Number)),
      isJson: produces === undefined,
      validator,
    };
  });
}

/** Of two paths that an address fits, the one without parameters is meant. */
const operations = apis
  .flatMap(operationsOf)
  .sort((a, b) => Number(a.address.source.includes('[^/]+')) - Number(b.address.source.includes('[^/]+')));

function findOperation(method: string, path: string): Operation | undefined {
  // The dashboard serves the same operations.
  const [address = ''] = path.replace(/^\/dashboard\/api(?=\/)/, '').split('?');
  return operations.find((one) => one.method === method.toLowerCase() && one.address.test(address));
}

/** The name of the operation at an address; undefined if there is none. */
export const operationAt = (method: string, path: string): string | undefined => findOperation(method, path)?.name;

/** A line for each violation of the reference by a response; none for an unknown address. */
export function answerProblems(method: string, path: string, status: number, body: unknown): string[] {
  const operation = findOperation(method, path);
  if (!operation) return [];
  if (!operation.statuses.has(status)) return [`${operation.name} returned the undocumented status ${status}`];
  if (!operation.isJson && status < 400) return ['string', 'undefined'].includes(typeof body) ? [] : [`${operation.name} returned no text`];
  const validate = operation.validator(status);
  if (validate(body)) return [];
  return (validate.errors ?? []).map(
    ({ instancePath, message, params }) => `${operation.name} ${status}: ${instancePath} ${message ?? ''} ${JSON.stringify(params)}`,
  );
}

/** Throws when a response violates the reference. Every response in a test passes this. */
export function holdToReference(method: string, path: string, status: number, body: unknown): void {
  const problems = answerProblems(method, path, status, body);
  if (problems.length > 0) throw new Error(`${method} ${path.slice(0, 200)} violates the reference:\n${problems.join('\n')}`);
}

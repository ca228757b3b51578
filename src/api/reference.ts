import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type Router from '@koa/router';
import type Koa from 'koa';
import type { z } from 'zod';
import {
  type ZodOpenApiOperationObject,
  type ZodOpenApiOverride,
  type ZodOpenApiResponseObject,
  createDocument,
  type oas31,
} from 'zod-openapi';
import { limits } from '../shared/limits.js';
import { errorShape } from '../shared/shapes.js';
import { version } from '../shared/version.js';
import type { Api, Route } from './route.js';
import { sendFile } from './static-file.js';

const require = createRequire(import.meta.url);
const { version: pageVersion } = require('swagger-ui-dist/package.json') as { version: string };

const documents: readonly (readonly [api: Api, name: string, addresses: readonly [string, ...string[]]])[] = [
  ['application', 'Application API', ['/v1/openapi', '/api/openapi']],
  ['admin', 'Admin API', ['/admin/v1/openapi']],
];

/** The page loads only its own files. Swagger UI sets inline styles (its issue 10655), but needs no inline script. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const page = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Laurel: reference</title>
    <link rel="stylesheet" href="/docs/swagger-ui.css">
    <link rel="icon" type="image/png" href="/docs/favicon-32x32.png">
  </head>
  <body>
    <div id="reference"></div>
    <script src="/docs/swagger-ui-bundle.js"></script>
    <script src="/docs/swagger-ui-standalone-preset.js"></script>
    <script src="/docs/start.js"></script>
  </body>
</html>
`;

/** Without `validatorUrl: null`, Swagger UI sends the document's URL to its vendor's server. */
const start = `SwaggerUIBundle({
  dom_id: '#reference',
  urls: ${JSON.stringify(documents.map(([, name, [url]]) => ({ name, url })))},
  presets: [SwaggerUIBundle.presets.apis, SwaggerUIStandalonePreset],
  layout: 'StandaloneLayout',
  deepLinking: true,
  validatorUrl: null,
});
`;

/** The files of Swagger UI that the page loads. No others are served. */
const files = ['swagger-ui.css', 'swagger-ui-bundle.js', 'swagger-ui-standalone-preset.js', 'favicon-32x32.png'];

/** Sends a text of the page. */
function send(context: Koa.Context, type: string, body: string): void {
  context.set('Content-Security-Policy', policy);
  context.type = type;
  context.body = body;
}

type RoutesOfApis = Readonly<Record<Api, readonly Route[]>>;

/** The OpenAPI documents as JSON, which are generated once in a process. */
const texts = new Map<Api, string>();

function documentText(api: Api, routes: RoutesOfApis): string {
  const text = texts.get(api) ?? JSON.stringify(referenceOf(api, routes[api]));
  texts.set(api, text);
  return text;
}

/** Generates the documents, which takes too long for a request. */
export function generateDocuments(routes: RoutesOfApis): void {
  for (const [api] of documents) documentText(api, routes);
}

/**
 * Registers the reference, which needs no key: the OpenAPI documents of both APIs, and `/docs`, a page to read and try them. Documents that have not
 * been generated, and files, are made and read with their first request.
 */
export function docsRoutes(router: Router, routes: RoutesOfApis): void {
  for (const [api, , addresses] of documents) {
    for (const address of addresses) {
      router.get(address, (context) => {
        context.type = 'json';
        context.body = documentText(api, routes);
      });
    }
  }
  router.get('/docs', (context) => send(context, 'html', page));
  router.get('/docs/start.js', (context) => send(context, 'js', start));
  for (const file of files) {
    let content: Promise<Buffer> | undefined;
    router.get(`/docs/${file}`, async (context) => {
      content ??= readFile(require.resolve(`swagger-ui-dist/${file}`));
      const identity = await content;
      context.set({ 'Cache-Control': 'no-cache', 'Content-Security-Policy': policy });
      sendFile(context, { name: file, etag: `${pageVersion}-${file}`, contents: { identity } });
    });
  }
}

/** The text of an API's reference. */
interface ApiText {
  readonly title: string;
  readonly description: string;
  /** The base paths of the routes, the usual one first. */
  readonly bases: readonly string[];
}

const everyCall = [
  'Send your API key in the `X-API-KEY` header of every request. Bodies are JSON.',
  'An error is `{"error": "<a sentence that says what to do>"}`. Each operation lists its statuses; an unsupported method is a 405.',
].join('\n\n');

const apis: Readonly<Record<Api, ApiText>> = {
  application: {
    title: 'Laurel: Application API',
    description: `For client products: report events, identify users, read their progress.\n\n${everyCall}`,
    bases: ['/v1', '/api'],
  },
  admin: {
    title: 'Laurel: Admin API',
    description: [
      'For operators: configure a tenant and manage its users. A batch reports failed items in `issues`, by index, and processes the others.',
      'An admin key bound to a tenant can’t call `/tenants`, `/admin-api-keys` and `/clock`, which concern the whole account. A read-only key can call what changes nothing.',
      everyCall,
    ].join('\n\n'),
    bases: ['/admin/v1'],
  },
};

const retryAfter = {
  'Retry-After': { schema: { type: 'integer' }, description: 'Seconds to wait before the next attempt.' },
} as const;

const failure = (description: string, headers?: typeof retryAfter): ZodOpenApiResponseObject => ({
  description,
  ...(headers ? { headers } : {}),
  content: { 'application/json': { schema: errorShape } },
});

/** The errors that operations have in common, by status. */
const failures = {
  400: ['InvalidRequest', failure('The body is not JSON, or the URL is not valid.')],
  401: ['Unauthorized', failure('The API key is missing or not valid.')],
  403: ['Forbidden', failure('The API key may not call this operation, or not for this user or tenant.')],
  404: ['NotFound', failure('Something that the path or the `Tenant-ID` header names does not exist.')],
  405: ['MethodNotAllowed', failure('The path does not support this method.')],
  409: ['Conflict', failure('What the request is based on has changed; nothing was changed.')],
  413: ['BodyTooLarge', failure(`The body is larger than ${limits.maxBodyBytes} bytes.`)],
  422: ['Unprocessable', failure('The request is not valid; nothing was changed.')],
  429: [
    'TooManyRequests',
    failure('The API key is over its rate limit, or too many exports or live streams are open; nothing was changed.', retryAfter),
  ],
  503: ['NotReady', failure('The service is not ready. Repeating the request with the same `Idempotency-Key` is safe.', retryAfter)],
} as const satisfies Record<number, readonly [string, ZodOpenApiResponseObject]>;

const everywhere = [400, 401, 403, 404, 422, 429, 503] as const;

/** A reference to a component of the document. */
const ref = (kind: 'responses' | 'parameters', name: string): { $ref: string } => ({ $ref: `#/components/${kind}/${name}` });

const parameters = {
  TenantId: {
    name: 'Tenant-ID',
    in: 'header',
    required: false,
    schema: { type: 'string' },
    description:
      "The tenant of the request, by its id or customerId. Without it, a key bound to a tenant means that tenant, and every other key means the account's default tenant.",
  },
  IdempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    required: false,
    schema: { type: 'string', minLength: 1, maxLength: limits.maxIdChars },
    description: 'A repeated key of the same user and metric returns 202 and changes nothing.',
  },
} as const satisfies Record<string, oas31.ParameterObject>;

/** Groups operations by the first segment of their path. */
function tagOf({ path }: Route): string {
  const words = (path.split('/')[1] ?? '').replaceAll('-', ' ').replace(/\bapi\b/, 'API');
  return words.charAt(0).toUpperCase() + words.slice(1);
}

const successes: Readonly<Record<number, string>> = {
  200: 'Done.',
  201: 'Created, restored, granted or counted.',
  202: 'Accepted, by this request or an earlier one.',
};

/** A POST that can return 201 returns 200 when it created nothing. */
function successOf({ responses }: Route, status: number): string {
  if (status === 200 && 201 in responses) return 'Nothing was created, restored or granted: `issues` says why.';
  return successes[status] ?? 'Done.';
}

/** The schema of a response for each of its media types. */
const contentOf = ({ produces = 'application/json' }: Route, schema: z.ZodType) =>
  typeof produces === 'string'
    ? { [produces]: { schema } }
    : Object.fromEntries(Object.entries(produces).map(([type, own]) => [type, { schema: own }]));

function operationOf(route: Route): ZodOpenApiOperationObject {
  const statuses = [...everywhere, ...(route.body ? [413 as const] : []), ...(route.conflicts ? [409 as const] : [])];
  return {
    operationId: route.operation,
    summary: route.summary,
    ...(route.description === undefined ? {} : { description: route.description }),
    tags: [tagOf(route)],
    // Generating the document throws if a schema is not an object; the tests generate it.
    requestParams: { path: route.params as never, query: route.query as never },
    parameters: [ref('parameters', 'TenantId'), ...(route.idempotent ? [ref('parameters', 'IdempotencyKey')] : [])] as never,
    ...(route.body
      ? { requestBody: { required: route.bodyOptional !== true, content: { 'application/json': { schema: route.body } } } }
      : {}),
    responses: {
      ...Object.fromEntries(
        Object.entries(route.responses).map(([status, schema]) => [
          status,
          { description: successOf(route, Number(status)), content: contentOf(route, schema) },
        ]),
      ),
      ...Object.fromEntries(statuses.map((status) => [status, ref('responses', failures[status][0])])),
    },
  };
}

/** Omits what zod adds and readers don't need, and what a later version may have to change. */
const plain: ZodOpenApiOverride = ({ jsonSchema }) => {
  if (jsonSchema.format !== undefined) delete jsonSchema.pattern;
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
  if (jsonSchema.minLength === 0) delete jsonSchema.minLength;
  delete jsonSchema.propertyNames;
};

/** Allows further fields in responses, which a later version may add. */
const open: ZodOpenApiOverride = (context) => {
  plain(context);
  if (context.jsonSchema.additionalProperties === false) delete context.jsonSchema.additionalProperties;
};

/**
 * Returns the OpenAPI 3.1 document of an API, generated from the schemas that validate its requests. `closed` allows no fields in responses but
 * those listed; the tests use it to check this version's responses.
 */
export function referenceOf(api: Api, routes: readonly Route[], { closed = false } = {}): oas31.OpenAPIObject {
  const { title, description, bases } = apis[api];
  const paths: Record<string, Record<string, ZodOpenApiOperationObject>> = {};
  for (const route of routes) paths[route.path] = { ...paths[route.path], [route.method]: operationOf(route) };
  return createDocument(
    {
      openapi: '3.1.1',
      info: { title, description, version, license: { name: 'MIT', identifier: 'MIT' } },
      servers: bases.map((url) => ({ url })),
      security: [{ ApiKey: [] }],
      tags: [...new Set(routes.map(tagOf))].map((name) => ({ name })),
      paths,
      components: {
        securitySchemes: { ApiKey: { type: 'apiKey', in: 'header', name: 'X-API-KEY' } },
        parameters,
        responses: Object.fromEntries(Object.values(failures)),
      },
    },
    { override: closed ? plain : open },
  );
}

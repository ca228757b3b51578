import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { extname } from 'node:path';
import type Router from '@koa/router';
import type Koa from 'koa';
import type { Api, Route } from '../routing/route.js';
import { referenceOf } from './reference.js';

const require = createRequire(import.meta.url);
const { version } = require('swagger-ui-dist/package.json') as { version: string };

const documents: readonly (readonly [api: Api, name: string, addresses: readonly [string, ...string[]]])[] = [
  ['application', 'Application API', ['/v1/openapi', '/api/openapi']],
  ['admin', 'Admin API', ['/admin/v1/openapi']],
];

/** The page loads nothing but its own files. Swagger UI sets styles on its elements (its issue 10655), but needs no script in the page. */
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

/** `validatorUrl` is null because Swagger UI would send the document's address to a server of its makers. */
const start = `SwaggerUIBundle({
  dom_id: '#reference',
  urls: ${JSON.stringify(documents.map(([, name, [url]]) => ({ name, url })))},
  presets: [SwaggerUIBundle.presets.apis, SwaggerUIStandalonePreset],
  layout: 'StandaloneLayout',
  deepLinking: true,
  validatorUrl: null,
});
`;

/** The files of Swagger UI that the page loads: no others are served. */
const files = ['swagger-ui.css', 'swagger-ui-bundle.js', 'swagger-ui-standalone-preset.js', 'favicon-32x32.png'];

/** Answers with a part of the page. */
function send(context: Koa.Context, type: string, body: string | Buffer): void {
  context.set('Content-Security-Policy', policy);
  context.type = type;
  context.body = body;
}

/**
 * The reference, without a key: the OpenAPI documents of both APIs, and `/docs`, a page to read and try them. The documents are made when
 * they are first asked for, and so are the files read, once for all answers.
 */
export function docsRoutes(router: Router, routes: Readonly<Record<Api, readonly Route[]>>): void {
  for (const [api, , addresses] of documents) {
    let text: string | undefined;
    for (const address of addresses) {
      router.get(address, (context) => {
        context.type = 'json';
        context.body = text ??= JSON.stringify(referenceOf(api, routes[api]));
      });
    }
  }
  router.get('/docs', (context) => send(context, 'html', page));
  router.get('/docs/start.js', (context) => send(context, 'js', start));
  for (const file of files) {
    let content: Promise<Buffer> | undefined;
    router.get(`/docs/${file}`, async (context) => {
      context.set('Cache-Control', 'no-cache');
      context.etag = `${version}-${file}`;
      context.status = 200;
      if (context.fresh) context.status = 304;
      else send(context, extname(file), await (content ??= readFile(require.resolve(`swagger-ui-dist/${file}`))));
    });
  }
}

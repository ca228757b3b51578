/** `npm run types`: writes the types of both APIs, from their references, for the page of the dashboard. */
import { mkdir, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import openapiTypes, { astToString, type OpenAPI3 } from 'openapi-typescript';
import { referenceOf } from '../../src/api/reference.js';
import { adminRoutes, applicationRoutes } from '../../src/api/router.js';

const folder = new URL('../../src/dashboard/page/api/schema/', import.meta.url);

await mkdir(folder, { recursive: true });
for (const [api, routes] of [
  ['admin', adminRoutes],
  ['application', applicationRoutes],
] as const) {
  const types = await openapiTypes(referenceOf(api, routes) as unknown as OpenAPI3);
  await writeFile(fileURLToPath(new URL(`${api}.d.ts`, folder)), astToString(types));
}

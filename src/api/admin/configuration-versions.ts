/** The versions of a tenant's configuration: the newest one as a file, the earlier ones, and what each has changed. */
import { z } from 'zod';
import { configFileJsonSchema } from '../../config/schema/json-schema.js';
import type { ConfigDocument } from '../../config/schema/model.js';
import type { StoredVersion } from '../../config/store/versions.js';
import { LaurelError } from '../../shared/errors.js';
import { JsonText } from '../../shared/json.js';
import { limits } from '../../shared/limits.js';
import { configWork, objectsIn } from '../../threads/threads.js';
import { integerText, optionalIntegerText, requiredIntegerText } from '../query.js';
import { defineRoute, type Route, type Services } from '../route.js';
import { changesFields, fileShape, shownVersion, versionFields } from './configuration-shapes.js';

const noVersion = (version: number): string => `There is no version ${version} of the configuration`;

/** Throws a 404 for a version that the tenant has never had. */
async function storedVersion({ configuration }: Services, tenant: number, version?: number): Promise<StoredVersion> {
  const stored = await configuration.version(tenant, version);
  if (!stored) throw new LaurelError('not_found', `${noVersion(version ?? 0)}: the list of versions has their numbers.`);
  return stored;
}

/** What a version is compared with. Throws a 422 for one that the tenant has never had. */
async function comparedVersion({ configuration }: Services, tenant: number, version: number): Promise<StoredVersion> {
  const stored = await configuration.version(tenant, version);
  if (!stored) throw new LaurelError('unprocessable', `${noVersion(version)}: \`against\` must be one of the list of versions, or 0.`);
  return stored;
}

/** A version with its file, and with what it changes of another document. */
async function versionJson(stored: StoredVersion, from: ConfigDocument | null): Promise<JsonText> {
  const { document } = stored;
  const described = await configWork('describe', { document, from }, objectsIn(document) + (from ? objectsIn(from) : 0));
  return new JsonText(`${JSON.stringify(shownVersion(stored)).slice(0, -1)},${described.slice(1)}`);
}

/** The JSON Schema of a file, once it has been asked for. */
let schema: JsonText | undefined;

const versionSchema = z.object({ ...versionFields, file: fileShape });

export const configurationVersionRoutes: readonly Route[] = [
  defineRoute({
    method: 'get',
    path: '/configuration',
    summary: 'Read the whole configuration, with its version',
    operation: 'admin_configuration_get',
    costly: true,
    responses: { 200: versionSchema },
    handle: async ({ services, tenant }) => {
      return { status: 200, body: await versionJson(await storedVersion(services, tenant), null) };
    },
  }),
  defineRoute({
    method: 'get',
    path: '/configuration/file',
    summary: 'Export the configuration as a YAML file that `laurel apply` takes',
    operation: 'admin_configuration_file',
    costly: true,
    responses: { 200: z.string() },
    produces: 'text/yaml; charset=utf-8',
    handle: async ({ services, tenant }) => {
      const document = await services.configuration.read(tenant);
      return { status: 200, body: await configWork('exportFile', document, objectsIn(document)) };
    },
  }),
  defineRoute({
    method: 'get',
    path: '/configuration/schema',
    summary: 'Read the JSON Schema of a configuration file',
    operation: 'admin_configuration_schema',
    description:
      'For forms and editors: types, bounds, defaults and required fields. `x-refers-to` is the kind of object whose key a field holds, ' +
      '`x-variants` the fields that an object has by the value of one of them, `x-permanent` those that it keeps while it is active. ' +
      'Rules between objects are not in it: `POST /configuration/dry-run` checks them.',
    responses: { 200: z.record(z.string(), z.unknown()) },
    handle: () => {
      schema ??= new JsonText(JSON.stringify(configFileJsonSchema()));
      return Promise.resolve({ status: 200, body: schema });
    },
  }),
  defineRoute({
    method: 'get',
    path: '/configuration/versions',
    summary: 'List the versions of the configuration, the newest first',
    operation: 'admin_configuration_versions_list',
    costly: true,
    responses: {
      200: z.array(
        z.object({
          ...versionFields,
          changes: z.number().int().meta({ description: 'How many objects differ from the version before.' }),
          lines: z.array(z.string()).meta({ description: `A line for each of the first ${limits.maxVersionLines} changes.` }),
        }),
      ),
    },
    query: z.object({ limit: integerText(1, limits.maxVersionsPage, 10), skip: integerText(0, limits.maxVersionNo, 0) }),
    handle: async ({ services, tenant, query }) => {
      const versions = await services.configuration.versions(tenant, query);
      return { status: 200, body: versions.map(({ changes, lines, ...stored }) => ({ ...shownVersion(stored), changes, lines })) };
    },
  }),
  defineRoute({
    method: 'get',
    path: '/configuration/versions/{version}',
    summary: 'Read a version of the configuration, and how it differs from another one',
    operation: 'admin_configuration_versions_get',
    costly: true,
    description: 'To go back to a version, apply its `file` with `prune: true`.',
    responses: { 200: versionSchema.extend(changesFields) },
    params: z.object({ version: requiredIntegerText(0, limits.maxVersionNo, 'The number of the version.') }),
    query: z.object({
      against: optionalIntegerText(0, limits.maxVersionNo, 'The version that the changes lead from; the one before without it.'),
    }),
    handle: async ({ services, tenant, params, query }) => {
      const stored = await storedVersion(services, tenant, params.version);
      const before = await comparedVersion(services, tenant, query.against ?? Math.max(stored.version - 1, 0));
      return { status: 200, body: await versionJson(stored, before.document) };
    },
  }),
];

/** The settings and streak settings of a tenant, and the export of the whole configuration. */
import { z } from 'zod';
import { changeSettings, EditRefusal } from '../../config/edits.js';
import { exportConfig } from '../../config/export.js';
import { oneOf, positive, text, whole } from '../../config/fields.js';
import { type Field } from '../../config/kind.js';
import { singles, type SingleName } from '../../config/kinds.js';
import { channels } from '../../config/message-types.js';
import type { ConfigDocument } from '../../config/model.js';
import { LaurelError } from '../../shared/errors.js';
import { limits } from '../../shared/limits.js';
import { boundedArray } from '../../shared/shapes.js';
import { defineRoute, type Route, type Services } from '../route.js';
import { listOf, uuid } from './requests.js';
import { shownType } from './resource.js';

/** Settings of one kind. `sent` and `shown` are schemas that differ from those of a file, in requests and responses. */
interface Part {
  readonly part: SingleName;
  readonly path: string;
  readonly operations: string;
  readonly what: string;
  readonly sent?: Readonly<Record<string, z.ZodType>>;
  readonly shown?: Readonly<Record<string, z.ZodType>>;
}

const parts: readonly Part[] = [
  { part: 'settings', path: '/settings', operations: 'admin_settings', what: 'settings' },
  {
    part: 'streaks',
    path: '/streak-settings',
    operations: 'admin_streak_settings',
    what: 'streak settings',
    sent: {
      metrics: listOf(z.object({ metricId: uuid, threshold: positive }), limits.maxStreakConditions),
      freezes: z
        .object({
          initial: whole(0, limits.maxFreezes),
          maximum: whole(0, limits.maxFreezes),
          earnInterval: whole(0, limits.maxFreezeIntervalDays),
          earnAmount: whole(0, limits.maxFreezes),
        })
        .partial(),
    },
    shown: {
      evaluationMode: z.enum(['AND', 'OR']),
      metrics: z.array(z.object({ metricId: z.uuid(), threshold: z.number() })),
      freezes: z.object({ initial: z.number(), maximum: z.number(), earnInterval: z.number(), earnAmount: z.number() }),
    },
  },
  {
    part: 'messages',
    path: '/messages-settings',
    operations: 'admin_message_settings',
    what: 'settings of messages to users',
    sent: {
      ...Object.fromEntries(
        ['achievementCompleted', 'recap', 'reactivation', 'streakReminder'].map((type) => [
          type,
          boundedArray(oneOf(channels), channels.length),
        ]),
      ),
      linkHosts: boundedArray(text(), limits.maxLinkHosts),
      localeAttribute: uuid,
    },
    shown: { localeAttribute: z.uuid() },
  },
];

/** Changes one part of the configuration and returns it. Throws a 422 with everything that is wrong. */
function change({ configuration }: Services, tenant: number, part: SingleName, sent: object): Promise<ConfigDocument[SingleName]> {
  return configuration.edit(tenant, (before, context) => {
    try {
      // A file gives freezes as a whole; a request changes only the fields it sends.
      const fields = 'freezes' in sent ? { ...sent, freezes: { ...before.streaks.freezes, ...(sent.freezes as object) } } : sent;
      const document = changeSettings(before, part, fields, context);
      return Promise.resolve({ document, result: document[part] });
    } catch (error) {
      if (error instanceof EditRefusal) throw new LaurelError('unprocessable', error.message, { cause: error });
      throw error;
    }
  });
}

function routesOf({ part, path, operations, what, sent = {}, shown = {} }: Part): Route[] {
  const { fields } = singles[part];
  const orNull = ({ nullIsValue }: Field, schema: z.ZodType): z.ZodType => (nullIsValue ? schema.nullable() : schema);
  const sentFields = fields.map((field) => [field.stored, orNull(field, sent[field.stored] ?? field.schema).optional()]);
  const shownFields = fields.map((field) => [field.stored, orNull(field, shown[field.stored] ?? shownType(field.schema))]);
  const body: z.ZodType<object> = z.object(Object.fromEntries(sentFields));
  const responses = { 200: z.object(Object.fromEntries(shownFields)) };
  return [
    defineRoute({
      method: 'get',
      path,
      summary: `Get the ${what}`,
      operation: `${operations}_get`,
      responses,
      handle: async ({ services, tenant }) => ({ status: 200, body: (await services.configuration.read(tenant))[part] }),
    }),
    defineRoute({
      method: 'patch',
      path,
      summary: `Change ${what}`,
      operation: `${operations}_update`,
      changesConfiguration: true,
      responses,
      body,
      handle: async ({ services, tenant, body: own }) => ({ status: 200, body: await change(services, tenant, part, own) }),
    }),
  ];
}

export const settingsAdminRoutes: readonly Route[] = [
  ...parts.flatMap(routesOf),
  defineRoute({
    method: 'get',
    path: '/config',
    summary: 'Export the configuration as a YAML file that `laurel apply` takes',
    operation: 'admin_config_export',
    responses: { 200: z.string() },
    produces: 'application/yaml; charset=utf-8',
    handle: async ({ services, tenant }) => ({
      status: 200,
      body: exportConfig(await services.configuration.read(tenant)),
    }),
  }),
];

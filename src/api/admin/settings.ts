/** The settings and streak settings of a tenant. */
import { z } from 'zod';
import { oneOf, positive, text, whole } from '../../config/schema/fields.js';
import { type Field } from '../../config/schema/kind.js';
import { singles, type SingleName } from '../../config/schema/kinds.js';
import { channels } from '../../config/schema/message-types.js';
import type { ConfigDocument } from '../../config/schema/model.js';
import { LaurelError } from '../../shared/errors.js';
import { limits } from '../../shared/limits.js';
import { boundedArray } from '../../shared/shapes.js';
import type { Edit } from '../../threads/config-tasks.js';
import { configWork, objectsOfEdits } from '../../threads/threads.js';
import { type Caller, defineRoute, type Route } from '../route.js';
import { authorOf } from './author.js';
import { brandFields, contractSettingsBody, contractSettingsShape, settingsFields, shownContractSettings } from './contract-settings.js';
import { contractStreaksBody, contractStreaksFields, contractStreaksShape, shownContractStreaks } from './contract-streaks.js';
import { listOf, uuid } from './requests.js';
import { shownType } from './resource.js';

type SettingsEdit = Extract<Edit, { readonly settings: SingleName }>;

/** Settings of one kind. `sent` and `shown` are schemas that differ from those of a file, in requests and responses. */
interface Part {
  readonly part: SingleName;
  readonly path: string;
  readonly operations: string;
  readonly what: string;
  readonly sent?: Readonly<Record<string, z.ZodType>>;
  readonly shown?: Readonly<Record<string, z.ZodType>>;
  readonly contract?: ContractPart;
}

/** What the contract has of the same settings, beside Laurel's own fields. */
interface ContractPart {
  readonly sent: Readonly<Record<string, z.ZodType>>;
  readonly shown: Readonly<Record<string, z.ZodType>>;
  readonly show: (document: ConfigDocument) => object;
  /** What a request with fields of both kinds changes. */
  readonly editsOf: (before: ConfigDocument, sent: object) => readonly SettingsEdit[];
}

const parts: readonly Part[] = [
  {
    part: 'settings',
    path: '/settings',
    operations: 'admin_settings',
    what: 'settings',
    contract: {
      sent: contractSettingsBody.shape,
      shown: contractSettingsShape.shape,
      show: shownContractSettings,
      editsOf: (before, sent) => [
        { settings: 'settings', fields: settingsFields(before, sent) },
        { settings: 'messages', fields: brandFields(before, sent) },
      ],
    },
  },
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

/** Changes parts of the configuration and returns the whole. Throws a 422 with everything that is wrong with the first part that is. */
async function change(caller: Caller, editsOf: (before: ConfigDocument) => readonly SettingsEdit[]): Promise<ConfigDocument> {
  const { services, tenant } = caller;
  return services.configuration.edit(tenant, { author: await authorOf(caller) }, async (before, context) => {
    const order = { document: before, context, place: null, edits: editsOf(before) };
    const { document, isChanged, outcomes } = await configWork('edit', order, objectsOfEdits(before, order.edits));
    const [refusal] = outcomes.flatMap((outcome) => ('refusal' in outcome ? [outcome.refusal] : []));
    if (refusal !== undefined) throw new LaurelError('unprocessable', refusal);
    const after = isChanged ? document : before;
    return { document: after, result: after };
  });
}

/** A file gives freezes as a whole; a request changes only the fields it sends. */
const ownFields = (before: ConfigDocument, sent: object): object =>
  'freezes' in sent ? { ...sent, freezes: { ...before.streaks.freezes, ...(sent.freezes as object) } } : sent;

function routesOf({ part, path, operations, what, sent = {}, shown = {}, contract }: Part): Route[] {
  const { fields } = singles[part];
  const orNull = ({ nullIsValue }: Field, schema: z.ZodType): z.ZodType => (nullIsValue ? schema.nullable() : schema);
  const sentFields = fields.map((field) => [field.stored, orNull(field, sent[field.stored] ?? field.schema).optional()]);
  const shownFields = fields.map((field) => [field.stored, orNull(field, shown[field.stored] ?? shownType(field.schema))]);
  const body: z.ZodType<object> = z.object({ ...Object.fromEntries(sentFields), ...contract?.sent });
  const responses = { 200: z.object({ ...Object.fromEntries(shownFields), ...contract?.shown }) };
  const show = (document: ConfigDocument): object => ({ ...document[part], ...contract?.show(document) });
  const ownEdits: ContractPart['editsOf'] = (before, own) => [{ settings: part, fields: ownFields(before, own) }];
  const { editsOf } = contract ?? { editsOf: ownEdits };
  return [
    defineRoute({
      method: 'get',
      path,
      summary: `Get the ${what}`,
      operation: `${operations}_get`,
      responses,
      handle: async ({ services, tenant }) => ({ status: 200, body: show(await services.configuration.read(tenant)) }),
    }),
    defineRoute({
      method: 'patch',
      path,
      summary: `Change ${what}`,
      operation: `${operations}_update`,
      changesConfiguration: true,
      responses,
      body,
      handle: async ({ services, principal, tenant, body: own }) => ({
        status: 200,
        body: show(await change({ services, principal, tenant }, (before) => editsOf(before, own))),
      }),
    }),
  ];
}

const contractStreakRoutes: readonly Route[] = [
  defineRoute({
    method: 'get',
    path: '/streaks/settings',
    summary: 'Get the streak settings as the hosted service has them',
    description: 'The same settings as `/streak-settings`, which has exact thresholds and the switch of streaks.',
    operation: 'admin_streaks_settings_get',
    responses: { 200: contractStreaksShape },
    handle: async ({ services, tenant }) => ({ status: 200, body: shownContractStreaks(await services.configuration.read(tenant)) }),
  }),
  defineRoute({
    method: 'patch',
    path: '/streaks/settings',
    summary: 'Change streak settings as the hosted service has them',
    description:
      '`metrics` and `freezes` are replaced as a whole. A number that is sent as it is shown stays exactly what it is in `/streak-settings`. ' +
      'Sending `metrics` enables streaks. `daysOff` must be empty unless the frequency is `daily`; another frequency empties it.',
    operation: 'admin_streaks_settings_update',
    changesConfiguration: true,
    responses: { 200: contractStreaksShape },
    body: contractStreaksBody,
    handle: async ({ services, principal, tenant, body: sent }) => {
      const caller = { services, principal, tenant };
      const document = await change(caller, (before) => [{ settings: 'streaks', fields: contractStreaksFields(before, sent) }]);
      return { status: 200, body: shownContractStreaks(document) };
    },
  }),
];

export const settingsAdminRoutes: readonly Route[] = [...parts.flatMap(routesOf), ...contractStreakRoutes];

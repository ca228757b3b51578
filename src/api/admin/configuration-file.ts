/** Dry runs of a configuration file, and applying it. */
import { z } from 'zod';
import { nameChanges } from '../../config/change/changes.js';
import { type Contents, isTooDeep, type PlannedContents } from '../../config/change/plan-contents.js';
import { countEffects } from '../../engine/effects/effects.js';
import { LaurelError } from '../../shared/errors.js';
import { JsonText } from '../../shared/json.js';
import { limits } from '../../shared/limits.js';
import type { FileOrder, FilePlan } from '../../threads/config-tasks.js';
import { configWork } from '../../threads/threads.js';
import { type Audited, type Caller, defineRoute, type Route } from '../route.js';
import { authorOf } from './author.js';
import { changesFields, versionFields } from './configuration-shapes.js';

const isContents = (value: unknown): value is Contents =>
  typeof value === 'string' || (typeof value === 'object' && value !== null && !Array.isArray(value));

const bodySchema = z.object({
  file: z.custom<Contents | JsonText>(isContents, 'must be the YAML text of a file, or its contents as an object').meta({
    description: 'A configuration file: its YAML text, or its contents as an object.',
    override: { anyOf: [{ type: 'string' }, { type: 'object', additionalProperties: true }] },
  }),
  prune: z.boolean().default(false).meta({ description: 'Archives the objects that the file does not mention.' }),
  version: z.number().int().min(0).max(limits.maxVersionNo).optional().meta({
    description: 'The version that the file was made for: applying it is a 409 when another one is the newest. A dry run ignores it.',
  }),
});
type Body = z.infer<typeof bodySchema>;

const keptField = z
  .array(z.string())
  .meta({ description: 'The objects that the file does not mention and that stay: `metric pages-read`.' });

const problemSchema = z
  .object({
    message: z.string(),
    path: z
      .array(z.union([z.string(), z.number()]))
      .nullable()
      .meta({ description: 'From the root of the file to the value or the unknown field: `["points", 0, "levels", 2, "points"]`.' }),
    line: z.number().int().nullable().meta({ description: 'Of a YAML text; null for an object.' }),
    column: z.number().int().nullable(),
  })
  .meta({ id: 'ConfigurationProblem' });

const effectSchema = z
  .object({
    kind: z.string(),
    key: z.string().nullable(),
    within: z.string().nullable(),
    users: z.number().int().nullable().meta({ description: 'Null where it is not counted, or where no users are concerned.' }),
    sentence: z.string().meta({ description: '`4,102 users would change level.`' }),
  })
  .meta({ id: 'ConfigurationEffect' });

/** Plans a file in the thread, whatever it turns out to hold. What is nested too deep to be copied there is refused at once. */
function plan(file: Contents | JsonText, order: Omit<FileOrder, 'file' | 'isJson'>): Promise<FilePlan> {
  if (file instanceof JsonText) return configWork('plan', { ...order, file: file.text, isJson: true }, Infinity);
  return configWork('plan', { ...order, file, isJson: false }, typeof file === 'object' && isTooDeep(file) ? 0 : Infinity);
}

async function dryRun({ services, tenant }: Pick<Caller, 'services' | 'tenant'>, { file, prune }: Body): Promise<object> {
  const { version, document: from, context } = await services.configuration.preview(tenant);
  const { document: to, sentence, ...planned } = await plan(file, { document: from, prune, context });
  const effects = to && sentence === null ? await countEffects(services.counts, tenant, { from, to, now: Date.parse(context.now) }) : [];
  return { version, ...planned, effects };
}

/** Applies a file as one version. Throws a 422 with everything that is wrong with it, and a 409. */
async function apply(caller: Caller, { file, prune, version: expectedVersion }: Body): Promise<object> {
  const { services, tenant } = caller;
  const author = await authorOf(caller);
  const { version, result } = await services.configuration.editVersion<FilePlan>(
    tenant,
    { author, expectedVersion },
    async (before, context) => {
      const planned = await plan(file, { document: before, prune, context });
      if (planned.sentence !== null) throw new LaurelError('unprocessable', planned.sentence);
      return { document: planned.document ?? before, result: planned };
    },
  );
  return { version, changes: result.changes, lines: result.lines, kept: result.kept };
}

/** A file that changes nothing is not in the audit log. */
const auditOf = ({ changes }: Pick<PlannedContents, 'changes'>): Audited | undefined =>
  changes.length === 0 ? undefined : { summary: nameChanges(changes).join('; ') };

export const configurationFileRoutes: readonly Route[] = [
  defineRoute({
    method: 'post',
    path: '/configuration/dry-run',
    summary: 'Show what applying a configuration file would change, and what that would do to users',
    operation: 'admin_configuration_dry_run',
    costly: true,
    description:
      'Changes nothing. What is wrong with the file is in `problems`, with status 200; then the other lists are empty. ' +
      'Users are counted as of what Postgres has.',
    responses: {
      200: z.object({
        version: versionFields.version,
        ...changesFields,
        kept: keptField,
        effects: z.array(effectSchema),
        problems: z.array(problemSchema),
      }),
    },
    body: bodySchema,
    maxBodyBytes: limits.maxConfigRequestBytes,
    deferredField: 'file',
    reads: true,
    handle: async ({ services, tenant, body }) => ({ status: 200, body: await dryRun({ services, tenant }, body) }),
  }),
  defineRoute({
    method: 'post',
    path: '/configuration/apply',
    summary: 'Apply a configuration file',
    operation: 'admin_configuration_apply',
    costly: true,
    description:
      'Does what `laurel apply` does: all or nothing, as one version, active for the next event in every process when the response ' +
      'arrives. A file that changes nothing makes no version.',
    responses: { 200: z.object({ version: versionFields.version, ...changesFields, kept: keptField }) },
    body: bodySchema,
    maxBodyBytes: limits.maxConfigRequestBytes,
    deferredField: 'file',
    conflicts: true,
    changesConfiguration: true,
    audit: ({ response }) => auditOf(response as Pick<PlannedContents, 'changes'>),
    handle: async ({ services, principal, tenant, body }) => ({ status: 200, body: await apply({ services, principal, tenant }, body) }),
  }),
];

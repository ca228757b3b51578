/** Dry runs of a configuration file, and applying it. */
import { z } from 'zod';
import { describeChanges, nameChanges } from '../../config/changes.js';
import { type Contents, planContents, type PlannedContents, problemsSentence, readContents } from '../../config/plan-contents.js';
import { type FileProblem, fileSentence } from '../../config/problems.js';
import { countEffects } from '../../engine/effects/effects.js';
import { LaurelError } from '../../shared/errors.js';
import { limits } from '../../shared/limits.js';
import { type Audited, type Caller, defineRoute, type Route } from '../route.js';
import { authorOf } from './author.js';
import { changesFields, versionFields } from './configuration-shapes.js';

const isContents = (value: unknown): value is Contents =>
  typeof value === 'string' || (typeof value === 'object' && value !== null && !Array.isArray(value));

const bodySchema = z.object({
  file: z.custom<Contents>(isContents, 'must be the YAML text of a file, or its contents as an object').meta({
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

const shownProblem = ({ problem, position, path, unknown }: FileProblem): object => ({
  message: fileSentence(problem),
  path: unknown ?? path,
  line: position?.line ?? null,
  column: position?.column ?? null,
});

async function dryRun({ services, tenant }: Pick<Caller, 'services' | 'tenant'>, { file, prune }: Body): Promise<object> {
  const read = readContents(file);
  const { version, document, context } = await services.configuration.preview(tenant);
  const { problems, changes, kept, ...plan } = planContents(document, read, { ...context, prune });
  const isBad = problems.length > 0;
  const counted = { from: document, to: plan.document, now: Date.parse(context.now) };
  return {
    version,
    changes: isBad ? [] : changes,
    lines: isBad ? [] : describeChanges(changes),
    kept: isBad ? [] : kept,
    effects: isBad ? [] : await countEffects(services.counts, tenant, counted),
    problems: problems.map(shownProblem),
  };
}

/** Applies a file as one version. Throws a 422 with everything that is wrong with it, and a 409. */
async function apply(caller: Caller, { file, prune, version: expectedVersion }: Body): Promise<object> {
  const { services, tenant } = caller;
  const read = readContents(file);
  const author = await authorOf(caller);
  const { version, result } = await services.configuration.editVersion<PlannedContents>(
    tenant,
    { author, expectedVersion },
    (before, context) => {
      const planned = planContents(before, read, { ...context, prune });
      if (planned.problems.length > 0) throw new LaurelError('unprocessable', problemsSentence(planned.problems));
      return Promise.resolve({ document: planned.document, result: planned });
    },
  );
  return { version, changes: result.changes, lines: describeChanges(result.changes), kept: result.kept };
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
    reads: true,
    handle: async ({ services, tenant, body }) => ({ status: 200, body: await dryRun({ services, tenant }, body) }),
  }),
  defineRoute({
    method: 'post',
    path: '/configuration/apply',
    summary: 'Apply a configuration file',
    operation: 'admin_configuration_apply',
    description:
      'Does what `laurel apply` does: all or nothing, as one version, active for the next event in every process when the response ' +
      'arrives. A file that changes nothing makes no version.',
    responses: { 200: z.object({ version: versionFields.version, ...changesFields, kept: keptField }) },
    body: bodySchema,
    maxBodyBytes: limits.maxConfigRequestBytes,
    conflicts: true,
    changesConfiguration: true,
    audit: ({ response }) => auditOf(response as Pick<PlannedContents, 'changes'>),
    handle: async ({ services, principal, tenant, body }) => ({ status: 200, body: await apply({ services, principal, tenant }, body) }),
  }),
];

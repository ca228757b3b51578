import type { components, operations } from '../../api/schema/admin.js';
import type { JsonObject } from './json.js';

type Ok<Operation extends keyof operations> = operations[Operation] extends {
  responses: { 200: { content: { 'application/json': infer Body } } };
}
  ? Body
  : never;

export type Configuration = Ok<'admin_configuration_get'>;
export type Version = Ok<'admin_configuration_versions_get'>;
export type DryRun = Ok<'admin_configuration_dry_run'>;
export type Applied = Ok<'admin_configuration_apply'>;
/** Who made a version. */
export type Author = components['schemas']['ConfigurationAuthor'];
export type Change = components['schemas']['ConfigurationChange'];
export type Effect = components['schemas']['ConfigurationEffect'];
export type Problem = components['schemas']['ConfigurationProblem'];

/** The file of a configuration, which the reference describes as any values. */
export const fileOf = ({ file }: Pick<Configuration, 'file'>): JsonObject => file as JsonObject;

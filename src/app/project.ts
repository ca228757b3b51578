import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import util from 'node:util';
import { OperatorError } from '../shared/errors.js';

/** The configuration of an operator's own folder. `laurel init` writes both files. */
export const projectConfig = 'laurel.yaml';
export const projectSettings = '.env';

/** The folder of this Laurel: the clone, or the npm package. */
export const laurelFolder = fileURLToPath(new URL('../..', import.meta.url)).replace(/[/\\]$/, '');

/** Whether a folder has a laurel.yaml of the operator. In a clone, the files may be those of its containers. */
export const isProject = (folder: string): boolean => folder !== laurelFolder && existsSync(join(folder, projectConfig));

/** The variables of a .env file; none if it is missing. Throws an OperatorError in a Node that cannot read it. */
export function readVariables(file: string): NodeJS.Dict<string> {
  if (!existsSync(file)) return {};
  const parse = util.parseEnv as typeof util.parseEnv | undefined;
  if (parse === undefined) throw new OperatorError(`Reading ${file} needs Node.js 20.12 or newer, and this is ${process.versions.node}.`);
  return parse(readFileSync(file, 'utf8'));
}

/**
 * In an operator's own folder: adds the variables of its .env that `env` does not set, and names its laurel.yaml in CONFIG, unless CONFIG is set. An
 * empty variable counts as unset.
 */
export function addProjectSettings(env: NodeJS.ProcessEnv, folder: string): void {
  if (!isProject(folder)) return;
  for (const [name, value] of Object.entries(readVariables(join(folder, projectSettings)))) env[name] ||= value;
  env['CONFIG'] ||= projectConfig;
}

import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { Print } from '../app/output.js';
import { laurelFolder, projectConfig, projectSettings, readVariables } from '../app/project.js';
import { sampleConfig } from '../app/startup.js';
import { OperatorError } from '../shared/errors.js';

const header = `# Settings of the Laurel in this folder, by their variables: docs/settings.md of the package. Those of the environment come first.
# Do not commit this file.
`;

const ignored = ['node_modules/', projectSettings, '.laurel/', '.laurel-demo/'];

const composeSecrets = ['REDIS_PASSWORD', 'POSTGRES_PASSWORD', 'METRICS_TOKEN'];

export interface InitOptions {
  /** Also writes compose.yaml. */
  readonly compose: boolean;
  readonly folder: string;
  readonly print: Print;
}

/**
 * `laurel init`: writes what a folder needs to run Laurel, and keeps the files that are there; it only adds secrets that .env lacks, and names that
 * .gitignore lacks. Throws an OperatorError, before it writes anything, in Laurel's own folder.
 */
export function init({ compose, folder, print }: InitOptions): void {
  if (folder === laurelFolder) {
    throw new OperatorError('This is the folder of Laurel itself, which npm start serves. Run laurel init in another one.');
  }
  // A container image has no docker-compose.yml.
  const composeText = compose
    ? composeFile(readFileSync(join(laurelFolder, 'docker-compose.yml'), 'utf8'), relative(folder, laurelFolder))
    : undefined;
  const write = (name: string, text: string): void => {
    const file = join(folder, name);
    const isNew = !existsSync(file);
    if (isNew) writeFileSync(file, text);
    print(isNew ? `${name} was written.` : `${name} exists and was kept.`);
  };
  write(projectConfig, readFileSync(sampleConfig, 'utf8'));
  const added = addSecrets(join(folder, projectSettings), ['ADMIN_API_KEY', ...(compose ? composeSecrets : [])]);
  print(added.length > 0 ? `${projectSettings} has new secrets: ${added.join(', ')}.` : `${projectSettings} has all secrets and was kept.`);
  print(ignoreFiles(join(folder, '.gitignore')));
  if (composeText !== undefined) write('compose.yaml', composeText);
  const next = compose ? 'docker compose up' : 'npx laurel';
  print(`Next: ${next}. The key for its API and its dashboard is ADMIN_API_KEY in ${projectSettings}.`);
}

/** A text with further lines. */
const withLines = (text: string, lines: readonly string[]): string =>
  text + (text === '' || text.endsWith('\n') ? '' : '\n') + lines.map((line) => `${line}\n`).join('');

/** Adds to a .gitignore what it does not name: the secrets of .env must not be committed. Returns what to print. */
function ignoreFiles(file: string): string {
  const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
  const bare = (name: string): string => name.trim().replace(/^\/|\/$/g, '');
  const named = text.split('\n').map(bare);
  const missing = ignored.filter((name) => !named.includes(bare(name)));
  if (missing.length === 0) return '.gitignore exists and was kept.';
  writeFileSync(file, withLines(text, missing));
  return text === '' ? '.gitignore was written.' : `.gitignore has new lines: ${missing.join(', ')}.`;
}

/** Adds to a .env file a fresh secret for each variable that it does not set; only its owner may read it then. Returns their names. */
function addSecrets(file: string, variables: readonly string[]): string[] {
  const text = existsSync(file) ? readFileSync(file, 'utf8') : header;
  const set = readVariables(file);
  const missing = variables.filter((name) => !set[name]);
  const secret = (name: string): string => (name === 'ADMIN_API_KEY' ? 'admin.' : '') + randomBytes(24).toString('hex');
  if (missing.length === 0) return missing;
  // Before the secrets are in it.
  if (existsSync(file)) chmodSync(file, 0o600);
  const lines = missing.map((name) => `${name}=${secret(name)}`);
  writeFileSync(file, withLines(text, lines), { mode: 0o600 });
  return missing;
}

/**
 * The compose file of an operator's folder, made from that of the clone: it runs the installed package in place of an image that is built, with the
 * folder's configuration.
 * @param installed the folder of the package, relative to the operator's.
 */
export function composeFile(template: string, installed: string): string {
  if (!installed.startsWith('node_modules')) {
    throw new OperatorError('compose.yaml runs Laurel from node_modules, which this folder does not have: install the package here first.');
  }
  const check = `fetch('http://127.0.0.1:7070/health/ready').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))`;
  const replaced: readonly (readonly [old: string, text: string])[] = [
    [
      '    build: .\n',
      `    # The package of this folder, as npm has installed it.
    image: node:22.20.0-slim
    user: node
    working_dir: /app
    command: [node, --max-semi-space-size=64, ${installed}/bin/laurel.mjs, serve]
    healthcheck:
      test: ['CMD', 'node', '-e', "${check}"]
      interval: 5s
      timeout: 3s
      start_period: 30s
      retries: 5
`,
    ],
    ['    environment:\n      REDIS_URL:', '    environment:\n      NODE_ENV: production\n      HOST: 0.0.0.0\n      REDIS_URL:'],
    [
      '      # The file CONFIG_FILE of this machine, applied at each start if CONFIG is /etc/laurel/config.yaml.\n      CONFIG: ${CONFIG:-}\n',
      '      # The file CONFIG_FILE of this machine, applied at each start.\n      CONFIG: /etc/laurel/config.yaml\n',
    ],
    [
      '${CONFIG_FILE:-./examples/study-app.yaml}:/etc/laurel/config.yaml:ro\n',
      `\${CONFIG_FILE:-./${projectConfig}}:/etc/laurel/config.yaml:ro\n      - ./node_modules:/app/node_modules:ro\n`,
    ],
    ['./docker/postgres:', `./${installed}/docker/postgres:`],
  ];
  return replaced.reduce((text, [old, by]) => {
    if (text.split(old).length !== 2) throw new Error(`docker-compose.yml does not have once: ${old}`);
    return text.replace(old, () => by);
  }, template);
}

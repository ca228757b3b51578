import { existsSync, readFileSync, statSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseEnv } from 'node:util';
import { expect } from 'chai';
import { parse } from 'yaml';
import { addProjectSettings, isProject, laurelFolder } from '../../src/app/project.js';
import { parseSettings } from '../../src/app/settings.js';
import { sampleConfig } from '../../src/app/startup.js';
import { composeFile, init } from '../../src/commands/init.js';
import { OperatorError } from '../../src/shared/errors.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const template = readFileSync(join(root, 'docker-compose.yml'), 'utf8');

describe("An operator's own folder", () => {
  let folder: string;
  let printed: string[];
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'laurel-project-'));
    printed = [];
  });
  afterEach(() => rm(folder, { recursive: true }));

  const read = (name: string): string => readFileSync(join(folder, name), 'utf8');
  const write = (name: string, text: string): Promise<void> => writeFile(join(folder, name), text);
  const run = (): void => init({ compose: false, folder, print: (line) => printed.push(line) });

  describe('after laurel init', () => {
    it('has the configuration of the study app, a fresh admin key, and a .gitignore', () => {
      run();
      expect(read('laurel.yaml')).to.equal(readFileSync(sampleConfig, 'utf8'));
      const { ADMIN_API_KEY } = parseEnv(read('.env'));
      expect(ADMIN_API_KEY).to.match(/^admin\.[0-9a-f]{48}$/);
      expect(parseSettings({ ADMIN_API_KEY }).adminApiKey).to.equal(ADMIN_API_KEY);
      expect(statSync(join(folder, '.env')).mode & 0o777).to.equal(0o600);
      expect(read('.gitignore').split('\n')).to.include.members(['.env', '.laurel/']);
      expect(existsSync(join(folder, 'compose.yaml'))).to.equal(false);
      expect(printed).to.deep.equal([
        'laurel.yaml was written.',
        '.env has new secrets: ADMIN_API_KEY.',
        '.gitignore was written.',
        'Next: npx laurel. The key for its API and its dashboard is ADMIN_API_KEY in .env.',
      ]);
    });

    it('keeps what it had', async () => {
      await write('laurel.yaml', 'metrics: []');
      await write('.env', 'PORT=8080');
      await write('.gitignore', '/dist\n/node_modules');
      run();
      const [env, printedFirst] = [read('.env'), printed.splice(0)];
      expect(read('laurel.yaml')).to.equal('metrics: []');
      expect(env).to.match(/^PORT=8080\nADMIN_API_KEY=admin\.[0-9a-f]{48}\n$/);
      expect(statSync(join(folder, '.env')).mode & 0o777).to.equal(0o600);
      expect(read('.gitignore')).to.equal('/dist\n/node_modules\n.env\n.laurel/\n.laurel-demo/\n');
      expect([printedFirst[0], printedFirst[2]]).to.deep.equal([
        'laurel.yaml exists and was kept.',
        '.gitignore has new lines: .env, .laurel/, .laurel-demo/.',
      ]);
      run();
      expect(read('.env')).to.equal(env);
      expect(printed.slice(0, 3)).to.deep.equal([
        ...['laurel.yaml exists and was kept.', '.env has all secrets and was kept.', '.gitignore exists and was kept.'],
      ]);
    });

    it("is not Laurel's own", () => {
      expect(laurelFolder).to.equal(root.replace(/\/$/, ''));
      expect(() => init({ compose: false, folder: laurelFolder, print: () => undefined })).to.throw(
        OperatorError,
        'the folder of Laurel itself',
      );
    });

    it('has no compose.yaml, and nothing else, without the package in it', () => {
      expect(() => init({ compose: true, folder, print: () => undefined })).to.throw(OperatorError, 'install the package here first');
      expect(existsSync(join(folder, 'laurel.yaml'))).to.equal(false);
    });
  });

  describe('adds to the environment', () => {
    const settingsOf = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv => {
      addProjectSettings(env, folder);
      return env;
    };

    it('its laurel.yaml, and what its .env sets and the environment does not', async () => {
      await write('laurel.yaml', '');
      await write('.env', '# Settings\nPORT=8080\nHOST="0.0.0.0"\nRATE_LIMIT=10\n');
      expect(settingsOf({ HOST: '127.0.0.1', RATE_LIMIT: '' })).to.deep.equal({
        ...{ HOST: '127.0.0.1', RATE_LIMIT: '10', PORT: '8080', CONFIG: 'laurel.yaml' },
      });
      expect(settingsOf({ CONFIG: 'other.yaml' })['CONFIG']).to.equal('other.yaml');
    });

    it('nothing without a laurel.yaml: a .env may be that of another program', async () => {
      await write('.env', 'PORT=8080\n');
      expect([isProject(folder), settingsOf({})]).to.deep.equal([false, {}]);
    });
  });
});

interface ComposeService {
  readonly image?: string;
  readonly build?: string;
  readonly command?: readonly string[];
  readonly environment: Readonly<Record<string, unknown>>;
  readonly volumes: readonly string[];
}
type Services = Readonly<Record<string, ComposeService>>;

describe('The compose.yaml of laurel init', () => {
  const servicesOf = (text: string): Services => (parse(text) as { services: Services }).services;
  const text = composeFile(template, 'node_modules/laurel');
  const { laurel, ...stores } = servicesOf(text);
  const { laurel: original, ...originalStores } = servicesOf(template);

  it('runs the stores of docker-compose.yml, with the files of the package', () => {
    expect(JSON.parse(JSON.stringify(stores).replace('./node_modules/laurel/docker/', './docker/'))).to.deep.equal(originalStores);
    expect(stores['postgres']!.volumes[1]).to.equal('./node_modules/laurel/docker/postgres:/docker-entrypoint-initdb.d:ro');
  });

  it('runs the installed package as the image of the Dockerfile does, and applies laurel.yaml', () => {
    const dockerfile = readFileSync(join(root, 'Dockerfile'), 'utf8');
    expect(dockerfile).to.include(`\nFROM ${laurel!.image!}\n`);
    const [, command = ''] = /^CMD (\[.*\])$/m.exec(dockerfile)!;
    expect(laurel!.command).to.deep.equal(
      (JSON.parse(command) as string[]).map((part) => part.replace(/^bin\//, 'node_modules/laurel/bin/')),
    );
    expect(laurel!.build).to.equal(undefined);
    const { CONFIG, NODE_ENV, HOST, ...environment } = laurel!.environment;
    expect({ CONFIG, NODE_ENV, HOST }).to.deep.equal({ CONFIG: '/etc/laurel/config.yaml', NODE_ENV: 'production', HOST: '0.0.0.0' });
    expect({ ...environment, CONFIG: '${CONFIG:-}' }).to.deep.equal(original!.environment);
    expect(laurel!.volumes).to.deep.equal([
      '${CONFIG_FILE:-./laurel.yaml}:/etc/laurel/config.yaml:ro',
      './node_modules:/app/node_modules:ro',
    ]);
  });

  it('is refused when docker-compose.yml no longer has what it replaces', () => {
    expect(() => composeFile(template.replace('build: .', 'build: ..'), 'node_modules/laurel')).to.throw('build: .');
  });
});

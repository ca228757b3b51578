import { execFile, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseEnv, promisify } from 'node:util';
import dockerignore from '@balena/dockerignore';
import { expect } from 'chai';
import { Redis } from 'ioredis';
import { parse } from 'yaml';
import { parseSettings } from '../../src/app/settings.js';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../..', import.meta.url));
const read = (name: string): string => readFileSync(join(root, name), 'utf8');

/** What the Dockerfile copies from the checkout: all arguments but the last, which is the target, of each COPY without `--from`. */
const copied = [...read('Dockerfile').matchAll(/^COPY (?!--from=)(.+) \S+$/gm)].flatMap(([, sources = '']) => sources.split(' '));

describe('The Dockerfile', () => {
  it('copies files and folders that exist and that .dockerignore admits', () => {
    const ignored = dockerignore.default().add(read('.dockerignore'));
    expect(copied).to.include.members(['package.json', 'src', 'templates']);
    expect(copied.filter((name) => !existsSync(join(root, name)))).to.deep.equal([]);
    expect(copied.filter((name) => ignored.ignores(name))).to.deep.equal([]);
  });
});

interface ComposeService {
  readonly image?: string;
  readonly command?: readonly string[];
  readonly environment: Readonly<Record<string, string | number>>;
  readonly volumes?: readonly string[];
}

describe('The compose file', () => {
  const text = read('docker-compose.yml');
  const { services } = parse(text) as { services: Readonly<Record<'laurel' | 'redis' | 'postgres', ComposeService>> };
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'laurel-compose-'));
  });
  after(() => rm(folder, { recursive: true }));

  it('uses images of exact versions', () => {
    const images = [...[services.redis, services.postgres].map(({ image }) => image), ...read('Dockerfile').matchAll(/^FROM (\S+)/gm)].map(
      String,
    );
    expect(images.filter((image) => !/:\d+\.\d+(?:\.\d+)?-/.test(image))).to.deep.equal([]);
  });

  it('passes a configuration file and CORS_ORIGINS on', () => {
    expect(services.laurel.environment).to.include({ CONFIG: '${CONFIG:-}', CORS_ORIGINS: '${CORS_ORIGINS:-}' });
    expect(services.laurel.volumes).to.deep.equal(['${CONFIG_FILE:-./examples/study-app.yaml}:/etc/laurel/config.yaml:ro']);
  });

  it('takes the variables that .env.example lists, and no others', () => {
    const used = [...text.matchAll(/\$\{(\w+)/g)].map(([, name = '']) => name);
    const listed = [...read('.env.example').matchAll(/^(?:# )?([A-Z_]+)=/gm)].map(([, name]) => name);
    expect(listed.sort()).to.deep.equal([...new Set(used)].sort());
  });

  it('gets its secrets from one command, the same in every document', async () => {
    const line = /^# (\(umask 077; set -C; .*)$/m.exec(read('.env.example'))![1]!;
    for (const page of ['README.md', 'docs/running.md']) expect(read(page)).to.include(`${line}\ndocker compose up --build`);
    await run('sh', ['-c', line], { cwd: folder });
    const made = parseEnv(readFileSync(join(folder, '.env'), 'utf8')) as Record<string, string>;
    const required = [...text.matchAll(/\$\{(\w+):\?/g)].map(([, name = '']) => name);
    expect(Object.keys(made).sort()).to.deep.equal([...new Set(required)].sort());
    expect(new Set(Object.values(made)).size).to.equal(4);
    for (const name of ['REDIS_PASSWORD', 'POSTGRES_PASSWORD']) expect(made[name]).to.match(/^[a-z0-9]{48}$/);
    const { ADMIN_API_KEY, METRICS_TOKEN } = made;
    expect(parseSettings({ ADMIN_API_KEY, METRICS_TOKEN })).to.include({ adminApiKey: ADMIN_API_KEY, metricsToken: METRICS_TOKEN });
  });

  it('gives the role of Postgres its password by no command line', () => {
    expect(read('docker/postgres/2-passwords.sh'))
      .to.include('\\getenv password POSTGRES_PASSWORD')
      .and.not.match(/^[^#\n]*psql.*PASSWORD/m);
  });

  it('runs a Redis whose password no list of processes shows', async () => {
    const socket = join(folder, 'redis.sock');
    // The entry point of the image changes the user, and then runs the command as it is.
    const entry = join(folder, 'docker-entrypoint.sh');
    await writeFile(entry, `#!/bin/sh\nshift\nexec redis-server "$@" --port 0 --unixsocket ${socket} --dir ${folder}\n`);
    await chmod(entry, 0o755);
    const password = 'a1b2c3d4e5f6a7b8';
    const [program = '', ...args] = services.redis.command!.map((part) => part.replaceAll('$$', '$'));
    const env = { PATH: `${folder}${delimiter}${process.env['PATH']}`, REDISCLI_AUTH: password, REDIS_MAXMEMORY: '100mb' };
    const server = spawn(program, args, { env, stdio: ['ignore', 'pipe', 'inherit'] });
    const exited = once(server, 'exit');
    let redis: Redis | undefined;
    try {
      let said = '';
      for await (const chunk of server.stdout.setEncoding('utf8')) {
        said += String(chunk);
        if (said.includes('ready to accept connections')) break;
      }
      redis = new Redis({ path: socket, password });
      const config = await redis.config('GET', 'a*', 'max*', 'hash-max-l*', 'save');
      const valueOf = (name: string): string | undefined => config[config.indexOf(name) + 1];
      expect(['appendonly', 'appendfsync', 'save', 'maxmemory-policy', 'maxmemory'].map(valueOf)).to.deep.equal([
        'yes',
        'everysec',
        '',
        'noeviction',
        String(100 * 1024 ** 2),
      ]);
      const stranger = new Redis({ path: socket });
      stranger.on('error', () => undefined);
      expect(await stranger.get('key').catch((error: unknown) => String(error))).to.include('NOAUTH');
      stranger.disconnect();
      const { stdout: listed } = await run('ps', ['-A', '-o', 'pid=,args=']);
      expect(listed).to.match(new RegExp(`^ *${server.pid} .*redis-server`, 'm'));
      expect(listed).not.to.include(password);
    } finally {
      redis?.disconnect();
      server.kill();
      await exited;
    }
  });
});

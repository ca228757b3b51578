import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { Redis } from 'ioredis';
import pg from 'pg';
import { OperatorError } from '../../src/shared/errors.js';
import { startLocalPostgres } from '../../src/local-stores/local-postgres.js';
import { startLocalRedis } from '../../src/local-stores/local-redis.js';
import { type LocalStore } from '../../src/local-stores/local-store.js';
import { planUser } from '../../src/local-stores/postgres-home.js';
import { hydrateLinks } from '../../src/local-stores/postgres-programs.js';
import { ProcessHandle, processStart } from '../../src/local-stores/processes.js';
import { findOrInstallRedis, thisMachine } from '../../src/local-stores/redis-program.js';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const isRoot = process.getuid?.() === 0;

/** A handle that must be stopped, and the folders that must be gone, whatever a test does. */
const stores: LocalStore[] = [];
const folders: string[] = [];
const orphans: ChildProcess[] = [];

async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'laurel-stores-'));
  folders.push(folder);
  return folder;
}

const lines: string[] = [];
const log = (line: string): void => {
  lines.push(line);
};

interface Kind {
  readonly name: string;
  readonly start: (dataDir: string) => Promise<LocalStore>;
  readonly module: string;
  readonly write: (url: string, value: string) => Promise<void>;
  readonly read: (url: string) => Promise<string | null>;
  readonly folder: string;
  readonly logFile: string;
}

const kinds: readonly Kind[] = [
  {
    name: 'Redis',
    start: (dataDir) => startLocalRedis({ dataDir, log }),
    module: 'local-redis.ts#startLocalRedis',
    write: (url, value) =>
      withRedis(url, async (redis) => {
        await redis.set('kept', value);
      }),
    read: (url) => withRedis(url, (redis) => redis.get('kept')),
    folder: 'redis',
    logFile: 'redis.log',
  },
  {
    name: 'Postgres',
    start: (dataDir) => startLocalPostgres({ dataDir, log }),
    module: 'local-postgres.ts#startLocalPostgres',
    write: async (url, value) => {
      await query(url, 'CREATE TABLE IF NOT EXISTS kept (value text)');
      await query(url, 'INSERT INTO kept VALUES ($1)', [value]);
    },
    read: async (url) => (await query(url, 'SELECT value FROM kept'))[0]?.value ?? null,
    folder: 'postgres',
    logFile: 'postgres.log',
  },
];

async function withRedis<T>(url: string, work: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis({ path: decodeURIComponent(new URL(url).pathname), lazyConnect: true, retryStrategy: () => null });
  try {
    await redis.connect();
    return await work(redis);
  } finally {
    redis.disconnect();
  }
}

async function query(url: string, text: string, values: string[] = []): Promise<Record<string, string>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, string>>(text, values)).rows;
  } finally {
    await client.end();
  }
}

/** A process that starts a store and says which one; then it waits to be killed, as a service does that has no chance to stop. */
async function startInOtherProcess(kind: Kind, dataDir: string): Promise<{ url: string; pid: number; kill: () => Promise<void> }> {
  const [file, name] = kind.module.split('#') as [string, string];
  const script = `
    import { ${name} } from ${JSON.stringify(new URL(`../../src/local-stores/${file}`, import.meta.url).href)};
    const { url, pid } = await ${name}({ dataDir: ${JSON.stringify(dataDir)}, log: () => undefined });
    console.log(JSON.stringify({ url, pid }));
    setInterval(() => undefined, 1_000);`;
  const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', script], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  orphans.push(child);
  const ended = once(child, 'exit');
  const [line] = (await Promise.race([once(child.stdout, 'data'), ended.then(() => [''])])) as [Buffer | string];
  const { url, pid } = JSON.parse(line.toString()) as { url: string; pid: number };
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL');
    await ended;
  };
  return { url, pid, kill };
}

async function start(kind: Kind, dataDir: string): Promise<LocalStore> {
  const store = await kind.start(dataDir);
  stores.push(store);
  return store;
}

/** How many servers this folder has ever had running, by its log: two on one folder would show even if one of them is gone again. */
function startsIn(dataDir: string, kind: Kind): number {
  const text = readFileSync(join(dataDir, kind.folder, kind.logFile), 'utf8');
  return text.match(/Ready to accept connections|ready to accept connections/g)?.length ?? 0;
}

function permissionsOf(path: string): string {
  return (statSync(path).mode & 0o777).toString(8);
}

describe('The local stores', () => {
  afterEach(async () => {
    await Promise.all(stores.splice(0).map((store) => store.stop()));
    for (const orphan of orphans.splice(0)) orphan.kill('SIGKILL');
    for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
    lines.length = 0;
  });

  for (const kind of kinds) {
    describe(kind.name, () => {
      it('keeps its data across a restart, and stops without leaving a process', async () => {
        const dataDir = join(await temporaryFolder(), 'not yet there');
        chmodSync(dirname(dataDir), 0o711);
        const first = await start(kind, dataDir);
        expect(first.adopted).to.equal(false);
        await kind.write(first.url, 'héllo 🏆');
        await first.stop();
        await first.stop();
        expect(processStart(first.pid)).to.equal(null);
        const second = await start(kind, dataDir);
        expect(second.adopted).to.equal(false);
        expect(await kind.read(second.url)).to.equal('héllo 🏆');
      });

      it('is taken over, with what was written, after the service was killed', async () => {
        const dataDir = await temporaryFolder();
        const killed = await startInOtherProcess(kind, dataDir);
        await kind.write(killed.url, 'before');
        await killed.kill();
        const store = await start(kind, dataDir);
        expect(store).to.include({ adopted: true, pid: killed.pid, url: killed.url });
        expect(await kind.read(store.url)).to.equal('before');
        await store.stop();
        expect(processStart(killed.pid)).to.equal(null);
        expect(startsIn(dataDir, kind)).to.equal(1);
      });

      it('starts again, with what was written, after the service and the server were killed', async () => {
        const dataDir = await temporaryFolder();
        const killed = await startInOtherProcess(kind, dataDir);
        await kind.write(killed.url, 'before');
        const server = new ProcessHandle(killed.pid);
        await killed.kill();
        server.signal('SIGKILL');
        expect(await server.isGoneWithin(10_000)).to.equal(true);
        const store = await start(kind, dataDir);
        expect(store.adopted).to.equal(false);
        expect(await kind.read(store.url)).to.equal('before');
      });

      it('is one server for all processes that start it concurrently, and stops with the last of them', async () => {
        const dataDir = await temporaryFolder();
        const [here, alsoHere, elsewhere, alsoElsewhere] = await Promise.all([
          start(kind, dataDir),
          start(kind, dataDir),
          startInOtherProcess(kind, dataDir),
          startInOtherProcess(kind, dataDir),
        ]);
        expect(new Set([here.pid, alsoHere.pid, elsewhere.pid, alsoElsewhere.pid]).size).to.equal(1);
        expect(startsIn(dataDir, kind)).to.equal(1);
        await here.stop();
        await elsewhere.kill();
        await alsoHere.stop();
        expect(processStart(here.pid), 'another process still uses it').not.to.equal(null);
        await alsoElsewhere.kill();
        await (await start(kind, dataDir)).stop();
        expect(processStart(here.pid)).to.equal(null);
      });

      it('does not mix up two data folders', async () => {
        const [one, other] = await Promise.all([start(kind, await temporaryFolder()), start(kind, await temporaryFolder())]);
        await kind.write(one.url, 'one');
        await kind.write(other.url, 'other');
        expect([await kind.read(one.url), await kind.read(other.url)]).to.deep.equal(['one', 'other']);
      });

      it('survives a Ctrl-C that the terminal sends to the service, being in a session of its own', async function () {
        if (process.platform !== 'linux') this.skip();
        const { pid } = await start(kind, await temporaryFolder());
        const groupOf = (id: number): string | undefined =>
          readFileSync(`/proc/${id}/stat`, 'utf8')
            .replace(/^.*\) /s, '')
            .split(' ')[2];
        expect(groupOf(pid)).not.to.equal(groupOf(process.pid));
      });

      it('is not confused with another program that reuses its process id', async () => {
        const dataDir = await temporaryFolder();
        await (await start(kind, dataDir)).stop();
        const pidFile = { Redis: 'redis/redis.pid', Postgres: 'postgres/server/data/postmaster.pid' }[kind.name]!;
        const data = join(dataDir, 'postgres/server/data');
        writeFileSync(join(dataDir, pidFile), [process.pid, data, 1_700_000_000, 1, '', '127.0.0.1', '1 1', 'ready', ''].join('\n'));
        const store = await start(kind, dataDir);
        expect(store.adopted).to.equal(false);
        expect(store.pid).not.to.equal(process.pid);
      });

      it('says what is wrong with a data folder that cannot be one', async () => {
        const file = join(await temporaryFolder(), 'file');
        writeFileSync(file, '');
        const error = await kind.start(file).catch((reason: unknown) => reason);
        expect(error).to.be.instanceOf(OperatorError);
        expect((error as OperatorError).message)
          .to.contain(file)
          .and.to.contain('there is a file in its place');
      });
    });
  }

  describe('Redis', () => {
    it('listens on a private socket, persists every write and evicts nothing', async () => {
      const dataDir = await temporaryFolder();
      const { url } = await start(kinds[0]!, dataDir);
      const socket = join(dataDir, 'redis', 'redis.sock');
      expect(url).to.equal(`unix://${socket}`);
      const wanted = {
        port: '0',
        requirepass: '',
        appendonly: 'yes',
        appendfsync: 'everysec',
        save: '',
        'maxmemory-policy': 'noeviction',
        'hash-max-listpack-entries': '256',
        'hash-max-listpack-value': '256',
      };
      for (const [name, value] of Object.entries(wanted)) {
        expect(await withRedis(url, (redis) => redis.config('GET', name))).to.deep.equal([name, value]);
      }
      expect(permissionsOf(socket)).to.equal('700');
      expect(permissionsOf(join(dataDir, 'redis', 'redis.conf'))).to.equal('600');
      expect(permissionsOf(join(dataDir, 'redis'))).to.equal('700');
    });

    it('listens in a short folder, closed to others, where the path of the data folder is too long for a socket', async () => {
      const dataDir = join(await temporaryFolder(), 'long'.repeat(20));
      const first = await start(kinds[0]!, dataDir);
      await kinds[0]!.write(first.url, 'kept');
      const short = dirname(new URL(first.url).pathname);
      folders.push(short);
      expect(short).to.match(/^\/tmp\/laurel-[0-9a-f]{16}$/);
      expect(permissionsOf(short)).to.equal('700');
      const beside = await start(kinds[0]!, dataDir);
      expect(beside).to.include({ adopted: true, url: first.url });
      await beside.stop();
      await first.stop();
      chmodSync(short, 0o755);
      const error = await kinds[0]!.start(dataDir).catch((reason: unknown) => reason);
      expect(error).to.be.instanceOf(OperatorError);
      expect((error as OperatorError).message).to.contain(`${short}, which is used instead, is open to others`);
    });

    it('is found, or stops, when a killed service had started but not recorded it', async () => {
      const dataDir = await temporaryFolder();
      const redis = kinds[0]!;
      const first = await start(redis, dataDir);
      await redis.write(first.url, 'kept');
      await first.stop();
      const program = await findOrInstallRedis(thisMachine, log);
      // Ten times, since it is a race: the two servers differ by what the orphan has come to when the start looks.
      for (let round = 0; round < 10; round += 1) {
        const orphan = spawn(program, [join(dataDir, 'redis', 'redis.conf')], { stdio: 'ignore' });
        orphans.push(orphan);
        const ended = once(orphan, 'exit');
        const store = await start(redis, dataDir);
        if (store.pid !== orphan.pid) await ended;
        expect(store.url).to.equal(first.url);
        expect(await redis.read(store.url)).to.equal('kept');
        await store.stop();
        await ended;
      }
    });

    it('is explained by the end of its log when it does not start', async () => {
      const dataDir = await temporaryFolder();
      const first = await start(kinds[0]!, dataDir);
      await first.stop();
      const parts = join(dataDir, 'redis', 'appendonlydir');
      for (const name of readdirSync(parts)) if (name.endsWith('.manifest')) writeFileSync(join(parts, name), 'nonsense\n');
      const error = await kinds[0]!.start(dataDir).catch((reason: unknown) => reason);
      expect(error).to.be.instanceOf(OperatorError);
      expect((error as OperatorError).message)
        .to.match(/^Redis did not start\. The end of its log/)
        .and.to.contain('manifest');
    });
  });

  describe('Postgres', () => {
    it('listens on this machine only, sorts the same everywhere, and keeps what is committed', async () => {
      const dataDir = await temporaryFolder();
      const { url } = await start(kinds[1]!, dataDir);
      expect(new URL(url).pathname).to.equal('/laurel');
      const wanted = {
        listen_addresses: '127.0.0.1',
        unix_socket_directories: '',
        server_encoding: 'UTF8',
        fsync: 'on',
        synchronous_commit: 'on',
        full_page_writes: 'on',
        TimeZone: 'UTC',
        password_encryption: 'scram-sha-256',
      };
      for (const [name, value] of Object.entries(wanted)) {
        expect(await query(url, 'SELECT current_setting($1) AS value', [name]), name).to.deep.equal([{ value }]);
      }
      const [collation] = await query(url, "SELECT datcollate, datctype FROM pg_database WHERE datname = 'laurel'");
      expect(collation).to.deep.equal({ datcollate: 'C', datctype: 'C' });
      expect(permissionsOf(join(dataDir, 'postgres', 'password'))).to.equal('600');
      expect(permissionsOf(join(dataDir, 'postgres', 'server'))).to.equal('700');
    });

    it('is used through a role that owns its database and is no superuser', async () => {
      const { url } = await start(kinds[1]!, await temporaryFolder());
      expect(new URL(url).username).to.equal('laurel');
      expect(
        await query(
          url,
          `select rolsuper, rolcreatedb, rolcreaterole, rolreplication, rolbypassrls, pg_get_userbyid(datdba) as owner
             from pg_roles, pg_database where rolname = current_user and datname = current_database()`,
        ),
      ).to.deep.equal([
        { rolsuper: false, rolcreatedb: false, rolcreaterole: false, rolreplication: false, rolbypassrls: false, owner: 'laurel' },
      ]);
      const refused = ['create role other', 'alter role laurel superuser', `copy (select 1) to program 'true'`];
      for (const sql of refused) expect(await query(url, sql).catch(String), sql).to.contain('permission denied');
      await query(url, 'create table made (value text)');
    });

    it('refuses a wrong password', async () => {
      const { url } = await start(kinds[1]!, await temporaryFolder());
      const wrong = new URL(url);
      wrong.password = 'wrong';
      expect(await query(wrong.href, 'SELECT 1').catch(String)).to.contain('password authentication failed');
    });

    it('sends its password to no other program that listens at the port of a server that was killed', async () => {
      const dataDir = await temporaryFolder();
      const killed = await start(kinds[1]!, dataDir);
      const { pid, url } = killed;
      new ProcessHandle(pid).signal('SIGKILL');
      expect(await new ProcessHandle(pid).isGoneWithin(10_000)).to.equal(true);
      let connections = 0;
      const other = createServer((socket) => {
        connections += 1;
        socket.destroy();
      });
      other.listen(Number(new URL(url).port), '127.0.0.1');
      await once(other, 'listening');
      try {
        expect(await start(kinds[1]!, dataDir)).to.include({ adopted: false });
        expect(connections).to.equal(0);
      } finally {
        other.close();
      }
    });

    it('under root, keeps the database in another place when its user cannot reach the data folder', async function () {
      if (!isRoot) this.skip();
      // mkdtemp closes the folder to others, and the data folder is one level below.
      const dataDir = join(await temporaryFolder(), 'clone', '.laurel');
      const store = await start(kinds[1]!, dataDir);
      const place = readFileSync(join(dataDir, 'postgres', 'location'), 'utf8').trim();
      folders.push(place);
      expect(place).to.match(/^\/var\/lib\/laurel\/[0-9a-f]{16}$/);
      expect(lines.filter((line) => line.includes(`the database is kept in ${place}`))).to.have.length(1);
      await kinds[1]!.write(store.url, 'kept');
      await store.stop();
      // Opened in the meantime: the database must not begin anew in the place that would now do.
      chmodSync(dirname(dirname(dataDir)), 0o755);
      const again = await start(kinds[1]!, dataDir);
      expect(await kinds[1]!.read(again.url)).to.equal('kept');
      await again.stop();
      rmSync(place, { recursive: true });
      const error = await kinds[1]!.start(dataDir).catch((reason: unknown) => reason);
      expect((error as OperatorError).message)
        .to.contain(place)
        .and.to.contain('which is gone');
    });

    it('finds its shared libraries when npm has not run the install script', async () => {
      const folder = await temporaryFolder();
      const native = join(folder, 'native');
      mkdirSync(join(native, 'lib'), { recursive: true });
      writeFileSync(join(native, 'lib', 'libpq.so.5.18'), 'library');
      writeFileSync(
        join(native, 'pg-symlinks.json'),
        JSON.stringify([{ source: 'native/lib/libpq.so.5.18', target: 'native/lib/libpq.so.5' }]),
      );
      await hydrateLinks(native);
      await hydrateLinks(native);
      // Relative, so that a copy of the folder holds by itself.
      cpSync(native, join(folder, 'copy'), { recursive: true, verbatimSymlinks: true });
      rmSync(native, { recursive: true });
      expect(readFileSync(join(folder, 'copy', 'lib', 'libpq.so.5'), 'utf8')).to.equal('library');
    });

    it('creates its user with the tools of the system', () => {
      const having =
        (...programs: string[]) =>
        (program: string): string | null =>
          programs.includes(program) ? `/bin/${program}` : null;
      expect(planUser('postgres', having('useradd', 'adduser', 'addgroup'))?.map(({ program }) => program)).to.deep.equal(['useradd']);
      expect(planUser('postgres', having('adduser', 'addgroup'))?.map(({ program }) => program)).to.deep.equal(['addgroup', 'adduser']);
      expect(planUser('postgres', having())).to.equal(null);
    });
  });
});

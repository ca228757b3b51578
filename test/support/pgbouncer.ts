import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { existsSync } from 'node:fs';
import getPort from 'get-port';
import { disown, own } from './owned.js';
import { until } from './stage.js';

/** The PgBouncer of this machine; .ci/run installs one. Debian has it in a folder for administrators. */
export const pgbouncerProgram = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin']
  .map((folder) => join(folder, 'pgbouncer'))
  .find((path) => existsSync(path));

export interface PgBouncer {
  /** The address of the same database, through the pooler. */
  readonly url: string;
  stop(): Promise<void>;
}

/** Starts PgBouncer before a database. `settings` are lines of its section [pgbouncer]. */
export async function startPgBouncer(
  program: string,
  databaseUrl: string,
  mode: 'session' | 'transaction' | 'statement',
  settings: Readonly<Record<string, string | number>> = {},
): Promise<PgBouncer> {
  const { hostname, port: postgresPort, pathname, username, password } = new URL(databaseUrl);
  const folder = await mkdtemp(join(tmpdir(), 'laurel-pgbouncer-'));
  const port = await getPort({ host: '127.0.0.1' });
  const database = pathname.slice(1);
  const lines = {
    listen_addr: '127.0.0.1',
    listen_port: port,
    unix_socket_dir: '',
    auth_type: 'any',
    pool_mode: mode,
    default_pool_size: 50,
    max_client_conn: 200,
    ...settings,
  };
  // Anybody is admitted: PgBouncer logs in to the database as the user that is named here.
  const login = `user=${decodeURIComponent(username)} password=${decodeURIComponent(password)}`;
  const target = `${database} = host=${hostname} port=${postgresPort} dbname=${database} ${login}`;
  const text = ['[databases]', target, '[pgbouncer]', ...Object.entries(lines).map(([name, value]) => `${name} = ${value}`)].join('\n');
  const file = join(folder, 'pgbouncer.ini');
  await writeFile(file, `${text}\n`);
  // It refuses to run as root.
  const isRoot = process.getuid?.() === 0;
  if (isRoot) {
    await chmod(folder, 0o755);
    await chmod(file, 0o644);
  }
  const server = spawn(program, [file], { stdio: 'ignore', ...(isRoot ? { uid: 65_534, gid: 65_534 } : {}) });
  own(server.pid ?? 0);
  await until('PgBouncer listens', () => isListening(port));
  return {
    url: `postgres://${username}:${password}@127.0.0.1:${port}${pathname}`,
    stop: async () => {
      const exited = once(server, 'exit');
      // Without waiting for its clients.
      server.kill('SIGTERM');
      await exited;
      disown(server.pid ?? 0);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.on('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => {
      resolve(false);
    });
  });
}

import { chmod, chown, copyFile, mkdir, readdir, readlink, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';

/** What a backup does without (Postgres' manual, "Making a Base Backup Using the Low Level API"); the write-ahead log is copied at its end. */
const leftOut = new Set(['postmaster.pid', 'postmaster.opts', 'pg_wal', 'pg_stat_tmp']);

const ignoreMissing = (error: unknown): void => {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
};

/** Copies a folder with its owners and modes. Files that disappear during the copy are skipped: Postgres recovers them from its log. */
async function copyTree(from: string, to: string, skip: ReadonlySet<string> = new Set()): Promise<void> {
  const { mode, uid, gid } = await stat(from);
  await mkdir(to, { recursive: true });
  for (const entry of await readdir(from, { withFileTypes: true })) {
    if (skip.has(entry.name)) continue;
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) await copyTree(source, target).catch(ignoreMissing);
    else if (entry.isSymbolicLink()) await symlink(await readlink(source), target);
    else await copyOne(source, target).catch(ignoreMissing);
  }
  await chown(to, uid, gid);
  await chmod(to, mode);
}

async function copyOne(source: string, target: string): Promise<void> {
  await copyFile(source, target);
  const { mode, uid, gid, atime, mtime } = await stat(source);
  await chown(target, uid, gid);
  await chmod(target, mode);
  await utimes(target, atime, mtime);
}

/** Where a server keeps its data. */
export async function dataFolder(databaseUrl: string): Promise<string> {
  return withClient(databaseUrl, async (client) => {
    const { rows } = await client.query<{ data_directory: string }>('show data_directory');
    return rows[0]?.data_directory ?? '';
  });
}

export async function withClient<T>(databaseUrl: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/**
 * Takes a base backup of a Postgres of this machine while it works: what pg_basebackup does, which the embedded Postgres does not have. A server
 * that is started on the copy has everything that was committed when this returns.
 */
export async function takeBaseBackup(databaseUrl: string, to: string): Promise<void> {
  await withClient(databaseUrl, async (client) => {
    const data = await dataFolder(databaseUrl);
    await client.query(`select pg_backup_start('laurel', true)`);
    await copyTree(data, to, leftOut);
    // Without archiving there is nothing to wait for.
    const { rows } = await client.query<{ labelfile: string }>('select labelfile from pg_backup_stop(false)');
    const label = join(to, 'backup_label');
    await writeFile(label, rows[0]?.labelfile ?? '', { mode: 0o600 });
    const { uid, gid } = await stat(data);
    await chown(label, uid, gid);
    await copyTree(join(data, 'pg_wal'), join(to, 'pg_wal'));
  });
}

/** Puts a backup in the place of a server's data. The server must not run. */
export async function putBackBaseBackup(backup: string, data: string): Promise<void> {
  await rm(data, { recursive: true, force: true });
  await copyTree(backup, data);
}

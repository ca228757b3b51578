import { randomBytes } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { OperatorError } from '../shared/errors.js';
import { storeBounds } from './bounds.js';

/** Empty when there is no such file. */
export async function readIfThere(path: string): Promise<string> {
  return readFile(path, 'utf8').catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  });
}

/** The password in a file; a random one is written there when there is none. */
export async function obtainPassword(file: string): Promise<string> {
  const kept = (await readIfThere(file)).trim();
  if (kept !== '') return kept;
  const password = randomBytes(24).toString('base64url');
  await writeFile(`${file}.new`, `${password}\n`, { mode: 0o600 });
  await rename(`${file}.new`, file);
  return password;
}

export const database = 'laurel';
/** Exists in every cluster. */
export const maintenanceDatabase = 'postgres';

/**
 * The role that Laurel connects as. initdb makes it, as the superuser of the cluster, and Postgres never takes that right from the first role. So
 * the first role is renamed to `administrator`, and an ordinary role gets its name and its password.
 */
export const role = 'laurel';
const administrator = 'laurel_admin';
/** The ordinary role, within the transaction that makes it. */
const unnamed = 'laurel_next';

const administratorPassword = (home: string): string => join(home, 'admin-password');

/** The address of a built-in Postgres for its superuser, whom Laurel needs for nothing but the steps of this file. */
export async function administratorUrl(url: string, home: string): Promise<string> {
  const file = administratorPassword(home);
  const password = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new OperatorError(`The password of the superuser of the database in ${home} is missing: put the file ${file} back.`, {
      cause: error,
    });
  });
  return Object.assign(new URL(url), { username: administrator, password: password.trim() }).href;
}

/** Runs the work on one connection. */
export async function onConnection<T>(url: string, queryTimeoutMs: number, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: storeBounds.checkMs,
    query_timeout: queryTimeoutMs,
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return await work(client);
  } finally {
    await client.end().catch(() => undefined);
  }
}

/**
 * Makes sure that the role of a URL is no superuser, and that it owns its database and everything in it. Changes a new cluster and one that an
 * earlier version made in the same way, and leaves one that is right as it is.
 * @param url of the maintenance database.
 * @param home folder of the server.
 */
export async function prepareRole(url: string, home: string): Promise<void> {
  const found = await onConnection(url, storeBounds.responseMs, async (client) => {
    const { rows } = await client.query<{ rolsuper: boolean; owns: boolean }>(
      `select rolsuper, exists (select from pg_database where datname = $1 and datdba = pg_roles.oid) as owns
       from pg_roles where rolname = current_user`,
      [database],
    );
    if (rows[0]?.rolsuper) await client.query(splitRoles(new URL(url).password, await obtainPassword(administratorPassword(home))));
    return rows[0];
  });
  if (found?.owns && !found.rolsuper) return;
  const admin = await administratorUrl(url, home);
  await onConnection(admin, storeBounds.responseMs, async (client) => {
    // A process of an earlier version connects again, now as the ordinary role.
    await client.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where usename = current_user and backend_type = 'client backend' and pid <> pg_backend_pid()`,
    );
    const { rowCount } = await client.query('select from pg_database where datname = $1', [database]);
    if (rowCount === 0) await client.query(`create database ${database}`);
  });
  const inDatabase = Object.assign(new URL(admin), { pathname: `/${database}` }).href;
  await onConnection(inDatabase, storeBounds.responseMs, (client) => client.query(giveDatabase));
}

/** One transaction. It works as a second superuser, because no role can rename itself. `show data_directory` needs pg_read_all_settings. */
const splitRoles = (password: string, adminPassword: string): string => `
  begin;
  create role ${unnamed} superuser;
  set session authorization ${unnamed};
  alter role ${role} rename to ${administrator};
  reset session authorization;
  alter role ${administrator} password ${pg.escapeLiteral(adminPassword)};
  alter role ${unnamed} rename to ${role};
  alter role ${role} login nosuperuser nocreatedb nocreaterole noreplication nobypassrls password ${pg.escapeLiteral(decodeURIComponent(password))};
  grant pg_read_all_settings to ${role};
  commit`;

/**
 * One transaction, the owner of the database last, which shows that it is done. `reassign owned` refuses the first role of a cluster. Indexes,
 * and sequences that belong to a column, follow their table; what an extension has brought stays with it.
 */
const giveDatabase = `
  begin;
  do $$
  declare
    relation regclass;
  begin
    for relation in
      select c.oid from pg_class c
      where c.relnamespace::regnamespace::text !~ '^(pg_|information_schema$)' and c.relkind in ('r', 'p', 'v', 'm', 'f', 'S') and c.relowner = '${administrator}'::regrole
        and not exists (select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid
          and (d.deptype = 'e' or (c.relkind = 'S' and d.deptype in ('a', 'i'))))
    loop
      execute format('alter table %s owner to ${role}', relation);
    end loop;
  end
  $$;
  alter database ${database} owner to ${role};
  commit`;

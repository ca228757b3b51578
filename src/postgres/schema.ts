import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type pg from 'pg';
import { postgresError } from './failure.js';

/** The folder of the migrations of this version. */
export const migrationsFolder = fileURLToPath(new URL('../../migrations/', import.meta.url));

/** A migration of this version. */
export interface Migration {
  /** The name of its file, such as `0001_schema`. */
  readonly name: string;
  /** Of its statements: comments and spaces do not count. */
  readonly sha256: string;
  /** The newest migration that a process has to know to run on a schema with this one. */
  readonly oldest: string;
}

/** The line by which a migration says which processes it leaves running; without it, only those that know it run. */
const keepsRunning = /^-- Processes since (\S+) keep running\.$/m;

/** The migrations of a version, the oldest first. */
export function readMigrations(folder = migrationsFolder): Migration[] {
  const names = readdirSync(folder).filter((file) => file.endsWith('.sql'));
  return names.sort().map((file) => {
    const text = readFileSync(join(folder, file), 'utf8');
    const statements = text.replace(/--.*$/gm, '').replace(/\s+/g, ' ').trim();
    const name = basename(file, '.sql');
    return { name, sha256: createHash('sha256').update(statements).digest('hex'), oldest: keepsRunning.exec(text)?.[1] ?? name };
  });
}

/** What a version finds in a database. */
export interface SchemaState {
  /** Where its tables are, or would be. */
  readonly schema: string;
  /** The migrations that have run, the oldest first. */
  readonly ran: readonly string[];
  /** Those of this version that have not. */
  readonly pending: readonly Migration[];
  /** Those of a newer version, beside which this one runs. */
  readonly newer: readonly string[];
  /** Those that have run, and of which the database has no facts yet: a start was interrupted. */
  readonly unrecorded: readonly Migration[];
}

interface FileRow {
  readonly name: string;
  readonly sha256: string;
  readonly oldest: string;
}

/** A name of SQL, in quotes. */
const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;

/**
 * The schema of Laurel's tables, or the one where the search_path puts them. Throws an OperatorError if there is none, or the role may not
 * create tables in it.
 */
async function findSchema(client: pg.ClientBase | pg.Pool): Promise<string> {
  const { rows } = await client.query<{ schema: string | null; mayCreate: boolean | null }>(
    `select nspname as schema, has_schema_privilege(oid, 'create') as "mayCreate" from pg_namespace
      where oid = coalesce((select relnamespace from pg_class where oid = to_regclass('migrations')), to_regnamespace(quote_ident(current_schema())))`,
  );
  const { schema = null, mayCreate } = rows[0] ?? {};
  if (schema === null) throw postgresError('schema');
  if (mayCreate !== true) throw postgresError('rights', `CREATE on the schema ${schema}`);
  return schema;
}

/**
 * Compares a database with the migrations of a version, and changes nothing. Throws an OperatorError if this version can't run on it: the role lacks a
 * right, no release has made the schema, or a newer version has changed it so that this one can't use it.
 */
export async function readSchema(client: pg.ClientBase | pg.Pool, known: readonly Migration[]): Promise<SchemaState> {
  const schema = await findSchema(client);
  const { rows: tables } = await client.query<{ migrations: boolean; files: boolean }>(
    `select to_regclass($1) is not null as migrations, to_regclass($2) is not null as files`,
    [`${quoted(schema)}.migrations`, `${quoted(schema)}.migration_files`],
  );
  const { migrations = false, files: hasFiles = false } = tables[0] ?? {};
  const { rows } = migrations
    ? await client.query<{ name: string }>(`select name from ${quoted(schema)}.migrations order by id`)
    : { rows: [] };
  const ran = rows.map(({ name }) => name);
  if (ran.length > 0 && !hasFiles) throw postgresError('unreleasedSchema', `${ran.at(-1) ?? ''} without migration_files`);
  const { rows: files } = hasFiles
    ? await client.query<FileRow>(`select name, sha256, oldest from ${quoted(schema)}.migration_files`)
    : { rows: [] };
  const fileOf = new Map(files.map((file) => [file.name, file]));
  const knownNames = new Set(known.map(({ name }) => name));
  const pending = known.filter(({ name }) => !ran.includes(name));
  const newer = ran.filter((name) => !knownNames.has(name));
  const changed = known.find(({ name, sha256 }) => ran.includes(name) && (fileOf.get(name)?.sha256 ?? sha256) !== sha256);
  if (changed) throw postgresError('unreleasedSchema', `another ${changed.name}`);
  const [last] = newer.slice(-1);
  if (last !== undefined && pending[0]) throw postgresError('unreleasedSchema', `${last} without ${pending[0].name}`);
  if (newer.some((name) => !knownNames.has(fileOf.get(name)?.oldest ?? name))) {
    throw postgresError('newerSchema', `${last ?? ''}; this one knows ${known.at(-1)?.name ?? 'none'} at most`);
  }
  return { schema, ran, pending, newer, unrecorded: known.filter(({ name }) => ran.includes(name) && !fileOf.has(name)) };
}

/** Whether processes that know only the migrations that have run keep running once `pending` have run too. */
export function keepOldRunning({ ran, pending }: Pick<SchemaState, 'ran' | 'pending'>): boolean {
  return pending.every(({ oldest }) => ran.includes(oldest));
}

/** Records migrations that have run. */
export async function recordMigrations(client: pg.ClientBase, schema: string, migrations: readonly Migration[]): Promise<void> {
  for (const { name, sha256, oldest } of migrations) {
    await client.query(
      `insert into ${quoted(schema)}.migration_files (name, sha256, oldest) values ($1, $2, $3) on conflict (name) do nothing`,
      [name, sha256, oldest],
    );
  }
}

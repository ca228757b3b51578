import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import pg from 'pg';
import { migrate } from '../../src/postgres/migrate.js';
import { keepOldRunning, migrationsFolder, readMigrations, readSchema, type Migration } from '../../src/postgres/schema.js';
import { administer, stores, withDatabase } from '../support/stores.js';

const database = `schema_${process.pid}`;

/** The migrations of this version, and of a later one. */
const expand = '-- Processes since 0001_schema keep running.\nalter table users add column seen timestamptz;\n';
const contract = 'alter table users drop column seen;\n';

describe('The schema of Postgres, shared by processes of two versions', () => {
  let postgresUrl: string;
  let url: string;
  let folder: string;
  let client: pg.Client;
  before(async () => {
    ({ postgresUrl } = await stores());
    url = withDatabase(postgresUrl, database);
  });
  beforeEach(async () => {
    await administer(postgresUrl, `create database ${database}`);
    folder = await mkdtemp(join(tmpdir(), 'laurel-migrations-'));
    await cp(migrationsFolder, folder, { recursive: true });
    client = new pg.Client({ connectionString: url });
    await client.connect();
  });
  afterEach(async () => {
    await client.end();
    await rm(folder, { recursive: true });
    await administer(postgresUrl, `drop database ${database} with (force)`);
  });

  const add = (name: string, statements: string): Promise<void> => writeFile(join(folder, `${name}.sql`), statements);
  /** Starts a version: this one, or the one whose migrations are in `folder`. Returns what it says, or why it does not start. */
  const start = async (version: { readonly folder?: string } = {}): Promise<string[]> => {
    const lines: string[] = [];
    await migrate(url, (line) => lines.push(line), version).catch((error: unknown) => lines.push((error as Error).message));
    return lines;
  };
  const withoutLast = (migrations: Migration[]): Migration[] => migrations.slice(0, -1);

  it('lets the version before start beside a migration that says so, and not beside one that does not', async () => {
    expect(await start()).to.deep.equal([]);
    await add('0002_expand', expand);
    expect(await start({ folder })).to.deep.equal([]);
    expect(await start()).to.deep.equal(['A newer version of Laurel has migrated this database (0002_expand); this one runs beside it.']);
    await add('0003_contract', contract);
    expect(await start({ folder })).to.deep.equal([]);
    expect(await start()).to.deep.equal([
      'A newer version of Laurel has migrated this database (0003_contract; this one knows 0001_schema at most). ' +
        'Nothing was changed. Start the newer version, or use another database.',
    ]);
  });

  it('tells before a migration whether the processes that run go on', async () => {
    await start();
    await add('0002_expand', expand);
    const expanded = readMigrations(folder);
    expect(keepOldRunning(await readSchema(client, expanded))).to.equal(true);
    await add('0003_contract', contract);
    expect(keepOldRunning(await readSchema(client, readMigrations(folder)))).to.equal(false);
    expect((await readSchema(client, expanded)).ran, 'nothing has run').to.deep.equal(['0001_schema']);
  });

  it('refuses a database whose newer migrations lack one of this version', async () => {
    await add('0002_expand', expand);
    await start({ folder });
    const known = [...withoutLast(readMigrations(folder)), { name: '0002_other', sha256: 'other', oldest: '0001_schema' }];
    const refused = await readSchema(client, known).catch((error: unknown) => (error as Error).message);
    expect(refused).to.match(/^No release of Laurel has made this database \(0002_expand without 0002_other\)\. Nothing was changed\./);
  });

  it('records what ran in a start that was interrupted before it could', async () => {
    await start();
    await client.query('delete from migration_files');
    expect(await start()).to.deep.equal([]);
    const { rows } = await client.query('select name, sha256, oldest from migration_files');
    expect(rows).to.deep.equal(readMigrations());
  });

  it('does not count comments and spaces as another migration', async () => {
    await add('0002_expand', expand);
    const [, before] = readMigrations(folder);
    await add('0002_expand', `${expand}\n-- Of a release.\n\n`);
    expect(readMigrations(folder)[1]).to.deep.equal(before);
  });
});

import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { expect } from 'chai';
import pg from 'pg';
import { readStatus } from '../../src/observe/status.js';
import { postgresFailure, postgresSentence, type PostgresProblem, withPostgresErrors } from '../../src/postgres/failure.js';
import { parseSettings } from '../../src/app/settings.js';
import { loadOffset } from '../../src/ledger/offsets.js';
import { migrate, type MigrateOptions } from '../../src/postgres/migrate.js';
import { createPool } from '../../src/postgres/pool.js';
import { LaurelError } from '../../src/shared/errors.js';
import { postgresProblems } from '../../src/shared/store-problems.js';
import { Network } from '../support/network.js';
import { OwnPostgres } from '../support/own-postgres.js';
import { pgbouncerProgram, startPgBouncer } from '../support/pgbouncer.js';
import { until } from '../support/stage.js';
import { administer, stores, withDatabase } from '../support/stores.js';
import { pemFile, startTls, type TlsOptions } from '../support/tls.js';
import { administratorUrl } from '../../src/local-stores/postgres-cluster.js';
import { findPostgresHome } from '../../src/local-stores/postgres-home.js';

const name = `problems_${process.pid}`;
const role = `${name}_role`;
const quiet = (): void => undefined;

/** Undone after a row, the newest first. */
let undo: (() => Promise<unknown>)[] = [];
let postgresUrl: string;
/** An empty database of a row's own, by its superuser, and by a role that owns it. */
let superuser: string;
let owner: string;

const messageOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'no problem',
    (error: unknown) => (error as Error).message,
  );

/** What a start says about a Postgres. */
const start = (url: string, options?: MigrateOptions): Promise<string> => messageOf(migrate(url, quiet, options));

/** What a log line, or a command, says about a statement that failed. */
async function statement(url: string, sql: string): Promise<string> {
  const error: unknown = await administer(url, sql).catch((thrown: unknown) => thrown);
  // Callers get a 503, never a 500.
  expect(postgresFailure(error)).to.be.instanceOf(LaurelError).with.property('code', 'not_ready');
  return postgresSentence(error) ?? 'a defect';
}

/** What a start says about this DATABASE_URL before it connects. */
const settingsWith = (url: string): Promise<string> =>
  messageOf(Promise.resolve().then(() => parseSettings({ DATABASE_URL: url, REDIS_URL: 'local' })));

const changed = (url: string, parts: Partial<Record<'username' | 'password' | 'port' | 'search', string>>): string =>
  Object.assign(new URL(url), parts).href;

async function opened(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', quiet);
  await client.connect();
  undo.push(() => client.end());
  return client;
}

async function throughTls(options: TlsOptions, parameters: Readonly<Record<string, string>>): Promise<string> {
  const server = await startTls(owner, options);
  undo.push(() => server.stop());
  const said = await start(`${server.url}?${new URLSearchParams({ sslmode: 'verify-full', ...parameters }).toString()}`);
  expect(server.said(), 'bytes said to Postgres').to.equal(0);
  return said;
}
const verified = { sslrootcert: pemFile('ca') };

async function throughPgBouncer(
  mode: 'session' | 'transaction' | 'statement',
  settings: Readonly<Record<string, string | number>> = {},
): Promise<string> {
  const pooler = await startPgBouncer(pgbouncerProgram!, owner, mode, settings);
  undo.push(() => pooler.stop());
  return pooler.url;
}

async function ownPostgres(): Promise<{ postgres: OwnPostgres; administrator: string }> {
  const postgres = await OwnPostgres.start();
  undo.push(() => postgres.stop());
  const { path } = await findPostgresHome(postgres.folder, quiet);
  return { postgres, administrator: await administratorUrl(postgres.url, path) };
}

/** What a Postgres in this state says, and with which words of its own. */
type Row = readonly [problem: PostgresProblem, when: string, detail: RegExp, meet: () => Promise<string>];

const rows: readonly Row[] = [
  [
    'noAnswer',
    'nothing listens',
    /ECONNREFUSED/,
    async () => {
      const server = createServer().listen(0, '127.0.0.1');
      await once(server, 'listening');
      const { port } = server.address() as AddressInfo;
      await once(server.close(), 'close');
      return start(changed(owner, { port: String(port) }));
    },
  ],
  [
    'away',
    'a request meets it',
    /^Postgres is unavailable\./,
    async () => {
      const pool = createPool('postgres://laurel@127.0.0.1:1/laurel', 1, quiet);
      const failure = await messageOf(withPostgresErrors(pool.query('select 1')));
      await pool.end();
      return failure.replace('The service is not ready: ', '');
    },
  ],
  ['noAnswer', 'its host has no address', /ENOTFOUND|EAI_AGAIN/, () => start('postgres://laurel:x@nowhere.invalid/laurel')],
  [
    'starting',
    'it is stopping, and waits for a client',
    /shutting down/,
    async () => {
      const { postgres } = await ownPostgres();
      const client = await opened(postgres.url);
      postgres.stopWhenUnused();
      const said = await start(postgres.url);
      await client.end();
      return said;
    },
  ],
  ...['a#b', 'a/b', '12/b', '12#b', '12?b', '100%'].map((password): Row => [
    'address',
    `the password is ${password}`,
    /@ is %40/,
    () => settingsWith(`postgres://laurel:${password}@db/laurel`),
  ]),
  ['password', 'the password is wrong', /password authentication failed/, () => start(changed(owner, { password: 'wrong' }))],
  ['password', 'there is no password', /password must be a string/, () => start(changed(owner, { password: '' }))],
  ['password', 'the role does not exist', /authentication failed/, () => start(changed(owner, { username: 'nobody' }))],
  [
    'notAdmitted',
    'the role may not log in',
    /not permitted to log in/,
    async () => {
      await administer(superuser, `alter role ${role} nologin`);
      return start(owner);
    },
  ],
  [
    'notAdmitted',
    'it demands TLS',
    /no pg_hba.conf entry.*no encryption/,
    async () => {
      const { postgres, administrator } = await ownPostgres();
      const client = await opened(administrator);
      const { rows: found } = await client.query<{ file: string }>(`select current_setting('hba_file') as file`);
      await client.query(`copy (values ('hostssl all all 127.0.0.1/32 scram-sha-256')) to '${found[0]?.file ?? ''}'`);
      await client.query('select pg_reload_conf()');
      // It reads the file between two connections.
      let said = 'no problem';
      for (let tries = 0; tries < 100 && said === 'no problem'; tries += 1) said = await start(postgres.url);
      return said;
    },
  ],
  ['database', 'it has no database of that name', /does not exist/, () => start(withDatabase(owner, 'elsewhere'))],
  [
    'connections',
    'the role has used all of its connections',
    /too many connections for role/,
    async () => {
      await administer(superuser, `alter role ${role} connection limit 1`);
      await opened(owner);
      return start(owner);
    },
  ],
  [
    'connections',
    'PgBouncer has used all of its clients',
    /no more connections allowed/,
    async () => {
      const url = await throughPgBouncer('session', { max_client_conn: 1 });
      // PgBouncer may not have noticed yet that the client which asked whether it listens is gone.
      await until('the only client', () => opened(url).then(Boolean, () => false));
      return start(url);
    },
  ],
  ['noTls', 'it does not speak TLS', /does not support SSL/, () => start(`${owner}?sslmode=verify-full`)],
  ['tlsFile', 'sslrootcert is not there', /ENOENT/, () => throughTls({}, { sslrootcert: '/nowhere/ca.pem' })],
  [
    'certificateName',
    'its certificate is for another name',
    /not in the cert's list/,
    () => throughTls({ certificate: 'elsewhere' }, verified),
  ],
  ['certificateDates', 'its certificate has expired', /expired/, () => throughTls({ certificate: 'expired' }, verified)],
  ['certificateUnsigned', 'there is no sslrootcert', /unable to verify|self-signed/, () => throughTls({}, {})],
  ['certificateUnsigned', 'sslrootcert is of another', /unable to verify/, () => throughTls({}, { sslrootcert: pemFile('other-ca') })],
  ['certificateRefused', 'it asks for a certificate', /certificate required/, () => throughTls({ asksForCertificate: true }, verified)],
  [
    'encoding',
    'the database is LATIN1',
    /LATIN1/,
    async () => {
      const latin = `${name}_latin1`;
      await administer(postgresUrl, `create database ${latin} template template0 encoding latin1 locale 'C' owner ${role}`);
      undo.push(() => administer(postgresUrl, `drop database ${latin} with (force)`));
      return start(withDatabase(owner, latin));
    },
  ],
  [
    'readOnly',
    'every transaction is read-only, as on a replica',
    /^This Postgres is read-only\./,
    async () => {
      await administer(superuser, `alter role ${role} set default_transaction_read_only = on`);
      return start(owner);
    },
  ],
  [
    'readOnly',
    'it has become a replica while Laurel runs',
    /read-only transaction/,
    async () => {
      await administer(superuser, `alter role ${role} set default_transaction_read_only = on`);
      return statement(owner, 'create table t ()');
    },
  ],
  [
    'schema',
    'the search_path leads nowhere',
    /^The search_path/,
    async () => {
      await administer(superuser, `alter role ${role} set search_path = nowhere`);
      return start(owner);
    },
  ],
  [
    'rights',
    'the role may not create tables',
    /CREATE on the schema public/,
    async () => {
      await administer(superuser, `alter database ${name} owner to current_user`);
      return start(owner);
    },
  ],
  ['rights', 'it is denied a statement', /permission denied/, () => statement(owner, 'select * from pg_authid')],
  [
    'unused',
    'laurel status looks at a database without tables',
    /^No service/,
    async () => {
      const pool = createPool(owner, 1, quiet);
      const { problems } = await readStatus({ redis: undefined, pool, prefix: 'laurel', dataDir: null, problems: [] });
      await pool.end();
      return problems[0] ?? 'no problem';
    },
  ],
  [
    'newerSchema',
    'a newer version has migrated it',
    /9999_later; this one knows 0001_schema at most/,
    async () => {
      await migrate(owner, quiet);
      await administer(owner, `insert into migrations (name, run_on) values ('9999_later', now())`);
      return start(owner);
    },
  ],
  [
    'unreleasedSchema',
    'it has migrations that were squashed before the first release',
    /\(0012_old without migration_files\)/,
    async () => {
      await administer(owner, `create table migrations (id serial primary key, name text not null, run_on timestamp not null)`);
      await administer(owner, `insert into migrations (name, run_on) values ('0001_schema', now()), ('0012_old', now())`);
      return start(owner);
    },
  ],
  [
    'unreleasedSchema',
    'a migration has other statements than the one that has run',
    /\(another 0001_schema\)/,
    async () => {
      await migrate(owner, quiet);
      await administer(owner, `update migration_files set sha256 = 'of another'`);
      return start(owner);
    },
  ],
  [
    'migrationLock',
    'another connection holds it',
    /Postgres process \d+, application other, client 127\.0\.0\.1/,
    async () => {
      const client = await opened(`${owner}?application_name=other`);
      await client.query('select pg_advisory_lock(7241865325823964)');
      return start(owner, { lockWaitMs: 100 });
    },
  ],
  ['pooler', 'PgBouncer pools transactions', /pools transactions or statements/, async () => start(await throughPgBouncer('transaction'))],
  [
    'pooler',
    'PgBouncer pools transactions on one connection',
    /pools transactions or statements/,
    async () => start(await throughPgBouncer('transaction', { default_pool_size: 1 })),
  ],
  [
    'pooler',
    'PgBouncer pools transactions on many connections that others use',
    /pools transactions or statements/,
    async () => {
      const url = await throughPgBouncer('transaction', { server_round_robin: 1 });
      const held = await Promise.all(Array.from({ length: 8 }, () => opened(url)));
      await Promise.all(held.map((client) => client.query('select pg_sleep(0.01)')));
      return start(url);
    },
  ],
  [
    'pooler',
    'PgBouncer pools transactions, and one of its connections becomes free during the check',
    /pools transactions or statements/,
    async () => {
      const network = await Network.before(await throughPgBouncer('transaction', { server_round_robin: 1 }));
      undo.push(() => network.stop());
      const clients = await Promise.all(Array.from({ length: 3 }, () => opened(network.url)));
      for (const client of clients) await client.query('begin');
      const [last, ...first] = clients;
      for (const client of first) await client.query('commit');
      // Taken in turn, the free connections are now another one and the client's own: behind these, the third one lets every turn of two fit.
      const begins = network.hold('begin');
      const said = start(network.url);
      const held = await begins;
      await last!.query('commit');
      held.release();
      return said;
    },
  ],
  ['pooler', 'PgBouncer pools statements', /not allowed in statement pooling/, async () => start(await throughPgBouncer('statement'))],
  ['disk', 'it can write no more', /No space left/, () => statement(superuser, `copy (select generate_series(1, 100000)) to '/dev/full'`)],
  [
    'conflict',
    'two transactions wait for each other',
    /deadlock detected/,
    async () => {
      await administer(owner, 'create table t (n integer)');
      await administer(owner, 'insert into t values (1), (2)');
      const [one, two] = [await opened(owner), await opened(owner)];
      const lock = (client: pg.Client, n: number): Promise<unknown> => client.query('select from t where n = $1 for update', [n]);
      for (const client of [one, two]) await client.query('begin');
      await lock(one, 1);
      await lock(two, 2);
      const outcomes = await Promise.allSettled([lock(one, 2), lock(two, 1).finally(() => two.query('rollback'))]);
      const failed = outcomes.find((outcome) => outcome.status === 'rejected');
      expect(postgresFailure(failed?.reason)).to.have.property('code', 'not_ready');
      return postgresSentence(failed?.reason) ?? 'a defect';
    },
  ],
];

/** No server that old can be had beside this one: checked by reading. */
const notMet: readonly PostgresProblem[] = ['version'];

async function prepare(this: Mocha.Context): Promise<void> {
  if (pgbouncerProgram === undefined) this.skip();
  ({ postgresUrl } = await stores());
}

describe('A Postgres that Laurel can’t use', () => {
  before(prepare);
  beforeEach(async () => {
    await administer(postgresUrl, `create role ${role} login password 'secret'`);
    await administer(postgresUrl, `create database ${name} owner ${role}`);
    superuser = withDatabase(postgresUrl, name);
    owner = changed(superuser, { username: role, password: 'secret' });
  });
  afterEach(async () => {
    for (const step of undo.reverse()) await step();
    undo = [];
    await administer(postgresUrl, `drop database ${name} with (force)`);
    await administer(postgresUrl, `drop role ${role}`);
  });

  for (const [problem, when, detail, meet] of rows) {
    it(`is called “${postgresProblems[problem].cause}” when ${when}`, async () => {
      const said = await meet();
      const { cause, cure } = postgresProblems[problem];
      expect(said.startsWith(cause), said).to.equal(true);
      expect(said.endsWith(cure), said).to.equal(true);
      expect(said)
        .to.match(detail)
        .and.not.match(/\.\.|\n|secret/);
    });
  }

  it('names the other start whose migration it waits for', async () => {
    const other = await opened(`${owner}?application_name=other`);
    await other.query('begin');
    await other.query('select pg_advisory_xact_lock(7241865325823964)');
    const lines: string[] = [];
    await migrate(owner, (line) => {
      lines.push(line);
      void other.query('commit');
    });
    expect(lines.join('\n')).to.match(
      /^Waiting for the lock of the migrations, held by Postgres process \d+, application other, client 127\.0\.0\.1\.$/,
    );
  });

  it('may keep its tables in a schema of the role’s own', async () => {
    await administer(superuser, `alter database ${name} owner to current_user`);
    await administer(superuser, `create schema ${role} authorization ${role}`);
    for (let starts = 0; starts < 2; starts += 1) await migrate(owner, quiet);
    const client = await opened(superuser);
    const { rows: found } = await client.query(`select schemaname from pg_tables where tablename in ('migrations', 'users')`);
    expect(found).to.deep.equal([{ schemaname: role }, { schemaname: role }]);
  });

  it('has a row in the table for each problem', () => {
    const met = new Set<string>([...rows.map(([problem]) => problem), ...notMet]);
    expect(Object.keys(postgresProblems).filter((problem) => !met.has(problem))).to.deep.equal([]);
  });
});

describe('A pool of connections to Postgres', () => {
  before(prepare);

  it('bounds statements and transactions, and states its isolation, also through a pooler and against the defaults of the role', async () => {
    await administer(postgresUrl, `create role ${role} login password 'secret'`);
    await administer(postgresUrl, `alter role ${role} set default_transaction_isolation = 'serializable'`);
    await administer(postgresUrl, `alter role ${role} set statement_timeout = 0`);
    await administer(postgresUrl, `create database ${name} owner ${role}`);
    owner = changed(withDatabase(postgresUrl, name), { username: role, password: 'secret' });
    try {
      for (const url of [owner, await throughPgBouncer('session')]) {
        await migrate(url, quiet);
        const pool = createPool(url, 10, quiet);
        const { rows: found } = await pool.query(
          `select current_setting('statement_timeout') as statement, current_setting('transaction_isolation') as isolation,
                  current_setting('idle_in_transaction_session_timeout') as idle`,
        );
        expect(found).to.deep.equal([{ statement: '5s', isolation: 'read committed', idle: '3s' }]);
        const inTurn = Array.from({ length: 30 }, (_, at) => loadOffset(pool, 1, at % 2 === 0));
        expect((await Promise.allSettled(inTurn)).filter(({ status }) => status === 'rejected')).to.deep.equal([]);
        await pool.end();
      }
    } finally {
      for (const step of undo.reverse()) await step();
      undo = [];
      await administer(postgresUrl, `drop database ${name} with (force)`);
      await administer(postgresUrl, `drop role ${role}`);
    }
  });
});

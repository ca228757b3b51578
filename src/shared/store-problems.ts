import type { NotReadyReason } from './errors.js';

/** One thing that a store can have, as a start, a command, a response or a log line says it. */
export interface StoreProblem {
  /** Of the 503 while the service runs. */
  readonly reason: NotReadyReason;
  /** What is wrong: a sentence without its full stop, that a detail can follow in parentheses. */
  readonly cause: string;
  /** What to do about it: one or more sentences. */
  readonly cure: string;
}

/** `Cause (detail). Cure.` */
export const sentenceOf = ({ cause, cure }: StoreProblem, detail?: string): string =>
  `${cause}${detail === undefined ? '' : ` (${detail})`}. ${cure}`;

/*
 * Every sentence about a store. docs/operations/store-problems.md shows the same rows (test/unit/store-problems.test.ts); test/long/redis-problems.test.ts
 * and test/long/postgres-problems.test.ts meet each of them with a real server.
 */

export const redisProblems = {} as const satisfies Readonly<Record<string, StoreProblem>>;

export const postgresProblems = {
  away: {
    reason: 'postgres_away',
    cause: 'Postgres does not answer',
    cure: 'Start it, or set DATABASE_URL to one that runs.',
  },
  starting: {
    reason: 'postgres_away',
    cause: 'Postgres is starting or stopping',
    cure: 'Wait until it accepts connections.',
  },
  address: {
    reason: 'postgres_refuses',
    cause:
      'DATABASE_URL must be an address that starts with postgres:// or postgresql://, like postgres://user:password@localhost:5432/laurel',
    cure: 'Percent-encode characters of the user name and the password that have a meaning in a URL: @ is %40, # is %23, / is %2F, ? is %3F, % is %25.',
  },
  password: {
    reason: 'postgres_refuses',
    cause: 'Postgres refuses the user name or the password of DATABASE_URL',
    cure: 'Correct it there, or give the role this password in Postgres.',
  },
  notAdmitted: {
    reason: 'postgres_refuses',
    cause: 'Postgres does not admit this role from this machine, or not without TLS',
    cure: 'Add ?sslmode=verify-full to DATABASE_URL if it demands TLS; otherwise admit the role and this machine in pg_hba.conf.',
  },
  database: {
    reason: 'postgres_refuses',
    cause: 'Postgres has no such database',
    cure: 'Create it with the encoding UTF8, or correct its name in DATABASE_URL.',
  },
  connections: {
    reason: 'postgres_refuses',
    cause: 'Postgres, or a pooler before it, has no connection left for Laurel',
    cure: 'Raise its limit (of the server, the role, the database or the pooler), or lower POSTGRES_POOL_SIZE or API_PROCESSES: each process opens up to POSTGRES_POOL_SIZE connections.',
  },
  noTls: {
    reason: 'postgres_refuses',
    cause: 'DATABASE_URL asks for TLS (sslmode), and this Postgres does not speak it',
    cure: 'Switch ssl on in Postgres, or leave sslmode out of DATABASE_URL in a network that you trust.',
  },
  tlsFile: {
    reason: 'postgres_refuses',
    cause: "sslrootcert, sslcert or sslkey in DATABASE_URL names a file that can't be used",
    cure: 'Correct its path, or let the user of this process read it.',
  },
  tlsName: {
    reason: 'postgres_refuses',
    cause: 'Postgres shows a certificate for another name',
    cure: 'Let DATABASE_URL name a host that the certificate is for.',
  },
  tlsTime: {
    reason: 'postgres_refuses',
    cause: 'Postgres shows a certificate that is not valid now',
    cure: 'Give it a new one, or set the clock of this machine.',
  },
  tlsAuthority: {
    reason: 'postgres_refuses',
    cause: 'Postgres shows a certificate that no known authority has signed',
    cure: 'Add sslrootcert=FILE to DATABASE_URL: a PEM file with the certificate of the authority that has.',
  },
  tlsRefused: {
    reason: 'postgres_refuses',
    cause: 'Postgres refuses to speak TLS with Laurel',
    cure: 'Where it asks for a certificate, add sslcert and sslkey to DATABASE_URL: one that it trusts, and its key.',
  },
  version: {
    reason: 'postgres_refuses',
    cause: 'This Postgres is too old',
    cure: 'Laurel needs Postgres 14 at least.',
  },
  encoding: {
    reason: 'postgres_refuses',
    cause: 'The encoding of this database is not UTF8, so it cannot hold every name',
    cure: 'Create one with ENCODING UTF8 (from template0), and set DATABASE_URL to it.',
  },
  readOnly: {
    reason: 'postgres_refuses',
    cause: 'This Postgres is read-only',
    cure: 'Set DATABASE_URL to the primary and not to a replica, and default_transaction_read_only to off for the role.',
  },
  schema: {
    reason: 'postgres_refuses',
    cause: 'The search_path of this role names no schema that exists and that it may use',
    cure: 'Create the schema, or change it: ALTER ROLE … SET search_path TO ….',
  },
  rights: {
    reason: 'postgres_refuses',
    cause: 'Postgres denies this role a right that Laurel needs',
    cure: 'Make the role the owner of its database or schema and of the tables in it: GRANT CREATE, USAGE ON SCHEMA … TO ….',
  },
  newerSchema: {
    reason: 'postgres_refuses',
    cause: 'A newer version of Laurel has migrated this database',
    cure: 'Nothing was changed. Start the newer version, or use another database.',
  },
  migrationLock: {
    reason: 'postgres_refuses',
    cause: 'Another connection holds the lock of the migrations',
    cure: 'Let the other start finish, or end its connection with pg_terminate_backend. Nothing was changed.',
  },
  pooler: {
    reason: 'postgres_refuses',
    cause: 'DATABASE_URL names a pooler that pools transactions or statements, and Laurel needs connections of its own',
    cure: "Set DATABASE_URL to Postgres' direct address, or to a pool in session mode: docs/operations/poolers.md.",
  },
  disk: {
    reason: 'postgres_disk',
    cause: 'Postgres has no room left on its disk',
    cure: 'Free disk space, or give it a larger disk.',
  },
  conflict: {
    reason: 'postgres_away',
    cause: 'Postgres ended a transaction in favour of another one',
    cure: 'Try again.',
  },
} as const satisfies Readonly<Record<string, StoreProblem>>;

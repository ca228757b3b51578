import { LaurelError, type NotReadyReason } from './errors.js';

/** One thing that a store can have, as a start, a command, a response or a log line says it. */
export interface StoreProblem {
  /** Of the 503 while the service runs. */
  readonly reason: NotReadyReason;
  /** What is wrong: a sentence without its full stop, that a detail can follow in parentheses. */
  readonly cause: string;
  /** What to do about it: one or more sentences. */
  readonly cure: string;
  /** Waiting does not help: a start ends with it. */
  readonly endsStart?: true;
}

/** `Cause (detail). Cure.` A full stop at the end of the detail is left out. */
export const sentenceOf = ({ cause, cure }: StoreProblem, detail?: string): string =>
  `${cause}${detail === undefined ? '' : ` (${detail.replace(/[.\s]+$/, '')})`}. ${cure}`;

/** The 503 for a problem of a store. `detail` is for callers too: no user, key or address. */
export class StoreError extends LaurelError {
  readonly problem: StoreProblem;
  readonly detail: string | undefined;

  constructor(problem: StoreProblem, detail?: string, cause?: unknown) {
    super('not_ready', `The service is not ready: ${sentenceOf(problem, detail)}`, { cause, reason: problem.reason });
    this.problem = problem;
    this.detail = detail;
  }
}

/*
 * Every sentence about a store. docs/operations/store-problems.md shows the same rows (test/unit/store-problems.test.ts); test/long/redis-problems.test.ts
 * and test/long/postgres-problems.test.ts meet each of them with a real server.
 */

const access = 'docs/operations/redis.md has what Laurel needs.';

export const redisProblems = {
  // REDIS_URL, and the files for TLS.
  address: {
    reason: 'other',
    cause:
      'REDIS_URL must be redis://user:password@host:6379/0 for one server, unix:///path/redis.sock for one at a socket, redis+cluster://host:6379,host:6379 ' +
      'for a cluster or redis+sentinel://host:26379,host:26379/master-name for Sentinel, and rediss for TLS, or local for the built-in Redis',
    cure: 'Percent-encode special characters of the user name and the password: # is %23, / is %2F, ? is %3F, @ is %40, % is %25.',
  },
  fileUnreadable: {
    reason: 'other',
    cause: "A file of REDIS_CA_FILE, REDIS_CERT_FILE or REDIS_KEY_FILE can't be read",
    cure: 'Set the variable to a file that exists and that Laurel may read.',
  },
  noCaCertificate: {
    reason: 'other',
    cause: 'REDIS_CA_FILE names a file without a certificate in PEM',
    cure: 'Set it to a PEM file with the certificate of the authority that has signed that of Redis.',
  },
  halfCertificate: {
    reason: 'other',
    cause: 'REDIS_CERT_FILE and REDIS_KEY_FILE are a certificate and its key, and only one of them is set',
    cure: 'Set both, or none.',
  },
  otherKey: {
    reason: 'other',
    cause: 'REDIS_CERT_FILE and REDIS_KEY_FILE are not a certificate and its own key',
    cure: 'Set them to files in PEM, the key without a passphrase.',
  },
  filesWithoutTls: {
    reason: 'other',
    cause: 'A file for TLS is set, and REDIS_URL is without TLS',
    cure: 'Start REDIS_URL with rediss, or unset the variable.',
  },

  // A connection.
  noAnswer: {
    reason: 'redis_away',
    cause: 'Redis does not respond',
    cure: 'Start it, or set REDIS_URL to one that runs: rediss if it speaks TLS, redis if it does not.',
  },
  away: { reason: 'redis_away', cause: 'Redis is unavailable', cure: 'Try again shortly, with the same Idempotency-Key.' },
  maxClients: {
    reason: 'redis_refuses',
    cause: 'Redis has reached its maximum number of clients',
    cure: 'Raise its maxclients, or close connections of other clients.',
  },
  certificateName: {
    reason: 'redis_away',
    cause: 'The certificate of Redis is for another host name',
    cure: 'Set REDIS_URL to a host name that the certificate covers.',
  },
  certificateDates: {
    reason: 'redis_away',
    cause: 'The certificate of Redis has expired or is not valid yet',
    cure: 'Renew the certificate, or correct the clock of this machine.',
  },
  certificateUnsigned: {
    reason: 'redis_away',
    cause: 'The certificate of Redis is not signed by a trusted authority',
    cure: 'Set REDIS_CA_FILE to a PEM file with the certificate of the authority that signed it.',
  },
  certificateRefused: {
    reason: 'redis_away',
    cause: 'Redis rejected the TLS handshake',
    cure: 'If Redis requires a client certificate, set REDIS_CERT_FILE and REDIS_KEY_FILE to one that it trusts, and its key.',
  },
  wrongLogin: {
    reason: 'redis_login',
    cause: 'Redis refuses the user name or the password of REDIS_URL',
    cure: `Correct them, with special characters percent-encoded. ${access}`,
    endsStart: true,
  },
  noLogin: {
    reason: 'redis_login',
    cause: 'Redis requires a login, and REDIS_URL has no valid one',
    cure: `Add the user name and the password to REDIS_URL. ${access}`,
    endsStart: true,
  },
  denied: {
    reason: 'redis_permission',
    cause: 'Redis denies its user a command, a key or a channel',
    cure: `Give the user what Laurel needs, for the keys of REDIS_PREFIX. ${access}`,
    endsStart: true,
  },

  // The kind of server, and its settings.
  clusterNode: {
    reason: 'redis_refuses',
    cause: 'REDIS_URL names one server, and this Redis is a node of a cluster',
    cure: 'Start REDIS_URL with redis+cluster:// (rediss+cluster:// with TLS).',
    endsStart: true,
  },
  noCluster: {
    reason: 'redis_refuses',
    cause: 'REDIS_URL names a cluster, and this Redis is one server',
    cure: 'Start REDIS_URL with redis:// (rediss:// with TLS).',
    endsStart: true,
  },
  tooOld: {
    reason: 'other',
    cause: 'This Redis is too old',
    cure: 'Laurel needs Redis 7.0 or Valkey 7.2 at least.',
    endsStart: true,
  },
  evicts: {
    reason: 'other',
    cause: "This Redis evicts keys when memory runs out, which would lose users' progress",
    cure: 'Set maxmemory-policy to noeviction and start again.',
    endsStart: true,
  },
  noFile: {
    reason: 'other',
    cause: 'The append-only file of this Redis is off: if it stops, acknowledged events that have not reached Postgres are lost',
    cure: 'Set appendonly to yes.',
  },
  noFileForAlways: {
    reason: 'other',
    cause: 'DURABILITY is always, but the append-only file of this Redis is off',
    cure: 'Set appendonly to yes in its configuration and start it again.',
    endsStart: true,
  },
  fixedSettings: {
    reason: 'other',
    cause: 'DURABILITY is always, but this Redis does not allow its settings to be changed',
    cure: 'Set appendfsync to always and no-appendfsync-on-rewrite to no in its configuration.',
    endsStart: true,
  },
  noReplicas: {
    reason: 'other',
    cause: 'DURABILITY is replicated, but Redis has too few replicas: changes get a 503',
    cure: 'Start the replicas that REPLICAS requires.',
  },
  noWaitForDisk: {
    reason: 'other',
    cause: 'REPLICAS_TO_DISK is 1, but this Redis is too old to wait for the disks of replicas',
    cure: 'Use Redis 7.2 or Valkey 7.2 at least, or unset REPLICAS_TO_DISK.',
    endsStart: true,
  },
  noFileForReplicas: {
    reason: 'redis_refuses',
    cause: 'REPLICAS_TO_DISK is 1, but the append-only file of this Redis is off',
    cure: 'Set appendonly to yes on it and on its replicas.',
    endsStart: true,
  },
  foreign: {
    reason: 'out_of_sync',
    cause: 'This Redis belongs to another database',
    cure: 'Check REDIS_URL, REDIS_PREFIX and DATABASE_URL. Nothing was changed.',
    endsStart: true,
  },

  // What passes, or what an operator of Redis ends while Laurel runs.
  disk: { reason: 'redis_disk', cause: 'Redis cannot write to its disk, which is full or failing', cure: 'Free disk space.' },
  memory: { reason: 'redis_memory', cause: 'Redis has used all of its memory', cure: 'Give it more memory.' },
  loading: { reason: 'redis_loading', cause: 'Redis is loading its data', cure: 'Try again shortly.' },
  replica: {
    reason: 'redis_refuses',
    cause: 'This Redis is a read-only replica',
    cure: 'After a failover, try again shortly. Otherwise set REDIS_URL to the master, or to the Sentinels (redis+sentinel://), which name it.',
  },
  slotMoving: {
    reason: 'redis_refuses',
    cause: 'The keys are moving to another master of the cluster',
    cure: 'Try again shortly.',
  },
  clusterDown: {
    reason: 'redis_refuses',
    cause: 'Part of the Redis cluster is unavailable',
    cure: 'Try again after the failover, or start the master that is down.',
  },
  busy: { reason: 'redis_refuses', cause: 'Redis is busy with a script of another client', cure: 'Try again shortly, or run SCRIPT KILL.' },
  fewReplicas: {
    reason: 'redis_replicas',
    cause: 'Redis refuses writes because it has too few replicas',
    cure: 'Start the replicas that its min-replicas-to-write requires.',
  },
  notReplicated: {
    reason: 'redis_replicas',
    cause: 'Redis has the change, but too few replicas confirmed it in time',
    cure: 'Send the request again with the same Idempotency-Key, once the replicas that REPLICAS requires are running.',
  },
  lostLibrary: {
    reason: 'other',
    cause: 'Redis does not keep the function library',
    cure: 'Try again shortly.',
  },
} as const satisfies Readonly<Record<string, StoreProblem>>;

export const postgresProblems = {
  away: {
    reason: 'postgres_away',
    cause: 'Postgres is unavailable',
    cure: 'Try again shortly.',
  },
  noAnswer: {
    reason: 'postgres_away',
    cause: 'Postgres does not respond',
    cure: 'Start it, or set DATABASE_URL to one that runs.',
  },
  starting: {
    reason: 'postgres_away',
    cause: 'Postgres is starting or stopping',
    cure: 'Wait until it accepts connections.',
  },
  address: {
    reason: 'other',
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
    cause: 'Postgres does not allow this role to connect from this machine, or not without TLS',
    cure: 'Add ?sslmode=verify-full to DATABASE_URL if it requires TLS; otherwise allow the role and this machine in pg_hba.conf.',
  },
  database: {
    reason: 'postgres_refuses',
    cause: 'The database of DATABASE_URL does not exist',
    cure: 'Create it with the encoding UTF8, or correct its name in DATABASE_URL.',
  },
  connections: {
    reason: 'postgres_refuses',
    cause: 'Postgres, or a pooler in front of it, has no free connection for Laurel',
    cure: 'Raise its limit (of the server, the role, the database or the pooler), or lower POSTGRES_POOL_SIZE or API_PROCESSES: each process opens up to POSTGRES_POOL_SIZE connections, and two for exports.',
  },
  noTls: {
    reason: 'postgres_refuses',
    cause: 'DATABASE_URL requires TLS (sslmode), but this Postgres does not support it',
    cure: 'Switch ssl on in Postgres, or leave sslmode out of DATABASE_URL in a network that you trust.',
  },
  tlsFile: {
    reason: 'postgres_refuses',
    cause: "sslrootcert, sslcert or sslkey in DATABASE_URL names a file that can't be used",
    cure: 'Correct its path, or let the user of this process read it.',
  },
  certificateName: {
    reason: 'postgres_refuses',
    cause: 'The certificate of Postgres is for another host name',
    cure: 'Set DATABASE_URL to a host name that the certificate covers.',
  },
  certificateDates: {
    reason: 'postgres_refuses',
    cause: 'The certificate of Postgres has expired or is not valid yet',
    cure: 'Renew the certificate, or correct the clock of this machine.',
  },
  certificateUnsigned: {
    reason: 'postgres_refuses',
    cause: 'The certificate of Postgres is not signed by a trusted authority',
    cure: 'Add sslrootcert=FILE to DATABASE_URL: a PEM file with the certificate of the authority that signed it.',
  },
  certificateRefused: {
    reason: 'postgres_refuses',
    cause: 'Postgres rejected the TLS handshake',
    cure: 'If Postgres requires a client certificate, add sslcert and sslkey to DATABASE_URL: one that it trusts, and its key.',
  },
  version: {
    reason: 'other',
    cause: 'This Postgres is too old',
    cure: 'Laurel needs Postgres 14 at least.',
  },
  encoding: {
    reason: 'other',
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
    cause: 'This role lacks a privilege that Laurel needs',
    cure: 'Make the role the owner of its database or schema and of the tables in it: GRANT CREATE, USAGE ON SCHEMA … TO ….',
  },
  unused: {
    reason: 'other',
    cause: 'No service has used this database yet',
    cure: 'Start one, which creates the tables, or correct DATABASE_URL.',
  },
  newerSchema: {
    reason: 'other',
    cause: 'A newer version of Laurel has migrated this database',
    cure: 'Nothing was changed. Start the newer version, or use another database.',
  },
  unreleasedSchema: {
    reason: 'other',
    cause: 'No release of Laurel has made this database',
    cure: 'Nothing was changed. Use another database, or start the development version that made it.',
  },
  migrationLock: {
    reason: 'other',
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
    cause: 'The disk of Postgres is full',
    cure: 'Free disk space, or give it a larger disk.',
  },
  conflict: {
    reason: 'postgres_away',
    cause: 'Postgres aborted a transaction that conflicts with another one',
    cure: 'Try again.',
  },
} as const satisfies Readonly<Record<string, StoreProblem>>;

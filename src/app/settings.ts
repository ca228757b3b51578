import { z } from 'zod';
import type { WebhookReceivers } from '../config/schema/webhook-url.js';
import { parseRedisAddress } from '../redis/address.js';
import type { Replication } from '../redis/turns.js';
import { OperatorError } from '../shared/errors.js';
import { limits } from '../shared/limits.js';
import { postgresProblems, redisProblems, sentenceOf } from '../shared/store-problems.js';
import { providerVariables, refusedTogether } from './provider-settings.js';
import { address, onOrOff, wholeNumber } from './setting-types.js';

/** pino's levels, from the least to the most verbose. */
const logLevels = ['silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace'] as const;

/** The value of REDIS_URL or DATABASE_URL for the built-in store. */
const builtIn = 'local';

/** Whether a host is reachable from this machine only. */
export const isLoopback = (host: string): boolean => host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);

/** Whether a value is a valid `Origin`: a scheme, a host and perhaps a port. */
const isOrigin = (value: string): boolean =>
  URL.canParse(value) && /^https?:$/.test(new URL(value).protocol) && new URL(value).origin === value;

/** A URL of Postgres. A character of the login that is not percent-encoded ends the host early, and what follows shows it. */
function isPostgresAddress(value: string): boolean {
  if (!/^postgres(ql)?:\/\/./.test(value) || !URL.canParse(value) || /%(?![0-9a-f]{2})/i.test(value)) return false;
  const { username, hash, pathname, search } = new URL(value);
  return hash === '' && (username !== '' || !`${pathname}${search}`.includes('@'));
}

/** Origins, separated by commas. */
const origins = (isAllowed: (value: string) => boolean, error: string) =>
  z
    .string()
    .transform((value) => value.split(',').map((origin) => origin.trim()))
    .refine((values) => values.every(isAllowed), { error })
    .default([]);

/** Every setting, declared once, by its variable: `Settings` has it in camel case. A test compares them with docs/settings.md. */
const variables = z.object({
  /** 0: any free port. */
  PORT: wholeNumber(0, 65_535, ' (0 for any free port)').default(7070),
  HOST: z.string().regex(/^\S+$/, { error: 'must be a host name or an IP address' }).default('127.0.0.1'),
  /** Processes that `laurel serve` runs for the API. Null: `defaultApiProcesses`. */
  API_PROCESSES: wholeNumber(1, limits.maxApiProcesses).nullable().default(null),
  /** Null: the built-in Redis, in the data folder. */
  REDIS_URL: z
    .string()
    .refine((value) => value === builtIn || parseRedisAddress(value) !== undefined, {
      error: sentenceOf(redisProblems.address),
    })
    .nullable()
    .default(null),
  /** PEM files for TLS with Redis: the CA of its certificate, and a client certificate and key. */
  REDIS_CA_FILE: z.string().nullable().default(null),
  REDIS_CERT_FILE: z.string().nullable().default(null),
  REDIS_KEY_FILE: z.string().nullable().default(null),
  /** The password of the Sentinels. */
  REDIS_SENTINEL_PASSWORD: z.string().nullable().default(null),
  /** When Redis writes to disk: within a second of a response, or before it; or whether replicas have the change before the response. */
  DURABILITY: z.enum(['everysec', 'always', 'replicated'], { error: 'must be everysec, always or replicated' }).default('everysec'),
  /** With `replicated`: how many replicas, how many milliseconds a response waits for them, and whether it waits for their disks too. */
  REPLICAS: wholeNumber(1, limits.maxReplicas).default(1),
  REPLICA_TIMEOUT: wholeNumber(limits.minReplicaTimeoutMs, limits.maxReplicaTimeoutMs).default(500),
  REPLICAS_TO_DISK: onOrOff('0'),
  /**
   * The start of every key's hash tag, so that several installations can share one Redis. A brace or a colon would move keys to other slots or
   * owners.
   */
  REDIS_PREFIX: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,64}$/, { error: 'must be 1 to 64 letters, digits, hyphens or underscores' })
    .default('laurel'),
  /** Null: the built-in Postgres, in the data folder. */
  DATABASE_URL: z
    .literal(builtIn)
    .or(z.string().refine(isPostgresAddress, { error: sentenceOf(postgresProblems.address) }))
    .nullable()
    .default(null),
  /** Relative to the working directory. */
  DATA_DIR: z.string().default('.laurel'),
  /** The first admin key. Null: one is generated and printed once. */
  ADMIN_API_KEY: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,32}\.[A-Za-z0-9_-]{16,256}$/, {
      error:
        'must be a prefix of 1 to 32 characters, a dot and a body of 16 to 256 characters, ' +
        'both of letters, digits, hyphens and underscores, like admin.4f1c09b2a7e85d36',
    })
    .nullable()
    .default(null),
  /** Path of a YAML file to apply at start. */
  CONFIG: z.string().nullable().default(null),
  TEST_CLOCK: onOrOff('0'),
  /** Whether workers restore a Redis that is out of sync; else an operator does. */
  AUTO_RESTORE: onOrOff('1'),
  LOG_LEVEL: z.enum(logLevels, { error: `must be one of ${logLevels.join(', ')}` }).default('info'),
  /** Postgres connections of a process. */
  POSTGRES_POOL_SIZE: wholeNumber(1, 500).default(10),
  /** Whether webhooks may be sent to private addresses, and over http. */
  WEBHOOK_ALLOW_PRIVATE: onOrOff('0'),
  /** The only origins that webhooks may be sent to. Empty: no such limit. */
  WEBHOOK_ORIGINS: origins(isOrigin, 'must be origins separated by commas, like https://app.example.com,http://10.0.0.7:3000'),
  /** Entries of a tenant's ledger that may wait for Postgres. */
  MAX_LEDGER_ENTRIES: wholeNumber(1_000, 500_000_000).default(limits.maxLedgerEntries),
  /** Requests of one key in a window; 0: unlimited. */
  RATE_LIMIT: wholeNumber(0, 100_000_000, ' (0 for none)').default(0),
  RATE_LIMIT_COSTLY: wholeNumber(0, 100_000_000, ' (0 for none)').default(limits.costlyRequests),
  /** Seconds that costly requests of one key may take in worker threads in a window; 0: unlimited. */
  RATE_LIMIT_COSTLY_S: wholeNumber(0, 86_400, ' (0 for none)').default(limits.costlyS),
  RATE_LIMIT_WINDOW_S: wholeNumber(1, 86_400).default(60),
  /** Whether `/dashboard` is served. */
  DASHBOARD: onOrOff('1'),
  /** Proxies in front of the service that add the address of their client to X-Forwarded-For. */
  TRUSTED_PROXIES: wholeNumber(0, limits.maxTrustedProxies, ' (0 for none)').default(0),
  /** Origins whose pages may call the Application API; `*` for any. */
  CORS_ORIGINS: origins(
    (value) => value === '*' || isOrigin(value),
    'must be origins separated by commas, like https://app.example.com,http://localhost:3000, or * for any',
  ),
  /** Live streams of a process, of one tenant on it, and of one application key, or user of live tokens, on it. */
  LIVE_CONNECTIONS: wholeNumber(1, 1_000_000).default(10_000),
  LIVE_CONNECTIONS_PER_TENANT: wholeNumber(1, 1_000_000).default(10_000),
  LIVE_CONNECTIONS_PER_KEY: wholeNumber(1, 1_000_000).default(20),
  /** What may wait for a slow reader of a live stream. */
  LIVE_BUFFER_KB: wholeNumber(16, 65_536).default(256),
  /** How long a process serves after SIGTERM, while it is not ready. */
  SHUTDOWN_DELAY: wholeNumber(0, 300, ' (0 for none)').default(5),
  /** The level of the log line of each request. */
  ACCESS_LOG: z.enum(['debug', 'info'], { error: 'must be debug or info: the level of the lines' }).default('debug'),
  /** Null: no metrics. 0: any free port. */
  METRICS_PORT: wholeNumber(0, 65_535, ' (0 for any free port)').nullable().default(null),
  METRICS_HOST: z.string().regex(/^\S+$/, { error: 'must be a host name or an IP address', abort: true }).default('127.0.0.1'),
  /** The bearer token for the metrics. Null: none. */
  METRICS_TOKEN: z
    .string()
    .regex(/^[\x21-\x7e]{16,256}$/, { error: 'must be 16 to 256 visible ASCII characters' })
    .nullable()
    .default(null),
  /** The endpoint for traces, by OTLP over HTTP. Null: no traces. */
  OTEL_EXPORTER_OTLP_ENDPOINT: address(['http:', 'https:'], 'http://localhost:4318').nullable().default(null),
  ...providerVariables,
});

/** Whether only the other URL is set. Laurel would silently start an empty built-in store beside it. */
const alone = (one: string | null, other: string | null): boolean => one === null && other !== null && other !== builtIn;

/** Metrics that others can reach need a token (docs/operations/monitoring.md). */
export const settingsSchema = variables
  .refine((values) => values.METRICS_TOKEN !== null || isLoopback(values.METRICS_HOST), {
    path: ['METRICS_TOKEN'],
    error: 'must be set when METRICS_HOST is not a loopback address such as 127.0.0.1',
  })
  .refine((values) => !alone(values.REDIS_URL, values.DATABASE_URL), {
    path: ['REDIS_URL'],
    error: `must be set when DATABASE_URL is set: to the Redis that belongs to this database, or to ${builtIn} for the built-in Redis`,
  })
  .refine((values) => !alone(values.DATABASE_URL, values.REDIS_URL), {
    path: ['DATABASE_URL'],
    error: `must be set when REDIS_URL is set: to the Postgres that belongs to this Redis, or to ${builtIn} for the built-in Postgres`,
  })
  .refine((values) => values.DURABILITY !== 'replicated' || (values.REDIS_URL ?? builtIn) !== builtIn, {
    path: ['DURABILITY'],
    error: 'must not be replicated with the built-in Redis, which has no replicas: set REDIS_URL to a master with replicas',
  })
  .refine((values) => !values.WEBHOOK_ALLOW_PRIVATE || values.WEBHOOK_ORIGINS.length === 0, {
    path: ['WEBHOOK_ORIGINS'],
    error: 'must not be set when WEBHOOK_ALLOW_PRIVATE is 1, which allows every origin',
  })
  .superRefine((values, context) => {
    for (const { variable, error } of refusedTogether(values)) context.addIssue({ code: 'custom', path: [variable], message: error });
  });

type Values = z.output<typeof settingsSchema>;

/** The settings whose name is not that of their variable in camel case. */
const renamed = {
  REPLICA_TIMEOUT: 'replicaTimeoutMs',
  SHUTDOWN_DELAY: 'shutdownDelayS',
  OTEL_EXPORTER_OTLP_ENDPOINT: 'otlpEndpoint',
} as const;

type CamelCase<S extends string> = S extends `${infer Head}_${infer Rest}`
  ? `${Lowercase<Head>}${Capitalize<CamelCase<Rest>>}`
  : Lowercase<S>;

type NameOf<V extends keyof Values> = V extends keyof typeof renamed ? (typeof renamed)[V] : CamelCase<V>;

/** The settings by their names: `REDIS_URL` is `redisUrl`. */
export type Settings = { readonly [V in keyof Values as NameOf<V>]: Values[V] };

function nameOf(variable: string): string {
  const names: Readonly<Record<string, string>> = renamed;
  return names[variable] ?? variable.toLowerCase().replace(/_([a-z])/g, (_, first: string) => first.toUpperCase());
}

/** The API processes for a machine with `cores` cores: one is left to the worker, Redis and Postgres. */
export const defaultApiProcesses = (cores: number): number => Math.min(Math.max(cores - 1, 1), limits.maxApiProcesses);

/** The folder of the built-in stores; null where both stores are elsewhere. */
export const builtInFolder = ({ redisUrl, databaseUrl, dataDir }: Settings): string | null =>
  redisUrl === null || databaseUrl === null ? dataDir : null;

/** What a response waits for with DURABILITY=replicated; undefined with another. */
export function replicationOf({
  durability,
  replicas,
  replicaTimeoutMs: timeoutMs,
  replicasToDisk: toDisk,
}: Settings): Replication | undefined {
  return durability === 'replicated' ? { replicas, timeoutMs, toDisk } : undefined;
}

/** Where webhooks may be sent. */
export function webhookReceivers({ webhookOrigins, webhookAllowPrivate }: Settings): WebhookReceivers {
  if (webhookOrigins.length > 0) return webhookOrigins;
  return webhookAllowPrivate ? 'any' : 'public';
}

/**
 * Reads the settings from the environment. Unknown variables are ignored, and an empty variable counts as unset, because that is what `VAR=` in a
 * compose or .env file means. Throws an OperatorError with one sentence for each invalid variable.
 */
export function parseSettings(env: NodeJS.ProcessEnv): Settings {
  const filled = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined && value !== ''));
  const parsed = settingsSchema.safeParse(filled);
  if (!parsed.success) throw new OperatorError(describe(parsed.error));
  const addressOf = (value: string | null): string | null => (value === builtIn ? null : value);
  const values = { ...parsed.data, REDIS_URL: addressOf(parsed.data.REDIS_URL), DATABASE_URL: addressOf(parsed.data.DATABASE_URL) };
  return Object.fromEntries(Object.entries(values).map(([variable, value]) => [nameOf(variable), value])) as unknown as Settings;
}

/** One sentence for each invalid variable, in the order of the schema. */
function describe(error: z.ZodError): string {
  const sentences = new Map<string, string>();
  for (const issue of error.issues) {
    const variable = String(issue.path[0]);
    // A sentence about a store is whole.
    const sentence = issue.message.endsWith('.') ? issue.message : `${variable} ${issue.message}.`;
    if (!sentences.has(variable)) sentences.set(variable, sentence);
  }
  return [...sentences.values()].join('\n');
}

import { z } from 'zod';
import { parseRedisAddress, redisAddressForms } from '../redis/address.js';
import { OperatorError } from '../shared/errors.js';
import { limits } from '../shared/limits.js';

/** The levels of pino, from the least to the most said. */
const logLevels = ['silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace'] as const;

/** What each variable says when it is wrong. The sentences never repeat the value: three of them hold secrets. */
const whole = (min: number, max: number, hint = '') => ({
  error: `must be a whole number from ${min} to ${max}${hint}`,
});

/** Digits only, so that `1e3`, `0x50` and ` 80` are mistakes and not numbers. */
const wholeNumber = (min: number, max: number, hint?: string) =>
  z
    .string()
    .regex(/^\d{1,9}$/, whole(min, max, hint))
    .transform(Number)
    .refine((value) => value >= min && value <= max, whole(min, max, hint));

/** An address that names a server. `redis://` alone is a forgotten host, not a wish for the default one. */
const address = (protocols: readonly string[], example: string) =>
  z.string().refine((value) => URL.canParse(value) && protocols.includes(new URL(value).protocol) && /:\/\/./.test(value), {
    error: `must be an address that starts with ${protocols.map((protocol) => `${protocol}//`).join(' or ')}, like ${example}`,
  });

/** Where REDIS_URL or DATABASE_URL says so, Laurel runs its own. */
const builtIn = 'local';

/** Reachable from this machine only. */
const isLoopback = (host: string): boolean => host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);

/** What a browser sends as `Origin`: a scheme, a host and perhaps a port, and nothing behind them. */
const isOrigin = (value: string): boolean =>
  value === '*' || (URL.canParse(value) && /^https?:$/.test(new URL(value).protocol) && new URL(value).origin === value);

/** Every setting, by the name of its variable. docs/settings.md lists them all, and a test holds the two together. */
const variables = z.object({
  PORT: wholeNumber(0, 65_535, ' (0 for any free port)').default(7070),
  HOST: z.string().regex(/^\S+$/, { error: 'must be a host name or an IP address' }).default('127.0.0.1'),
  REDIS_URL: z
    .string()
    .refine((value) => value === builtIn || parseRedisAddress(value) !== undefined, {
      error: `must be ${redisAddressForms}, or ${builtIn} for the built-in Redis`,
    })
    .nullable()
    .default(null),
  REDIS_CA_FILE: z.string().nullable().default(null),
  REDIS_CERT_FILE: z.string().nullable().default(null),
  REDIS_KEY_FILE: z.string().nullable().default(null),
  REDIS_SENTINEL_PASSWORD: z.string().nullable().default(null),
  DURABILITY: z.enum(['everysec', 'always'], { error: 'must be everysec or always' }).default('everysec'),
  // It goes into the hash tag of every key, so a brace or a colon in it would move keys to other slots or other owners.
  REDIS_PREFIX: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,64}$/, { error: 'must be 1 to 64 letters, digits, hyphens or underscores' })
    .default('laurel'),
  DATABASE_URL: z
    .literal(builtIn)
    .or(address(['postgres:', 'postgresql:'], 'postgres://user:password@localhost:5432/laurel'))
    .nullable()
    .default(null),
  DATA_DIR: z.string().default('.laurel'),
  ADMIN_API_KEY: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,32}\.[A-Za-z0-9_-]{16,256}$/, {
      error:
        'must be a prefix of 1 to 32 characters, a dot and a body of 16 to 256 characters, ' +
        'both of letters, digits, hyphens and underscores, like admin.4f1c09b2a7e85d36',
    })
    .nullable()
    .default(null),
  CONFIG: z.string().nullable().default(null),
  TEST_CLOCK: z
    .enum(['0', '1'], { error: 'must be 1 (on) or 0 (off)' })
    .default('0')
    .transform((value) => value === '1'),
  AUTO_RESTORE: z
    .enum(['0', '1'], { error: 'must be 1 (on) or 0 (off)' })
    .default('1')
    .transform((value) => value === '1'),
  LOG_LEVEL: z.enum(logLevels, { error: `must be one of ${logLevels.join(', ')}` }).default('info'),
  POSTGRES_POOL_SIZE: wholeNumber(1, 500).default(10),
  WEBHOOK_ALLOW_PRIVATE: z
    .enum(['0', '1'], { error: 'must be 1 (on) or 0 (off)' })
    .default('0')
    .transform((value) => value === '1'),
  MAX_LEDGER_ENTRIES: wholeNumber(1_000, 500_000_000).default(limits.maxLedgerEntries),
  RATE_LIMIT: wholeNumber(0, 100_000_000, ' (0 for none)').default(0),
  RATE_LIMIT_WINDOW_S: wholeNumber(1, 86_400).default(60),
  CORS_ORIGINS: z
    .string()
    .transform((value) => value.split(',').map((origin) => origin.trim()))
    .refine((origins) => origins.every(isOrigin), {
      error: 'must be origins with commas in between, like https://app.example.com,http://localhost:3000, or * for any',
    })
    .nullable()
    .default(null),
  SHUTDOWN_DELAY: wholeNumber(0, 300, ' (0 for none)').default(5),
  ACCESS_LOG: z.enum(['debug', 'info'], { error: 'must be debug or info: the level of the lines' }).default('debug'),
  METRICS_PORT: wholeNumber(0, 65_535, ' (0 for any free port)').nullable().default(null),
  METRICS_HOST: z.string().regex(/^\S+$/, { error: 'must be a host name or an IP address', abort: true }).default('127.0.0.1'),
  METRICS_TOKEN: z
    .string()
    .regex(/^[\x21-\x7e]{16,256}$/, { error: 'must be 16 to 256 visible ASCII characters' })
    .nullable()
    .default(null),
  OTEL_EXPORTER_OTLP_ENDPOINT: address(['http:', 'https:'], 'http://localhost:4318').nullable().default(null),
});

/** One of the two that was forgotten would silently start an empty store of Laurel's own beside the other. */
const alone = (one: string | null, other: string | null): boolean => one === null && other !== null && other !== builtIn;

/** docs/operations/monitoring.md: what the metrics tell of an installation is not for everybody. */
export const settingsSchema = variables
  .refine((values) => values.METRICS_TOKEN !== null || isLoopback(values.METRICS_HOST), {
    path: ['METRICS_TOKEN'],
    error: 'must be set when METRICS_HOST is not an address of this machine alone, like 127.0.0.1',
  })
  .refine((values) => !alone(values.REDIS_URL, values.DATABASE_URL), {
    path: ['REDIS_URL'],
    error: `must be set when DATABASE_URL is set: to the Redis that belongs to this database, or to ${builtIn} for the built-in Redis`,
  })
  .refine((values) => !alone(values.DATABASE_URL, values.REDIS_URL), {
    path: ['DATABASE_URL'],
    error: `must be set when REDIS_URL is set: to the Postgres that belongs to this Redis, or to ${builtIn} for the built-in Postgres`,
  });

export interface Settings {
  /** 0: any free port. */
  port: number;
  host: string;
  /** Null: Laurel runs its own Redis in the data folder. */
  redisUrl: string | null;
  /** Files in PEM for TLS with Redis: who has signed its certificate, and a certificate and key of our own. */
  redisCaFile: string | null;
  redisCertFile: string | null;
  redisKeyFile: string | null;
  /** What Sentinels want to hear. */
  redisSentinelPassword: string | null;
  /** Whether an answer means that Redis has it on its disk: within a second, or always. */
  durability: 'everysec' | 'always';
  /** Starts the hash tag of every key, so that several installations can share one Redis. */
  redisPrefix: string;
  /** Null: Laurel runs its own Postgres in the data folder. */
  databaseUrl: string | null;
  /** As it was given: relative to the working directory. */
  dataDir: string;
  /** The first admin key. Null: one is made and printed once. */
  adminApiKey: string | null;
  /** Path of a YAML file to apply at start. */
  config: string | null;
  testClock: boolean;
  /** Whether workers restore a Redis that lacks what Postgres has; else an operator does. */
  autoRestore: boolean;
  logLevel: (typeof logLevels)[number];
  /** Connections to Postgres that one process may hold. */
  postgresPoolSize: number;
  /** Whether webhooks may go to private addresses, and over http. */
  webhookAllowPrivate: boolean;
  /** Entries of a tenant's ledger that may wait for Postgres. */
  maxLedgerEntries: number;
  /** Requests that one key may make in a window; 0: as many as it likes. */
  rateLimit: number;
  rateLimitWindowS: number;
  /** Origins whose pages may call the Application API; `*` for any. */
  corsOrigins: readonly string[];
  /** Seconds for which a process goes on serving after SIGTERM, not ready any more. */
  shutdownDelayS: number;
  /** The level of the lines that tell of each request. */
  accessLog: 'debug' | 'info';
  /** Null: no metrics are kept. 0: any free port. */
  metricsPort: number | null;
  metricsHost: string;
  /** What a reader of the metrics has to send. Null: nothing. */
  metricsToken: string | null;
  /** Where traces go, by OTLP over HTTP. Null: there are none. */
  otlpEndpoint: string | null;
}

/**
 * Reads the settings from the environment; variables that it does not know are left alone, and an empty one counts as unset, because
 * that is what an unfilled `VAR=` of a compose or .env file means.
 * @throws OperatorError that names every bad variable, one sentence each.
 */
export function parseSettings(env: NodeJS.ProcessEnv): Settings {
  const filled = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined && value !== ''));
  const parsed = settingsSchema.safeParse(filled);
  if (!parsed.success) throw new OperatorError(describe(parsed.error));
  const values = parsed.data;
  return {
    port: values.PORT,
    host: values.HOST,
    redisUrl: values.REDIS_URL === builtIn ? null : values.REDIS_URL,
    redisCaFile: values.REDIS_CA_FILE,
    redisCertFile: values.REDIS_CERT_FILE,
    redisKeyFile: values.REDIS_KEY_FILE,
    redisSentinelPassword: values.REDIS_SENTINEL_PASSWORD,
    durability: values.DURABILITY,
    redisPrefix: values.REDIS_PREFIX,
    databaseUrl: values.DATABASE_URL === builtIn ? null : values.DATABASE_URL,
    dataDir: values.DATA_DIR,
    adminApiKey: values.ADMIN_API_KEY,
    config: values.CONFIG,
    testClock: values.TEST_CLOCK,
    autoRestore: values.AUTO_RESTORE,
    logLevel: values.LOG_LEVEL,
    postgresPoolSize: values.POSTGRES_POOL_SIZE,
    webhookAllowPrivate: values.WEBHOOK_ALLOW_PRIVATE,
    maxLedgerEntries: values.MAX_LEDGER_ENTRIES,
    rateLimit: values.RATE_LIMIT,
    rateLimitWindowS: values.RATE_LIMIT_WINDOW_S,
    corsOrigins: values.CORS_ORIGINS ?? [],
    shutdownDelayS: values.SHUTDOWN_DELAY,
    accessLog: values.ACCESS_LOG,
    metricsPort: values.METRICS_PORT,
    metricsHost: values.METRICS_HOST,
    metricsToken: values.METRICS_TOKEN,
    otlpEndpoint: values.OTEL_EXPORTER_OTLP_ENDPOINT,
  };
}

/** One sentence for each variable, in the order of the schema: a second complaint about the same one would say nothing new. */
function describe(error: z.ZodError): string {
  const sentences = new Map<string, string>();
  for (const issue of error.issues) {
    const variable = String(issue.path[0]);
    if (!sentences.has(variable)) sentences.set(variable, `${variable} ${issue.message}.`);
  }
  return [...sentences.values()].join('\n');
}

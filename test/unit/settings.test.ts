import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { OperatorError } from '../../src/shared/errors.js';
import { misspeltSettings } from '../../src/app/misspelt.js';
import { defaultApiProcesses, parseSettings, settingsSchema, type Settings } from '../../src/app/settings.js';

/** The last test compares them with docs/settings.md. */
const defaults = parseSettings({});

/** The message for an environment that must be refused. */
function refusalOf(env: NodeJS.ProcessEnv): string {
  try {
    parseSettings(env);
  } catch (error) {
    expect(error).to.be.instanceOf(OperatorError);
    return (error as OperatorError).message;
  }
  throw new Error(`accepted: ${JSON.stringify(env)}`);
}

const key = 'admin.0123456789abcdef';

const accepted: readonly (readonly [env: NodeJS.ProcessEnv, settings: Partial<Settings>])[] = [
  [{}, {}],
  [{ PATH: '/usr/bin', HOME: '/' }, {}],
  [Object.fromEntries(Object.keys(settingsSchema.shape).map((name) => [name, ''])), {}],
  [{ PORT: '0' }, { port: 0 }],
  [{ PORT: '65535' }, { port: 65535 }],
  [{ HOST: '::' }, { host: '::' }],
  [{ API_PROCESSES: '1' }, { apiProcesses: 1 }],
  [{ API_PROCESSES: '64' }, { apiProcesses: 64 }],
  [{ REDIS_URL: 'redis://localhost' }, { redisUrl: 'redis://localhost' }],
  [{ REDIS_URL: 'rediss://:secret@cache.internal:6380/1' }, { redisUrl: 'rediss://:secret@cache.internal:6380/1' }],
  ...[
    'redis://user:p%40ss@localhost:6379/15',
    'redis://[::1]:6379',
    'redis+cluster://a:7000,b:7001,c',
    'rediss+cluster://user:secret@a:7000/0',
    'redis+sentinel://s1,s2:26380/mymaster',
    'rediss+sentinel://:secret@s1/mymaster/2',
  ].map((url) => [{ REDIS_URL: url }, { redisUrl: url }] as const),
  [
    { REDIS_CA_FILE: '/ca.pem', REDIS_CERT_FILE: '/cert.pem', REDIS_KEY_FILE: '/key.pem', REDIS_SENTINEL_PASSWORD: 'secret' },
    { redisCaFile: '/ca.pem', redisCertFile: '/cert.pem', redisKeyFile: '/key.pem', redisSentinelPassword: 'secret' },
  ],
  [{ DURABILITY: 'always' }, { durability: 'always' }],
  [
    { DURABILITY: 'replicated', REPLICAS: '2', REPLICA_TIMEOUT: '800', REPLICAS_TO_DISK: '1', REDIS_URL: 'redis://a' },
    { durability: 'replicated', replicas: 2, replicaTimeoutMs: 800, replicasToDisk: true, redisUrl: 'redis://a' },
  ],
  [{ REDIS_PREFIX: 'Staging_2-b' }, { redisPrefix: 'Staging_2-b' }],
  [{ DATABASE_URL: 'postgres://u:p@db/laurel' }, { databaseUrl: 'postgres://u:p@db/laurel' }],
  [{ DATABASE_URL: 'postgresql:///laurel?host=/run/postgresql' }, { databaseUrl: 'postgresql:///laurel?host=/run/postgresql' }],
  [{ DATA_DIR: '/srv/my data' }, { dataDir: '/srv/my data' }],
  [{ ADMIN_API_KEY: key }, { adminApiKey: key }],
  [{ ADMIN_API_KEY: `${'p'.repeat(32)}.${'_-'.repeat(128)}` }, { adminApiKey: `${'p'.repeat(32)}.${'_-'.repeat(128)}` }],
  [{ CONFIG: 'a b.yaml' }, { config: 'a b.yaml' }],
  [{ TEST_CLOCK: '1' }, { testClock: true }],
  [{ TEST_CLOCK: '0' }, { testClock: false }],
  [{ AUTO_RESTORE: '0' }, { autoRestore: false }],
  [{ LOG_LEVEL: 'silent' }, { logLevel: 'silent' }],
  [{ POSTGRES_POOL_SIZE: '1' }, { postgresPoolSize: 1 }],
  [{ WEBHOOK_ALLOW_PRIVATE: '1' }, { webhookAllowPrivate: true }],
  [
    { WEBHOOK_ORIGINS: 'https://app.example.com, http://10.0.0.7:3000', WEBHOOK_ALLOW_PRIVATE: '0' },
    { webhookOrigins: ['https://app.example.com', 'http://10.0.0.7:3000'] },
  ],
  [{ MAX_LEDGER_ENTRIES: '1000' }, { maxLedgerEntries: 1_000 }],
  [
    { RATE_LIMIT: '600', RATE_LIMIT_COSTLY: '0', RATE_LIMIT_COSTLY_S: '0', RATE_LIMIT_WINDOW_S: '10' },
    { rateLimit: 600, rateLimitCostly: 0, rateLimitCostlyS: 0, rateLimitWindowS: 10 },
  ],
  [
    { CORS_ORIGINS: 'https://app.example.com, http://localhost:3000' },
    { corsOrigins: ['https://app.example.com', 'http://localhost:3000'] },
  ],
  [{ CORS_ORIGINS: '*' }, { corsOrigins: ['*'] }],
  [
    { DASHBOARD: '0', TRUSTED_PROXIES: '2' },
    { dashboard: false, trustedProxies: 2 },
  ],
  [{ SHUTDOWN_DELAY: '0' }, { shutdownDelayS: 0 }],
  [{ ACCESS_LOG: 'info' }, { accessLog: 'info' }],
  [
    { METRICS_PORT: '9464', METRICS_HOST: '127.0.0.2' },
    { metricsPort: 9464, metricsHost: '127.0.0.2' },
  ],
  [{ METRICS_HOST: '::1' }, { metricsHost: '::1' }],
  [
    { METRICS_HOST: '0.0.0.0', METRICS_TOKEN: 'a-token-of-some-length' },
    { metricsHost: '0.0.0.0', metricsToken: 'a-token-of-some-length' },
  ],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://localhost:4318' }, { otlpEndpoint: 'http://localhost:4318' }],
  [{ MESSAGES: 'off' }, { messages: 'off' }],
  [{ MESSAGES: 'on' }, { messages: 'on' }],
  [{ PUBLIC_URL: 'https://game.example.com/laurel//' }, { publicUrl: 'https://game.example.com/laurel' }],
  [
    { SMTP_URL: 'smtp://localhost:2525', EMAIL_FROM: 'laurel@example.com', SMTP_CA_FILE: '/ca.pem', EMAIL_RATE_LIMIT: '1' },
    { smtpUrl: 'smtp://localhost:2525', emailFrom: 'laurel@example.com', smtpCaFile: '/ca.pem', emailRateLimit: 1 },
  ],
  [
    { SMTP_URL: 'smtps://ada%40b:p%2Fss@[::1]', EMAIL_FROM: '"Laurel, Inc." <a@b.example>', MESSAGES: 'on', PUBLIC_URL: 'http://l.test' },
    { smtpUrl: 'smtps://ada%40b:p%2Fss@[::1]', emailFrom: '"Laurel, Inc." <a@b.example>', messages: 'on', publicUrl: 'http://l.test' },
  ],
  [{ TEST_EMAIL_ADDRESSES: 'ops@example.com, @Staff.example.com' }, { testEmailAddresses: ['ops@example.com', '@Staff.example.com'] }],
  [
    { DKIM_DOMAIN: 'example.com', DKIM_SELECTOR: 'a.b_1', DKIM_KEY_FILE: '/dkim.pem' },
    { dkimDomain: 'example.com', dkimSelector: 'a.b_1', dkimKeyFile: '/dkim.pem' },
  ],
  [
    { POSTMARK_WEBHOOK_TOKEN: 'a-token-of-some-length', SES_TOPIC_ARN: 'arn:aws:sns:eu-west-1:123456789012:bounces' },
    { postmarkWebhookToken: 'a-token-of-some-length', sesTopicArn: 'arn:aws:sns:eu-west-1:123456789012:bounces' },
  ],
  [
    { PUSH_EXPO: '0', EXPO_ACCESS_TOKEN: 'secret', EXPO_URL: 'http://127.0.0.1:1' },
    { pushExpo: false, expoAccessToken: 'secret', expoUrl: 'http://127.0.0.1:1' },
  ],
  [
    { FCM_CREDENTIALS_FILE: '/fcm.json', FCM_URL: 'http://127.0.0.1:2' },
    { fcmCredentialsFile: '/fcm.json', fcmUrl: 'http://127.0.0.1:2' },
  ],
  [
    { APNS_KEY_FILE: '/a.p8', APNS_KEY_ID: 'ABC1234567', APNS_TEAM_ID: 'TEAM123456', APNS_TOPIC: 'com.example.App' },
    { apnsKeyFile: '/a.p8', apnsKeyId: 'ABC1234567', apnsTeamId: 'TEAM123456', apnsTopic: 'com.example.App' },
  ],
  [{ APNS_HOST: 'localhost:2197' }, { apnsHost: 'localhost:2197' }],
];

const refused: readonly (readonly [variable: string, values: readonly string[], must: string])[] = [
  ['PORT', ['-1', '65536', '80.5', '1e3', '0x50', ' 80', '80 ', 'http', '٣'], 'a whole number from 0 to 65535'],
  [
    'CORS_ORIGINS',
    ['app.example.com', 'https://app.example.com/', 'https://a.example,', 'ftp://a.example', 'null'],
    'origins separated by commas',
  ],
  ['WEBHOOK_ORIGINS', ['*', 'app.example.com', 'https://app.example.com/hooks', 'https://a.example,'], 'origins separated by commas'],
  ['HOST', [' ', 'a b', '127.0.0.1 '], 'a host name or an IP address'],
  [
    'REDIS_URL',
    [
      ...[
        'localhost:6379',
        'http://localhost',
        'redis://',
        'redis:',
        'rediss:localhost',
        'redis://a:b:c',
        'redis://a:0',
        'redis://a:65536',
      ],
      ...[
        'redis://a/x',
        'redis://a/1/2',
        'redis://a?db=1',
        'redis://a,b',
        'redis+cluster://',
        'redis+cluster://a,,b',
        'redis+cluster://a/1',
      ],
      // Characters of a password that need percent-encoding.
      ...['#', '/', '?', '@', '%'].map((special) => `redis://user:hunter${special}2@host:6379/0`),
      'unix://user:hunter%2@/run/redis.sock',
      ...['redis+sentinel://a', 'redis+sentinel://a/', 'redis+sentinel://a/name/x', 'redis+cluster+sentinel://a/b'],
    ],
    'redis://user:password@host:6379/0 for one server, unix:///path/redis.sock for one at a socket, redis+cluster://',
  ],
  ['REDIS_PREFIX', ['{a}', 'a:b', 'a b', 'é', 'a'.repeat(65)], 'letters, digits, hyphens or underscores'],
  ['DATABASE_URL', ['localhost', 'mysql://localhost/x', 'postgres://', 'postgres:x'], 'postgres:// or postgresql://'],
  [
    'ADMIN_API_KEY',
    [
      'admin',
      '.0123456789abcdef',
      'admin.',
      'admin.0123456789abcde',
      `${'p'.repeat(33)}.0123456789abcdef`,
      `${key} `,
      `${key}.x`,
      `a b.${key}`,
    ],
    'a prefix of 1 to 32 characters, a dot and a body',
  ],
  ['TEST_CLOCK', ['2', 'true', 'yes', 'on'], '1 (on) or 0 (off)'],
  ['DURABILITY', ['no', 'Always', '1'], 'everysec, always or replicated'],
  ['REPLICAS', ['0', '11', '1.5', 'all'], 'a whole number from 1 to 10'],
  ['REPLICA_TIMEOUT', ['9', '801', '1s', '-1'], 'a whole number from 10 to 800'],
  ['REPLICAS_TO_DISK', ['2', 'yes'], '1 (on) or 0 (off)'],
  ['LOG_LEVEL', ['INFO', 'verbose', '30'], 'one of silent, fatal, error, warn, info, debug, trace'],
  ['DASHBOARD', ['off', 'no', '2'], '1 (on) or 0 (off)'],
  ['TRUSTED_PROXIES', ['-1', '11', 'yes'], 'a whole number from 0 to 10'],
  ['RATE_LIMIT', ['-1', '1.5', 'off'], 'a whole number from 0 to 100000000'],
  ['RATE_LIMIT_WINDOW_S', ['0', '86401', '1m'], 'a whole number from 1 to 86400'],
  ['ACCESS_LOG', ['on', 'trace'], 'debug or info'],
  ['METRICS_PORT', ['-1', '65536', 'on'], 'a whole number from 0 to 65535'],
  ['METRICS_HOST', [' ', 'a b'], 'a host name or an IP address'],
  ['METRICS_TOKEN', ['short', 'a token with some spaces', 'ä'.repeat(16)], '16 to 256 visible ASCII characters'],
  ['OTEL_EXPORTER_OTLP_ENDPOINT', ['localhost:4318', 'grpc://localhost', 'http://'], 'http:// or https://'],
  ['MAX_LEDGER_ENTRIES', ['999', '500000001', '1e6', '-1'], 'a whole number from 1000 to 500000000'],
  ['API_PROCESSES', ['0', '65', '1.5', 'all'], 'a whole number from 1 to 64'],
  ['MESSAGES', ['1', 'ON', 'true'], 'off, log or on'],
  [
    'PUBLIC_URL',
    ['laurel.example.com', 'ftp://a.example', 'https:///x', 'https://a?b', 'https://a/#', 'https://u:p@a'],
    'the address of the API',
  ],
  [
    'SMTP_URL',
    [
      ...['localhost:25', 'http://a', 'smtp://', 'smtp:a', 'smtp://a/b', 'smtp://a?b=c', 'smtp://a#b', 'smtp://user@a', 'smtp://:secret@a'],
      ...['smtp://u:%zz@a', 'smtp://a:65536'],
    ],
    'smtp://user:password@host:587 or smtps://user:password@host:465',
  ],
  [
    'EMAIL_FROM',
    ['laurel', 'Laurel', 'a@b.example, c@d.example', 'Laurel <a@b.example> x', 'Laurel <a@b.example>\r\nBcc: c@d.example', 'a b@c.example'],
    'one email address',
  ],
  ['EMAIL_RATE_LIMIT', ['0', '10001', '1.5', 'none'], 'a whole number from 1 to 10000'],
  ['CONFIRM_ADDRESSES', ['yes', '2'], '1 (on) or 0 (off)'],
  ['TEST_EMAIL_ADDRESSES', ['example.com', '@', 'a@b.example,', 'Ada <a@b.example>', '*'], 'email addresses, or domains after an @'],
  ['DKIM_DOMAIN', ['a b', 'a;b', '.a', 'a..b'], 'a name of letters'],
  ['POSTMARK_WEBHOOK_TOKEN', ['short', 'a token with some spaces'], '16 to 256 visible ASCII characters'],
  [
    'SES_TOPIC_ARN',
    ['bounces', 'arn:aws:sqs:eu-west-1:123456789012:bounces', 'arn:aws:sns:eu-west-1:1:bounces'],
    'the ARN of an SNS topic',
  ],
  ['PUSH_EXPO', ['2', 'true'], '1 (on) or 0 (off)'],
  ['EXPO_ACCESS_TOKEN', ['a b', 'ä'], 'visible ASCII characters'],
  ['EXPO_URL', ['exp.host', 'ftp://exp.host', 'https://exp.host/push'], 'http:// or https://'],
  ['FCM_URL', ['fcm.googleapis.com', 'https://', 'https://a?b'], 'http:// or https://'],
  ['APNS_KEY_ID', ['abc1234567', 'ABC123456'], '10 capital letters and digits'],
  ['APNS_TEAM_ID', ['TEAM-12345'], '10 capital letters and digits'],
  ['APNS_TOPIC', ['com.example app', ''.padStart(1, ' ')], 'a name of letters'],
  ['APNS_HOST', ['https://api.push.apple.com', 'a b', 'a:b'], 'a host, like'],
  ['POSTGRES_POOL_SIZE', ['0', '501', '-3', 'ten'], 'a whole number from 1 to 500'],
];

/** The other of the two addresses has to be set beside one of them. */
const withOther = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  env['REDIS_URL'] ? { DATABASE_URL: 'local', ...env } : env['DATABASE_URL'] ? { REDIS_URL: 'local', ...env } : env;

describe('The settings', () => {
  for (const [env, settings] of accepted) {
    it(`are read from ${JSON.stringify(env).slice(0, 100)}`, () => {
      expect(parseSettings(withOther(env))).to.deep.equal({ ...defaults, ...settings });
    });
  }

  for (const [variable, values, must] of refused) {
    for (const value of values) {
      it(`refuse ${variable}=${JSON.stringify(value)} in one sentence`, () => {
        const message = refusalOf(withOther({ [variable]: value }));
        expect(message)
          .to.match(new RegExp(`^${variable} must be .*\\.$`))
          .and.to.contain(must);
        expect(message).not.to.contain('\n');
        expect(message).not.to.contain('hunter');
      });
    }
  }

  for (const host of ['0.0.0.0', '::', '10.0.0.7', 'metrics.internal', '127.0.0.1.example']) {
    it(`do not let others than this machine read the metrics without a token (${host})`, () => {
      expect(refusalOf({ METRICS_HOST: host })).to.match(/^METRICS_TOKEN must be set when METRICS_HOST /);
    });
  }

  for (const [set, unset] of [
    [{ DATABASE_URL: 'postgres://db/laurel' }, 'REDIS_URL'],
    [{ REDIS_URL: 'redis://cache' }, 'DATABASE_URL'],
  ] as const) {
    it(`refuse ${Object.keys(set)[0]} without ${unset}, unless the built-in one is asked for`, () => {
      expect(refusalOf(set)).to.match(new RegExp(`^${unset} must be set when ${Object.keys(set)[0]} is set: .*local`));
      expect(parseSettings({ ...set, [unset]: 'local' })).to.include({ [unset === 'REDIS_URL' ? 'redisUrl' : 'databaseUrl']: null });
    });
  }

  const dkim = { DKIM_DOMAIN: 'example.com', DKIM_SELECTOR: 'laurel', DKIM_KEY_FILE: '/dkim.pem' };
  const apns = { APNS_KEY_FILE: '/a.p8', APNS_KEY_ID: 'ABC1234567', APNS_TEAM_ID: 'TEAM123456', APNS_TOPIC: 'com.example.app' };
  for (const group of [dkim, apns]) {
    for (const unset of Object.keys(group)) {
      it(`refuse ${unset} missing beside those that belong to it`, () => {
        expect(refusalOf({ ...group, [unset]: '' })).to.match(new RegExp(`^${unset} must be set when [A-Z_]+ is set\\.$`));
      });
    }
  }

  it('refuse a mail server without a sender, and links without an address when messages are sent', () => {
    const smtp = { SMTP_URL: 'smtp://localhost', EMAIL_FROM: 'laurel@example.com' };
    expect(refusalOf({ ...smtp, EMAIL_FROM: '' })).to.match(/^EMAIL_FROM must be set when SMTP_URL is set/);
    expect(refusalOf({ ...smtp, MESSAGES: 'on' })).to.match(/^PUBLIC_URL must be set when SMTP_URL is set and MESSAGES is on/);
    expect(parseSettings({ ...smtp, MESSAGES: 'log' })).to.include({ publicUrl: null });
    expect(parseSettings({ MESSAGES: 'on' })).to.include({ publicUrl: null });
  });

  for (const [cores, processes] of [
    [1, 1],
    [2, 1],
    [8, 7],
    [128, 64],
  ] as const) {
    it(`leave one of ${cores} cores to the others than the API`, () => {
      expect(defaultApiProcesses(cores)).to.equal(processes);
    });
  }

  for (const REDIS_URL of ['', 'local']) {
    it(`refuse replicas of the built-in Redis (REDIS_URL=${REDIS_URL})`, () => {
      expect(refusalOf({ DURABILITY: 'replicated', REDIS_URL, DATABASE_URL: REDIS_URL })).to.match(
        /^DURABILITY must not be replicated with the built-in Redis/,
      );
    });
  }

  it('refuse WEBHOOK_ORIGINS beside WEBHOOK_ALLOW_PRIVATE=1', () => {
    const both = { WEBHOOK_ORIGINS: 'http://10.0.0.7:3000', WEBHOOK_ALLOW_PRIVATE: '1' };
    expect(refusalOf(both)).to.equal('WEBHOOK_ORIGINS must not be set when WEBHOOK_ALLOW_PRIVATE is 1, which allows every origin.');
  });

  it('name every bad variable at once', () => {
    const bad = Object.fromEntries(refused.map(([variable, values]) => [variable, values[0]]));
    const lines = refusalOf(bad).split('\n');
    expect(lines.map((line) => line.split(' ')[0])).to.have.members(refused.map(([variable]) => variable));
  });

  it('never repeat a secret', () => {
    const message = refusalOf({ ADMIN_API_KEY: 'hunter2', REDIS_URL: 'http://:hunter2@x', DATABASE_URL: 'mysql://u:hunter2@x' });
    expect(message).not.to.contain('hunter2');
    const others = { SMTP_URL: 'smtp://u:hunter2@x/y', POSTMARK_WEBHOOK_TOKEN: 'hunter2', EXPO_ACCESS_TOKEN: 'hunter2 ' };
    expect(refusalOf(others)).not.to.contain('hunter2');
  });

  it('are all in docs/settings.md, with their defaults', () => {
    const docs = readFileSync(new URL('../../docs/settings.md', import.meta.url), 'utf8');
    const rows = [...docs.matchAll(/^\| `([A-Z_]+)`\s*\| (?:`([^`]*)`|none)\s*\|/gm)].map(([, name, value]) => [name, value ?? null]);
    const isNone = (value: unknown): boolean => value === null || (Array.isArray(value) && value.length === 0);
    const values = Object.values(parseSettings({})).map((value) =>
      isNone(value) ? null : String(typeof value === 'boolean' ? Number(value) : value),
    );
    expect(rows).to.deep.equal(Object.keys(settingsSchema.shape).map((name, index) => [name, values[index]]));
  });
});

describe('A variable that is almost a setting', () => {
  const meant = (env: NodeJS.ProcessEnv): string[] => misspeltSettings(env).map(({ variable, setting }) => `${variable}: ${setting}`);

  it('is named with the setting that it is close to', () => {
    const env = {
      CORS_ORIGIN: 'x',
      DATABASE_URI: 'x',
      METRIC_PORT: '1',
      LOGLEVEL: 'x',
      redis_url: 'x',
      WEBHOOKS_ORIGIN: 'x',
      DATADIR: 'x',
    };
    expect(meant(env)).to.deep.equal([
      'CORS_ORIGIN: CORS_ORIGINS',
      'DATABASE_URI: DATABASE_URL',
      'METRIC_PORT: METRICS_PORT',
      'LOGLEVEL: LOG_LEVEL',
      'redis_url: REDIS_URL',
      'WEBHOOKS_ORIGIN: WEBHOOK_ORIGINS',
      'DATADIR: DATA_DIR',
    ]);
  });

  it('is left alone when it is empty, and when the setting is set too', () => {
    expect(meant({ CORS_ORIGIN: '', DATABASE_URI: 'x', DATABASE_URL: 'x' })).to.deep.equal([]);
  });

  it('is none of those that shells, service managers, hosting providers and other programs set', () => {
    const others =
      'PATH HOME HOST HOSTNAME PORTS PORT_1 GHOST CONFIGS USER SHELL PWD OLDPWD LANG LC_ALL TERM TZ TMPDIR LOGNAME MAIL EDITOR NODE_ENV NODE_OPTIONS ' +
      'NODE_PATH INIT_CWD INVOCATION_ID JOURNAL_STREAM LISTEN_FDS KUBERNETES_PORT KUBERNETES_SERVICE_HOST REDIS_PORT REDIS_HOST REDIS_PASSWORD ' +
      'REDIS_SERVICE_HOST POSTGRES_PASSWORD PGHOST PGPORT PGDATA PGDATABASE PGUSER PGPASSWORD DYNO PUBLIC_PORT JAVA_HOME XDG_DATA_DIRS DATA_HOME ' +
      'LAUREL_PORT LAUREL_METRICS_PORT METRICS_PATH OTEL_EXPORTER_OTLP_HEADERS OTEL_EXPORTER_OTLP_PROTOCOL OTEL_EXPORTER_OTLP_TIMEOUT ' +
      'OTEL_SERVICE_NAME OTEL_RESOURCE_ATTRIBUTES HTTP_PROXY NO_PROXY SSL_CERT_FILE SSL_CERT_DIR AWS_REGION GOOGLE_APPLICATION_CREDENTIALS';
    expect(meant(Object.fromEntries(others.split(' ').map((name) => [name, 'x'])))).to.deep.equal([]);
  });
});

import { expect } from 'chai';
import { connectRedis, type RedisConnection, type RedisTarget } from '../../src/redis/connection.js';
import { Client } from '../support/client.js';
import { logLines } from '../support/log-lines.js';
import { killChildren, runLaurel, serve } from '../support/process.js';
import { setStage, untilSampleActivated, type Stage } from '../support/stage.js';
import { stores } from '../support/stores.js';
import { pem, pemFile, startTls, type TlsOptions, type TlsStore } from '../support/tls.js';
import { adminKey } from '../support/world.js';

type Files = Omit<RedisTarget, 'url'>;

const ca = { caFile: pemFile('ca') };
const client = { certFile: pemFile('client'), keyFile: pemFile('client.key') };
/** What stands in parentheses is OpenSSL's, in words of its version. */
const unknownAuthority =
  'The certificate of Redis is not signed by a trusted authority (…certificate…). ' +
  'Set REDIS_CA_FILE to a PEM file with the certificate of the authority that signed it.';
const withoutReason = (sentence: string): string => sentence.replace(/\([^()]*certificate[^()]*\)/, '(…certificate…)');

/** What must never be read in a log: the content of every key, and the password of Redis. */
async function secrets(): Promise<string[]> {
  const keys = ['client.key', 'server.key', 'elsewhere.key'].map((name) => pem(name).split('\n')[1] ?? '');
  const { password } = new URL((await stores()).redisUrl);
  expect([...keys, password]).to.satisfy((found: string[]) => found.every((secret) => secret.length > 20));
  return [...keys, password];
}

describe('TLS to Redis', () => {
  let redis: TlsStore | undefined;
  let connection: RedisConnection | undefined;
  afterEach(async () => {
    connection?.disconnect();
    await redis?.stop();
    connection = redis = undefined;
  });

  const start = async (options: TlsOptions): Promise<TlsStore> => (redis = await startTls((await stores()).redisUrl, options));

  /** Connects, and returns the sentence with which that was refused, or `connected`. */
  async function outcome(target: RedisTarget): Promise<string> {
    const { log, text } = logLines('trace');
    const told = await connectRedis(target, (error) => {
      log.warn({ err: error }, 'the connection to Redis is down');
    }).then(
      (made) => {
        connection = made;
        return 'connected';
      },
      (error: unknown) => {
        log.error({ err: error });
        return (error as Error).message;
      },
    );
    for (const secret of await secrets()) expect(text() + told).not.to.include(secret);
    return told;
  }

  const taken: readonly (readonly [when: string, server: TlsOptions, files: Files])[] = [
    ['its certificate is of the authority of REDIS_CA_FILE', {}, ca],
    ['it asks for a certificate, and gets that of REDIS_CERT_FILE', { asksForCertificate: true }, { ...ca, ...client }],
    ['it asks for none, and there is one', {}, { ...ca, ...client }],
  ];
  for (const [when, options, files] of taken) {
    it(`connects when ${when}`, async () => {
      const { url } = await start(options);
      for (const at of [url, url.replace('127.0.0.1', 'localhost')]) {
        expect(await outcome({ url: at, ...files }), at).to.equal('connected');
        expect(await connection?.ping(), at).to.equal('PONG');
        connection?.disconnect();
      }
    });
  }
});

describe('A service that speaks TLS with Redis', () => {
  let redis: TlsStore;
  let stage: Stage;
  before(async () => {
    stage = await setStage();
    redis = await startTls((await stores()).redisUrl, { asksForCertificate: true });
  });
  after(async () => {
    await killChildren();
    await redis.stop();
    await stage.stop();
  });

  const files = { REDIS_CERT_FILE: client.certFile, REDIS_KEY_FILE: client.keyFile };

  it('counts an event, and logs nothing of keys or passwords', async () => {
    const service = serve({ ...stage.env, REDIS_URL: redis.url, REDIS_CA_FILE: ca.caFile, ...files, LOG_LEVEL: 'trace' });
    const address = await service.address();
    await untilSampleActivated(stage.pool);
    const caller = new Client(adminKey, 1);
    const { status, body } = await caller.event(address, 'flashcards-viewed', { user: { id: 'ana' }, value: 1 });
    caller.close();
    expect(status, JSON.stringify(body)).to.equal(201);
    await stage.drain();
    expect(await stage.differences()).to.deep.equal([]);
    expect(redis.said()).to.be.greaterThan(0);
    expect((await service.stop()).code).to.equal(0);
    expect(service.log).to.include('/v1/metrics/:key/event');
    for (const secret of await secrets()) expect(service.output + service.log).not.to.include(secret);
  });

  it('does not start with one whose authority it does not know, also where Node.js is told to check nothing', async () => {
    const before = redis.said();
    const env = {
      ...stage.env,
      ...files,
      PORT: '0',
      REDIS_URL: redis.url,
      LOG_LEVEL: 'fatal',
      NODE_TLS_REJECT_UNAUTHORIZED: '0',
      NODE_NO_WARNINGS: '1',
    };
    const { code, output, log } = await runLaurel(['serve'], env);
    // Only the stores that it is about to use.
    expect(output).to.match(/^Redis: .*; Postgres: .*\n$/);
    expect([code, withoutReason(log)]).to.deep.equal([1, `${unknownAuthority}\n`]);
    expect(redis.said()).to.equal(before);
  });
});

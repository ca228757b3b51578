import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import getPort from 'get-port';
import pino from 'pino';
import { Context } from '../../src/app/context.js';
import { parseSettings, type Settings } from '../../src/app/settings.js';
import { redisFailure } from '../../src/redis/failure.js';
import { connectRedis, type RedisTarget } from '../../src/redis/connection.js';
import { checkReplication, checkServer, infoFields } from '../../src/redis/server.js';
import { limits } from '../../src/shared/limits.js';
import { redisProblems } from '../../src/shared/store-problems.js';
import { PlainRedis } from '../support/plain-redis.js';
import { killChildren, runLaurel } from '../support/process.js';
import { startCluster, type ClusterServer, type TestCluster } from '../support/redis-cluster.js';
import { setStage, until, type Stage } from '../support/stage.js';
import { stores } from '../support/stores.js';
import { pem, pemFile, startTls, type TlsOptions } from '../support/tls.js';
import { startWorld, type World } from '../support/world.js';

type Id = keyof typeof redisProblems;

/** Brings a real server into a state, and returns what Laurel says about it. */
type Meet = () => Promise<string>;

interface Row {
  readonly id: Id;
  readonly when: string;
  readonly meet: Meet;
  /** What stands in parentheses; without it, nothing does. */
  readonly detail?: RegExp;
}

const page = readFileSync(new URL('../../docs/operations/redis.md', import.meta.url), 'utf8');
const [, rules = ''] = /^user laurel (.*)$/m.exec(page) ?? [];
const prefix = 'problems';
/** The user of the page, for another prefix. */
const user = rules.replace('SECRET', 'secret').replaceAll('laurel', prefix).split(' ');
const metric = 'flashcards-viewed';
const ca = { caFile: pemFile('ca') };
const client = { certFile: pemFile('client'), keyFile: pemFile('client.key') };

/** What a test has started, stopped after it whatever became of it. */
const cleaning: (() => Promise<unknown>)[] = [];
function cleanUp<T extends { stop: () => Promise<unknown> }>(started: T): T {
  cleaning.push(() => started.stop());
  return started;
}

const messageOf = (error: unknown): string => (error as Error).message;
const withLogin = (url: string, login = 'laurel:secret'): string => url.replace('//', `//${login}@`);
const plain = async (config?: string): Promise<PlainRedis> => cleanUp(await PlainRedis.start(undefined, config));

/** The sentence with which a connection is refused. */
const connected = (target: RedisTarget): Promise<string> =>
  connectRedis(target, () => undefined).then((redis) => {
    redis.disconnect();
    return 'connected';
  }, messageOf);

/** A server with the user of the page and further rules. */
async function restricted(...more: readonly string[]): Promise<PlainRedis> {
  const redis = await plain();
  await redis.redis.call('ACL', 'SETUSER', 'laurel', ...user, ...more);
  return redis;
}

/** What `laurel serve` ends with, which it does with 1 and before it says that it is ready. */
async function served(redisUrl: string, env: Readonly<Record<string, string>> = {}, from?: Stage): Promise<string> {
  const stage = from ?? cleanUp(await setStage());
  const set = { ...stage.env, REDIS_PREFIX: prefix, LOG_LEVEL: 'fatal', ...env, REDIS_URL: redisUrl, PORT: '0' };
  const logs: string[] = [];
  for (const command of ['serve', 'worker']) {
    const { code, output, log } = await runLaurel([command], set);
    expect([code, output.includes('ready')], command).to.deep.equal([1, false]);
    logs.push(log.trimEnd());
  }
  expect(logs[1]).to.equal(logs[0]);
  return logs[0]!;
}

/** What the start of a service ends with, or `started`. */
async function started(redisUrl: string, settings: Partial<Settings> = {}): Promise<string> {
  return startWorld({ redisUrl, settings: { redisPrefix: prefix, ...settings } }).then(
    (world) => world.stop().then(() => 'started'),
    messageOf,
  );
}

/** Starts a service and counts an event; `become` brings its Redis into a state, in which the next event is refused. */
async function running(redis: PlainRedis, become: (redis: PlainRedis, world: World) => Promise<unknown>): Promise<string> {
  const world = cleanUp(await startWorld({ redisUrl: redis.url, settings: { redisPrefix: prefix } }));
  expect((await world.event(metric, { user: { id: 'ana' }, value: 1 })).status).to.equal(201);
  // As it was, for the end of the world.
  cleaning.push(async () => {
    await redis.kill();
    await rm(join(redis.folder, 'dump.rdb'), { recursive: true, force: true });
    await redis.startAgain();
  });
  await become(redis, world);
  return refusedEvent(world);
}

const slowLoader = (): Promise<PlainRedis> => configured('enable-debug-command local', 'loading-process-events-interval-bytes 1024');

/** Lets a server read its snapshot, which takes a tenth of a second for each key. */
async function load({ redis }: PlainRedis): Promise<void> {
  await redis.config('SET', 'key-load-delay', 100_000);
  const reloader = redis.duplicate();
  const reloading = reloader.call('DEBUG', 'RELOAD');
  reloading.catch(() => undefined);
  cleaning.push(async () => {
    await reloader.quit().catch(() => undefined);
  });
  await until('the load', async () => /^loading:1/m.test(await redis.info('persistence')));
}

async function refusedEvent(world: World): Promise<string> {
  const { status, body } = (await world.event(metric, { user: { id: 'ana' }, value: 1 })) as { status: number; body: { error: string } };
  expect(status, JSON.stringify(body)).to.equal(503);
  return body.error;
}

/** A service on a cluster, and the node that has its tenant. */
async function onCluster(): Promise<{ cluster: TestCluster; world: World; slot: number; home: ClusterServer; other: ClusterServer }> {
  const cluster = cleanUp(await startCluster(2));
  const world = cleanUp(await startWorld({ redisUrl: cluster.url, settings: { redisPrefix: prefix } }));
  const [first, second] = cluster.nodes as [ClusterServer, ClusterServer];
  const slot = await first.redis.cluster('KEYSLOT', world.partition);
  const [home, other] = slot < 8_192 ? [first, second] : [second, first];
  return { cluster, world, slot, home, other };
}

/** What a TLS server makes Laurel say; Laurel has sent nothing to the store behind it. */
async function overTls(options: TlsOptions, files: Omit<RedisTarget, 'url'>): Promise<string> {
  const server = cleanUp(await startTls((await stores()).redisUrl, options));
  const began = performance.now();
  const sentence = await connected({ url: server.url, ...files });
  expect(performance.now() - began).to.be.below(limits.redisCallTimeoutMs);
  expect(server.said()).to.equal(0);
  for (const key of ['client.key', 'server.key']) expect(sentence).not.to.include(pem(key).split('\n')[1]);
  return sentence;
}

/** A server that a configuration file starts. */
async function configured(...lines: readonly string[]): Promise<PlainRedis> {
  const folder = await mkdtemp(join(tmpdir(), 'laurel-problems-'));
  cleaning.push(() => rm(folder, { recursive: true }));
  const file = join(folder, 'redis.conf');
  await writeFile(file, lines.map((line) => `${line}\n`).join(''));
  return plain(file);
}

const kept = { durability: 'replicated', replicas: 1, replicaTimeoutMs: 100 } as const;
const replication = { replicas: 1, timeoutMs: 100, toDisk: false };

/** What a start with REPLICAS_TO_DISK says to a Redis without an append-only file, if it had this version. */
async function waitingForDisks(version: string): Promise<string> {
  const fields = infoFields(await (await plain()).redis.info());
  try {
    checkReplication(new Map([...fields, ['redis_version', version]]), { ...replication, toDisk: true }, () => undefined);
    return 'accepted';
  } catch (error) {
    return messageOf(error);
  }
}

/** What a start with DURABILITY=always says. */
const durable = async (redis: PlainRedis, url = redis.url): Promise<string> => started(url, { durability: 'always' });

const table: readonly Row[] = [
  ...['#', '/', '?', '@', '%'].map((special): Row => ({
    id: 'address',
    when: `REDIS_URL has a password with ${special}`,
    meet: async () => {
      const redis = await plain();
      const password = `se${special}cret`;
      await redis.redis.config('SET', 'requirepass', password);
      expect(await connected({ url: withLogin(redis.url, `:${encodeURIComponent(password)}`) })).to.equal('connected');
      const url = withLogin(redis.url, `:${password}`);
      expect(await connected({ url })).to.match(/^REDIS_URL must be /);
      try {
        parseSettings({ REDIS_URL: url, DATABASE_URL: 'local' });
        return 'accepted';
      } catch (error) {
        return messageOf(error);
      }
    },
  })),
  {
    id: 'fileUnreadable',
    when: 'a file is not there',
    meet: () => overTls({}, { caFile: '/nowhere/ca.pem' }),
    detail: /^REDIS_CA_FILE: ENOENT: .*[^.]$/,
  },
  { id: 'noCaCertificate', when: 'REDIS_CA_FILE is a key', meet: () => overTls({}, { caFile: pemFile('client.key') }) },
  { id: 'halfCertificate', when: 'there is no key', meet: () => overTls({}, { ...ca, certFile: client.certFile }) },
  {
    id: 'otherKey',
    when: 'the key is that of another certificate',
    meet: () => overTls({}, { ...ca, ...client, keyFile: pemFile('server.key') }),
  },
  ...Object.entries({ REDIS_CA_FILE: ca, REDIS_CERT_FILE: client }).map(([variable, files]): Row => ({
    id: 'filesWithoutTls',
    when: `${variable} is set, and REDIS_URL is without TLS`,
    meet: async () => connected({ url: (await plain()).url, ...files }),
    detail: new RegExp(`^${variable}$`),
  })),

  {
    id: 'noAnswer',
    when: 'no server listens',
    meet: async () => connected({ url: `redis://127.0.0.1:${await getPort({ host: '127.0.0.1' })}` }),
    detail: /ECONNREFUSED/,
  },
  {
    id: 'noAnswer',
    when: 'the server expects TLS',
    meet: async () => {
      const { url } = cleanUp(await startTls((await stores()).redisUrl));
      return connected({ url: url.replace('rediss:', 'redis:') });
    },
    detail: /^Connection is closed$/,
  },
  { id: 'away', when: 'it is killed', meet: async () => running(await plain(), (redis) => redis.kill()) },
  ...['', 'laurel:secret'].map((login): Row => ({
    id: 'maxClients',
    when: `it has all of its clients ${login === '' ? 'without a login' : 'with a login'}`,
    meet: async () => {
      const redis = await restricted();
      await redis.redis.config('SET', 'maxclients', 1);
      return connected({ url: login === '' ? redis.url : withLogin(redis.url) });
    },
    detail: /^ERR max number of clients reached$/,
  })),
  {
    id: 'maxClients',
    when: 'other clients have taken the places of a service',
    meet: async () =>
      running(await plain(), async ({ redis }, world) => {
        await redis.config('SET', 'maxclients', 1);
        await redis.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
        await until('the refusal', async () =>
          JSON.stringify((await world.get('/health/ready')).body).includes('maximum number of clients'),
        );
      }),
    detail: /^maxclients$/,
  },
  {
    id: 'certificateName',
    when: 'its certificate is for another host',
    meet: () => overTls({ certificate: 'elsewhere' }, ca),
    detail: /^IP: 127\.0\.0\.1 is not in the cert's list$/,
  },
  {
    id: 'certificateDates',
    when: 'its certificate has expired',
    meet: () => overTls({ certificate: 'expired' }, { caFile: pemFile('ca') }),
    detail: /certificate has expired/,
  },
  { id: 'certificateUnsigned', when: 'there is no REDIS_CA_FILE', meet: () => overTls({}, {}), detail: /certificate/ },
  {
    id: 'certificateUnsigned',
    when: 'REDIS_CA_FILE is of another authority',
    meet: () => overTls({}, { caFile: pemFile('other-ca') }),
    detail: /certificate/,
  },
  {
    id: 'certificateRefused',
    when: 'it asks for a certificate, and there is none',
    meet: () => overTls({ asksForCertificate: true }, ca),
    detail: /certificate/,
  },
  {
    id: 'wrongLogin',
    when: 'the password is another',
    meet: async () => started(withLogin((await restricted()).url, 'laurel:wrong')),
    detail: /^WRONGPASS /,
  },
  {
    id: 'noLogin',
    when: 'there is a password, and none in REDIS_URL',
    meet: async () => {
      const redis = await plain();
      await redis.redis.config('SET', 'requirepass', 'secret');
      return started(redis.url);
    },
    detail: /^NOAUTH /,
  },
  ...['-info', '-function|load', '-psubscribe', '-fcall'].map((denied): Row => ({
    id: 'denied',
    when: `its user has ${denied}`,
    meet: async () => started(withLogin((await restricted(denied)).url)),
    detail: /^NOPERM /,
  })),
  {
    id: 'denied',
    when: 'its user has no @scripting',
    meet: async () => served(withLogin((await restricted('-@scripting')).url)),
    detail: /^NOPERM /,
  },
  {
    id: 'denied',
    when: 'its user may use the keys of another prefix',
    meet: async () => served(withLogin((await restricted()).url), { REDIS_PREFIX: 'another' }),
    detail: /NOPERM /,
  },

  {
    id: 'clusterNode',
    when: 'REDIS_URL names a node of a cluster, whichever has the tenant',
    meet: async () => {
      const cluster = cleanUp(await startCluster(2));
      const said = new Set<string>();
      for (const { port } of cluster.nodes) said.add(await served(`redis://127.0.0.1:${port}`));
      return [...said].join('\n');
    },
  },
  {
    id: 'clusterNode',
    when: 'the server has become a node of a cluster, and its keys are on another one',
    meet: async () => {
      const { cluster, home, world } = await onCluster();
      const { port } = cluster.nodes.find((node) => node !== home)!;
      const redis = await connectRedis({ url: `redis://127.0.0.1:${port}` }, () => undefined);
      const failure = await redis.get(`${world.partition}meta`).catch((error: unknown) => redisFailure(error, redis));
      redis.disconnect();
      return messageOf(failure);
    },
    detail: /^MOVED$/,
  },
  {
    id: 'noCluster',
    when: 'REDIS_URL names a cluster, and the server is none',
    meet: async () => started((await plain()).url.replace('redis:', 'redis+cluster:')),
    detail: /^ERR This instance has cluster support disabled$/,
  },
  {
    id: 'tooOld',
    // No server of that version can be had from npm or from Debian: its INFO is that of a new one with another version.
    when: 'its INFO has an older version',
    meet: async () => {
      const fields = infoFields(await (await plain()).redis.info());
      try {
        checkServer(new Map([...fields, ['redis_version', '6.2.14']]), true);
        return 'accepted';
      } catch (error) {
        return messageOf(error);
      }
    },
    detail: /^version 6\.2\.14$/,
  },
  {
    id: 'evicts',
    when: 'its maxmemory-policy is another',
    meet: async () => {
      const redis = await plain();
      await redis.redis.config('SET', 'maxmemory-policy', 'allkeys-lru');
      return started(redis.url);
    },
    detail: /^maxmemory-policy is allkeys-lru$/,
  },
  {
    id: 'noFile',
    when: 'appendonly is no',
    meet: async () => {
      const redis = await plain();
      const lines: string[] = [];
      const log = pino({ level: 'warn' }, { write: (line) => void lines.push((JSON.parse(line) as { msg: string }).msg) });
      const { settings } = cleanUp(await startWorld({ redisUrl: redis.url, settings: { redisPrefix: prefix } }));
      const context = await Context.start({ settings, log, print: () => undefined });
      await context.stop();
      return lines.join('\n');
    },
  },
  { id: 'noFileForAlways', when: 'appendonly is no', meet: async () => durable(await plain()) },
  {
    id: 'fixedSettings',
    when: 'its user may not set appendfsync',
    meet: async () => {
      const redis = await restricted();
      await redis.redis.config('SET', 'appendonly', 'yes');
      return durable(redis, withLogin(redis.url));
    },
  },
  {
    id: 'noReplicas',
    when: 'it has none',
    meet: async () => {
      const redis = await plain();
      await redis.redis.config('SET', 'appendonly', 'yes');
      const lines: string[] = [];
      checkReplication(infoFields(await redis.redis.info()), replication, (line) => lines.push(line));
      return lines.join('\n');
    },
    detail: /^0 of 1$/,
  },
  {
    id: 'noWaitForDisk',
    when: 'its INFO has an older version',
    meet: () => waitingForDisks('7.0.15'),
    detail: /^version 7\.0\.15$/,
  },
  { id: 'noFileForReplicas', when: 'appendonly is no', meet: () => waitingForDisks('7.2.0') },
  {
    id: 'foreign',
    when: 'it has the data of another database',
    meet: async () => {
      const redis = await plain();
      const world = cleanUp(await startWorld({ redisUrl: redis.url, settings: { redisPrefix: prefix } }));
      await world.stopService();
      return served(redis.url);
    },
    detail: /^its epoch is [0-9a-f-]{36}, Postgres expects [0-9a-f-]{36}$/,
  },

  {
    id: 'disk',
    when: 'it cannot write a snapshot',
    meet: async () =>
      running(await plain(), async ({ redis, folder }) => {
        // A snapshot can't take the place of a folder; it fails as on a full disk.
        await mkdir(join(folder, 'dump.rdb'));
        await redis.config('SET', 'save', '3600 1');
        await redis.call('BGSAVE');
        await until('the failed snapshot', async () => /rdb_last_bgsave_status:err/.test(await redis.info('persistence')));
      }),
    detail: /^MISCONF$/,
  },
  {
    id: 'memory',
    when: 'maxmemory is reached',
    meet: async () => running(await plain(), ({ redis }) => redis.config('SET', 'maxmemory', 1)),
    detail: /^OOM$/,
  },
  { id: 'loading', when: 'it reads its snapshot', meet: async () => running(await slowLoader(), load), detail: /^LOADING$/ },
  {
    id: 'loading',
    when: 'it reads its snapshot as a service starts',
    meet: async () => {
      const redis = await slowLoader();
      // It answers INFO after each kilobyte that it has read.
      for (let key = 0; key < 100; key += 1) await redis.redis.set(`key ${key}`, randomBytes(2_048));
      await load(redis);
      return connected({ url: redis.url });
    },
    detail: /^LOADING /,
  },
  {
    id: 'replica',
    when: 'it has become a replica',
    meet: async () => running(await plain(), (redis) => redis.loseTouch()),
    detail: /^READONLY$/,
  },
  {
    id: 'slotMoving',
    when: 'the slot of the tenant moves',
    meet: async () => {
      const { world, slot, home, other } = await onCluster();
      const [from, to] = await Promise.all([home, other].map(async ({ redis }) => String(await redis.call('CLUSTER', 'MYID'))));
      await other.redis.call('CLUSTER', 'SETSLOT', slot, 'IMPORTING', from!);
      await home.redis.call('CLUSTER', 'SETSLOT', slot, 'MIGRATING', to!);
      for (const { redis } of [home, other]) cleaning.push(() => redis.call('CLUSTER', 'SETSLOT', slot, 'STABLE'));
      return refusedEvent(world);
    },
    detail: /^(?:TRYAGAIN|MOVING)$/,
  },
  {
    id: 'clusterDown',
    when: 'no master has the slot of the tenant',
    meet: async () => {
      const { world, slot, home, other } = await onCluster();
      cleaning.push(() => home.redis.call('CLUSTER', 'ADDSLOTS', slot));
      for (const { redis } of [home, other]) await redis.call('CLUSTER', 'DELSLOTS', slot);
      return refusedEvent(world);
    },
    detail: /^CLUSTERDOWN$/,
  },
  {
    id: 'busy',
    when: 'a script of another client runs for long',
    meet: async () =>
      running(await plain(), async ({ redis }) => {
        await redis.config('SET', 'busy-reply-threshold', 1);
        const other = redis.duplicate();
        const script = other.eval('while true do end', 0).catch(() => undefined);
        cleaning.push(async () => {
          await redis.call('SCRIPT', 'KILL').catch(() => undefined);
          await script;
          other.disconnect();
        });
        await once(other, 'ready');
        await until('the reply of a busy server', () =>
          redis.ping().then(
            () => false,
            (error: unknown) => messageOf(error).startsWith('BUSY'),
          ),
        );
      }),
    detail: /^BUSY$/,
  },
  {
    id: 'fewReplicas',
    when: 'it wants a replica, and has none',
    meet: async () => running(await plain(), ({ redis }) => redis.config('SET', 'min-replicas-to-write', 1)),
    detail: /^NOREPLICAS$/,
  },
  {
    id: 'notReplicated',
    when: 'REPLICAS wants a replica, and it has none',
    meet: async () => {
      const redis = await plain();
      return refusedEvent(cleanUp(await startWorld({ redisUrl: redis.url, now: null, settings: { redisPrefix: prefix, ...kept } })));
    },
    detail: /^0 of 1 within 100 ms$/,
  },
  {
    id: 'lostLibrary',
    // FUNCTION is what SET was: it says OK, and keeps no function.
    when: 'it accepts the function library, and does not have it afterwards',
    meet: async () => {
      const redis = await configured('rename-command FUNCTION ""', 'rename-command SET FUNCTION');
      const printed: string[] = [];
      const { settings } = cleanUp(await startWorld());
      const context = await Context.start({
        settings: { ...settings, redisUrl: redis.url, redisPrefix: prefix },
        log: pino({ level: 'silent' }),
        print: (line) => printed.push(line),
      });
      cleanUp(context);
      return context.engine.open(1).then(() => 'opened', messageOf);
    },
  },
];

describe('The error about Redis', () => {
  afterEach(async () => {
    for (let clean = cleaning.pop(); clean; clean = cleaning.pop()) await clean();
    await killChildren();
  });

  for (const { id, when, meet, detail } of table) {
    it(`is ${id} when ${when}`, async () => {
      const { cause, cure } = redisProblems[id];
      const said = (await meet()).replace(/^The service is not ready: /, '');
      expect(said).to.satisfy((text: string) => text.startsWith(cause) && text.endsWith(`. ${cure}`), said);
      const between = said.slice(cause.length, said.length - cure.length - 2);
      if (detail) expect(/^ \((.*)\)$/.exec(between)?.[1], said).to.match(detail);
      else expect(between, said).to.equal('');
    });
  }

  it('has a test for each sentence', () => {
    expect(Object.keys(redisProblems).filter((id) => !table.some((row) => row.id === id))).to.deep.equal([]);
  });
});

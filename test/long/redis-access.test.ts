import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import pino from 'pino';
import { Context } from '../../src/app/context.js';
import { restore, verify } from '../../src/commands/restore.js';
import { PlainRedis } from '../support/plain-redis.js';
import { untilReady } from '../support/stage.js';
import { startCluster, type TestCluster } from '../support/redis-cluster.js';
import { keysOf, startWorld, type World } from '../support/world.js';

const page = readFileSync(new URL('../../docs/operations/redis.md', import.meta.url), 'utf8');
/** What the page has an operator type, for another prefix. */
const [, rules = ''] = /^user laurel (.*)$/m.exec(page) ?? [];
const [, inFile = ''] = /^(cat >> \/etc\/redis\/redis\.conf <<'END'\n[^]*?\nEND\n)/m.exec(page) ?? [];
const [, inServer = ''] = /^redis-cli (ACL SETUSER laurel .*)$/m.exec(page) ?? [];
const shell = promisify(execFile);
const prefix = 'acl';
const given = rules.replace('SECRET', 'secret').replaceAll('laurel', prefix).split(' ');
const urlOf = ({ url }: PlainRedis): string => url.replace('//', '//laurel:secret@');

describe('The Redis user of docs/operations/redis.md', () => {
  let redis: PlainRedis | undefined;
  let cluster: TestCluster | undefined;
  let world: World | undefined;
  afterEach(async () => {
    await world?.stop();
    await redis?.stop();
    await cluster?.stop();
    world = redis = cluster = undefined;
  });

  it('has the permissions that Laurel needs, and no others', async () => {
    redis = await PlainRedis.start();
    expect(given).to.include(`~{${prefix}:*`);
    await redis.redis.call('ACL', 'SETUSER', 'laurel', ...given);
    const settings = { redisPrefix: prefix, rateLimit: 10_000, rateLimitCostly: 10_000, metricsPort: 0, autoRestore: false };
    world = await startWorld({ redisUrl: urlOf(redis), settings });
    await doEverything(world);
    await loseAndRestore(world, redis);
    const denied = (await redis.redis.call('ACL', 'LOG')) as unknown[];
    expect(denied.map(String)).to.deep.equal([]);
    for (const command of ['FLUSHALL', 'KEYS *', 'SHUTDOWN', 'CONFIG GET dir', 'GET elsewhere']) {
      const [name = '', ...args] = command.split(' ');
      const refused = await world.redis.call(name, ...args).catch((error: unknown) => (error as Error).message);
      expect(refused, command).to.match(/^NOPERM/);
    }
  });

  it('is there after a restart of Redis, where it stands in the file as the page has it', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'laurel-acl-'));
    const file = join(folder, 'redis.conf');
    await shell('sh', ['-c', inFile.replace('SECRET', 'secret').replaceAll('laurel', prefix).replace('/etc/redis/redis.conf', file)]);
    redis = await PlainRedis.start(undefined, file);
    const settings = { redisPrefix: prefix, rateLimit: 10_000 };
    world = await startWorld({ redisUrl: redis.url.replace('//', `//${prefix}:secret@`), settings });
    await doEverything(world, { metrics: false });
    await redis.kill();
    await redis.startAgain();
    await untilReady(world);
    expect((await world.event('flashcards-viewed', { user: { id: 'ana' }, value: 1 })).status).to.equal(201);
    await rm(folder, { recursive: true });
  });

  it('can be created with redis-cli in a shell', async () => {
    redis = await PlainRedis.start();
    const { stdout } = await shell('sh', ['-c', `printf '%s\\n' ${inServer}`]);
    const [command = '', ...words] = stdout.trimEnd().split('\n');
    expect(words.slice(2)).to.deep.equal(rules.split(' '));
    expect(await redis.redis.call(command, ...words)).to.equal('OK');
  });

  it('has them in a cluster too', async () => {
    cluster = await startCluster(2);
    for (const node of cluster.nodes) await node.redis.call('ACL', 'SETUSER', 'laurel', ...given);
    const redisUrl = cluster.url.replace('//', '//laurel:secret@');
    world = await startWorld({ redisUrl, settings: { redisPrefix: prefix, rateLimit: 10_000, metricsPort: 0 } });
    await doEverything(world);
    for (const node of cluster.nodes) expect(((await node.redis.call('ACL', 'LOG')) as unknown[]).map(String)).to.deep.equal([]);
  });

  it('needs two more rights for DURABILITY=always', async () => {
    redis = await PlainRedis.start();
    await redis.redis.config('SET', 'appendonly', 'yes');
    await redis.redis.call('ACL', 'SETUSER', 'laurel', ...given);
    world = await startWorld({ redisUrl: urlOf(redis), settings: { redisPrefix: prefix } });
    const settings = { ...world.settings, durability: 'always' } as const;
    const start = (): Promise<string> =>
      Context.start({ settings, log: pino({ level: 'silent' }), print: () => undefined }).then(
        (context) => context.stop().then(() => 'started'),
        (error: unknown) => (error as Error).message,
      );
    expect(await start()).to.match(/^DURABILITY is always, but this Redis does not allow its settings to be changed/);
    await redis.redis.call('ACL', 'SETUSER', 'laurel', '+config|set', '+config|get');
    expect(await start()).to.equal('started');
    expect(page).to.include('`+config|set +config|get`');
  });

  async function doEverything(one: World, { metrics = true } = {}): Promise<void> {
    const user = { id: 'ana', tz: 'Pacific/Auckland' };
    const answers = [
      await one.event('flashcards-viewed', { user, value: 5 }, { 'idempotency-key': 'k' }),
      await one.request('POST', '/admin/v1/metrics/events', { body: [{ key: 'flashcards-viewed', user: { id: 'ben' }, value: 5 }] }),
      await one.get('/v1/users/ana/metrics'),
      await one.get('/v1/leaderboards/all-time'),
      await one.get('/v1/leaderboards/all-time/live'),
      await one.get('/v1/users/ana/live'),
      await one.request('POST', '/admin/v1/application-api-keys', { body: [{ userId: 'ana' }] }),
      await one.request('PATCH', '/admin/v1/settings', { body: { weekStart: 'sunday' } }),
      await one.get('/admin/v1/configuration/file'),
      await one.request('DELETE', '/admin/v1/users/ben'),
    ];
    expect(answers.filter(({ status }) => status >= 300)).to.deep.equal([]);
    await one.setClock('2040-01-04T12:00:00.000Z');
    await one.drain();
    if (metrics) expect(await (await fetch(`${one.metricsAddress}/metrics`)).text()).to.match(/^laurel_redis_up 1$/m);
  }

  async function loseAndRestore({ settings, partition }: World, { redis: anybody }: PlainRedis): Promise<void> {
    await anybody.unlink(...(await keysOf(anybody, partition)));
    const context = await Context.start({ settings, log: pino({ level: 'silent' }), print: () => undefined });
    try {
      await restore(context, () => undefined, {});
      await verify(context, () => undefined, {});
    } finally {
      await context.stop();
    }
  }
});

import { mkdir, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { isStoreTrouble } from '../../src/logging/failure-log.js';
import { trimLedger } from '../../src/redis/partition.js';
import type { NotReadyReason } from '../../src/shared/errors.js';
import { logLines } from '../support/log-lines.js';
import { redisProblems, sentenceOf } from '../../src/shared/store-problems.js';
import { PlainRedis } from '../support/plain-redis.js';
import { scrape } from '../support/scrape.js';
import { until } from '../support/stage.js';
import { startWorld, type World } from '../support/world.js';

const metric = 'flashcards-viewed';
const acl = ['on', '>secret', '~*', '&*', '+@all'];

interface Cause {
  readonly what: string;
  readonly reason: NotReadyReason;
  readonly sentence: RegExp;
  readonly begin: (redis: PlainRedis) => Promise<unknown>;
  readonly end: (redis: PlainRedis) => Promise<unknown>;
}

/** As a full disk: a snapshot can't take the place of a folder. */
async function fillDisk({ redis, folder }: PlainRedis): Promise<void> {
  await mkdir(join(folder, 'dump.rdb'));
  await redis.config('SET', 'save', '3600 1');
  await redis.call('BGSAVE');
  await until('the failed snapshot', async () => /rdb_last_bgsave_status:err/.test(await redis.info('persistence')));
}

const causes: readonly Cause[] = [
  {
    what: 'a password that Redis no longer takes',
    reason: 'redis_login',
    sentence: /^The service is not ready: Redis refuses the user name or the password of REDIS_URL \(WRONGPASS\)\./,
    begin: async ({ redis }) => {
      await redis.call('ACL', 'SETUSER', 'laurel', 'resetpass', '>another');
      await redis.call('CLIENT', 'KILL', 'USER', 'laurel');
    },
    end: ({ redis }) => redis.call('ACL', 'SETUSER', 'laurel', 'resetpass', '>secret'),
  },
  {
    what: 'a command that Redis denies',
    reason: 'redis_permission',
    sentence: /^The service is not ready: Redis denies its user a command, a key or a channel \(NOPERM\)\./,
    begin: ({ redis }) => redis.call('ACL', 'SETUSER', 'laurel', '-fcall'),
    end: ({ redis }) => redis.call('ACL', 'SETUSER', 'laurel', '+fcall'),
  },
  {
    what: 'a disk that Redis cannot write to',
    reason: 'redis_disk',
    sentence: /^The service is not ready: Redis cannot write to its disk, which is full or failing \(MISCONF\)\./,
    begin: fillDisk,
    end: async ({ redis, folder }) => {
      await rmdir(join(folder, 'dump.rdb'));
      await redis.call('BGSAVE');
      await until('a snapshot', async () => /rdb_last_bgsave_status:ok/.test(await redis.info('persistence')));
      await redis.config('SET', 'save', '');
    },
  },
];

describe('The cause of an unready service', () => {
  const { log, lines } = logLines('info');
  let redis: PlainRedis;
  let world: World;
  before(async () => {
    redis = await PlainRedis.start();
    await redis.redis.call('ACL', 'SETUSER', 'laurel', ...acl);
    world = await startWorld({ redisUrl: redis.url.replace('//', '//laurel:secret@'), settings: { metricsPort: 0 }, log });
  });
  after(async () => {
    await world.stop();
    await redis.stop();
  });

  /** Ends a cause that a test which failed has left. */
  let ending: (() => Promise<unknown>) | undefined;
  afterEach(async () => {
    await ending?.();
    ending = undefined;
  });

  const readiness = async (): Promise<string> => ((await world.get('/health/ready')).body as { error?: string }).error ?? 'ready';
  const event = async (): Promise<[number, string?]> => {
    const reply = await world.event(metric, { user: { id: 'ana' }, value: 1 });
    return reply.status === 201 ? [reply.status] : [reply.status, (reply.body as { error: string }).error];
  };

  for (const { what, reason, sentence, begin, end } of causes) {
    it(`is named to callers, in readiness, in metrics and once in the log: ${what}`, async () => {
      const from = lines().length;
      await begin(redis);
      ending = () => end(redis);
      await until('not ready', async () => sentence.test(await readiness()));
      for (let sent = 0; sent < 5; sent += 1) {
        const [status, error = ''] = await event();
        expect([status, error]).to.satisfy(() => status === 503 && sentence.test(error), error);
      }
      const metrics = await scrape(world.metricsAddress);
      expect(metrics.value('laurel_ready')).to.equal(0);
      expect(metrics.value('laurel_not_ready', { reason })).to.equal(1);
      expect(metrics.value('laurel_tenant_not_ready', { tenant: '1', reason })).to.equal(1);
      // Redis is asked twice a second.
      if (reason !== 'redis_permission') await until('the beginning in the log', () => said(from, 'store unavailable').length > 0);
      await ending();
      ending = undefined;
      await until('ready', async () => (await readiness()) === 'ready');
      expect(await event()).to.deep.equal([201]);
      await until('the end in the log', () => reason === 'redis_permission' || said(from, 'store available again').length > 0);
      const after = await scrape(world.metricsAddress);
      expect([after.value('laurel_ready'), after.value('laurel_not_ready'), after.value('laurel_tenants_not_ready')]).to.deep.equal([
        1,
        undefined,
        0,
      ]);
      const begun = said(from, 'store unavailable').map(({ store, reason: named }) => [store, named]);
      if (reason !== 'redis_permission') {
        // The connection may have been seen to break before its login was refused.
        expect(begun.at(-1)).to.deep.equal(['redis', reason]);
        expect(begun.length).to.be.at.most(2);
      }
      const refused = said(from, 'request refused with 503').filter((line) => line['reason'] === reason);
      expect(refused.length).to.be.at.most(1);
      for (const line of refused) expect(Object.keys(line)).to.not.include('err');
    });
  }

  const said = (from: number, msg: string): Record<string, unknown>[] =>
    lines()
      .slice(from)
      .filter((line) => line['msg'] === msg);

  it('is the full ledger of a tenant, in readiness too', async () => {
    const small = await startWorld({ roles: { api: true, worker: false }, settings: { maxLedgerEntries: 20, metricsPort: 0 } });
    try {
      await until('a full ledger', async () => (await small.event(metric, { user: { id: 'ana' }, value: 1 })).status === 503);
      const ready = await small.get('/health/ready');
      expect([ready.status, (ready.body as { error: string }).error]).to.deep.equal([
        503,
        'Writes are temporarily unavailable: Postgres is unavailable or slow, and the ledger is at its limit. Retry in 5 s.',
      ]);
      const metrics = await scrape(small.metricsAddress);
      expect(metrics.value('laurel_ready')).to.equal(0);
      expect(metrics.value('laurel_not_ready', { reason: 'ledger_full' })).to.equal(1);
      expect(metrics.value('laurel_tenants_not_ready')).to.equal(1);
      expect(metrics.value('laurel_tenant_not_ready', { tenant: '1', reason: 'ledger_full' })).to.equal(1);
    } finally {
      await small.stop();
    }
  });
});

describe('A transaction that a full disk refuses', () => {
  it('is reported as a store problem, with the reply of Redis', async () => {
    const redis = await PlainRedis.start();
    try {
      await fillDisk(redis);
      const error: unknown = await trimLedger(redis.redis, '{a}:', 'an epoch', '1-1').catch((failure: unknown) => failure);
      expect(String(error)).to.match(/MISCONF/);
      expect(isStoreTrouble(error)).to.equal(true);
    } finally {
      await redis.stop();
    }
  });
});

describe('An append-only file that is switched off while Laurel runs', () => {
  it('is logged once, named by the status, and logged once when it is on again', async () => {
    const { log, lines } = logLines('info');
    const redis = await PlainRedis.start();
    await redis.redis.config('SET', 'appendonly', 'yes');
    const world = await startWorld({ redisUrl: redis.url, log });
    const levels = (text: string): unknown[] => lines().flatMap(({ msg, level }) => (msg === text ? [level] : []));
    const sentence = sentenceOf(redisProblems.noFile);
    const problems = async (): Promise<string[]> => ((await world.get('/admin/v1/status')).body as { problems: string[] }).problems;
    try {
      expect(await problems()).to.not.include(sentence);
      await redis.redis.config('SET', 'appendonly', 'no');
      await until('its end in the log', () => levels('append-only file of Redis is off').length > 0);
      expect(await problems()).to.include(sentence);
      await redis.redis.config('SET', 'appendonly', 'yes');
      await until('its return in the log', () => levels('append-only file of Redis is on again').length > 0);
      await until('no problem', async () => !(await problems()).includes(sentence));
      await world.stopService();
      expect([levels('append-only file of Redis is off'), levels('append-only file of Redis is on again')]).to.deep.equal([[40], [30]]);
    } finally {
      await world.stop();
      await redis.stop();
    }
  });
});

describe('The log of a Redis that goes away', () => {
  it('has one line when the connection is cut and one when it is back at once', async () => {
    const { log, lines } = logLines('info');
    const redis = await PlainRedis.start();
    const world = await startWorld({ redisUrl: redis.url, log });
    const named = (text: string): Record<string, unknown>[] => lines().filter(({ msg }) => msg === text);
    try {
      await redis.cutClients();
      await until('an end in the log', () => named('store available again').length === 1);
      expect(named('store unavailable').map(({ store, reason }) => [store, reason])).to.deep.equal([['redis', 'redis_away']]);
      await world.stopService();
      expect(named('store unavailable')).to.have.lengthOf(1);
    } finally {
      await world.stop();
      await redis.stop();
    }
  });

  it('has one line when it goes, one when it is back, and the requests in between as a line and a sum', async () => {
    const { log, lines } = logLines('info');
    const redis = await PlainRedis.start();
    const world = await startWorld({ redisUrl: redis.url, log });
    try {
      const from = lines().length;
      await redis.kill();
      await until('not ready', async () => (await world.get('/health/ready')).status === 503);
      for (let sent = 0; sent < 20; sent += 1) await world.event(metric, { user: { id: 'ana' }, value: 1 });
      await redis.startAgain();
      await until('an end in the log', () => lines().some(({ msg }) => msg === 'store available again'));
      await world.stopService();
      const told = lines().slice(from);
      const named = (text: string): Record<string, unknown>[] => told.filter(({ msg }) => msg === text);
      expect(named('store unavailable').map(({ store, reason }) => [store, reason])).to.deep.equal([['redis', 'redis_away']]);
      expect(named('request refused with 503').filter(({ reason }) => reason === 'redis_away')).to.have.lengthOf(1);
      const sums = named('more requests refused with 503').filter(({ reason }) => reason === 'redis_away');
      expect(sums.reduce((sum, { requests }) => sum + Number(requests), 0)).to.equal(19);
      // Nothing else is louder than that, but for what the loss of its data leads to.
      const loud = told.filter(
        ({ level, reason, msg }) => Number(level) >= 40 && reason === undefined && !/lacks|replaced|lost data/.test(String(msg)),
      );
      expect(loud.map(({ msg }) => msg)).to.deep.equal([]);
      expect(lines().filter(({ msg }) => msg === 'store available again')).to.have.lengthOf(1);
    } finally {
      await world.stop();
      await redis.stop();
    }
  });
});

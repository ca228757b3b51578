import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect } from 'chai';
import { CostlyRequests } from '../../src/api/costly.js';
import type { Service } from '../../src/app/service.js';
import { batchOf, errorOf, first } from '../support/admin.js';
import { startSecond } from '../support/second.js';
import { LaurelError } from '../../src/shared/errors.js';
import { limits } from '../../src/shared/limits.js';
import { adminKey, startWorld, type Reply, type World } from '../support/world.js';

const config = JSON.stringify({ metrics: [{ key: 'm', name: 'M' }] });

describe('A rate limit', () => {
  let world: World;
  let second: Service;
  let user: string;
  before(async () => {
    world = await startWorld({ config, now: null, settings: { rateLimit: 20, rateLimitWindowS: 600 } });
    second = await startSecond(world);
    const made = await world.request('POST', '/admin/v1/application-api-keys', { body: [{ userId: 'ana' }] });
    user = first(batchOf(made).created).key;
  });
  after(async () => {
    await second.stop();
    await world.stop();
  });

  const read = (key: string): Promise<Reply> => world.request('GET', '/v1/leaderboards', { key });
  const header = ({ headers }: Reply, name: string): number => Number(headers.get(name));

  it('counts the requests of each key, in all processes together, and tells what is left', async () => {
    for (let left = 19; left >= 10; left -= 1) {
      const reply = await read(user);
      expect([reply.status, header(reply, 'RateLimit-Limit'), header(reply, 'RateLimit-Remaining')]).to.deep.equal([200, 20, left]);
      expect(header(reply, 'RateLimit-Reset')).to.be.within(590, 600);
      expect(reply.headers.get('RateLimit-Policy')).to.equal('20;w=600');
      expect(reply.headers.get('Retry-After')).to.equal(null);
    }
    const elsewhere = await Promise.all(
      Array.from({ length: 12 }, () => fetch(`${second.address!}/v1/leaderboards`, { headers: { 'x-api-key': user } })),
    );
    expect(elsewhere.map(({ status }) => status).sort()).to.deep.equal([...Array<number>(10).fill(200), 429, 429]);
    const refused = await read(user);
    expect(refused.status).to.equal(429);
    expect(header(refused, 'RateLimit-Remaining')).to.equal(0);
    expect(header(refused, 'Retry-After')).to.be.within(590, 600);
    expect(errorOf(refused)).to.equal('This key may make 20 requests in 600 s: retry after the seconds in Retry-After.');
  });

  it('leaves other keys alone, and does not count for a key what is not its own', async () => {
    expect((await read(adminKey)).status).to.equal(200);
    for (let sent = 0; sent < 30; sent += 1) expect((await read(`${user.split('.')[0]!}.${'x'.repeat(32)}`)).status).to.equal(401);
  });

  it('costs Redis nothing for a key that is over it', async () => {
    await read(user);
    const calls = async (): Promise<number> => {
      const [, count] = /cmdstat_evalsha:calls=(\d+)/.exec(await world.redis.info('commandstats')) ?? [];
      return Number(count ?? 0);
    };
    const before = await calls();
    for (let sent = 0; sent < 20; sent += 1) expect((await read(user)).status).to.equal(429);
    expect(await calls()).to.equal(before);
  });
});

describe('A service without a rate limit', () => {
  let world: World;
  before(async () => {
    world = await startWorld({ config });
  });
  after(() => world.stop());

  it('sends no rate-limit headers', async () => {
    const { headers } = await world.get('/v1/leaderboards');
    expect([...headers.keys()].filter((name) => name.startsWith('ratelimit'))).to.deep.equal([]);
  });
});

describe('The rate limit of costly routes', () => {
  let world: World;
  before(async () => {
    world = await startWorld({ config, now: null, settings: { rateLimitCostly: 15, rateLimitWindowS: 600 } });
  });
  after(() => world.stop());

  const dryRun = (): Promise<Reply> => world.request('POST', '/admin/v1/configuration/dry-run', { body: { file: config } });
  const statuses = async (count: number): Promise<number[]> => {
    const replies = await Promise.all(Array.from({ length: count }, dryRun));
    return replies.map(({ status }) => status).sort();
  };

  it('rejects requests beyond it, and counts no other route', async () => {
    expect(await statuses(5)).to.deep.equal(Array<number>(5).fill(200));
    for (let sent = 0; sent < 5; sent += 1) expect((await world.get('/admin/v1/metrics')).status).to.equal(200);
    expect(await statuses(10)).to.deep.equal(Array<number>(10).fill(200));
    const refused = await dryRun();
    expect(refused.status).to.equal(429);
    expect(Number(refused.headers.get('Retry-After'))).to.be.within(500, 600);
    expect(errorOf(refused)).to.equal('This key may make 15 requests of this kind in 600 s: retry after the seconds in Retry-After.');
    expect((await world.get('/admin/v1/metrics')).status).to.equal(200);
    expect((await world.event('m', { user: { id: 'ana' }, value: 1 })).status).to.equal(201);
  });
});

describe('The rate limit of costly work', () => {
  let world: World;
  let second: Service;
  before(async () => {
    world = await startWorld({ config, now: null, settings: { rateLimitCostlyS: 1, rateLimitWindowS: 600 } });
    second = await startSecond(world);
  });
  after(async () => {
    await second.stop();
    await world.stop();
  });

  it('refuses a key whose requests have taken as long in threads, in all processes, and no other key', async () => {
    const made = await world.request('POST', '/admin/v1/admin-api-keys', { body: [{ name: 'busy' }] });
    const { key, id } = first(batchOf(made).created);
    const dryRun = (as: string, address = world.address): Promise<Response> =>
      fetch(`${address}/admin/v1/configuration/dry-run`, {
        method: 'POST',
        headers: { 'x-api-key': as, 'content-type': 'application/json' },
        body: JSON.stringify({ file: config }),
      });
    expect((await dryRun(key)).status).to.equal(200);
    const counter = `${world.settings.redisPrefix}:rate-costly-ms:${id}`;
    expect(Number(await world.redis.get(counter))).to.be.within(1, 999);
    await world.redis.set(counter, 1_000, 'KEEPTTL');
    for (const address of [world.address, second.address!]) {
      const refused = await dryRun(key, address);
      expect([refused.status, await refused.json()]).to.deep.equal([
        429,
        { error: 'This key may use 1 s of worker thread time in 600 s: retry after the seconds in Retry-After.' },
      ]);
      expect(Number(refused.headers.get('retry-after'))).to.be.within(500, 600);
    }
    expect((await dryRun(adminKey)).status).to.equal(200);
  });
});

describe('Costly requests of one key', () => {
  it('run one at a time in a process, and 10 wait, beside those of other keys', async () => {
    const costly = new CostlyRequests(undefined);
    const owner = { tenant: null, usedMs: 0 };
    let running = 0;
    let most = 0;
    const ends: (() => void)[] = [];
    const request = async (): Promise<string> => {
      running += 1;
      most = Math.max(most, running);
      await new Promise<void>((resolve) => ends.push(resolve));
      running -= 1;
      return 'done';
    };
    const first = costly.run('ana', owner, request);
    await nextTurn();
    const waiting = Array.from({ length: limits.maxCostlyWaiting }, () => costly.run('ana', owner, request));
    await nextTurn();
    const refused = await costly.run('ana', owner, request).catch((error: unknown) => error);
    expect(refused).to.be.instanceOf(LaurelError).with.property('code', 'too_many_requests');
    expect(await costly.run('ben', owner, () => Promise.resolve('at once'))).to.equal('at once');
    for (let ended = 0; ended <= limits.maxCostlyWaiting; ended += 1) {
      ends[ended]?.();
      await nextTurn();
    }
    expect(await Promise.all([first, ...waiting])).to.deep.equal(Array<string>(limits.maxCostlyWaiting + 1).fill('done'));
    expect(most).to.equal(1);
  });
});

import { expect } from 'chai';
import pino from 'pino';
import { Context } from '../../src/app/context.js';
import { restore, verify } from '../../src/commands/restore.js';
import { OperatorError } from '../../src/shared/errors.js';
import { countLetters } from '../../src/ledger/dead-letters.js';
import { listConfirmations } from '../../src/ledger/active-redis.js';
import {
  objectionMessage,
  objectionTo,
  type Confirmation,
  type ClaimPurpose,
  type ClaimState,
} from '../../src/ledger/active-redis-rules.js';
import { redisPlaceName } from '../../src/redis/address.js';
import { partitionPrefix } from '../../src/redis/contract.js';
import { restoreTenant } from '../../src/restore/restore.js';
import { startService, type Service } from '../../src/app/service.js';
import type { Settings } from '../../src/app/settings.js';
import { activeRedis } from '../support/active-redis.js';
import { logLines } from '../support/log-lines.js';
import { OwnRedis } from '../support/own-redis.js';
import { PlainRedis } from '../support/plain-redis.js';
import { until } from '../support/stage.js';
import { keysOf, startWorld, tenant, type World, type WorldOptions } from '../support/world.js';

const silent = pino({ level: 'silent' });
const both = { api: true, worker: true };

const place = (address: string, prefix: string, ...servers: string[]) => ({ address, prefix, servers });
const here = place('redis://here:6379', 'laurel', 'run-1/0');
const elsewhere = place('redis://there:6379', 'laurel', 'run-2/0');

const confirmation = (of: typeof here, more: Partial<Confirmation & { isFresh: boolean }> = {}) => ({
  ...of,
  process: 'p',
  host: 'api-1',
  pid: 42,
  role: 'api' as const,
  confirmedAt: new Date(0),
  isStopped: false,
  isFresh: true,
  ...more,
});

describe('The decision about the active Redis', () => {
  const standing = (more: Partial<ClaimState>): ClaimState => ({
    own: here,
    others: [],
    active: here,
    isClaiming: true,
    claimingMs: 0,
    ...more,
  });
  const cases: readonly (readonly [string, ClaimPurpose, Partial<ClaimState>, string | undefined])[] = [
    ['allows the first one', { epoch: 'none' }, { active: undefined }, undefined],
    ['allows the active one, whatever it needs', { epoch: 'past' }, {}, undefined],
    ['allows the active one under another address', { epoch: 'none' }, { active: { ...here, address: 'redis://alias:6379' } }, undefined],
    [
      'allows one at the address of the active one, with another run_id',
      { epoch: 'none' },
      { own: { ...here, servers: ['run-3/0'] } },
      undefined,
    ],
    ['refuses one while another is confirmed', { epoch: 'current' }, { others: [confirmation(elsewhere)], active: elsewhere }, 'confirmed'],
    ['refuses one beside another prefix of it', { epoch: 'none' }, { others: [confirmation({ ...here, prefix: 'old' })] }, 'confirmed'],
    [
      'refuses another logical database',
      { epoch: 'none' },
      { others: [confirmation({ ...here, address: 'a', servers: ['run-1/1'] })] },
      'confirmed',
    ],
    ['refuses one right after others stopped', { epoch: 'none' }, { others: [confirmation(elsewhere, { isStopped: true })] }, 'confirmed'],
    [
      'allows one at the same address as soon as the others have stopped',
      { epoch: 'none' },
      { others: [confirmation({ ...here, servers: ['run-0/0'] }, { isStopped: true })] },
      undefined,
    ],
    ['refuses one at once when the active one was elsewhere', { epoch: 'none' }, { active: elsewhere }, 'silent'],
    ['allows one after the others were silent', { epoch: 'none' }, { active: elsewhere, claimingMs: 5_000 }, undefined],
    ['refuses one at once when others were killed', { epoch: 'none' }, { others: [confirmation(elsewhere, { isFresh: false })] }, 'silent'],
    ['allows one at once when it is in sync', { epoch: 'current' }, { others: [confirmation(elsewhere, { isFresh: false })] }, undefined],
    ['refuses one by itself once the data has moved', { epoch: 'past' }, { active: elsewhere, claimingMs: 60_000 }, 'superseded'],
    ['allows one that an operator moves to', { epoch: 'past', isExplicit: true }, { active: elsewhere, claimingMs: 5_000 }, undefined],
    [
      'refuses even that one while another is confirmed',
      { epoch: 'past', isExplicit: true },
      { active: elsewhere, others: [confirmation(elsewhere)], claimingMs: 60_000 },
      'confirmed',
    ],
  ];
  for (const [what, need, more, expected] of cases) {
    it(what, () => {
      expect(objectionTo(need, standing(more))?.reason).to.equal(expected);
    });
  }

  it('refuses with a sentence that names both, and the process', () => {
    const objection = objectionTo({ epoch: 'none' }, standing({ others: [confirmation(elsewhere)] }))!;
    expect(objectionMessage(objection)).to.match(
      /redis:\/\/there:6379 with the prefix laurel, confirmed by process 42 on api-1\. This process uses redis:\/\/here:6379 with the prefix laurel\./,
    );
  });

  for (const [reason, isFresh] of [
    ['confirmed', true],
    ['silent', false],
  ] as const) {
    it(`knows the same Redis when only its run_id has changed: it has restarted, or its address leads to two servers (${reason})`, () => {
      const before = confirmation({ ...here, servers: ['run-0/0'] }, { isFresh });
      const objection = objectionTo({ epoch: 'none' }, standing({ others: [before] }))!;
      expect(objection.reason).to.equal(reason);
      expect(objectionMessage(objection))
        .to.match(/^The Redis at redis:\/\/here:6379 with the prefix laurel is not the server that process 42 on api-1 confirmed/)
        .and.to.contain('Try again shortly.')
        .and.to.contain('If this stays, the address leads to two servers')
        .and.not.to.match(/another Redis|Set REDIS_URL/);
    });
  }

  it('names a Redis without its login, and with the machine where only that reaches it', () => {
    expect(redisPlaceName('rediss://user:secret@db.internal:6380/2', '.')).to.equal('rediss://db.internal:6380/2');
    expect(redisPlaceName('redis+sentinel://:secret@a:1,b:2/main', '.')).to.equal('redis+sentinel://a:1,b:2/main');
    expect(redisPlaceName('redis://127.0.0.1:6379', '.')).to.match(/^redis:\/\/localhost:6379 on \S+$/);
    expect(redisPlaceName('unix:///run/redis.sock', '.')).to.match(/^unix:\/\/\/run\/redis\.sock on \S+$/);
    expect(redisPlaceName(null, '/data')).to.match(/^the built-in Redis in \/data on \S+$/);
  });
});

describe('A second Redis, or prefix, on the same Postgres', () => {
  const cleaning: (() => Promise<unknown>)[] = [];
  const begunMs = performance.now();
  /** A clock of confirmations that goes twice as fast, and has been more than five seconds ahead from the start. */
  const confirmationAheadMs = (): number => 6_000 + performance.now() - begunMs;
  afterEach(async () => {
    for (let stop = cleaning.pop(); stop; stop = cleaning.pop()) await stop();
  });

  async function set(options: WorldOptions = {}): Promise<World> {
    const world = await startWorld(options);
    cleaning.push(() => world.stop());
    return world;
  }

  /** Another service on the database of a world. With `isHurried`, it does not wait for what has been silent. */
  async function another(world: World, settings: Partial<Settings>, { isHurried = false, roles = both } = {}): Promise<Service> {
    const service = await startService(
      {
        ...{ settings: { ...world.settings, ...settings }, log: silent, print: () => undefined },
        overrides: isHurried ? { confirmationAheadMs } : {},
      },
      roles,
    );
    cleaning.push(async () => {
      await service.stop();
      if (settings.redisPrefix === undefined) return;
      for (const key of await keysOf(world.redis, `{${settings.redisPrefix}:`)) await world.redis.del(key);
    });
    return service;
  }

  const refusal = (starting: Promise<Service>): Promise<string> =>
    starting.then(
      () => 'it has started',
      (error: unknown) => (error instanceof OperatorError ? error.message : String(error)),
    );

  async function send(world: World, count: number): Promise<void> {
    for (let i = 0; i < count; i += 1) {
      expect((await world.event('flashcards-viewed', { user: { id: 'ana' }, value: 5 })).status).to.equal(201);
    }
  }

  const totalAt = async (address: string | undefined, world: World): Promise<unknown> => {
    const reply = await fetch(`${address}/v1/users/ana/metrics/flashcards-viewed`, {
      headers: { 'x-api-key': world.settings.adminApiKey! },
    });
    return ((await reply.json()) as { current?: number }).current;
  };

  const epochs = async (world: World): Promise<unknown[]> =>
    (await world.pool.query<{ tenant: number; epoch: string }>('select tenant, epoch from stream_offsets')).rows;

  it('is confirmed by each process, once a second, with where it is', async () => {
    const world = await set();
    const [confirmed] = await until('a confirmation', async () => {
      const all = await listConfirmations(world.pool);
      return all.length === 1 && all;
    });
    expect(confirmed).to.include({ prefix: world.settings.redisPrefix, pid: process.pid, role: 'api and worker', isStopped: false });
    expect(confirmed!.address).to.equal(redisPlaceName(world.settings.redisUrl, ''));
    await until('a newer one', async () => (await listConfirmations(world.pool))[0]!.confirmedAt > confirmed!.confirmedAt);
  });

  for (const [what, other] of [
    ['with another REDIS_PREFIX', (world: World) => Promise.resolve({ redisPrefix: `${world.settings.redisPrefix}-other` })],
    [
      'with an empty Redis of its own',
      async () => {
        const server = await PlainRedis.start();
        cleaning.push(() => server.stop());
        return { redisUrl: server.url };
      },
    ],
  ] as readonly (readonly [string, (world: World) => Promise<Partial<Settings>>])[]) {
    it(`refuses to start ${what} beside a service, in a sentence that names both, and loses nothing`, async () => {
      const world = await set();
      await send(world, 10);
      const before = await epochs(world);
      const settings = await other(world);
      const sentence = await refusal(another(world, settings));
      const [from, to] = [world.settings, { ...world.settings, ...settings }].map(
        ({ redisUrl, redisPrefix }) => `${redisPlaceName(redisUrl, '')} with the prefix ${redisPrefix}`,
      );
      expect(sentence).to.contain(`in use on another Redis: ${from}, confirmed by process ${process.pid} on `);
      expect(sentence).to.contain(`This process uses ${to}.`);
      await send(world, 3);
      await world.drain();
      expect(await epochs(world)).to.deep.equal(before);
      expect(await totalAt(world.address, world)).to.equal(65);
    });
  }

  it('is not given the epoch of a service of which Postgres has committed nothing yet', async () => {
    const world = await set({ roles: { api: true, worker: false } });
    await send(world, 3);
    const redisPrefix = `${world.settings.redisPrefix}-other`;
    expect(await refusal(another(world, { redisPrefix }))).to.match(/in use on another Redis/);
    expect(await keysOf(world.redis, partitionPrefix(redisPrefix, tenant))).to.deep.equal([]);
    await send(world, 1);
  });

  it('takes the data over when the others have been stopped and silent; the Redis that was left does not take it back by itself', async () => {
    const world = await set({ roles: { api: true, worker: false } });
    const before = await epochs(world);
    await send(world, 4);
    // No worker has written these down: the last process on a Redis does so when it stops.
    await world.stopService();
    const moved = await another(world, { redisPrefix: `${world.settings.redisPrefix}-moved` }, { isHurried: true });
    await until('ready', async () => (await fetch(`${moved.address}/health/ready`)).status === 200);
    expect(await totalAt(moved.address, world)).to.equal(20);
    expect(await epochs(world)).to.not.deep.equal(before);
    expect(await refusal(another(world, {}))).to.match(/in use on another Redis/);
    await moved.stop();
    const after = await epochs(world);
    expect(await refusal(another(world, {}, { isHurried: true }))).to.match(/^This Redis has an epoch that has ended/);
    expect(await epochs(world)).to.deep.equal(after);
  });

  it('is not caused by a restart: no response and no log line says so, and every process serves again', async () => {
    const redis = await OwnRedis.start();
    cleaning.push(() => redis.stop());
    const { log, lines } = logLines('info');
    const world = await set({ redisUrl: redis.url, log });
    const second = await startService({ settings: world.settings, log, print: () => undefined }, { api: true, worker: false });
    cleaning.push(() => second.stop());
    await until('both confirm', async () => (await listConfirmations(world.pool)).length === 2);
    await send(world, 3);
    await redis.kill();
    await redis.startAgain();
    const errors = new Set<string>();
    for (const address of [world.address, second.address]) {
      await until('ready', async () => {
        const reply = await fetch(`${address}/health/ready`);
        const { error } = (await reply.json()) as { error?: string };
        if (error !== undefined) errors.add(error);
        return reply.status === 200;
      });
    }
    expect([...errors].filter((error) => /another Redis|REDIS_URL/.test(error))).to.deep.equal([]);
    expect(lines().filter(({ msg }) => /another Redis/.test(String(msg)))).to.deep.equal([]);
    await send(world, 1);
  });

  it('ends the epoch of a Redis that was cut off: that one is not served any more, and what only it has is saved', async () => {
    const world = await set({ roles: { api: true, worker: false } });
    const worker = await another(world, {}, { roles: { api: false, worker: true } });
    await send(world, 5);
    await world.drain();
    await worker.stop();
    await send(world, 3);
    // As if this service had not reached Postgres for five seconds.
    await world.pool.query('with silent as (delete from redis_confirmations) delete from active_redis');
    const prefix = `${world.settings.redisPrefix}-taken`;
    const taker = activeRedis(world.redis, world.pool, prefix);
    const options = { tenant, partition: partitionPrefix(prefix, tenant), redis: world.redis, pool: world.pool };
    await restoreTenant({ ...options, active: taker, purpose: { epoch: 'none' } });
    const refused = await until('a 503', async () => {
      const reply = await world.event('flashcards-viewed', { user: { id: 'ana' }, value: 5 });
      return reply.status === 503 && (reply.body as { error: string }).error;
    });
    expect(refused).to.match(new RegExp(`to .*${prefix}|another Redis: .*${prefix}`));
    const undrained = await world.redis.xlen(`${world.partition}ledger`);
    expect(undrained).to.be.at.least(3);

    const context = await Context.start({
      settings: world.settings,
      log: silent,
      print: () => undefined,
      overrides: { confirmationAheadMs },
    });
    cleaning.push(() => context.stop());
    const printed: string[] = [];
    await restore(context, (line) => printed.push(line), {});
    expect(printed).to.include(
      `${undrained} ledger entries that Postgres did not have are saved as dead letters: docs/operations/dead-letters.md.`,
    );
    expect(await totalAt(world.address, world)).to.equal(25);
    const letters = await world.request('GET', '/admin/v1/dead-letters?limit=100');
    expect(letters.body).to.have.length(undrained);
    const [letter] = letters.body as { id: string; reason: string }[];
    expect(letter!.reason).to.match(/^Its epoch ended before Postgres had it/);
    expect(await countLetters(world.pool)).to.deep.equal({ refused: 0, lost: undrained, givenUp: 0 });
    const retried = await world.request('POST', `/admin/v1/dead-letters/${letter!.id}/retry`);
    expect([retried.status, (retried.body as { error: string }).error]).to.deep.equal([422, letter!.reason]);
    await verify(context, (line) => printed.push(line), {});
    expect(printed.at(-1)).to.match(/: 0 differences\.$/);
    for (const key of await keysOf(world.redis, `{${prefix}:`)) await world.redis.del(key);
  });
});

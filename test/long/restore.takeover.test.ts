import { expect } from 'chai';
import type { Redis } from 'ioredis';
import pino from 'pino';
import { LeaseLost } from '../../src/ledger/offsets.js';
import { keyNames } from '../../src/redis/contract.js';
import { restoreTenant, type Restored } from '../../src/restore/restore.js';
import { startService } from '../../src/app/service.js';
import { allowed } from '../support/active-redis.js';
import { differences } from '../support/differences.js';
import { startWorld, tenant, type World } from '../support/world.js';

/** The commands with which a restore looks at a partition and changes it. */
const steps: readonly PropertyKey[] = ['hmget', 'eval'];

/** A connection that stands still before the step with a number, 1 for the first, until it may go on. */
class Pausing {
  readonly redis: Redis;
  /** Resolves when it stands still. */
  readonly standing: Promise<void>;
  /** What it has done so far. */
  done = 0;
  private stand: () => void = () => undefined;
  private goOn: () => void = () => undefined;
  private readonly going = new Promise<void>((resolve) => (this.goOn = resolve));

  constructor(redis: Redis, before: number) {
    this.standing = new Promise((resolve) => (this.stand = resolve));
    this.redis = new Proxy(redis, {
      get: (target, name) => {
        const command: unknown = Reflect.get(target, name);
        if (typeof command !== 'function') return command;
        // Whatever else is called, pipelines for one, is called on the connection itself.
        if (!steps.includes(name)) return (...args: unknown[]): unknown => command.apply(target, args) as unknown;
        return async (...args: unknown[]): Promise<unknown> => {
          if (this.done === before - 1) {
            this.stand();
            await this.going;
          }
          this.done += 1;
          return command.apply(target, args) as unknown;
        };
      },
    });
  }

  wake(): void {
    this.goOn();
  }
}

describe('A restore that stands still for longer than its lease', () => {
  let world: World;
  before(async () => {
    world = await startWorld({ roles: { api: true, worker: false }, settings: { autoRestore: false } });
    const worker = await startService(
      { settings: world.settings, log: pino({ level: 'silent' }), print: () => undefined },
      { api: false, worker: true },
    );
    try {
      for (let i = 0; i < 30; i += 1) await event(`user-${i % 7}`);
      await world.drain();
    } finally {
      await worker.stop();
    }
  });
  after(() => world.stop());

  async function event(id: string): Promise<void> {
    const reply = await world.event('flashcards-viewed', { user: { id }, value: 40 });
    expect(reply.status, JSON.stringify(reply.body)).to.equal(201);
  }

  const fallBehind = (): Promise<unknown> => world.redis.hdel(world.partition + keyNames.meta, 'epoch');

  const restoring = (redis: Redis): Promise<Restored | undefined> =>
    restoreTenant({
      tenant,
      partition: world.partition,
      redis,
      pool: world.pool,
      ...allowed(redis, world.pool, world.settings.redisPrefix),
    });

  /** Everything that both stores hold, with what Postgres has not got yet. */
  const everything = async (): Promise<string[]> => [
    await world.snapshot(),
    JSON.stringify(await world.redis.xrange(world.partition + keyNames.ledger, '-', '+')),
  ];

  async function expectTakenOver(first: Pausing, outcome: Promise<Error | Restored | undefined>, step: number): Promise<void> {
    await world.pool.query(`update stream_offsets set lease_until = '-infinity'`);
    await restoring(world.redis);
    expect(await differences(world.redis, world.pool, world.partition), `step ${step}`).to.deep.equal([]);
    await event('user-1');
    const before = await everything();
    first.wake();
    const error = await outcome;
    if (!(error instanceof LeaseLost)) expect((error as Error).message, `step ${step}`).to.match(/^Another restore is at work/);
    expect(await everything(), `step ${step}`).to.deep.equal(before);
  }

  it('changes nothing of what another has restored and is served, before whichever of its steps it was', async () => {
    let step = 1;
    for (let isOver = false; !isOver; step += 1) {
      await fallBehind();
      const first = new Pausing(world.redis, step);
      const outcome = restoring(first.redis).catch((error: unknown) => error as Error);
      isOver = await Promise.race([first.standing.then(() => false), outcome.then(() => true)]);
      if (!isOver) await expectTakenOver(first, outcome, step);
      else expect(await outcome).not.to.be.instanceOf(Error);
    }
    // What meta says, its taking over, emptying the partition, the users, three times what is counted, and the epoch.
    expect(step).to.be.greaterThan(8);
  });

  it('does not begin when another restore has ended since Redis was found out of sync', async () => {
    await fallBehind();
    await restoring(world.redis);
    await event('user-1');
    const before = await everything();
    expect(await restoring(world.redis)).to.equal(undefined);
    expect(await everything()).to.deep.equal(before);
    // The lease is free: the write-behind goes on, and so may a restore that is needed.
    await fallBehind();
    expect(await restoring(world.redis)).to.include({ users: 7 });
  });
});

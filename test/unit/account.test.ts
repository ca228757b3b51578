import { expect } from 'chai';
import { Redis } from 'ioredis';
import pino from 'pino';
import { Account, type Repeat } from '../../src/access/account.js';
import { createAdminKeys, updateAdminKeys } from '../../src/access/admin-keys.js';
import { archiveTenants, createTenants, type Tenant } from '../../src/access/tenants.js';
import { StoreWatch } from '../../src/logging/store-watch.js';
import { until } from '../support/stage.js';
import { stores } from '../support/stores.js';
import { freshDatabase, type TestDatabase } from '../support/world.js';

/** The promise of docs/keys.md. */
const refusedWithinMs = 1_000;
const log = pino({ level: 'silent' });

/** A clock that a test advances. */
class ManualClock {
  private now = 0;
  private readonly repeats: { readonly ms: number; next: number; readonly work: () => void }[] = [];

  readonly repeat: Repeat = (ms, work) => {
    this.repeats.push({ ms, next: this.now + ms, work });
    return () => undefined;
  };

  advance(ms: number): void {
    this.now += ms;
    for (const each of this.repeats) {
      for (; each.next <= this.now; each.next += each.ms) each.work();
    }
  }
}

/** Processes of one account. What one announces reaches another only if the test passes it on. */
describe('The keys of an account in two processes', () => {
  let database: TestDatabase;
  let redis: Redis;
  let clock: ManualClock;
  let answering: Account;
  let other: Account;
  let key: { readonly id: string; readonly key: string };

  const start = async (): Promise<Account> => {
    const account = new Account({
      redis,
      pool: database.pool,
      log,
      prefix: 'unit',
      repeat: clock.repeat,
      watches: { redis: new StoreWatch(log, 'redis'), postgres: new StoreWatch(log, 'postgres') },
    });
    await account.start();
    return account;
  };
  /** The status that a request with a key gets. */
  const status = async (account: Account, header: string): Promise<number> => {
    try {
      await account.authenticate(header);
      return 200;
    } catch (error) {
      return (error as { status: number }).status;
    }
  };
  const create = async (tenant: number | null): Promise<typeof key> => {
    const [made] = await createAdminKeys(database.pool, [{ name: 'Key', tenant, access: 'full' }]);
    await answering.announce();
    return made as typeof key;
  };
  const revoke = async (): Promise<void> => {
    const [outcome] = await updateAdminKeys(database.pool, [{ id: key.id, status: 'revoked' }]);
    expect(outcome).to.include({ status: 'revoked' });
    await answering.announce();
  };

  beforeEach(async () => {
    database = await freshDatabase();
    redis = new Redis((await stores()).redisUrl);
    clock = new ManualClock();
    answering = await start();
    other = await start();
    // The last active admin key can't be revoked.
    await create(null);
    key = await create(null);
    expect([await status(answering, key.key), await status(other, key.key)]).to.deep.equal([200, 200]);
  });
  afterEach(async () => {
    await answering.stop();
    await other.stop();
    redis.disconnect();
    await database.drop();
  });

  it('are refused by the process that revokes them as soon as it responds', async () => {
    await revoke();
    expect(await status(answering, key.key)).to.equal(401);
  });

  it('are refused by the other process within a second, although it receives no announcement', async () => {
    await revoke();
    expect(await status(other, key.key)).to.equal(200);
    // Just before the second is over, so that the answer of Postgres is in it as well.
    clock.advance(0.9 * refusedWithinMs);
    await until('the other process has polled', async () => (await status(other, key.key)) === 401);
  });

  it('are refused by the other process with the first request after the announcement', async () => {
    await revoke();
    other.receiveAnnouncement();
    expect(await status(other, key.key)).to.equal(401);
  });

  it('of an archived tenant are refused in the same way', async () => {
    const [tenant] = (await createTenants(database.pool, [{ customerId: 'c', name: 'C' }])) as Tenant[];
    const bound = await create(tenant!.no);
    expect(await status(other, bound.key), 'a tenant that another process has just created').to.equal(200);
    await archiveTenants(database.pool, [tenant!.id]);
    await answering.announce();
    expect([await status(answering, bound.key), await status(other, bound.key)]).to.deep.equal([401, 200]);
    clock.advance(refusedWithinMs);
    await until('the other process has polled', async () => (await status(other, bound.key)) === 401);
  });

  it('that do not exist are a 401, also when they share a prefix with one that exists', async () => {
    const [prefix] = key.key.split('.');
    for (const header of [`${prefix}.wrong`, '0123456789ab.wrong', 'wrong', '']) expect(await status(other, header), header).to.equal(401);
  });
});

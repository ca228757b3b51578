import { expect } from 'chai';
import pg from 'pg';
import pino from 'pino';
import { collectBatch } from '../../src/ledger/batch.js';
import { unpackEntry } from '../../src/ledger/entry.js';
import { writeBatch } from '../../src/ledger/write-batch.js';
import { hasCommitted, loadOffset } from '../../src/ledger/offsets.js';
import { WriteBehind } from '../../src/ledger/write-behind.js';
import { limits } from '../../src/shared/limits.js';
import { inTransaction } from '../../src/postgres/pool.js';
import { keyNames, partitionPrefix } from '../../src/redis/contract.js';
import { Client, inParallel } from '../support/client.js';
import { differences } from '../support/differences.js';
import { Network } from '../support/network.js';
import { Random } from '../support/random.js';
import { richConfig } from '../support/rich-config.js';
import { until } from '../support/stage.js';
import { draw, sendDrawn } from '../support/traffic.js';
import { startWorker, type Worker } from '../support/worker.js';
import { adminKey, startWorld, tenant, type World } from '../support/world.js';

const clients = 16;
/**
 * How long a worker that is frozen waits for Postgres: longer than another one takes on a slow machine until its lease has run out. A frozen process
 * does not count the time; the worker here would, and log its own timeout at `debug`.
 */
const frozenTimeoutMs = 120_000;

interface Offset {
  readonly fence: string;
  readonly holder: string;
  readonly id: string;
  readonly free: boolean;
}

describe('The write-behind', () => {
  let world: World;
  let client: Client;
  /** The ids of all events that were acknowledged. */
  let acknowledged: string[];
  let drawn: number;
  /** What a test has started, stopped after it whatever became of it. */
  const cleaning: (() => Promise<void>)[] = [];
  const ledger = (): string => world.partition + keyNames.ledger;

  beforeEach(async () => {
    world = await startWorld({ config: JSON.stringify(richConfig), roles: { api: true, worker: false } });
    client = new Client(adminKey, clients);
    acknowledged = [];
    drawn = 0;
  });
  afterEach(async () => {
    client.close();
    for (let clean = cleaning.pop(); clean; clean = cleaning.pop()) await clean();
    await world.stop();
  });

  function work(databaseUrl?: string, timeoutMs?: number): Worker {
    const worker = startWorker(world, databaseUrl, timeoutMs);
    cleaning.push(worker.stop);
    return worker;
  }

  async function network(): Promise<Network> {
    const made = await Network.before(world.settings.databaseUrl!);
    cleaning.push(() => made.stop());
    return made;
  }

  async function send(count: number): Promise<void> {
    const random = new Random(7);
    const end = drawn + count;
    await inParallel(clients, async () => {
      while (drawn < end) {
        const answer = await sendDrawn(client, world.address, draw(random, (drawn += 1), 0.5));
        expect(answer.status).to.equal(201);
        acknowledged.push((answer.body as { eventId: string }).eventId);
      }
    });
  }

  /** Sends events until `end` is called, which resolves when the last one has been answered. */
  function keepSending(): { readonly end: () => Promise<void> } {
    let going = true;
    const loop = async (): Promise<void> => {
      while (going) await send(200);
    };
    const load = loop();
    return {
      end: () => {
        going = false;
        return load;
      },
    };
  }

  async function offset(): Promise<Offset> {
    const { rows } = await world.pool.query<Offset>(
      `select fence, holder, last_ms || '-' || last_seq as id, lease_until < clock_timestamp() as free from stream_offsets where tenant = $1`,
      [tenant],
    );
    return rows[0]!;
  }

  /** Every row of every table that a worker writes, but for the offset itself. */
  async function tables(): Promise<string> {
    const names = ['events', 'awards', 'users', 'user_metrics', 'user_points', 'user_hashes'];
    const kept = ['leaderboard_entries', 'leaderboard_history', 'user_days', 'user_attribute_days'];
    const dumps = [...names, ...kept].map(async (name) => {
      const { rows } = await world.pool.query(`select * from ${name} as t order by t::text`);
      return [name, rows] as const;
    });
    return JSON.stringify(await Promise.all(dumps));
  }

  /** Every acknowledged event is in Postgres once, and everything else in Postgres is what Redis says. */
  async function expectExactlyOnce(): Promise<void> {
    await world.drain();
    const { rows } = await world.pool.query<{ id: string }>('select id from events');
    expect(rows.map(({ id }) => id).sort()).to.deep.equal([...acknowledged].sort());
    expect(await differences(world.redis, world.pool, world.partition)).to.deep.equal([]);
  }

  it('commits every event once when its connection is ended in the middle of batches, again and again', async () => {
    const worker = work();
    const killer = new pg.Client({ connectionString: world.settings.databaseUrl! });
    await killer.connect();
    cleaning.push(() => killer.end());
    const load = keepSending();
    for (let cut = 0; cut < 20; cut += 1) {
      const { id } = await offset();
      await until('a batch to get through', async () => (await offset()).id !== id);
      await until('a transaction in the middle', async () => {
        // One that has a transaction id has written already; one that has committed shows none any more.
        const { rowCount } = await killer.query(
          `select pg_terminate_backend(pid) from pg_stat_activity
            where application_name = 'laurel' and datname = current_database() and backend_xid is not null`,
        );
        return rowCount === 1;
      });
    }
    await load.end();
    await expectExactlyOnce();
    expect(worker.writeBehind.progress.of(tenant).failures).to.be.at.least(20);
    // Postgres is named once by what watches it (test/api/causes.test.ts).
    expect(worker.said.filter((line) => line.startsWith('write-behind failed'))).to.deep.equal([]);
  });

  it('commits the current entries when it stops, and leaves later ones to the next worker', async () => {
    const first = work();
    const load = keepSending();
    const { id } = await offset();
    await until('a batch to get through', async () => (await offset()).id !== id);
    const newest = await world.ledgerEnd();
    // The load ends only after it: a stop that waited for the end of the ledger would not come to its own.
    await first.writeBehind.stop(120_000);
    expect(await hasCommitted(world.pool, tenant, newest)).to.equal(true);
    expect((await offset()).free).to.equal(true);
    const { id: handedOver } = await offset();
    work();
    await until('the next worker to take over', async () => (await offset()).id !== handedOver);
    await load.end();
    await expectExactlyOnce();
  });

  it('commits nothing twice when the answer to a commit was lost', async () => {
    const net = await network();
    const worker = work(net.url);
    await send(50);
    await world.drain();
    for (let round = 0; round < 3; round += 1) {
      const lost = net.loseAnswer('commit');
      await send(50);
      await lost;
      await world.drain();
    }
    await expectExactlyOnce();
    expect(worker.writeBehind.progress.of(tenant).failures).to.be.at.least(3);
    await worker.stop();
  });

  it('skips nothing when a commit was lost on its way', async () => {
    const net = await network();
    const worker = work(net.url);
    await send(50);
    await world.drain();
    for (let round = 0; round < 3; round += 1) {
      const held = net.hold('commit');
      await send(50);
      const before = (await offset()).id;
      (await held).drop();
      expect((await offset()).id).to.equal(before);
      await world.drain();
    }
    await expectExactlyOnce();
    await worker.stop();
  });

  it('has one active worker, and another that takes over as soon as the first one stops', async () => {
    const first = work();
    await send(20);
    await world.drain();
    const { holder, fence } = await offset();
    const second = work();
    await send(500);
    await world.drain();
    expect(await offset()).to.include({ holder, fence, free: false });
    await first.stop();
    // The lease was given back: it has not run out, and nothing waits until it would.
    const { rows } = await world.pool.query<{ given: boolean }>(
      `select lease_until = '-infinity' or holder <> $1 as given from stream_offsets`,
      [holder],
    );
    expect(rows).to.deep.equal([{ given: true }]);
    await send(500);
    await world.drain();
    const after = await offset();
    expect(after.holder).to.not.equal(holder);
    expect(Number(after.fence)).to.equal(Number(fence) + 1);
    await expectExactlyOnce();
    await second.stop();
  });

  it('refuses the late commit of a worker that froze until its lease ran out', async () => {
    const net = await network();
    const frozen = work(net.url, frozenTimeoutMs);
    await send(50);
    await world.drain();
    const began = net.hold('begin');
    await send(200);
    const { release } = await began;
    const { holder } = await offset();
    const second = work();
    await until('another holder', async () => (await offset()).holder !== holder);
    await send(200);
    await world.drain();
    await second.stop();
    const before = await tables();
    release();
    // It notices the lost lease and requests it again, which is all that it may change.
    await until('the frozen worker holds the lease again', async () => (await offset()).holder === holder);
    await until('the frozen worker to notice', () => frozen.said.length > 0);
    expect(frozen.said).to.deep.equal(['another worker has taken over the ledger stream']);
    expect(await tables()).to.equal(before);
    await expectExactlyOnce();
    await frozen.stop();
  });

  it('commits again at once what a comparison has fenced, and logs no other worker', async () => {
    const net = await network();
    const worker = work(net.url);
    await send(50);
    await world.drain();
    for (let i = 0; i < 3; i += 1) {
      const began = net.hold('begin');
      await send(200);
      const { release } = await began;
      const { holder, fence } = await offset();
      // What a process of the API does before it opens a partition.
      await loadOffset(world.pool, tenant, true);
      release();
      await world.drain();
      const after = await offset();
      expect(after.holder).to.equal(holder);
      expect(Number(after.fence)).to.equal(Number(fence) + 2);
    }
    expect(worker.said).to.deep.equal([]);
    await expectExactlyOnce();
  });

  it('continues with another worker when one freezes in the middle of a transaction', async () => {
    const net = await network();
    const frozen = work(net.url, frozenTimeoutMs);
    await send(50);
    await world.drain();
    const committing = net.hold('commit');
    await send(200);
    const { release } = await committing;
    net.freeze();
    const { holder } = await offset();
    work();
    await send(200);
    await until('another holder', async () => (await offset()).holder !== holder);
    await world.drain();
    const before = await tables();
    net.thaw();
    release();
    await until('the frozen worker to notice', () => frozen.said.length > 0);
    expect(await tables()).to.equal(before);
    await expectExactlyOnce();
  });

  it('removes only committed entries from the stream', async () => {
    const worker = work();
    await send(1);
    const load = keepSending();
    await until('3,000 entries to be dropped', async () => {
      // Redis first: trimmed entries were committed before, so a later read of Postgres shows them.
      const info = (await world.redis.xinfo('STREAM', ledger())) as unknown[];
      const value = (name: string): number => Number(info[info.indexOf(name) + 1]);
      const dropped = value('entries-added') - value('length');
      const { rows } = await world.pool.query<{ count: number }>('select count(*)::int from events');
      expect(dropped).to.be.at.most(rows[0]!.count);
      return dropped >= 3_000;
    });
    await load.end();
    await expectExactlyOnce();
    await worker.stop();
    expect(await world.redis.xlen(ledger())).to.equal(0);
  });

  it('takes fewer entries at once where all of them take longer than a statement may', async () => {
    await send(600);
    await world.pool.query(`
      create function slow() returns trigger language plpgsql as $$ begin perform pg_sleep(0.002); return new; end $$;
      create trigger slow before insert on events for each row execute function slow()`);
    work(world.settings.databaseUrl!, 900);
    await expectExactlyOnce();
  });

  it('makes the partitions of the months that events come in', async () => {
    const worker = work();
    await send(10);
    for (const now of ['2040-01-31T23:59:59.999Z', '2040-02-01T00:00:00.000Z', '2041-12-31T23:59:59.999Z']) {
      await world.setClock(now);
      await send(10);
    }
    await world.drain();
    await worker.stop();
    // A batch that spans months, one of which has no partition yet.
    await send(10);
    await world.setClock('2042-01-01T00:00:00.000Z');
    await send(10);
    const next = work();
    await expectExactlyOnce();
    await next.stop();
    const { rows } = await world.pool.query(
      `select tableoid::regclass::text as partition, count(*)::int, min(to_char(at at time zone 'UTC', 'YYYY_MM')) as month from events group by 1 order by 1`,
    );
    expect(rows).to.deep.equal([
      { partition: 'events_2040_01', count: 20, month: '2040_01' },
      { partition: 'events_2040_02', count: 10, month: '2040_02' },
      { partition: 'events_2041_12', count: 20, month: '2041_12' },
      { partition: 'events_2042_01', count: 10, month: '2042_01' },
    ]);
    const { rows: awards } = await world.pool.query(
      `select distinct tableoid::regclass::text as partition from awards where tableoid::regclass::text <> 'awards_' || to_char(at at time zone 'UTC', 'YYYY_MM')`,
    );
    expect(awards).to.deep.equal([]);
  });

  it('commits everything before it stops', async () => {
    await send(3_500);
    const worker = work();
    await until('the lease', async () => !(await offset()).free);
    await worker.stop();
    await expectExactlyOnce();
    expect(await offset()).to.include({ free: true });
  });

  it('never replaces state by an older revision', async () => {
    await send(1_000);
    const entries = (await world.redis.xrangeBuffer(ledger(), '-', '+')).map(([id, fields]) => ({
      id: id.toString(),
      entry: unpackEntry(fields),
    }));
    const worker = work();
    await world.drain();
    await worker.stop();
    const before = await tables();
    const old = collectBatch(entries.slice(0, 500));
    // A user who has left a leaderboard has no newer row: there, only the fence keeps old batches out.
    const { rows } = await world.pool.query<{ key: string }>(
      `select leaderboard || ':' || run || ':0::' || user_id as key from leaderboard_entries`,
    );
    const present = new Set(rows.map(({ key }) => key));
    const places = new Map([...old.participants].filter(([key, { place }]) => place && present.has(key)));
    await inTransaction(world.pool, (client) =>
      writeBatch(client, tenant, { ...old, events: [], awards: [], participants: places, history: new Map() }),
    );
    expect(await tables()).to.equal(before);
  });

  it('polls the ledgers of all tenants, although the master of one does not respond', async () => {
    const tenants = Array.from({ length: limits.writeBehindScanTenants + 1 }, (_, i) => 1_000 + i);
    await world.pool.query(`insert into tenants (no, name) select no, 'one of many' from unnest($1::integer[]) as no`, [tenants]);
    await world.pool.query(`insert into stream_offsets (tenant, epoch) select no, gen_random_uuid() from unnest($1::integer[]) as no`, [
      tenants,
    ]);
    const looked = new Set<number>();
    const { redis, pool, settings } = world;
    const writeBehind = new WriteBehind({
      redis,
      pool,
      log: pino({ level: 'silent' }),
      tenants: () => tenants,
      onReplaced: () => Promise.resolve(),
      partition: (no) => partitionPrefix(settings.redisPrefix, no),
      awaitEntries: (no) => {
        looked.add(no);
        return no === tenants[0] ? Promise.reject(new Error('away')) : Promise.resolve('awaited');
      },
    });
    expect(await writeBehind.scanAll().catch((error: unknown) => (error as Error).message)).to.equal('away');
    expect(looked.size).to.equal(tenants.length);
  });
});

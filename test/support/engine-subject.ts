import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import pino from 'pino';
import { dateToDay } from '../../src/shared/calendar.js';
import { commandAuthor } from '../../src/config/store/author.js';
import type { ConfigDocument } from '../../src/config/schema/model.js';
import { loadConfig, mustLoadVersion, saveConfig } from '../../src/config/store/store.js';
import { completeAchievement, listAchievements } from '../../src/engine/achievements.js';
import { Clock } from '../../src/engine/clock.js';
import { Engine } from '../../src/engine/engine.js';
import { adjustPoints, summariseLevels } from '../../src/engine/points.js';
import { removeDeviceToken, setPreferences } from '../../src/engine/users.js';
import { listLeaderboards, readLeaderboard, readUserLeaderboard, type Stores } from '../../src/engine/leaderboards.js';
import type { Result } from '../../src/engine/refusals.js';
import { addPause, changeStreak, rankStreaks, readStreak, removePause } from '../../src/engine/streaks.js';
import { correctEvent, type Correction } from '../../src/engine/corrections.js';
import { trackEvent, type EventAnswer } from '../../src/engine/events.js';
import { identifyUser, readProfile, readUserAchievements, readUserMetrics, readUserPoints } from '../../src/engine/users.js';
import { LaurelError } from '../../src/shared/errors.js';
import { JsonText } from '../../src/shared/json.js';
import { Deletion } from '../../src/jobs/deletion.js';
import { keysExpiredUpTo } from '../../src/jobs/key-retention.js';
import { Sweep } from '../../src/jobs/sweep.js';
import { groupValues } from '../../src/responses/leaderboards.js';
import { runEnd, runOf } from '../../src/responses/leaderboards.js';
import { limits } from '../../src/shared/limits.js';
import { eraseUserKeys } from '../../src/access/key-store.js';
import { saveTestClock } from '../../src/access/tenants.js';
import { AggregateReader } from '../../src/history/aggregates.js';
import { isPastEpoch, LeaseLost, loadOffset } from '../../src/ledger/offsets.js';
import { HistoryReader } from '../../src/history/reader.js';
import { WriteBehind } from '../../src/ledger/write-behind.js';
import { Listener, redisOptions } from '../../src/redis/connection.js';
import { attributeFilters } from '../../src/api/query.js';
import { requireSystem } from '../../src/plan/active-config.js';
import { userPropertiesSchema, type UserProperties } from '../../src/engine/user-properties.js';
import { bundleLibrary, type FunctionLibrary } from '../../src/redis/library.js';
import type { Difference } from '../../src/restore/differences.js';
import { Reconciler } from '../../src/restore/reconcile.js';
import { restoreTenant } from '../../src/restore/restore.js';
import { verifyTenant } from '../../src/restore/verify.js';
import { createPublisher } from '../../src/webhooks/publisher.js';
import { activeRedis } from './active-redis.js';
import type { Subject } from './model/subject.js';
import type { UserProperties as ModelProperties } from './model/users.js';
import type { Answer } from './model/world.js';
import { stores } from './stores.js';
import { freshDatabase, keysOf, type TestDatabase } from './world.js';

const log = pino({ level: process.env['MODEL_LOG'] ?? 'silent' });
const drainMs = 60_000;
const stopMs = 2_000;

/**
 * Queries Postgres once per new ledger position, and not at each of the hundreds of reads at the end of a history. It retries for a minute:
 * a worker whose lease a restore has taken polls only after some seconds, on a busy machine too late for a read.
 */
class OnceHistory extends HistoryReader {
  private readonly committed = new Map<number, string>();

  override async waitFor(tenant: number, ledgerId: string): Promise<void> {
    if (this.committed.get(tenant) === ledgerId) return;
    const giveUpAt = Date.now() + drainMs;
    const isPatient = (error: unknown): boolean => error instanceof LaurelError && error.code === 'not_ready' && Date.now() < giveUpAt;
    let isStored = false;
    while (!isStored) {
      isStored = await super.waitFor(tenant, ledgerId).then(
        () => true,
        (error: unknown) => {
          if (!isPatient(error)) throw error;
          return false;
        },
      );
    }
    this.committed.set(tenant, ledgerId);
  }
}

/** The real stores and one engine, on which any number of histories run, one tenant each. */
export interface Arena {
  /** A new tenant, at a moment of the test clock and under a configuration. */
  enter(document: ConfigDocument, nowMs: number): Promise<Session>;
  stop(): Promise<void>;
}

/**
 * What becomes of Redis, and what restores it: it comes back empty and the worker finds out, or `laurel restore` is called; or it comes back as
 * it was when the newest copy was taken, or when the tenant was new, and the worker finds out.
 */
export type Loss = 'empty' | 'emptyByHand' | 'older';

/** One tenant of the engine, comparable with the model. */
export interface Session {
  readonly subject: Subject;
  /** Does what is due, and everything that a new configuration starts. */
  sweep(): Promise<void>;
  /** Replaces the copy of the tenant's keys by one of their current state. */
  keepCopy(): Promise<void>;
  /** Loses the tenant's keys once Postgres has everything, and restores them. */
  loseRedis(how: Loss): Promise<void>;
  /** Differences between Redis and Postgres. */
  verify(): Promise<readonly Difference[]>;
  /** Stops the tenant's worker and deletes its keys. */
  leave(): Promise<void>;
}

async function answered(work: () => Promise<unknown>, status = 200): Promise<Answer> {
  try {
    const body = await work();
    return { status, body: body instanceof JsonText ? (JSON.parse(body.text) as unknown) : body };
  } catch (error) {
    if (error instanceof LaurelError && error.status < 500) return { status: error.status };
    throw error;
  }
}

/** Refuses what the schemas of the HTTP API refuse. */
function checked<T extends ModelProperties>(properties: T): T & UserProperties {
  if (!userPropertiesSchema.safeParse(properties).success) throw new LaurelError('unprocessable', 'the schema refuses this');
  return properties as T & UserProperties;
}

/** An issue of the Admin API counts as a 422. */
const item = ({ ok }: Result<unknown>): Answer => ({ status: ok ? 200 : 422 });

interface Tools extends Stores {
  readonly database: TestDatabase;
  readonly sweep: Sweep;
  readonly deletion: Deletion;
  readonly aggregates: AggregateReader;
}

/** Subscribes to the webhooks that are compared; the model's documents need no endpoint. */
const endpoint = {
  id: '00000000-0000-4000-9000-000000000000',
  no: 1_000_000,
  key: 'compared',
  name: 'Compared',
  created: new Date(0).toISOString(),
  updated: new Date(0).toISOString(),
  archived: false,
  url: 'https://example.com/compared',
  events: ['achievement.completed', 'streak.started', 'streak.extended', 'streak.lost'],
  status: 'active',
} as const;

async function activate({ engine, database, clock }: Tools, tenant: number, compared: ConfigDocument): Promise<void> {
  const document = {
    ...compared,
    webhooks: [...compared.webhooks, { ...endpoint, events: [...endpoint.events] }],
    nextNo: endpoint.no + 1,
  };
  const { version } = await engine.config(tenant);
  const now = new Date(await clock.now(tenant)).toISOString();
  await saveConfig(database.pool, { tenant, expectedVersion: version, document, author: commandAuthor, now });
  await engine.activate(await engine.refreshConfig(tenant));
}

function subjectOf(tools: Tools, tenant: number): Subject {
  const { engine } = tools;
  const pauses = new Map<string, string>();
  return {
    setNow: async (ms) => {
      await tools.sweep.advance(tenant, ms);
    },
    drift: async (ms) => {
      await tools.clock.set(tenant, ms);
    },
    configure: async (document) => {
      await activate(tools, tenant, document);
      await tools.sweep.run(tenant);
    },
    activate: (document) => activate(tools, tenant, document),
    event: async ({ metricKey, user, value, attributes, idempotencyKey }) => {
      const answer = await answered(async () => {
        if (Math.abs(value) > limits.maxAbsoluteTotal) throw new LaurelError('unprocessable', 'the schema refuses this');
        return trackEvent(engine, tenant, { metricKey, user: checked(user), value, attributes, idempotencyKey });
      });
      if (answer.status !== 200) return answer;
      const { replayed, body } = answer.body as EventAnswer;
      return { status: replayed ? 202 : 201, body: JSON.parse(body.text) as unknown };
    },
    identify: (mode, id, properties) =>
      answered(
        async () => {
          return identifyUser(engine, tenant, mode, { ...checked(properties), id });
        },
        mode === 'create' ? 201 : 200,
      ),
    completeAchievement: (key, user) =>
      answered(async () => {
        return completeAchievement(engine, tenant, key, checked(user));
      }, 201),
    setStreakPreferences: async (user, streak) => {
      const { status } = await answered(() => setPreferences(engine, tenant, user, { streak }));
      return { status };
    },
    removeDeviceToken: (user, token) => answered(() => removeDeviceToken(engine, tenant, user, token)),
    grantFreeze: async (user) => item(await changeStreak(engine, tenant, 'grantFreeze', user)),
    takeFreeze: async (user) => item(await changeStreak(engine, tenant, 'takeFreeze', user)),
    createPause: async (user, start, end) => {
      if (end < start) return { status: 422 };
      const added = await addPause(engine, tenant, user, { start, end });
      if (!added.ok) return { status: 422 };
      pauses.set(added.value, user);
      return { status: 200, body: { pauseId: added.value, start, end } };
    },
    deletePause: async (id) => item(await removePause(engine, tenant, pauses.get(id) ?? '', id)),
    restoreStreak: async (user) => item(await changeStreak(engine, tenant, 'restoreStreak', user)),
    resetStreak: async (user) => item(await changeStreak(engine, tenant, 'resetStreak', user)),
    adjustPoints: (user, key, { amount, idempotencyKey }) =>
      answered(async () => {
        const adjustment = { user, amount, reason: 'a test', idempotencyKey, keyId: randomUUID() };
        const result = await adjustPoints(engine, tenant, (config) => requireSystem(config, key), adjustment);
        if (!result.ok) throw result.refusal.code === 'not_found' ? new LaurelError('unprocessable', 'an issue') : result.refusal;
        const { awarded, total, level } = result.value;
        return { awarded, total, level: level?.key ?? null };
      }),
    correctEvent: async (user, eventId) => {
      const { status, body } = await answered(() => correctEvent(tools, tenant, user, eventId));
      if (status !== 200) return { status };
      return { status: (body as Correction).idempotentReplayed ? 200 : 201 };
    },
    deleteUser: async (user) => {
      const { status } = await answered(() => tools.deletion.run(tenant, user, commandAuthor));
      return { status };
    },
    user: (id) => answered(() => readProfile(engine, tenant, id)),
    metrics: (id) => answered(() => readUserMetrics(engine, tenant, id)),
    points: (id, key, awards) => answered(() => readUserPoints(engine, tenant, id, { key, awards })),
    levels: (key) => answered(() => summariseLevels(tools, tenant, key)),
    achievements: (id, includeIncomplete) => answered(() => readUserAchievements(engine, tenant, id, includeIncomplete)),
    allAchievements: () => answered(() => listAchievements(engine, tenant, new Map())),
    streak: (id, periods) => answered(() => readStreak(tools, tenant, id, periods)),
    streaks: (ids) => answered(() => rankStreaks(engine, tenant, ids)),
    webhooks: (id) => sentWebhooks(tools, tenant, id),
    leaderboards: (includeFinished) => answered(() => listLeaderboards(tools, tenant, includeFinished)),
    leaderboard: (key, page) =>
      answered(() =>
        readLeaderboard(tools, tenant, key, {
          run: page.run,
          offset: page.offset ?? 0,
          limit: page.limit ?? 10,
          userId: page.userId,
          userAttributes: attributeFilters.parse(page.userAttributes),
          userIds: page.userIds,
        }),
      ),
    userLeaderboard: (id, key, run) => answered(() => readUserLeaderboard(tools, tenant, id, { key, run, days: 10 })),
    finalRankings: (key, run) => finalRankings(tools, tenant, key, run),
  };
}

async function sentWebhooks({ engine, clock, history, database }: Tools, tenant: number, user: string): Promise<Answer> {
  const { status } = await answered(() => readProfile(engine, tenant, user));
  if (status !== 200) return { status };
  const { ledgerId } = await clock.ledgerId(tenant);
  await history.waitFor(tenant, ledgerId);
  const { rows } = await database.pool.query<{ kind: string; about: string | number }>(
    `select kind, coalesce(payload #> '{achievement,id}', payload #> '{streak,length}', payload -> 'length') as about
       from outbox where tenant = $1 and user_id = $2 and kind = any($3) order by id`,
    [tenant, user, endpoint.events],
  );
  const { achievements } = (await engine.config(tenant)).document;
  const keys = new Map<string | number, string>(achievements.map(({ id, key }) => [id, key]));
  return { status: 200, body: rows.map(({ kind, about }) => ({ kind, about: keys.get(about) ?? about })) };
}

async function finalRankings({ engine, clock, history, database }: Tools, tenant: number, key: string, date: string): Promise<Answer> {
  const config = await engine.config(tenant);
  const board = config.leaderboards.get(key);
  if (!board) return { status: 404 };
  const run = board.runUnit === null ? 0 : runOf(board, dateToDay(date));
  const { ledgerId } = await clock.ledgerId(tenant);
  await history.waitFor(tenant, ledgerId);
  // A run without events leaves no trace; it is as final as the others.
  const lastEnd = board.end === null ? Infinity : dateToDay(board.end) + 1;
  const overAt = Math.min(board.runUnit === null ? Infinity : runEnd(board, run), lastEnd) * 86_400_000 + limits.finalisationDelayMs;
  if ((await clock.now(tenant)) < overAt && !(await history.isFinal(tenant, board.no, run))) return { status: 404 };
  const { rows } = await database.pool.query<{ group: string; userId: string; rank: number; value: number }>(
    `select "group", user_id as "userId", (row_number() over (partition by "group" order by rank))::integer as rank, value
       from leaderboard_rankings where tenant = $1 and leaderboard = $2 and run = $3 order by "group", rank`,
    [tenant, board.no, run],
  );
  const rankings = rows.map((row) => ({ ...row, group: groupValues(row.group) }));
  // The order of groups is unspecified: this is the model's.
  const named = (row: { group: readonly string[] }): string => JSON.stringify(row.group);
  rankings.sort((a, b) => (named(a) < named(b) ? -1 : named(a) > named(b) ? 1 : a.rank - b.rank));
  return { status: 200, body: { rankings } };
}

export interface ArenaOptions {
  /** Another function library than the service's: one with a fault. It is gone from Redis when the arena stops. */
  readonly library?: FunctionLibrary;
  /** Another Redis than that of the run. */
  readonly redisUrl?: string;
}

async function unlinkAll(redis: Redis, partition: string): Promise<void> {
  const keys = await keysOf(redis, partition);
  if (keys.length > 0) await redis.unlink(...keys);
}

/** Keys as Redis dumps them. */
type Copy = readonly (readonly [key: string, dump: Buffer])[];

/** What a partition holds at one moment. */
async function copyOf(redis: Redis, partition: string): Promise<Copy> {
  const keys = await keysOf(redis, partition);
  const multi = redis.multi();
  for (const key of keys) multi.dumpBuffer(key);
  const dumps = (await multi.exec()) ?? [];
  return keys.flatMap((key, i) => {
    const dump = dumps[i]?.[1];
    return Buffer.isBuffer(dump) ? [[key, dump] as const] : [];
  });
}

/** A machine may be slow, or stand still for seconds: response times are not compared. */
const patience = { commandTimeout: 120_000, socketTimeout: 120_000 } as const;

/** Starts an arena. Stop it in an `after` hook. */
export async function startArena({ library, redisUrl: ownRedisUrl }: ArenaOptions = {}): Promise<Arena> {
  const database = await freshDatabase({ connections: 12 });
  const redisUrl = ownRedisUrl ?? (await stores()).redisUrl;
  const connect = (): Redis => new Redis(redisUrl, { ...redisOptions, ...patience, enableOfflineQueue: true, lazyConnect: false });
  const [redis, workerRedis] = [connect(), connect()];
  for (const each of [redis, workerRedis]) each.on('error', () => undefined);
  const { pool } = database;
  const prefix = `arena${randomUUID().slice(0, 8)}`;
  const writers = new Map<number, WriteBehind>();
  const subscriber = connect();
  await new Listener(subscriber, prefix).on(
    'written',
    (of) => writers.get(Number(of))?.wake(Number(of)),
    () => undefined,
  );
  const functions = library ?? bundleLibrary();
  const engine = new Engine({
    redis,
    prefix,
    library: functions,
    testClock: true,
    loadConfig: (tenant) => loadConfig(pool, tenant),
    loadVersion: (tenant, version) => mustLoadVersion(pool, tenant, version),
    loadOffset: (tenant, isFinal) => loadOffset(pool, tenant, isFinal),
    isPastEpoch: (tenant, epoch) => isPastEpoch(pool, tenant, epoch),
    autoRestore: true,
  });
  const clock = new Clock(engine, true);
  const history = new OnceHistory(pool, (tenant) => writers.get(tenant)?.wake(tenant));
  const jobTools = { engine, pool, clock, history, log };
  const sweep = new Sweep(jobTools);
  const deletion = new Deletion(jobTools, async (tenant, user) => {
    await eraseUserKeys(pool, tenant, user);
  });
  const active = activeRedis(redis, pool, prefix);
  const reconciler = new Reconciler({ engine, redis, pool, active, log, autoRestore: true });
  const tools = { engine, clock, history, database, sweep, deletion, aggregates: new AggregateReader(pool) };
  const publisher = createPublisher(engine, new Set(), () => undefined);
  await engine.loadLibrary();
  // Each history sets the clock of its own tenant: it continues there when Redis is lost.
  await saveTestClock(pool, 0);
  return {
    enter: async (document, nowMs) => {
      const { rows } = await pool.query<{ no: number }>(`insert into tenants (name) values ('history') returning no`);
      const tenant = rows[0]?.no ?? 0;
      const partition = engine.partition(tenant);
      await engine.open(tenant);
      const writeBehind = new WriteBehind({
        redis: workerRedis,
        pool,
        log,
        tenants: () => [tenant],
        partition: () => partition,
        awaitEntries: (no, epoch, lastId) => engine.awaitEntries(no, epoch, lastId),
        onReplaced: (no) => reconciler.resync(no),
        publisher,
      });
      writers.set(tenant, writeBehind);
      writeBehind.start();
      await clock.set(tenant, nowMs);
      const subject = subjectOf(tools, tenant);
      await subject.configure(document);
      let copy = await copyOf(redis, partition);
      const lose = async (how: Loss): Promise<void> => {
        // In one step, as a server starts: else the worker would restore what is about to be replaced.
        const multi = redis.multi();
        multi.unlink(...(await keysOf(redis, partition)));
        if (how === 'older') {
          for (const [key, dump] of copy) multi.restore(key, 0, dump);
          multi.function('LOAD', 'REPLACE', functions.source);
        }
        for (const [error] of (await multi.exec()) ?? []) if (error) throw error;
      };
      return {
        subject,
        sweep: () => sweep.run(tenant),
        keepCopy: async () => {
          copy = await copyOf(redis, partition);
        },
        loseRedis: async (how) => {
          const { ledgerId } = await clock.ledgerId(tenant);
          await history.waitFor(tenant, ledgerId);
          const nowMs = await clock.now(tenant);
          await lose(how);
          if (how === 'emptyByHand') {
            await restoreTenant({ tenant, partition, redis, pool, active, purpose: { epoch: 'none' } }).catch((error: unknown) => {
              // The worker was faster.
              if (!(error instanceof LeaseLost)) throw error;
            });
          }
          await reconciler.resync(tenant);
          await engine.open(tenant);
          // No process has saved the test clock since it was last swept. Time goes on.
          await clock.set(tenant, nowMs);
        },
        verify: async () => {
          const waitForLedger = async (): Promise<void> => history.waitFor(tenant, (await clock.ledgerId(tenant)).ledgerId);
          const expiredUpTo = async (): Promise<number> => keysExpiredUpTo(await engine.config(tenant), await clock.now(tenant));
          return (await verifyTenant({ tenant, partition, redis, pool, waitForLedger, keysExpiredUpTo: expiredUpTo })).differences;
        },
        leave: async () => {
          await writeBehind.stop(drainMs);
          writers.delete(tenant);
          await unlinkAll(redis, partition);
        },
      };
    },
    stop: async () => {
      // A hung one does not respond; the code that planted the fault kills it.
      if (library)
        await Promise.race([redis.function('DELETE', library.name).catch(() => undefined), delay(stopMs, undefined, { ref: false })]);
      redis.disconnect();
      workerRedis.disconnect();
      subscriber.disconnect();
      await database.drop();
    },
  };
}

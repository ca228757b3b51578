import type { Redis } from 'ioredis';
import type { Engine } from '../../src/engine/engine.js';
import { trackEvent } from '../../src/engine/events.js';
import { keyNames, metaFields, userRecords } from '../../src/redis/contract.js';
import { placeOf } from '../../src/redis/layout.js';
import { engineAlone } from '../sides/engine-alone.js';
import { statsOf } from '../measure/command-stats.js';
import { seeded } from '../load/events.js';
import { inNewRedis } from '../servers/new-redis.js';
import { percentile } from '../measure/stats.js';

const tenant = 1;
const seed = 20_260_101;
/** Participants of each leaderboard: the most there may be. */
const participants = 1_000;
/** Users written per step. */
const writtenAtOnce = 5_000;
/** Events of one measurement: few, so that a moment at which the machine is busy elsewhere spoils one only. */
const measuredEvents = 100;
/** Totals are spread evenly below this prime. */
const totalsBelow = 1_000_003;
const totalOf = (user: number): number => (user * 7_919) % totalsBelow;

const metrics = [{ key: 'cards', name: 'Cards' }];
const board = { status: 'active', start: '2020-01-01', rankBy: 'metric', metricKey: 'cards', maxParticipants: participants };
/** What is added to a configuration without leaderboards. */
const kinds: readonly (readonly [kind: string, board: object | undefined])[] = [
  ['none', undefined],
  ['perpetual', { ...board, key: 'all', name: 'All' }],
  ['weekly', { ...board, key: 'week', name: 'Week', start: '2024-01-01', runUnit: 'day', runInterval: 7 }],
];

/**
 * Writes copies of a user who has had an event, each with its own total and rank: KEYS: the user to copy, ARGV: the start of users' keys,
 * the sorted set, the metric's record, the leaderboard, the run (empty without a leaderboard), and from which user to which.
 */
const copyUsers = `
  local fields = redis.call('HGETALL', KEYS[1])
  local users, board, record, no_of_board, run = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
  local at = {}
  for i = 1, #fields, 2 do at[fields[i]] = i + 1 end
  local counts = cmsgpack.unpack(fields[at[record]])
  for no = tonumber(ARGV[6]), tonumber(ARGV[7]) do
    local id, value, seq = 'user-' .. no, (no * 7919) % ${totalsBelow}, no + 1
    counts[${placeOf('metric', 'total') + 1}] = value
    if run ~= '' then
      counts[${placeOf('metric', 'places') + 1}] = { [no_of_board] = run == '0' and seq or { { tonumber(run), value, seq, false } } }
      redis.call('ZADD', board, value, struct.pack('>I4', 2 ^ 32 - 1 - seq) .. id)
    end
    fields[at[record]] = cmsgpack.pack(counts)
    redis.call('HSET', users .. id, unpack(fields))
  end`;

export interface MembersOptions {
  readonly members: number;
  readonly rounds: number;
  readonly signal: AbortSignal;
  readonly print: (line: string) => void;
}

/** What users on one leaderboard cost: bytes of Redis for each, and µs of the function for an event. */
export async function measureMembers(options: MembersOptions): Promise<void> {
  let bytesWithout = 0;
  for (const [kind, leaderboard] of kinds) {
    const measured = await inNewRedis((redis) => new Fill(redis, leaderboard, options).run());
    if (!leaderboard) bytesWithout = measured.bytes;
    const more = leaderboard ? `, ${(measured.bytes - bytesWithout).toFixed(0)} more than without one` : '';
    options.print(`leaderboard: ${kind}; ${options.members} users: ${measured.bytes.toFixed(0)} bytes a user${more}`);
    for (const [who, us] of measured.times) options.print(`  event of ${who}: ${us.toFixed(1)} µs in the function`);
  }
}

interface Measured {
  /** Of Redis' memory, for each user. */
  readonly bytes: number;
  /** The sender of an event, and the time of the function in the calmest tenth of the rounds. */
  readonly times: readonly (readonly [who: string, us: number])[];
}

class Fill {
  private readonly redis: Redis;
  private readonly options: MembersOptions;
  private readonly engine: Engine;
  private readonly random = seeded(seed);

  constructor(redis: Redis, leaderboard: object | undefined, options: MembersOptions) {
    this.redis = redis;
    this.options = options;
    this.engine = engineAlone(redis, { metrics, leaderboards: leaderboard ? [leaderboard] : [] });
  }

  async run(): Promise<Measured> {
    const { members } = this.options;
    await this.engine.loadLibrary();
    // The plan and the time zone are no part of a user.
    await this.send([['template', 0]]);
    const before = await this.memory();
    await this.write();
    const bytes = ((await this.memory()) - before) / members;
    const ranked = Array.from({ length: members }, (_, user) => user).sort((a, b) => totalOf(b) - totalOf(a));
    const best = ranked.slice(0, participants);
    const others = ranked.slice(2 * participants);
    const times: [string, number][] = [['a participant', await this.calm(best)]];
    if (others.length > 0) times.push(['a user beyond the limit', await this.calm(others)]);
    return { bytes, times };
  }

  private async write(): Promise<void> {
    const partition = this.engine.partition(tenant);
    const { document } = await this.engine.config(tenant);
    const [metric] = document.metrics;
    const [board] = document.leaderboards;
    const held = board && (await this.redis.keys(`${partition}${keyNames.board}*`))[0];
    const run = held?.split(':').at(-1) ?? '';
    const users = partition + keyNames.user;
    const fields = [`${userRecords.metric}${metric?.no ?? ''}`, board?.no ?? ''];
    for (let first = 0; first < this.options.members; first += writtenAtOnce) {
      this.options.signal.throwIfAborted();
      const last = Math.min(first + writtenAtOnce, this.options.members) - 1;
      await this.redis.eval(copyUsers, 1, `${users}template`, users, held ?? '', ...fields, run, first, last);
    }
    await this.redis.hincrby(partition + keyNames.meta, metaFields.seq, this.options.members);
  }

  private below(count: number): number {
    return Math.floor(this.random() * count);
  }

  /** The newest entry alone stays of the ledger, as behind a write-behind. */
  private async send(events: readonly (readonly [user: string, value: number])[]): Promise<void> {
    await Promise.all(
      events.map(([id, value]) =>
        trackEvent(this.engine, tenant, { metricKey: 'cards', value, user: { id }, attributes: undefined, idempotencyKey: undefined }),
      ),
    );
    await this.redis.xtrim(this.engine.partition(tenant) + keyNames.ledger, 'MAXLEN', 1);
  }

  private async memory(): Promise<number> {
    return Number(/^used_memory:(\d+)/m.exec(await this.redis.info('memory'))?.[1]);
  }

  /** µs that the function takes for an event of one of some users. */
  private async calm(users: readonly number[]): Promise<number> {
    const rounds: number[] = [];
    for (let round = 0; round < this.options.rounds; round += 1) {
      this.options.signal.throwIfAborted();
      const events = Array.from({ length: measuredEvents }, () => [`user-${users[this.below(users.length)]}`, 1] as const);
      const stats = await statsOf(this.redis, () => this.send(events));
      rounds.push((stats.get('fcall')?.us ?? NaN) / measuredEvents);
    }
    return percentile(Float64Array.from(rounds).sort(), 0.1);
  }
}

import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { Engine } from '../../src/engine/engine.js';
import type { AroundCall } from '../../src/engine/function-calls.js';
import { trackBatch, trackEvent, type EventRequest } from '../../src/engine/events.js';
import { identifyUser } from '../../src/engine/users.js';
import { limits } from '../../src/shared/limits.js';
import { engineAlone } from '../sides/engine-alone.js';

/** The longest call of the function library of each kind, in µs inside Redis. */
export interface Longest {
  readonly planBytes: number;
  /** The first event of all, for which Redis unpacks the plan. */
  readonly first: number;
  /** An event that sets off everything, and one that also moves the user from one group to another. */
  readonly event: number;
  readonly move: number;
  /** A part of a batch of such events. */
  readonly batch: number;
  /** A step of the sweep, users having been away for 3 days. */
  readonly settle: number;
  /** Identification, the change of an attribute, and the streaks of all users. */
  readonly other: number;
}

const tenant = 1;
const users = 6;
const noonMs = Date.parse('2040-01-02T12:00:00Z');
const dayMs = 86_400_000;

/** What each call took, in the order in which they were made. */
type Phases = Readonly<Record<Exclude<keyof Longest, 'planBytes'>, readonly number[]>>;

/** What tells how long the calls of the library took in `work`, in µs and in the order in which they were made. */
interface Meter {
  readonly aroundCall?: AroundCall;
  readonly callsIn: (work: () => Promise<unknown>) => Promise<number[]>;
}

type SlowlogEntry = readonly [id: number, at: number, us: number, args: readonly string[]];

/** The time on the clock, by Redis' slow log. */
export function wallClock(redis: Redis): Meter {
  return {
    callsIn: async (work) => {
      await redis.config('SET', 'slowlog-log-slower-than', 0);
      await redis.config('SET', 'slowlog-max-len', 100_000);
      await redis.call('SLOWLOG', 'RESET');
      await work();
      const entries = (await redis.call('SLOWLOG', 'GET', '-1')) as readonly SlowlogEntry[];
      return entries.filter(([, , , [command]]) => command?.toLowerCase() === 'fcall').map(([, , us]) => us);
    },
  };
}

/** The CPU time of Redis' main thread since its start, in µs. */
export async function mainThreadCpu(redis: Redis): Promise<number> {
  const info = await redis.info('cpu');
  const [user, system] = ['user', 'sys'].map((kind) => Number(new RegExp(`used_cpu_${kind}_main_thread:([\\d.]+)`).exec(info)?.[1]));
  return Math.round(((user ?? NaN) + (system ?? NaN)) * 1e6);
}

/** The CPU time of Redis' main thread, which other processes do not make longer. Calls are made one by one, parts of a batch too. */
export function cpuTime(redis: Redis): Meter {
  let calls: number[] = [];
  let last: Promise<unknown> = Promise.resolve();
  return {
    aroundCall: (_name, call) => {
      const measured = last.then(async () => {
        const before = await mainThreadCpu(redis);
        const reply = await call();
        calls.push((await mainThreadCpu(redis)) - before);
        return reply;
      });
      last = measured.catch(() => undefined);
      return measured;
    },
    callsIn: async (work) => {
      calls = [];
      await work();
      return calls;
    },
  };
}

async function oneByOne(work: (no: number) => Promise<unknown>): Promise<void> {
  for (let no = 0; no < users; no += 1) await work(no);
}

class Calls {
  private readonly redis: Redis;
  private readonly engine: Engine;
  private readonly meter: Meter;

  constructor(redis: Redis, engine: Engine, meter: Meter) {
    this.redis = redis;
    this.engine = engine;
    this.meter = meter;
  }

  async measure(): Promise<Phases> {
    const { redis, meter } = this;
    await redis.flushall();
    await redis.function('FLUSH');
    await this.engine.loadLibrary();
    await this.setNow(noonMs);
    const first = await meter.callsIn(() => this.send(0, { value: 1, city: 'Lisbon' }));
    const created = await meter.callsIn(() => oneByOne((no) => this.send(no, { value: 1, city: 'Lisbon' })));
    await this.setNow(noonMs + dayMs);
    const event = await meter.callsIn(() => oneByOne((no) => this.send(no, { value: 1_000 })));
    const move = await meter.callsIn(() => oneByOne((no) => this.send(no, { value: 1, city: no % 2 === 0 ? 'Porto' : 'Lisbon' })));
    const batch = await meter.callsIn(() => trackBatch(this.engine, tenant, this.batch()));
    const changed = await meter.callsIn(() => oneByOne((no) => this.identify(no, 'Faro')));
    await this.setNow(noonMs + 4 * dayMs);
    const settle = await meter.callsIn(() => this.sweep());
    await this.setNow(noonMs + 7 * dayMs);
    const read = await meter.callsIn(() => this.readStreaks());
    return { first, event: [...created, ...event], move, batch, settle, other: [...changed, ...read] };
  }

  private setNow(ms: number): Promise<unknown> {
    return this.engine.call(tenant, 'clock', () => ({ args: { to: ms } }));
  }

  private request(no: number, { value, city }: { readonly value: number; readonly city?: string }): EventRequest {
    return {
      ...{ metricKey: 'm', value, attributes: { device: 'phone' }, idempotencyKey: undefined },
      user: { id: `user-${no}`, ...(city === undefined ? {} : { attributes: { city } }) },
    };
  }

  private send(no: number, what: { readonly value: number; readonly city?: string }): Promise<unknown> {
    return trackEvent(this.engine, tenant, this.request(no, what));
  }

  private batch(): EventRequest[] {
    return Array.from({ length: 10 * users }, (_, i) => this.request(i % users, { value: 1 + i, city: i % 3 === 0 ? 'Lisbon' : 'Porto' }));
  }

  private identify(no: number, city: string): Promise<unknown> {
    return identifyUser(this.engine, tenant, 'upsert', { id: `user-${no}`, attributes: { city } });
  }

  private async sweep(): Promise<void> {
    for (;;) {
      const pairs = Array.from({ length: limits.sweepUsers }, () => randomUUID());
      const { values } = await this.engine.call(tenant, 'sweep', () => ({ args: { upTo: '' }, pairs }));
      if (Number(values[1]) === 1) return;
    }
  }

  private readStreaks(): Promise<unknown> {
    const pairs = Array.from({ length: users }, (_, no) => [randomUUID(), `user-${no}`]).flat();
    return this.engine.call(tenant, 'readStreaks', () => ({ args: {}, pairs }));
  }
}

/**
 * Measures the longest calls under a configuration. Every round makes the same calls, and the shortest time of each counts: whatever
 * interrupts Redis makes a call longer.
 */
export async function measureLargest(redis: Redis, config: object, rounds: number, meter: Meter): Promise<Longest> {
  let planBytes = 0;
  let shortest: Phases | undefined;
  for (let round = 0; round < rounds; round += 1) {
    const engine = engineAlone(redis, config, { testClock: true, aroundCall: meter.aroundCall });
    const phases = await new Calls(redis, engine, meter).measure();
    const before = shortest ?? phases;
    shortest = mapPhases((phase) => phases[phase].map((us, call) => Math.min(us, before[phase][call] ?? us)));
    planBytes = (await engine.config(tenant)).plan.blob.length;
  }
  const known = shortest;
  if (!known) throw new Error('At least one round is needed.');
  return { planBytes, ...mapPhases((phase) => Math.max(0, ...known[phase])) };
}

function mapPhases<T>(make: (phase: keyof Phases) => T): Record<keyof Phases, T> {
  return {
    ...{ first: make('first'), event: make('event'), move: make('move') },
    ...{ batch: make('batch'), settle: make('settle'), other: make('other') },
  };
}

/**
 * What docs/rules says that events lead to, in plain TypeScript: totals, points with boosts and levels, leaderboards with ties and
 * limits. It shares nothing with src/ and lua/ and computes differently where it can: sums and products are BigInts, a leaderboard is a
 * list that is sorted anew for each change. It takes events one after the other, in the order in which the ledger holds them.
 */

/** Amounts are kept in thousandths: no test sends more decimals. */
const unit = 1_000n;
const exact = (amount: number): bigint => BigInt(Math.round(amount * Number(unit)));
const shown = (amount: bigint): number => Number(amount) / Number(unit);

type Filters = readonly { readonly attributeKey: string; readonly attributeValue: string }[];

interface Trigger {
  readonly key: string;
  readonly metricKey: string;
  readonly metricThreshold: number;
  readonly points: number;
  readonly userAttributes?: Filters;
  readonly eventAttributes?: Filters;
}

interface Boost {
  readonly key: string;
  readonly start: string;
  readonly end?: string;
  readonly multiplier: number;
  readonly rounding: 'down' | 'up' | 'nearest';
  readonly userId?: string;
  readonly userAttributes?: Filters;
}

interface System {
  readonly key: string;
  readonly maxPoints?: number;
  readonly levels: readonly { readonly key: string; readonly points: number }[];
  readonly triggers: readonly Trigger[];
  readonly boosts: readonly Boost[];
}

interface Placed {
  readonly rank: number | null;
  readonly previousRank: number | null;
  readonly threshold: number;
}

interface Board {
  readonly key: string;
  readonly rankBy: 'metric' | 'points';
  readonly metricKey?: string;
  readonly pointsSystemKey?: string;
  readonly maxParticipants: number;
}

/** The part of a configuration file that the model understands; everything in it is active. */
export interface ModelConfig {
  readonly points: readonly System[];
  readonly leaderboards: readonly Board[];
}

export interface ModelEvent {
  readonly metric: string;
  readonly user: string;
  readonly value: number;
  /** The user attributes that were sent. */
  readonly userAttributes?: Readonly<Record<string, string>>;
  readonly eventAttributes?: Readonly<Record<string, string>>;
  /** The user's local date, `YYYY-MM-DD`. */
  readonly day: string;
}

/** What an answer must say, and nothing that depends on ids, names or the clock. */
export interface ModelAnswer {
  readonly total: number;
  readonly points: Readonly<Record<string, { total: number; added: number; awarded: number[]; level?: string | null }>>;
  readonly leaderboards: Readonly<Record<string, Placed>>;
}

interface Place {
  readonly user: string;
  readonly value: bigint;
  /** Which event of the model it was reached with. */
  readonly reached: number;
}

class ModelUser {
  readonly attributes = new Map<string, string>();
  readonly totals = new Map<string, bigint>();
  readonly points = new Map<string, bigint>();
  /** Trigger → the sum of the events that matched, and the highest that it has been. */
  readonly progress = new Map<string, { sum: bigint; highest: bigint }>();
}

const matches = (filters: Filters = [], has: (key: string) => string | undefined): boolean =>
  filters.every(({ attributeKey, attributeValue }) => has(attributeKey) === attributeValue);

/** points × all multipliers, rounded as the largest says; of equals the one further down in the file, which is the newer. */
function boosted(points: bigint, boosts: readonly Boost[]): bigint {
  let [numerator, denominator] = [points, 1n];
  for (const { multiplier } of boosts) {
    const [whole = '', decimals = ''] = String(multiplier).split('.');
    numerator *= BigInt(whole + decimals);
    denominator *= 10n ** BigInt(decimals.length);
  }
  const largest = boosts.reduce<Boost | undefined>((best, boost) => (best && best.multiplier > boost.multiplier ? best : boost), undefined);
  const down = numerator / denominator;
  const rest = numerator % denominator;
  switch (largest?.rounding) {
    case 'up':
      return rest > 0n ? down + 1n : down;
    case 'nearest':
      return rest * 2n >= denominator ? down + 1n : down;
    default:
      return down;
  }
}

export class Model {
  private readonly config: ModelConfig;
  private readonly users = new Map<string, ModelUser>();
  private readonly boards: Map<string, Place[]>;
  private events = 0;

  constructor(config: ModelConfig) {
    this.config = config;
    this.boards = new Map(config.leaderboards.map(({ key }) => [key, []]));
  }

  /** Takes the next event of the ledger. */
  track(event: ModelEvent): ModelAnswer {
    this.events += 1;
    const user = this.user(event.user);
    for (const [key, value] of Object.entries(event.userAttributes ?? {})) user.attributes.set(key, value);
    const before = user.totals.get(event.metric);
    const total = (before ?? 0n) + exact(event.value);
    user.totals.set(event.metric, total);
    const leaderboards: Record<string, Placed> = {};
    const place = (board: Board, from: bigint | undefined, to: bigint): void => {
      const placed = from === to ? undefined : this.place(board, event.user, to);
      if (placed) leaderboards[board.key] = placed;
    };
    for (const board of this.config.leaderboards) if (board.metricKey === event.metric) place(board, before, total);
    const points: Record<string, { total: number; added: number; awarded: number[]; level?: string | null }> = {};
    for (const system of this.config.points) {
      const owned = user.points.get(system.key);
      const awarded = this.awards(system, user, event);
      if (awarded.length === 0) continue;
      const now = user.points.get(system.key)!;
      const level = this.level(system, now);
      points[system.key] = {
        total: Number(now),
        added: Number(now - (owned ?? 0n)),
        awarded: awarded.map(Number),
        ...(level === this.level(system, owned ?? 0n) ? {} : { level }),
      };
      for (const board of this.config.leaderboards)
        if (board.pointsSystemKey === system.key) place(board, owned && owned * unit, now * unit);
    }
    return { total: shown(total), points, leaderboards };
  }

  /** The state at the end, by user. */
  totals(user: string): Record<string, number> {
    return Object.fromEntries([...this.user(user).totals].map(([metric, total]) => [metric, shown(total)]));
  }

  pointsOf(user: string, system: string): number {
    return Number(this.user(user).points.get(system) ?? 0n);
  }

  levelOf(user: string, system: string): string | null {
    const { points } = this.user(user);
    return this.level(
      this.config.points.find(({ key }) => key === system)!,
      points.get(system) ?? 0n,
    );
  }

  /** A whole leaderboard, the first place first. */
  rankings(board: string): { userId: string; rank: number; value: number }[] {
    const { maxParticipants } = this.config.leaderboards.find(({ key }) => key === board)!;
    const places = this.boards.get(board)!.slice(0, maxParticipants);
    return places.map(({ user, value }, index) => ({ userId: user, rank: index + 1, value: shown(value) }));
  }

  private user(id: string): ModelUser {
    let user = this.users.get(id);
    if (!user) this.users.set(id, (user = new ModelUser()));
    return user;
  }

  private awards(system: System, user: ModelUser, event: ModelEvent): bigint[] {
    const awarded: bigint[] = [];
    for (const trigger of system.triggers) {
      if (trigger.metricKey !== event.metric) continue;
      if (!matches(trigger.eventAttributes, (key) => event.eventAttributes?.[key])) continue;
      if (!matches(trigger.userAttributes, (key) => user.attributes.get(key))) continue;
      const passed = this.advance(trigger, user, exact(event.value));
      if (passed === 0n) continue;
      const total = user.points.get(system.key) ?? 0n;
      const earned = this.earned(system, trigger, passed, user, event);
      const cap = BigInt(system.maxPoints ?? 10 ** 15);
      const next = [total + earned, 0n].reduce((a, b) => (a > b ? a : b));
      const kept = earned > 0n && next > cap ? cap : next;
      if (kept === total) continue;
      user.points.set(system.key, kept);
      awarded.push(kept - total);
    }
    return awarded;
  }

  /** How many multiples of its threshold a trigger passes for the first time. */
  private advance(trigger: Trigger, user: ModelUser, value: bigint): bigint {
    const { sum, highest } = user.progress.get(trigger.key) ?? { sum: 0n, highest: 0n };
    const now = sum + value;
    const high = now > highest ? now : highest;
    user.progress.set(trigger.key, { sum: now, highest: high });
    const step = BigInt(trigger.metricThreshold) * unit;
    return high / step - highest / step;
  }

  private earned(system: System, trigger: Trigger, passed: bigint, user: ModelUser, { user: id, day }: ModelEvent): bigint {
    const earned = passed * BigInt(trigger.points);
    if (earned < 0n) return earned;
    const active = system.boosts.filter(
      ({ start, end, userId, userAttributes }) =>
        start <= day &&
        (end === undefined || day <= end) &&
        (userId === undefined || userId === id) &&
        matches(userAttributes, (key) => user.attributes.get(key)),
    );
    return boosted(earned, active);
  }

  private level({ levels }: System, total: bigint): string | null {
    const reached = levels.filter(({ points }) => BigInt(points) <= total).sort((a, b) => b.points - a.points);
    return reached[0]?.key ?? null;
  }

  private place(board: Board, user: string, value: bigint): Placed | undefined {
    const places = this.boards.get(board.key)!;
    const rankIn = (list: readonly Place[]): number | null => {
      const index = list.slice(0, board.maxParticipants).findIndex((place) => place.user === user);
      return index < 0 ? null : index + 1;
    };
    const previousRank = rankIn(places);
    const next = [...places.filter((place) => place.user !== user), { user, value, reached: this.events }];
    next.sort((a, b) => (a.value === b.value ? a.reached - b.reached : a.value > b.value ? -1 : 1));
    this.boards.set(board.key, next);
    const rank = rankIn(next);
    const last = next[board.maxParticipants - 1];
    return rank === null && previousRank === null ? undefined : { rank, previousRank, threshold: last ? shown(last.value) : 0 };
  }
}

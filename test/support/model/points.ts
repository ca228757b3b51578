/** Rules "Points": what triggers earn, boosts, cap and floor, levels. */
import type {
  Achievement,
  ConfigDocument,
  Metric,
  PointsBoost,
  PointsLevel,
  PointsSystem,
  PointsTrigger,
} from '../../../src/config/model.js';
import { add, amount, boosted, isInRange, multiples, type Amount } from './decimal.js';
import type { Change } from './leaderboards.js';
import { dateOf, dayMs, hourMs, instant, startOfDay } from './time.js';
import { localDayOf, reach, zoneOf, type User } from './users.js';
import { byId, live, matches, Refused, shownEventFilters, shownFilters, type World } from './world.js';

interface Award {
  readonly trigger: string;
  readonly awarded: number;
  readonly total: number;
  readonly at: number;
  readonly boosts: readonly string[];
}

export interface SystemState {
  total: number;
  /** The oldest first. */
  readonly awards: Award[];
}

/** What a call did to a user, as far as it can earn points. */
export interface Deed {
  readonly user: User;
  readonly created: boolean;
  readonly completed: readonly Achievement[];
  /** The length that the configured frequency's streak has reached by this event; null if it wasn't extended. */
  readonly extendedTo: number | null;
  /** Null for a call that is no event. */
  readonly event: { readonly metric: Metric; readonly value: Amount; readonly attributes: ReadonlyMap<string, string> } | null;
}

/** What happened to a user in one system. */
export interface Earned {
  readonly system: PointsSystem;
  readonly before: number;
  readonly awards: readonly Award[];
  readonly change: Change;
}

/** "A system without a cap ends at 1e15." */
const highestTotal = 1e15;
const awardsKept = 100;

const isActive = (trigger: PointsTrigger): boolean => !trigger.archived && trigger.status === 'active';
const totalOf = (user: User, system: PointsSystem): number => user.points.get(system.id)?.total ?? 0;

/** How many multiples of the threshold the sum of the matching events passes for the first time, below its highest mark. */
function passed(trigger: PointsTrigger & { type: 'metric' }, { user, event }: Deed): number {
  if (event?.metric.id !== trigger.metricId || !matches(trigger.eventAttributes, event.attributes)) return 0;
  const { sum, highest } = user.progress.get(trigger.id) ?? { sum: 0n, highest: 0n };
  const now = add(sum, event.value);
  if (!isInRange(now)) throw new Refused(422, 'the sum of a trigger would be too large');
  const high = now > highest ? now : highest;
  user.progress.set(trigger.id, { sum: now, highest: high });
  return multiples(high, trigger.metricThreshold) - multiples(highest, trigger.metricThreshold);
}

/** How often a trigger pays for what a call did. */
function times(trigger: PointsTrigger, deed: Deed): number {
  switch (trigger.type) {
    case 'metric':
      return passed(trigger, deed);
    case 'streak':
      return deed.extendedTo !== null && deed.extendedTo % trigger.streakLength === 0 ? 1 : 0;
    case 'achievement':
      return deed.completed.some(({ id }) => id === trigger.achievementId) ? 1 : 0;
    case 'user_creation':
      return deed.created ? 1 : 0;
    case 'time':
      return 0;
  }
}

/** The boosts of a system that are active for a user on a local day: the largest multiplier first, the newest of equals first. */
function activeBoosts(system: PointsSystem, user: User, day: number): PointsBoost[] {
  const date = dateOf(day);
  return live(system.boosts)
    .filter(({ start, end }) => start <= date && (end === null || date <= end))
    .filter(({ userId, userAttributes }) => (userId === null || userId === user.id) && matches(userAttributes, user.attributes))
    .sort((a, b) => b.multiplier - a.multiplier || b.no - a.no);
}

/** Awards what a trigger earns, boosted, within cap and floor. Returns nothing when nothing was added. */
function award(user: User, system: PointsSystem, trigger: PointsTrigger, count: number, at: number): Award | null {
  const total = totalOf(user, system);
  const plain = count * trigger.points;
  if (plain < 0 && trigger.type === 'metric' && trigger.blockIfOutOfPoints && -plain > total) throw new Refused(422, 'out of points');
  const boosts = plain > 0 ? activeBoosts(system, user, localDayOf(user, at)) : [];
  const multipliers = boosts.map(({ multiplier }) => multiplier);
  const earned = plain > 0 ? boosted(plain, multipliers, boosts[0]?.rounding ?? 'down') : plain;
  const room = Math.max((system.maxPoints ?? highestTotal) - total, 0);
  const awarded = Math.max(Math.min(earned, earned > 0 ? room : earned), -total);
  if (awarded === 0) return null;
  const made = { trigger: trigger.id, awarded, total: total + awarded, at, boosts: boosts.map(({ id }) => id) };
  const state = user.points.get(system.id) ?? { total: 0, awards: [] };
  state.total = made.total;
  state.awards.push(made);
  if (state.awards.length > awardsKept) state.awards.shift();
  user.points.set(system.id, state);
  return made;
}

function earned(world: World, user: User, system: PointsSystem, before: number, isFirst: boolean, awards: Award[], at: number): Earned {
  const after = totalOf(user, system);
  const isChanged = isFirst || after !== before;
  const source = `points:${system.id}`;
  const sequence = isChanged ? reach(world, user, source) : (user.reached.get(source) ?? 0);
  const change = { source, moment: at, after: amount(after), gain: amount(after - before), isChanged, sequence };
  return { system, before, awards, change };
}

/** Rule "Order inside an event": for each system in the order of the configuration, its triggers in theirs. */
export function earn(world: World, deed: Deed): Earned[] {
  const { user } = deed;
  return live(world.config.pointsSystems).flatMap((system) => {
    const before = totalOf(user, system);
    const isFirst = !user.points.has(system.id);
    const awards = system.triggers.filter(isActive).flatMap((trigger) => {
      if (!matches(trigger.userAttributes, user.attributes)) return [];
      const count = times(trigger, deed);
      return count === 0 ? [] : (award(user, system, trigger, count, world.now) ?? []);
    });
    return awards.length === 0 ? [] : [earned(world, user, system, before, isFirst, awards, world.now)];
  });
}

interface Occurrence {
  readonly system: PointsSystem;
  readonly trigger: PointsTrigger;
  readonly at: number;
}

/** The multiples of `interval` after `from`, in the span after `after` up to `upTo`. */
function ticks(from: number, interval: number, after: number, upTo: number): number[] {
  const list: number[] = [];
  const first = from + interval * Math.max(1, Math.floor((after - from) / interval) + 1);
  for (let tick = first; tick <= upTo; tick += interval) list.push(tick);
  return list;
}

/** Rule "Time triggers": the occurrences that a user has reached since the last settle, the earliest first. */
function occurrences(config: ConfigDocument, user: User, today: number, now: number): Occurrence[] {
  const due = live(config.pointsSystems).flatMap((system) =>
    system.triggers.filter(isActive).flatMap((trigger): Occurrence[] => {
      if (trigger.type !== 'time') return [];
      const hour = (ms: number): number => Math.floor(ms / hourMs);
      const moments =
        trigger.timeUnit === 'hours'
          ? ticks(hour(user.created), trigger.timeInterval, hour(user.settledAt), hour(now)).map((tick) => tick * hourMs)
          : ticks(user.createdDay, trigger.timeInterval, user.day, today).map((tick) => startOfDay(zoneOf(user), tick));
      return moments.filter((at) => at > Date.parse(trigger.updated)).map((at) => ({ system, trigger, at }));
    }),
  );
  return due.sort((a, b) => a.at - b.at);
}

/** Settles the time triggers of a user who has reached a streak day. Returns what the awards changed, in the order of time. */
export function settleTimeTriggers(world: World, user: User, today: number, now: number): Change[] {
  return occurrences(world.config, user, today, now).flatMap(({ system, trigger, at }) => {
    if (!matches(trigger.userAttributes, user.attributes)) return [];
    const before = totalOf(user, system);
    const isFirst = !user.points.has(system.id);
    const made = award(user, system, trigger, 1, at);
    return made ? [earned(world, user, system, before, isFirst, [made], at).change] : [];
  });
}

/** The next UTC hour at which an hourly trigger may pay a user; infinity for none. */
export function nextHour(config: ConfigDocument, user: User): number {
  const hourly = live(config.pointsSystems).flatMap(({ triggers }) =>
    triggers.filter(isActive).filter((trigger) => trigger.type === 'time' && trigger.timeUnit === 'hours'),
  );
  const created = Math.floor(user.created / hourMs);
  const settled = Math.floor(user.settledAt / hourMs);
  const next = hourly.map((trigger) => {
    const interval = trigger.type === 'time' ? trigger.timeInterval : 1;
    return (created + interval * Math.max(1, Math.floor((settled - created) / interval) + 1)) * hourMs;
  });
  return Math.min(Infinity, ...next);
}

/** Rule "Points": the highest level whose points are at most the total. */
function levelAt(system: PointsSystem, total: number): PointsLevel | null {
  const reached = live(system.levels).filter(({ points }) => points <= total);
  return reached.sort((a, b) => b.points - a.points)[0] ?? null;
}

const levelBody = (level: PointsLevel | null): object | null =>
  level && (({ id, key, name, description, badgeUrl, points }) => ({ id, key, name, description, badgeUrl, points }))(level);

const systemBody = ({ id, key, name, description, badgeUrl, maxPoints }: PointsSystem): object => ({
  id,
  key,
  name,
  description,
  badgeUrl,
  maxPoints,
});

function triggerKindBody(config: ConfigDocument, trigger: PointsTrigger): object {
  switch (trigger.type) {
    case 'metric': {
      const { id, name } = byId(config.metrics, trigger.metricId);
      const filters = shownEventFilters(config, trigger.eventAttributes);
      return { metricId: id, metricName: name, metricThreshold: trigger.metricThreshold, ...filters };
    }
    case 'streak':
      return { streakLengthThreshold: trigger.streakLength };
    case 'achievement':
      return { achievementId: trigger.achievementId, achievementName: byId(config.achievements, trigger.achievementId).name };
    case 'time':
      return { timeUnit: trigger.timeUnit === 'hours' ? 'hour' : 'day', timeInterval: trigger.timeInterval };
    case 'user_creation':
      return {};
  }
}

function awardBody(config: ConfigDocument, system: PointsSystem, { awarded, at, total, ...award }: Award): object {
  const trigger = byId(system.triggers, award.trigger);
  const { id, type, points, created, updated, archived } = trigger;
  const status = archived ? 'archived' : trigger.status;
  const userAttributes = shownFilters(config, trigger.userAttributes);
  const boosts = award.boosts.map((boost) => {
    const { id: boostId, name, start, end, multiplier, rounding } = byId(system.boosts, boost);
    return { id: boostId, name, status: 'active', start, end, multiplier, rounding };
  });
  return {
    awarded,
    date: instant(at),
    total,
    trigger: { id, type, points, status, userAttributes, created, updated, ...triggerKindBody(config, trigger) },
    boosts,
  };
}

/** The systems that a call changed, by key. `level` is there only where the call changed it. */
export function earnedBody(world: World, list: readonly Earned[]): object {
  const blocks = list.map(({ system, before, awards }) => {
    const total = awards.at(-1)?.total ?? before;
    const level = levelAt(system, total);
    return [
      system.key,
      {
        ...systemBody(system),
        total,
        ...(level?.id === levelAt(system, before)?.id ? {} : { level: levelBody(level) }),
        added: total - before,
        awards: awards.map((each) => awardBody(world.config, system, each)),
      },
    ] as const;
  });
  return Object.fromEntries(blocks);
}

/** A user's points in one system, with the newest awards first. */
export function pointsBody(world: World, user: User, system: PointsSystem, count: number): object {
  const newest = [...(user.points.get(system.id)?.awards ?? [])].reverse().slice(0, count);
  const total = totalOf(user, system);
  const awards = newest.map((each) => awardBody(world.config, system, each));
  return { ...systemBody(system), total, level: levelBody(levelAt(system, total)), awards };
}

void dayMs;

/** Rules "Points": what triggers earn, boosts, cap and floor. Time triggers are time-triggers.ts, answers points-answers.ts. */
import type { Achievement, Metric, PointsBoost, PointsSystem, PointsTrigger } from '../../../src/config/schema/model.js';
import { add as sum, amount, boosted, isInRange, multiples, type Amount } from './decimal.js';
import type { Change } from './leaderboards.js';
import { dateOf } from './time.js';
import { localDayOf, reach, type User } from './users.js';
import { live, matches, Refused, type World } from './world.js';

export interface Award {
  /** Null for an adjustment by an operator. */
  readonly trigger: string | null;
  readonly awarded: number;
  readonly total: number;
  readonly at: number;
  /** As they were then. */
  readonly boosts: readonly PointsBoost[];
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

export const isActive = (trigger: PointsTrigger): boolean => !trigger.archived && trigger.status === 'active';
export const totalOf = (user: User, system: PointsSystem): number => user.points.get(system.id)?.total ?? 0;

/** How many multiples of the threshold the sum of the matching events passes for the first time, below its highest mark. */
function passed(trigger: PointsTrigger & { type: 'metric' }, { user, event }: Deed): number {
  if (event?.metric.id !== trigger.metricId || !matches(trigger.eventAttributes, event.attributes)) return 0;
  // With another metric, the sum of that one counts.
  const what = `${trigger.metricId} ${trigger.id}`;
  const { sum: before, highest } = user.progress.get(what) ?? { sum: 0n, highest: 0n };
  const now = sum(before, event.value);
  if (!isInRange(now)) throw new Refused(422, 'the sum of a trigger would be too large');
  const high = now > highest ? now : highest;
  user.progress.set(what, { sum: now, highest: high });
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
export function award(user: User, system: PointsSystem, trigger: PointsTrigger, count: number, at: number): Award | null {
  const total = totalOf(user, system);
  const plain = count * trigger.points;
  if (plain < 0 && trigger.type === 'metric' && trigger.blockIfOutOfPoints && -plain > total) throw new Refused(422, 'out of points');
  const boosts = plain > 0 ? activeBoosts(system, user, localDayOf(user, at)) : [];
  const multipliers = boosts.map(({ multiplier }) => multiplier);
  const earned = plain > 0 ? boosted(plain, multipliers, boosts[0]?.rounding ?? 'down') : plain;
  return add(user, system, earned, { trigger: trigger.id, at, boosts });
}

/** Adds what is earned, within cap and floor. Returns nothing when nothing was added. */
function add(user: User, system: PointsSystem, earned: number, of: Pick<Award, 'trigger' | 'at' | 'boosts'>): Award | null {
  const total = totalOf(user, system);
  const room = Math.max((system.maxPoints ?? highestTotal) - total, 0);
  const awarded = Math.max(Math.min(earned, earned > 0 ? room : earned), -total);
  if (awarded === 0) return null;
  const made = { ...of, awarded, total: total + awarded };
  const state = user.points.get(system.id) ?? { total: 0, awards: [] };
  state.total = made.total;
  state.awards.push(made);
  if (state.awards.length > awardsKept) state.awards.shift();
  user.points.set(system.id, state);
  return made;
}

export function earned(
  world: World,
  user: User,
  system: PointsSystem,
  { before, isFirst, awards, at }: { before: number; isFirst: boolean; awards: Award[]; at: number },
): Earned {
  const after = totalOf(user, system);
  const isChanged = isFirst || after !== before;
  const source = `points:${system.id}`;
  const sequence = isChanged ? reach(world, user, source) : (user.reached.get(source) ?? 0);
  const change = { source, moment: at, after: amount(after), gain: amount(after - before), isChanged, isFirst, sequence };
  return { system, before, awards, change };
}

/** Rule "Order inside an event": for each system in the order of the configuration, creation first, then its other triggers in theirs. */
export function earn(world: World, deed: Deed): Earned[] {
  const { user } = deed;
  return live(world.config.pointsSystems).flatMap((system) => {
    const before = totalOf(user, system);
    const isFirst = !user.points.has(system.id);
    const isCreation = ({ type }: PointsTrigger): boolean => type === 'user_creation';
    const inOrder = [...system.triggers.filter(isCreation), ...system.triggers.filter((trigger) => !isCreation(trigger))];
    const awards = inOrder.filter(isActive).flatMap((trigger) => {
      if (!matches(trigger.userAttributes, user.attributes)) return [];
      const count = times(trigger, deed);
      return count === 0 ? [] : (award(user, system, trigger, count, world.now) ?? []);
    });
    return awards.length === 0 ? [] : [earned(world, user, system, { before, isFirst, awards, at: world.now })];
  });
}

/** Rule "Adjustments": an operator adds points or takes them. Refuses when cap or floor leave nothing of it. */
export function adjust(world: World, user: User, system: PointsSystem, points: number): Earned {
  const before = totalOf(user, system);
  const isFirst = !user.points.has(system.id);
  const made = add(user, system, points, { trigger: null, at: world.now, boosts: [] });
  if (!made) throw new Refused(422, 'nothing can be added or taken');
  return earned(world, user, system, { before, isFirst, awards: [made], at: world.now });
}

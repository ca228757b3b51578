/** Rule "Time triggers": what users earn by the passing of time. */
import type { ConfigDocument, PointsSystem, TimeTrigger } from '../../../src/config/schema/model.js';
import type { Change } from './leaderboards.js';
import { award, earned, isActive, totalOf } from './points.js';
import { hourMs, startOfDay } from './time.js';
import { zoneOf, type User } from './users.js';
import { live, matches, type World } from './world.js';

interface InSystem {
  readonly system: PointsSystem;
  readonly trigger: TimeTrigger;
}

const active = new WeakMap<ConfigDocument, InSystem[]>();

/** The active ones, in the order of the configuration. */
function timeTriggers(config: ConfigDocument): InSystem[] {
  const found =
    active.get(config) ??
    live(config.pointsSystems).flatMap((system) =>
      system.triggers.filter(isActive).flatMap((trigger) => (trigger.type === 'time' ? [{ system, trigger }] : [])),
    );
  active.set(config, found);
  return found;
}

const utcHour = (ms: number): number => Math.floor(ms / hourMs);

/** The first of `from + k × interval` (k ≥ 1) that is after `after`, which is not before `from`. */
const nextTick = (from: number, interval: number, after: number): number => from + interval * (Math.floor((after - from) / interval) + 1);

/** The moments at which a trigger pays a user between the last settlement and a moment and streak day. */
function moments({ timeUnit, timeInterval }: TimeTrigger, user: User, today: number, now: number): number[] {
  const list: number[] = [];
  switch (timeUnit) {
    case 'hours': {
      const first = nextTick(utcHour(user.created), timeInterval, utcHour(user.settledAt));
      for (let hour = first; hour <= utcHour(now); hour += timeInterval) list.push(hour * hourMs);
      break;
    }
    case 'days': {
      const first = nextTick(user.createdDay, timeInterval, user.paidThrough);
      for (let day = first; day <= today; day += timeInterval) list.push(startOfDay(zoneOf(user), day));
      break;
    }
  }
  return list;
}

/** Pays a user's time triggers up to a moment and a streak day, in chronological order. Returns the changes of the awards. */
export function settleTimeTriggers(world: World, user: User, today: number, now: number): Change[] {
  const occurrences = timeTriggers(world.config).flatMap(({ system, trigger }) =>
    moments(trigger, user, today, now)
      .filter((at) => at > Date.parse(trigger.updated))
      // What a move skipped is paid with the move.
      .map((at) => ({ system, trigger, at: Math.max(at, user.movedAt) })),
  );
  occurrences.sort((a, b) => a.at - b.at);
  const before = new Map([...user.points].map(([id, { total }]) => [id, total]));
  const reached = new Map(user.reached);
  const changes = occurrences.flatMap(({ system, trigger, at }) => {
    if (!matches(trigger.userAttributes, user.attributes)) return [];
    const before = totalOf(user, system);
    const isFirst = !user.points.has(system.id);
    const made = award(user, system, trigger, 1, at);
    return made ? [earned(world, user, system, { before, isFirst, awards: [made], at }).change] : [];
  });
  // A total that ends up where it was has not been reached anew.
  for (const [id, total] of before) {
    const at = reached.get(`points:${id}`);
    if (user.points.get(id)?.total === total && at !== undefined) user.reached.set(`points:${id}`, at);
  }
  return changes;
}

/** The next UTC hour at which an hourly trigger may pay a user; infinity for none. */
export function nextHour(config: ConfigDocument, user: User): number {
  const hourly = timeTriggers(config).filter(({ trigger }) => trigger.timeUnit === 'hours');
  const next = hourly.map(({ trigger }) => nextTick(utcHour(user.created), trigger.timeInterval, utcHour(user.settledAt)) * hourMs);
  return Math.min(Infinity, ...next);
}

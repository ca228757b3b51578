import { createHash } from 'node:crypto';
import { numbersOf } from '../config/schema/boost-terms.js';
import type { AttributeFilter, PointsBoost, PointsLevel, PointsSystem, PointsTrigger, TimeTrigger } from '../config/schema/model.js';
import { userRecords } from '../redis/contract.js';
import { dateToDay } from '../shared/calendar.js';
import { scaleMultiplier } from '../shared/decimal.js';
import { limits } from '../shared/limits.js';
import { type PlanBoard, isBrokenDown } from './boards.js';

/** An attribute's `no`, as text, and the value that it must have. */
export interface PlanFilter {
  readonly no: string;
  readonly value: string;
}

interface PlanTrigger {
  readonly no: number;
  readonly kind: PointsTrigger['type'];
  readonly points: number;
  readonly user: readonly PlanFilter[];
  /** Of a metric trigger: its `no` as text, the metric, and the record that has its progress. */
  readonly key?: string;
  readonly metric?: number;
  readonly record?: string;
  readonly threshold?: number;
  readonly blocks?: boolean;
  readonly event?: readonly PlanFilter[];
  readonly length?: number;
  readonly achievement?: number;
}

export interface PlanTimeTrigger {
  readonly no: number;
  readonly points: number;
  readonly user: readonly PlanFilter[];
  readonly unit: 'hours' | 'days';
  readonly interval: number;
  /** Milliseconds since 1970: it fires after this. */
  readonly since: number;
}

interface PlanBoost {
  /** What awards store of it: the number of its present terms. */
  readonly no: number;
  /** By falling multiplier, the newest first among equals: the first active one decides how to round. */
  readonly order: number;
  readonly mantissa: number;
  readonly scale: number;
  readonly rounding: string;
  /** Local days since 1970-01-01, both inclusive. */
  readonly first: number;
  readonly last?: number;
  readonly user: readonly PlanFilter[];
}

export interface PlanSystem {
  readonly no: number;
  /** The position in the plan's list of systems, from 1. */
  readonly at: number;
  /** `no` as text, for keys. */
  readonly key: string;
  readonly record: string;
  /** The definition of the levels (levelsDefinition). */
  readonly levelsAre: string;
  readonly cap: number;
  readonly levels: readonly { readonly no: number; readonly points: number }[];
  readonly triggers: readonly PlanTrigger[];
  readonly boosts: readonly PlanBoost[];
  readonly ownBoosts: ReadonlyMap<string, readonly PlanBoost[]>;
  readonly boards: readonly PlanBoard[];
}

/** What the objects of a configuration refer to. */
export interface References {
  /** The `no` of an id. */
  resolve(id: string): number;
  filters(filters: readonly AttributeFilter[]): PlanFilter[];
  readonly boards: readonly PlanBoard[];
}

export const live = <T extends { readonly archived: boolean }>(objects: readonly T[]): T[] => objects.filter((object) => !object.archived);

/** Whether an award of a system looks at the user's attributes. */
export function filtersUsers({ triggers, boosts, ownBoosts, boards }: PlanSystem): boolean {
  const filtered = [...triggers, ...boosts, ...[...ownBoosts.values()].flat()];
  return filtered.some(({ user }) => user.length > 0) || boards.some(isBrokenDown);
}

/** The levels of a system that users can have, the lowest first. */
export function levelsOf(system: PointsSystem): PointsLevel[] {
  return system.levels.filter(({ archived }) => !archived).sort((a, b) => a.points - b.points);
}

/** Stands for what decides which level a user has: when it changes, users have to be counted anew. */
export function levelsDefinition(system: PointsSystem): string {
  const levels = levelsOf(system).map(({ no, points }) => [no, points]);
  return levels.length === 0 ? 'none' : createHash('sha256').update(JSON.stringify(levels)).digest('hex').slice(0, 16);
}

const activeTriggers = (system: PointsSystem): PointsTrigger[] => live(system.triggers).filter(({ status }) => status === 'active');

/** Compiles a points system; `at` is its position in the plan, from 1. Time triggers are in a list of their own (compileTimeTriggers). */
export function compileSystem(system: PointsSystem, at: number, refs: References): PlanSystem {
  const record = `${userRecords.points}${system.no}`;
  const boosts = live(system.boosts).sort((a, b) => b.multiplier - a.multiplier || b.no - a.no);
  const ownBoosts = new Map<string, PlanBoost[]>();
  const shared: PlanBoost[] = [];
  boosts.forEach((boost, order) => {
    const compiled = compileBoost(boost, order, refs);
    if (boost.userId === null) shared.push(compiled);
    else ownBoosts.set(boost.userId, [...(ownBoosts.get(boost.userId) ?? []), compiled]);
  });
  return {
    no: system.no,
    at,
    key: String(system.no),
    record,
    levelsAre: levelsDefinition(system),
    cap: system.maxPoints ?? limits.maxAbsoluteTotal,
    levels: levelsOf(system).map(({ no, points }) => ({ no, points })),
    triggers: activeTriggers(system).flatMap((trigger) => compileTrigger(trigger, refs)),
    boosts: shared,
    ownBoosts,
    boards: refs.boards.filter((board) => board.record === record),
  };
}

function compileTrigger(trigger: PointsTrigger, refs: References): PlanTrigger[] {
  const common = { no: trigger.no, kind: trigger.type, points: trigger.points, user: refs.filters(trigger.userAttributes) };
  switch (trigger.type) {
    case 'metric':
      return [
        {
          ...common,
          key: String(trigger.no),
          metric: refs.resolve(trigger.metricId),
          record: `${userRecords.metric}${refs.resolve(trigger.metricId)}`,
          threshold: trigger.metricThreshold,
          blocks: trigger.blockIfOutOfPoints,
          event: refs.filters(trigger.eventAttributes),
        },
      ];
    case 'streak':
      return [{ ...common, length: trigger.streakLength }];
    case 'achievement':
      return [{ ...common, achievement: refs.resolve(trigger.achievementId) }];
    case 'user_creation':
      return [common];
    case 'time':
      return [];
  }
}

/** The active time triggers of a system. */
export const compileTimeTriggers = (system: PointsSystem, refs: References): PlanTimeTrigger[] =>
  activeTriggers(system).flatMap((trigger) => (trigger.type === 'time' ? [compileTimeTrigger(trigger, refs)] : []));

function compileTimeTrigger(trigger: TimeTrigger, refs: References): PlanTimeTrigger {
  return {
    no: trigger.no,
    points: trigger.points,
    user: refs.filters(trigger.userAttributes),
    unit: trigger.timeUnit,
    interval: trigger.timeInterval,
    since: Date.parse(trigger.updated),
  };
}

function compileBoost(boost: PointsBoost, order: number, refs: References): PlanBoost {
  const scaled = scaleMultiplier(boost.multiplier);
  if (!scaled) throw new Error(`boost ${boost.id} has a multiplier that validation should have refused`);
  return {
    no: numbersOf(boost).at(-1) ?? boost.no,
    order,
    ...scaled,
    rounding: boost.rounding,
    first: dateToDay(boost.start),
    ...(boost.end === null ? {} : { last: dateToDay(boost.end) }),
    user: refs.filters(boost.userAttributes),
  };
}

import type {
  Achievement,
  Attribute,
  ConfigDocument,
  ConfigVersion,
  Leaderboard,
  Metric,
  PointsBoost,
  PointsLevel,
  PointsSystem,
  PointsTrigger,
  Webhook,
} from '../config/schema/model.js';
import { boostByNumber } from '../config/schema/boost-terms.js';
import { partsOf } from '../config/check/parts.js';
import { estimateWork, type ConfigWork } from '../config/check/work.js';
import { LaurelError } from '../shared/errors.js';
import { compilePlan, type CompiledPlan } from './compile.js';

const byKey = <T extends { readonly key: string; readonly archived: boolean }>(objects: readonly T[]): ReadonlyMap<string, T> =>
  new Map(objects.filter(({ archived }) => !archived).map((object) => [object.key, object]));

const byNo = <T extends { readonly no: number }>(objects: readonly T[]): ReadonlyMap<number, T> =>
  new Map(objects.map((object) => [object.no, object]));

/** What takes long in making a configuration ready. */
export interface Compiled {
  readonly plan: CompiledPlan;
  readonly work: ConfigWork;
}

export const compiled = (config: ConfigVersion): Compiled => ({
  plan: compilePlan(config),
  work: estimateWork(partsOf(config.document)),
});

/**
 * A configuration version, made ready for requests: compiled, and indexed by the keys that callers use and the numbers that
 * Redis replies with. Archived objects are found by number, so that what they once awarded can be named, but not by key.
 */
export class ActiveConfig {
  readonly tenant: number;
  readonly version: number;
  readonly document: ConfigDocument;
  readonly plan: CompiledPlan;
  readonly userAttributes: ReadonlyMap<string, Attribute>;
  readonly eventAttributes: ReadonlyMap<string, Attribute>;
  readonly metrics: ReadonlyMap<string, Metric>;
  readonly systems: ReadonlyMap<string, PointsSystem>;
  /** Those that users can see: an inactive leaderboard is not found (docs/rules/leaderboards.md). */
  readonly leaderboards: ReadonlyMap<string, Leaderboard>;
  readonly attributeByNo: ReadonlyMap<number, Attribute>;
  readonly attributeById: ReadonlyMap<string, Attribute>;
  readonly metricByNo: ReadonlyMap<number, Metric>;
  readonly metricById: ReadonlyMap<string, Metric>;
  readonly systemByNo: ReadonlyMap<number, PointsSystem>;
  readonly systemById: ReadonlyMap<string, PointsSystem>;
  readonly triggerByNo: ReadonlyMap<number, PointsTrigger>;
  /** By the numbers that awards have of boosts, each as it was under that number. */
  readonly boostByNo: ReadonlyMap<number, PointsBoost>;
  readonly levelByNo: ReadonlyMap<number, PointsLevel>;
  readonly achievements: ReadonlyMap<string, Achievement>;
  readonly achievementByNo: ReadonlyMap<number, Achievement>;
  readonly achievementById: ReadonlyMap<string, Achievement>;
  readonly leaderboardByNo: ReadonlyMap<number, Leaderboard>;
  /** The endpoints that there are, inactive ones included. */
  readonly webhooks: readonly Webhook[];
  private readonly work: ConfigWork;

  /** `compiled` is what `compiled(config)` returns. */
  constructor(config: ConfigVersion, { plan, work }: Compiled = compiled(config)) {
    const { document } = config;
    this.tenant = config.tenant;
    this.version = config.version;
    this.document = document;
    this.plan = plan;
    this.work = work;
    this.userAttributes = byKey(document.attributes.filter(({ type }) => type === 'user'));
    this.eventAttributes = byKey(document.attributes.filter(({ type }) => type === 'event'));
    this.metrics = byKey(document.metrics);
    this.systems = byKey(document.pointsSystems);
    this.leaderboards = byKey(document.leaderboards.filter(({ status }) => status !== 'inactive'));
    this.attributeByNo = byNo(document.attributes);
    this.attributeById = new Map(document.attributes.map((attribute) => [attribute.id, attribute]));
    this.metricByNo = byNo(document.metrics);
    this.metricById = new Map(document.metrics.map((metric) => [metric.id, metric]));
    this.systemByNo = byNo(document.pointsSystems);
    this.systemById = new Map(document.pointsSystems.map((system) => [system.id, system]));
    this.triggerByNo = byNo(document.pointsSystems.flatMap(({ triggers }) => triggers));
    this.boostByNo = new Map(document.pointsSystems.flatMap(({ boosts }) => boosts.flatMap(boostByNumber)));
    this.levelByNo = byNo(document.pointsSystems.flatMap(({ levels }) => levels));
    this.achievements = byKey(document.achievements.filter(({ status }) => status !== 'inactive'));
    this.achievementByNo = byNo(document.achievements);
    this.achievementById = new Map(document.achievements.map((achievement) => [achievement.id, achievement]));
    this.leaderboardByNo = byNo(document.leaderboards);
    this.webhooks = document.webhooks.filter(({ archived }) => !archived);
  }

  /** What an event on a metric may take of Redis' time at the most, in µs (config/check/work.ts). One on an archived metric can only be a replay. */
  eventWorkUs(metricKey: string): number {
    const metric = this.metrics.get(metricKey);
    return metric ? mustGet(this.work.events, metric.id, 'metric').us : this.work.cascade.us;
  }
}

/** What an index must hold, because Redis or a validated document refers to it. Throws when it doesn't: that is a bug. */
export function mustGet<K, T>(index: ReadonlyMap<K, T>, key: K, what: string): T {
  const found = index.get(key);
  if (found === undefined) throw new Error(`no ${what} ${String(key)} in the configuration`);
  return found;
}

function requireByKey<T>(index: ReadonlyMap<string, T>, key: string, what: string): T {
  const found = index.get(key);
  if (found === undefined) throw new LaurelError('not_found', `There is no ${what} with the key ${JSON.stringify(key)}.`);
  return found;
}

/** The metric that a path names. Throws a 404. */
export const requireMetric = (config: ActiveConfig, key: string): Metric => requireByKey(config.metrics, key, 'metric');

/** The points system that a path names. Throws a 404. */
export const requireSystem = (config: ActiveConfig, key: string): PointsSystem => requireByKey(config.systems, key, 'points system');

/** The points system with an id, unless it is archived. Throws a 404. */
export function requireSystemById({ systemById }: ActiveConfig, id: string): PointsSystem {
  const found = systemById.get(id);
  if (!found || found.archived) throw new LaurelError('not_found', `There is no points system with the id ${id}.`);
  return found;
}

/** The achievement that a path names; an inactive one is as good as absent. Throws a 404. */
export const requireAchievement = (config: ActiveConfig, key: string): Achievement => requireByKey(config.achievements, key, 'achievement');

/** The achievement with an id, unless it is archived or inactive. Throws a 404. */
export function requireAchievementById({ achievementById }: ActiveConfig, id: string): Achievement {
  const found = achievementById.get(id);
  if (!found || found.archived || found.status === 'inactive')
    throw new LaurelError('not_found', `There is no active achievement with the id ${id}.`);
  return found;
}

/** The leaderboard that a path names. Throws a 404. */
export const requireLeaderboard = (config: ActiveConfig, key: string): Leaderboard => requireByKey(config.leaderboards, key, 'leaderboard');

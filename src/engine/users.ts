import { randomUUID } from 'node:crypto';
import { completedResponse, stats, type Counts } from '../achievements/response.js';
import type { UserAchievementResponse, UserAchievementWithStatsResponse } from '../achievements/shapes.js';
import type { Achievement } from '../config/model.js';
import { streakFact, type ProfileFact, type StreakFact } from '../ledger/entry.js';
import { unpackAwards, type RecentAward } from '../ledger/recent-awards.js';
import { limits } from '../limits.js';
import { metricResponse } from '../metrics/response.js';
import type { MetricResponse } from '../metrics/shapes.js';
import { requireMetric, requireSystem, type ActiveConfig } from '../plan/active-config.js';
import { awardResponse, levelAt, levelResponse, systemResponse } from '../points/response.js';
import type { UserPointsResponse } from '../points/shapes.js';
import { outcomes, userRecords } from '../redis/contract.js';
import { unpackMessage } from '../redis/message.js';
import { mapOf, profileOf, totalsOf, type UserHash } from '../redis/user-hash.js';
import { checkAttributeKeys } from '../users/attributes.js';
import { userPatch } from '../users/patch.js';
import { userResponse } from '../users/response.js';
import type { UserProperties } from '../users/schema.js';
import type { UserResponse } from '../users/shapes.js';
import { readCounts } from './achievements.js';
import { text, type Engine } from './engine.js';
import { refusal } from './refusals.js';

/** `create` refuses a user who exists, `update` one who does not, `upsert` neither. */
export type IdentifyMode = 'create' | 'update' | 'upsert';

/** Creates or changes a user; only the properties that are there are touched. Throws a LaurelError when something is refused. */
export async function identifyUser(
  engine: Engine,
  tenant: number,
  mode: IdentifyMode,
  id: string,
  properties: UserProperties,
): Promise<UserResponse> {
  const entryId = randomUUID();
  const { outcome, values, config } = await engine.call(tenant, 'identify', (active) => {
    checkAttributeKeys([properties.attributes, active.userAttributes]);
    const pairs = userPatch(active, properties);
    return { args: { user: id, mode, entryId, patchPairs: pairs.length / 2 }, pairs };
  });
  if (outcome !== outcomes.ok) throw refusal(outcome, id);
  return userResponse(config, id, unpackMessage(values[0]) as ProfileFact);
}

export interface UserState {
  readonly config: ActiveConfig;
  readonly hash: UserHash;
  readonly profile: ProfileFact;
  /** The newest awards of the points system that was asked for. */
  readonly awards: readonly RecentAward[];
  readonly streak: StreakFact | undefined;
  /** Empty unless they were asked for. */
  readonly counts: Counts;
  /** The newest ledger id: what Postgres must have committed to be level with this. */
  readonly ledgerId: string;
  /** The moment of the read, in milliseconds since 1970, and the user's local day then, in days since 1970-01-01. */
  readonly now: number;
  readonly day: number;
}

export interface ReadOptions {
  /** The points system (`no`) whose newest awards are read as well. */
  readonly system?: (config: ActiveConfig) => number;
  readonly awards?: number;
  /** Whether completions are counted as well. */
  readonly completions?: boolean;
}

/** Everything that Redis keeps of a user, settled, in one call. Throws a 404 for an unknown user. */
export async function readUser(engine: Engine, tenant: number, id: string, options: ReadOptions = {}): Promise<UserState> {
  const entryId = randomUUID();
  const { outcome, values, config } = await engine.call(tenant, 'readUser', (active) => ({
    args: {
      user: id,
      entryId,
      system: options.system?.(active) ?? '',
      awards: Math.min(options.awards ?? 1, limits.maxAwardsRead),
      completions: options.completions === true ? 1 : 0,
    },
  }));
  if (outcome !== outcomes.ok) throw refusal(outcome, id);
  const [flat, awards, streak, completions, users, ledgerId, now, day] = values;
  if (!Array.isArray(flat) || !Array.isArray(awards)) throw new Error('readUser answered without fields');
  const hash = new Map<string, Buffer>();
  for (let i = 0; i + 1 < flat.length; i += 2) hash.set(text(flat[i]), flat[i + 1] as Buffer);
  return {
    config,
    hash,
    profile: profileOf(hash),
    awards: unpackAwards(awards as Buffer[]),
    streak: streakFact(unpackMessage(streak)),
    counts: readCounts(completions, users),
    ledgerId: text(ledgerId),
    now: Number(text(now)),
    day: Number(day),
  };
}

/** A user's profile. Throws a 404 for an unknown user. */
export async function readProfile(engine: Engine, tenant: number, id: string): Promise<UserResponse> {
  const { config, profile } = await readUser(engine, tenant, id);
  return userResponse(config, id, profile);
}

/** Achievement `no` → moment of completion, of what a user has completed. */
export function completedBy({ hash }: UserState): ReadonlyMap<number, number> {
  return new Map(Object.entries(mapOf<number>(hash, userRecords.achievements)).map(([no, at]) => [Number(no), at]));
}

/** What a user sees of the achievements: those that are completed, and active ones. A locked one is shown only to users who have it. */
const isShown = ({ no, status }: Achievement, completed: ReadonlyMap<number, number>): boolean => completed.has(no) || status === 'active';

/** A metric's achievements, completed or not, as the contract's `MetricResponse` has them. */
function achievementsOf(state: UserState, metricId: string): UserAchievementResponse[] {
  const completed = completedBy(state);
  return [...state.config.achievements.values()]
    .filter((achievement) => achievement.trigger === 'metric' && achievement.metricId === metricId && isShown(achievement, completed))
    .map((achievement) => completedResponse(state.config, achievement, completed.get(achievement.no)));
}

/** A user's totals on all metrics, as the contract's list of `MetricResponse`. */
export async function readUserMetrics(engine: Engine, tenant: number, id: string): Promise<MetricResponse[]> {
  const state = await readUser(engine, tenant, id);
  const totals = totalsOf(state.hash, 'metric');
  return Array.from(state.config.metrics.values(), (metric) =>
    metricResponse(metric, totals.get(metric.no) ?? 0, achievementsOf(state, metric.id)),
  );
}

/** A user's total on one metric. Throws a 404 for an unknown user or metric. */
export async function readUserMetric(engine: Engine, tenant: number, id: string, key: string): Promise<MetricResponse> {
  const state = await readUser(engine, tenant, id);
  const metric = requireMetric(state.config, key);
  return metricResponse(metric, totalsOf(state.hash, 'metric').get(metric.no) ?? 0, achievementsOf(state, metric.id));
}

/** A user's points, level and newest awards, as the contract's `GetUserPointsResponse`. Throws a 404 for an unknown user or system. */
export async function readUserPoints(engine: Engine, tenant: number, id: string, key: string, count: number): Promise<UserPointsResponse> {
  const { config, hash, awards } = await readUser(engine, tenant, id, {
    system: (active) => requireSystem(active, key).no,
    awards: count,
  });
  const system = requireSystem(config, key);
  const total = totalsOf(hash, 'points').get(system.no) ?? 0;
  const level = levelAt(system, total);
  return {
    ...systemResponse(system),
    total,
    level: level && levelResponse(level),
    awards: awards.map((recent) => awardResponse(config, recent.id, recent.award)),
  };
}

/** A user's achievements with how many users have completed each; those that are not completed only when asked for. */
export async function readUserAchievements(
  engine: Engine,
  tenant: number,
  id: string,
  includeIncomplete: boolean,
): Promise<UserAchievementWithStatsResponse[]> {
  const state = await readUser(engine, tenant, id, { completions: true });
  const completed = completedBy(state);
  return [...state.config.achievements.values()]
    .filter((achievement) => completed.has(achievement.no) || (includeIncomplete && isShown(achievement, completed)))
    .map((achievement) => ({
      ...completedResponse(state.config, achievement, completed.get(achievement.no)),
      ...stats(state.counts, achievement.no),
    }));
}

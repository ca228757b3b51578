import { randomUUID } from 'node:crypto';
import { dayToDate, utcDate } from '../shared/calendar.js';
import type { PointsLevel, PointsSystem } from '../config/schema/model.js';
import type { AggregateReader } from '../history/aggregates.js';
import { type UserEntry, unpackFacts } from '../ledger/entry.js';
import { outcomes } from '../redis/contract.js';
import { bytesOfUuid, storedKey, uuidOfBytes } from '../redis/encoding.js';
import { LaurelError } from '../shared/errors.js';
import { limits } from '../shared/limits.js';
import { mustGet, requireSystem, type ActiveConfig } from '../plan/active-config.js';
import { levelsDefinition, levelsOf } from '../plan/points.js';
import { boostResponse, boostsOf, boostStatusOn, levelAt, levelResponse, sharedBoosts, triggerResponse } from '../responses/points.js';
import type { BoostResponse, LevelCountResponse, LevelResponse, RangeResponse, SystemWithTriggersResponse } from '../responses/points.js';
import { checkAttributeKeys } from './user-properties.js';
import type { Engine } from './engine.js';
import { text } from './function-calls.js';
import type { Stores } from './leaderboards.js';
import { refusal, type Result } from './refusals.js';
import { readUser } from './users.js';

/** What reads of Postgres' aggregates need. */
export interface SummaryStores extends Stores {
  readonly aggregates: AggregateReader;
}

/**
 * A points system with the triggers that are active, as the contract's `PointsSystemResponse`. A trigger of a locked achievement, which would
 * show that to everybody, is left out: it pays nothing while the achievement is locked. Throws a 404 for an unknown key.
 */
export async function readSystem(engine: Engine, tenant: number, key: string): Promise<SystemWithTriggersResponse> {
  const config = await engine.config(tenant);
  const system = requireSystem(config, key);
  const { id, name, description, badgeUrl, maxPoints } = system;
  const active = system.triggers.filter(({ archived, status }) => !archived && status === 'active');
  const shown = active.filter(
    (trigger) =>
      trigger.type !== 'achievement' || mustGet(config.achievementById, trigger.achievementId, 'achievement').status !== 'locked',
  );
  return { id, name, description, badgeUrl, maxPoints, triggers: shown.map((trigger) => triggerResponse(config, trigger)) };
}

/** The levels of a points system, the lowest first. Throws a 404 for an unknown key. */
export async function readLevels(engine: Engine, tenant: number, key: string): Promise<LevelResponse[]> {
  return levelsOf(requireSystem(await engine.config(tenant), key)).map(levelResponse);
}

/** The boosts of a points system that are not one user's own, by the UTC date. Throws a 404 for an unknown key. */
export async function readBoosts({ engine, clock }: Stores, tenant: number, key: string, finished: boolean): Promise<BoostResponse[]> {
  const system = requireSystem(await engine.config(tenant), key);
  const date = utcDate(await clock.now(tenant));
  return sharedBoosts(system)
    .filter((boost) => finished || boostStatusOn(boost, date) !== 'finished')
    .map((boost) => boostResponse(boost, date));
}

/** The boosts that apply to a user now. Throws a 404 for an unknown user or key. */
export async function readUserBoosts(engine: Engine, tenant: number, user: string, key: string): Promise<BoostResponse[]> {
  const { config, profile, day } = await readUser(engine, tenant, user);
  const date = dayToDate(day);
  return boostsOf(config, requireSystem(config, key), { id: user, profile }, date).map((boost) => boostResponse(boost, date));
}

/** What Redis counts of a system's levels. */
export interface LevelCounts {
  readonly config: ActiveConfig;
  readonly system: PointsSystem;
  /** The lowest first. */
  readonly levels: readonly PointsLevel[];
  /** Users by level `no`. */
  readonly counts: ReadonlyMap<number, number>;
  /** The definition by which users are counted (plan/points.ts), empty when it is not the active one; undefined before the first count. */
  readonly countedBy: string | undefined;
  readonly users: number;
  readonly ledgerId: string;
}

/** Reads in one call how many users have each level of a system, which `pick` takes from the configuration. */
export async function readLevelCounts(engine: Engine, tenant: number, pick: (config: ActiveConfig) => PointsSystem): Promise<LevelCounts> {
  const { values, config } = await engine.call(tenant, 'readLevels', (active) => {
    const system = pick(active);
    return { args: { system: system.no }, pairs: levelsOf(system).map(({ no }) => String(no)) };
  });
  const [countedBy, flat, users, ledgerId] = values;
  const system = pick(config);
  const levels = levelsOf(system);
  const counts = Array.isArray(flat) ? flat.map((count) => Number(text(count))) : [];
  return {
    config,
    system,
    levels,
    counts: new Map(levels.map(({ no }, i) => [no, counts[i] ?? 0])),
    countedBy: countedBy === null ? undefined : text(countedBy),
    users: Number(text(users)),
    ledgerId: text(ledgerId),
  };
}

/** How many users there are, and how many of them have each level of a points system, the lowest level first. */
export interface UsersByLevel {
  readonly system: PointsSystem;
  readonly users: number;
  readonly levels: readonly { readonly level: PointsLevel; readonly users: number }[];
}

/**
 * Counts users by level. From Redis, but for the moments in which users are being counted anew because the levels have changed: then
 * Postgres does, from the totals. A level from 0 points on is that of all users who have no higher one, those who never had points included.
 */
export async function countUsersByLevel(
  { engine, history, aggregates }: SummaryStores,
  tenant: number,
  pick: (config: ActiveConfig) => PointsSystem,
): Promise<UsersByLevel> {
  const read = await readLevelCounts(engine, tenant, pick);
  const { system, levels, users } = read;
  let { counts } = read;
  if (read.countedBy !== levelsDefinition(system)) {
    await history.waitFor(tenant, read.ledgerId);
    counts = await aggregates.usersAtLevels(tenant, system.no, levels);
  }
  const above = levels.slice(1).reduce((sum, { no }) => sum + (counts.get(no) ?? 0), 0);
  const usersOf = (level: PointsLevel, i: number): number => (i === 0 && level.points <= 0 ? users - above : (counts.get(level.no) ?? 0));
  return { system, users, levels: levels.map((level, i) => ({ level, users: usersOf(level, i) })) };
}

/** How many users have each level of a points system. Throws a 404 for an unknown key, a 422 for a system without levels. */
export async function summariseLevels(stores: SummaryStores, tenant: number, key: string): Promise<LevelCountResponse[]> {
  const { levels } = await countUsersByLevel(stores, tenant, (config) => requireSystem(config, key));
  if (levels.length === 0) {
    throw new LaurelError('unprocessable', `The points system ${JSON.stringify(key)} has no levels: add a level first.`);
  }
  return levels.map(({ level, users }) => ({ level: levelResponse(level), users }));
}

/**
 * How many users have how many points: those without any, and then up to limits.maxPointsRanges ranges of one width, 1, 2 or 5 times a
 * power of ten, up to the highest total. With `userAttributes`, only users with all of these. Throws a 404 for an unknown key.
 */
export async function summarisePoints(
  { engine, history, aggregates }: SummaryStores,
  tenant: number,
  key: string,
  userAttributes: ReadonlyMap<string, string>,
): Promise<RangeResponse[]> {
  const { config, system, users, ledgerId } = await readLevelCounts(engine, tenant, (active) => requireSystem(active, key));
  checkAttributeKeys([Object.fromEntries(userAttributes), config.userAttributes]);
  const attributes = new Map([...userAttributes].map(([name, value]) => [mustGet(config.userAttributes, name, 'attribute').no, value]));
  await history.waitFor(tenant, ledgerId);
  const [matching, points] = await Promise.all([
    attributes.size > 0 ? aggregates.usersWith(tenant, attributes) : users,
    aggregates.usersByPoints(tenant, system.no, attributes, limits.maxPointsRanges),
  ]);
  const ranges = Array.from({ length: Math.max(...points.users.keys(), -1) + 1 }, (_, i) => ({
    from: i * points.width + 1,
    to: (i + 1) * points.width,
    users: points.users.get(i) ?? 0,
  }));
  const withPoints = ranges.reduce((sum, range) => sum + range.users, 0);
  return [{ from: 0, to: 0, users: Math.max(matching - withPoints, 0) }, ...ranges];
}

/** Points that an operator adds to a user, or takes. */
interface Adjustment {
  readonly user: string;
  /** Negative takes points. */
  readonly amount: number;
  readonly reason: string;
  readonly idempotencyKey: string | undefined;
  /** The admin key with which it is asked for. */
  readonly keyId: string;
}

/** What an adjustment did. */
export interface Adjusted {
  readonly id: string;
  readonly userId: string;
  /** What was really added; 0 for a replay. */
  readonly awarded: number;
  readonly total: number;
  readonly level: PointsLevel | null;
  readonly idempotentReplayed: boolean;
}

/** Adjusts a user's points in the system that `pick` takes from the configuration (docs/rules/points.md). */
export async function adjustPoints(
  engine: Engine,
  tenant: number,
  pick: (config: ActiveConfig) => PointsSystem,
  { user, amount, reason, idempotencyKey, keyId }: Adjustment,
): Promise<Result<Adjusted>> {
  const entryId = randomUUID();
  const own = { entryId, idBytes: bytesOfUuid(entryId), idempotencyKey: idempotencyKey === undefined ? '' : storedKey(idempotencyKey) };
  const { outcome, values, config } = await engine.call(tenant, 'adjustPoints', (active) => ({
    args: { user, system: pick(active).no, amount, reason, keyId, ...own },
  }));
  const adjusted = (id: string, total: number, awarded: number): Result<Adjusted> => {
    const level = levelAt(pick(config), total);
    return { ok: true, value: { id, userId: user, awarded, total, level, idempotentReplayed: outcome === outcomes.replay } };
  };
  switch (outcome) {
    case outcomes.ok: {
      const [fact] = (unpackFacts(values[0]) as UserEntry).points;
      if (!fact) throw new Error('an adjustment without points');
      return adjusted(entryId, fact.total, fact.total - fact.before);
    }
    case outcomes.replay:
      return adjusted(uuidOfBytes(values[0] as Buffer), Number(text(values[1])), 0);
    default:
      return { ok: false, refusal: refusal(outcome) };
  }
}

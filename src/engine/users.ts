import { randomUUID } from 'node:crypto';
import type { ProfileFact, RecentAward } from '../ledger/entry.js';
import { limits } from '../limits.js';
import { metricResponse } from '../metrics/response.js';
import { requireMetric, requireSystem, type ActiveConfig } from '../plan/active-config.js';
import { awardResponse, levelAt, levelResponse, systemResponse } from '../points/response.js';
import { outcomes, userFields } from '../redis/contract.js';
import { unpackMessage } from '../redis/message.js';
import { checkAttributeKeys } from '../users/attributes.js';
import { userPatch } from '../users/patch.js';
import { userResponse, type UserResponse } from '../users/response.js';
import type { UserProperties } from '../users/schema.js';
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

interface UserState {
  readonly config: ActiveConfig;
  /** The user's hash: field (contract.ts, userFields) → text. */
  readonly fields: Readonly<Record<string, string>>;
  /** The newest awards of the points system that was asked for, as buffers of MessagePack. */
  readonly awards: readonly unknown[];
}

/** Everything that Redis keeps of a user, in one call. `system` names a points system (`no`) whose newest awards are read as well. */
async function readUser(
  engine: Engine,
  tenant: number,
  id: string,
  awardsOf?: { readonly system: (config: ActiveConfig) => number; readonly count: number },
): Promise<UserState> {
  const { outcome, values, config } = await engine.call(tenant, 'readUser', (active) => ({
    args: { user: id, system: awardsOf ? awardsOf.system(active) : '', awards: Math.min(awardsOf?.count ?? 1, limits.maxAwardsRead) },
  }));
  if (outcome !== outcomes.ok) throw refusal(outcome, id);
  const [flat, awards] = values;
  if (!Array.isArray(flat) || !Array.isArray(awards)) throw new Error('readUser answered without fields');
  const fields: Record<string, string> = {};
  for (let i = 0; i + 1 < flat.length; i += 2) fields[text(flat[i])] = text(flat[i + 1]);
  return { config, fields, awards };
}

/** A user's profile. Throws a 404 for an unknown user. */
export async function readProfile(engine: Engine, tenant: number, id: string): Promise<UserResponse> {
  const { config, fields } = await readUser(engine, tenant, id);
  return userResponse(config, id, fields);
}

/** A user's totals on all metrics, as the contract's list of `MetricResponse`. */
export async function readUserMetrics(engine: Engine, tenant: number, id: string): Promise<object[]> {
  const { config, fields } = await readUser(engine, tenant, id);
  return Array.from(config.metrics.values(), (metric) => metricResponse(metric, fields));
}

/** A user's total on one metric. Throws a 404 for an unknown user or metric. */
export async function readUserMetric(engine: Engine, tenant: number, id: string, key: string): Promise<object> {
  const { config, fields } = await readUser(engine, tenant, id);
  return metricResponse(requireMetric(config, key), fields);
}

/** A user's points, level and newest awards, as the contract's `GetUserPointsResponse`. Throws a 404 for an unknown user or system. */
export async function readUserPoints(engine: Engine, tenant: number, id: string, key: string, count: number): Promise<object> {
  const { config, fields, awards } = await readUser(engine, tenant, id, { system: (active) => requireSystem(active, key).no, count });
  const system = requireSystem(config, key);
  const total = Number(fields[`${userFields.pointsTotal}${system.no}`] ?? 0);
  const level = levelAt(system, total);
  return {
    ...systemResponse(system),
    total,
    level: level && levelResponse(level),
    awards: awards.map((blob) => {
      const recent = unpackMessage(blob) as RecentAward;
      return awardResponse(config, recent.id, recent.at, recent.award);
    }),
  };
}

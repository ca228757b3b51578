import { randomUUID } from 'node:crypto';
import { type Channel, type NotificationType, notificationTypes } from '../config/schema/message-types.js';
import type { Achievement } from '../config/schema/model.js';
import { type ProfileFact, type StreakFact, streakFact } from '../ledger/entry.js';
import type { UserRevision } from '../history/reader.js';
import { unpackAwards } from '../history/recent-awards.js';
import { type ActiveConfig, mustGet, requireMetric, requireSystem } from '../plan/active-config.js';
import { outcomes, userFields, userRecords } from '../redis/contract.js';
import type { TenantMoment } from '../redis/partition.js';
import { type UserHash, mapOf, profileOf, totalsOf, unpackMessage } from '../redis/encoding.js';
import { type Counts, type UserAchievementWithStatsResponse, completedResponse, stats } from '../responses/achievements.js';
import { type MetricResponse, metricResponse } from '../responses/metrics.js';
import { metricJson, userPointsJson } from '../responses/reads.js';
import { type PreferencesResponse, type UserResponse, userResponse } from '../responses/users.js';
import { LaurelError } from '../shared/errors.js';
import type { JsonText } from '../shared/json.js';
import { readCounts } from './achievements.js';
import type { Engine } from './engine.js';
import { text } from './function-calls.js';
import { refusal } from './refusals.js';
import { type UserProperties, checkAttributeKeys, userPatch } from './user-properties.js';

/** `create` refuses a user who exists, `update` one who does not, `upsert` neither. */
export type IdentifyMode = 'create' | 'update' | 'upsert';

/** Creates or changes a user; only the properties that are there are touched. Throws a LaurelError when something is refused. */
export async function identifyUser(
  engine: Engine,
  tenant: number,
  mode: IdentifyMode,
  user: UserProperties & { readonly id: string },
): Promise<UserResponse> {
  const entryId = randomUUID();
  const { outcome, values, config } = await engine.call(tenant, 'identify', (active) => {
    checkAttributeKeys([user.attributes, active.userAttributes]);
    const pairs = userPatch(active, user);
    return { args: { user: user.id, mode, entryId, patchPairs: pairs.length / 2 }, pairs };
  });
  if (outcome !== outcomes.ok) throw refusal(outcome, user.id);
  return userResponse(config, user.id, unpackMessage(values[0]) as ProfileFact);
}

/**
 * Removes a device token that its provider no longer accepts. Tokens that a caller adds at the same time stay. Returns whether the user had it;
 * an unknown user has none.
 */
export async function removeDeviceToken(engine: Engine, tenant: number, user: string, token: string): Promise<boolean> {
  const entryId = randomUUID();
  const { outcome, values } = await engine.call(tenant, 'removeDeviceToken', () => ({ args: { user, entryId, token } }));
  if (outcome !== outcomes.ok) throw refusal(outcome, user);
  return Number(values[0]) === 1;
}

/** A user's revision, from the end of a reply (lua/modules/reads.lua). */
export function userRevision([epoch, deleted, rev]: readonly unknown[]): UserRevision {
  return { epoch: text(epoch), deleted: text(deleted), rev: Number(rev) };
}

export interface UserState {
  readonly config: ActiveConfig;
  readonly hash: UserHash;
  readonly profile: ProfileFact;
  readonly streak: StreakFact | undefined;
  /** Empty unless the caller wants them. */
  readonly counts: Counts;
  /** The newest ledger id: what Postgres must have committed to be in sync with this. */
  readonly ledgerId: string;
  /** The moment of the read, in milliseconds since 1970, and the user's local day then, in days since 1970-01-01. */
  readonly now: number;
  readonly day: number;
}

/** Everything that Redis keeps of a user, settled, in one call; with `completions`, how many users have completed what. Throws a 404 for an unknown user. */
export async function readUser(engine: Engine, tenant: number, id: string, completions = false): Promise<UserState> {
  const args = { user: id, entryId: randomUUID(), completions: completions ? 1 : 0 };
  const { outcome, values, config } = await engine.call(tenant, 'readUser', () => ({ args }));
  if (outcome !== outcomes.ok) throw refusal(outcome, id);
  const [flat, streak, counts, users, ledgerId, now, day] = values;
  if (!Array.isArray(flat)) throw new Error('readUser replied without fields');
  const hash = new Map<string, Buffer>();
  for (let i = 0; i + 1 < flat.length; i += 2) hash.set(text(flat[i]), flat[i + 1] as Buffer);
  return {
    config,
    hash,
    profile: profileOf(hash),
    streak: streakFact(unpackMessage(streak)),
    counts: readCounts(counts, users),
    ledgerId: text(ledgerId),
    now: Number(text(now)),
    day: Number(day),
  };
}

/** Some records of a user, settled, in one call; `pick` takes their names from the configuration. Throws a 404 for an unknown user. */
async function readRecords(
  engine: Engine,
  tenant: number,
  id: string,
  pick: (config: ActiveConfig) => readonly string[],
): Promise<Pick<UserState, 'config' | 'hash'>> {
  const args = { user: id, entryId: randomUUID() };
  const { outcome, values, config } = await engine.call(tenant, 'readRecords', (active) => ({ args, pairs: pick(active) }));
  if (outcome !== outcomes.ok) throw refusal(outcome, id);
  const stored = values[0] as readonly (Buffer | null)[];
  const hash = new Map<string, Buffer>();
  for (const [i, name] of pick(config).entries()) {
    const value = stored[i];
    if (value) hash.set(name, value);
  }
  return { config, hash };
}

/** The moment that it is. */
export async function tenantMoment(engine: Engine, tenant: number): Promise<TenantMoment> {
  const { values } = await engine.call(tenant, 'newestDeletion', () => ({ args: {} }));
  return { atMs: Number(text(values[0])), deleted: text(values[1]) };
}

/**
 * Whether a user is the one that there was at a moment, or that was created since if there was none, and not another one with the same id. In doubt,
 * it is not.
 */
export async function isSameUser(engine: Engine, tenant: number, id: string, asOf: TenantMoment): Promise<boolean> {
  if ((await tenantMoment(engine, tenant)).deleted === asOf.deleted) return true;
  try {
    const { hash } = await readRecords(engine, tenant, id, () => profileRecords);
    return Number(profileOf(hash)[userFields.created]) < asOf.atMs;
  } catch (error) {
    if (error instanceof LaurelError && error.code === 'not_found') return false;
    throw error;
  }
}

const profileRecords = [userRecords.core, userRecords.profile, userRecords.name, userRecords.attributes];

/** A user's profile. Throws a 404 for an unknown user. */
export async function readProfile(engine: Engine, tenant: number, id: string): Promise<UserResponse> {
  const { config, hash } = await readRecords(engine, tenant, id, () => profileRecords);
  return userResponse(config, id, profileOf(hash));
}

/** Achievement `no` → moment of completion, of what a user has completed. */
export function completedBy({ hash }: Pick<UserState, 'hash'>): ReadonlyMap<number, number> {
  return new Map(Object.entries(mapOf<number>(hash, userRecords.achievements)).map(([no, at]) => [Number(no), at]));
}

/** What a user sees of the achievements: those that are completed, and active ones. A locked one is shown only to users who have it. */
const isShown = ({ no, status }: Achievement, completed: ReadonlyMap<number, number>): boolean => completed.has(no) || status === 'active';

/** A metric's achievements that a user sees, completed or not. */
function achievementsOf(config: ActiveConfig, metricId: string, completed: ReadonlyMap<number, number>): Achievement[] {
  return [...config.achievements.values()].filter(
    (achievement) => achievement.trigger === 'metric' && achievement.metricId === metricId && isShown(achievement, completed),
  );
}

/** A user's totals on all metrics, as the contract's list of `MetricResponse`. */
export async function readUserMetrics(engine: Engine, tenant: number, id: string): Promise<MetricResponse[]> {
  const state = await readUser(engine, tenant, id);
  const { config } = state;
  const totals = totalsOf(state.hash, 'metric');
  const completed = completedBy(state);
  return Array.from(config.metrics.values(), (metric) => {
    const shown = achievementsOf(config, metric.id, completed);
    return metricResponse(
      metric,
      totals.get(metric.no) ?? 0,
      shown.map((achievement) => completedResponse(config, achievement, completed.get(achievement.no))),
    );
  });
}

/** A user's total on one metric, the contract's `MetricResponse`. Throws a 404 for an unknown user or metric. */
export async function readUserMetric(engine: Engine, tenant: number, id: string, key: string): Promise<JsonText> {
  const { config, hash } = await readRecords(engine, tenant, id, ({ metrics }) => {
    const metric = metrics.get(key);
    return metric ? [userRecords.metric + String(metric.no), userRecords.achievements] : [userRecords.achievements];
  });
  const metric = requireMetric(config, key);
  const completed = completedBy({ hash });
  const current = totalsOf(hash, 'metric').get(metric.no) ?? 0;
  return metricJson(config, metric, { current, shown: achievementsOf(config, metric.id, completed), completed });
}

/** A user's points, level and newest awards, the contract's `GetUserPointsResponse`. Throws a 404 for an unknown user or system. */
export async function readUserPoints(
  engine: Engine,
  tenant: number,
  id: string,
  { key, awards: count }: { readonly key: string; readonly awards: number },
): Promise<JsonText> {
  const entryId = randomUUID();
  const { outcome, values, config } = await engine.call(tenant, 'readPoints', (active) => ({
    args: { user: id, entryId, system: requireSystem(active, key).no, awards: count },
  }));
  if (outcome !== outcomes.ok) throw refusal(outcome, id);
  const [total, awards] = values;
  return userPointsJson(config, requireSystem(config, key), { total: Number(text(total)), awards: unpackAwards(awards as Buffer[]) });
}

/** A user's achievements with how many users have completed each; those that are not completed only when the caller wants them. */
export async function readUserAchievements(
  engine: Engine,
  tenant: number,
  id: string,
  includeIncomplete: boolean,
): Promise<UserAchievementWithStatsResponse[]> {
  const state = await readUser(engine, tenant, id, true);
  const completed = completedBy(state);
  return [...state.config.achievements.values()]
    .filter((achievement) => completed.has(achievement.no) || (includeIncomplete && isShown(achievement, completed)))
    .map((achievement) => ({
      ...completedResponse(state.config, achievement, completed.get(achievement.no)),
      ...stats(state.counts, achievement.no),
    }));
}

/** The contract's `UpdateUserPreferencesRequest`: only what is there is changed. */
export interface Preferences {
  readonly notifications?: Partial<Readonly<Record<NotificationType, readonly Channel[] | undefined>>> | undefined;
  readonly streak?: StreakPreferences | undefined;
}

/** A user's own streak conditions and days off; they take the place of the configured ones where the operator allows it. */
interface StreakPreferences {
  readonly enabled?: boolean | undefined;
  readonly evaluationMode?: 'AND' | 'OR' | undefined;
  readonly metrics?: readonly { readonly key: string; readonly threshold: number }[] | undefined;
  readonly daysOff?: readonly number[] | undefined;
}

/**
 * What Redis keeps of them, and is sent, in which case what is left out stays: metrics by `no`, as text. Without a mode and metrics, the configured
 * conditions apply; without days off, the configured ones.
 */
type StoredStreakPreferences = { readonly enabled?: boolean; readonly daysOff?: readonly number[] } & (
  | { readonly mode?: undefined; readonly metrics?: undefined }
  | { readonly mode: 'AND' | 'OR'; readonly metrics: readonly { readonly key: string; readonly threshold: number }[] }
);

const configuredConditions = (config: ActiveConfig): { mode: 'AND' | 'OR'; metrics: { key: string; threshold: number }[] } => {
  const { evaluationMode, metrics } = config.document.streaks;
  return {
    mode: evaluationMode,
    metrics: metrics.map(({ metricId, threshold }) => ({ key: String(mustGet(config.metricById, metricId, 'metric').no), threshold })),
  };
};

function storedStreak(config: ActiveConfig, { enabled, evaluationMode, metrics, daysOff }: StreakPreferences): StoredStreakPreferences {
  const hasConditions = evaluationMode !== undefined || metrics !== undefined;
  const { personalization, frequency } = config.document.streaks;
  if ((hasConditions || daysOff !== undefined) && !personalization) {
    throw new LaurelError(
      'forbidden',
      'Users cannot set their own streak conditions or days off while the streak setting `personalization` is off: turn it on, or send only `enabled`.',
    );
  }
  if (daysOff !== undefined && daysOff.length > 0 && frequency !== 'daily') {
    throw new LaurelError(
      'unprocessable',
      `Only daily streaks have days off, and the streaks are ${frequency}: \`daysOff\` must be empty.`,
    );
  }
  const others = { ...(enabled === undefined ? {} : { enabled }), ...(daysOff === undefined ? {} : { daysOff }) };
  if (!hasConditions) return others;
  const unknown = metrics?.filter(({ key }) => !config.metrics.has(key)).map(({ key }) => key) ?? [];
  if (unknown.length > 0) throw new LaurelError('unprocessable', `There are no metrics with these keys: ${unknown.join(', ')}.`);
  const own = metrics?.map(({ key, threshold }) => ({ key: String(mustGet(config.metrics, key, 'metric').no), threshold }));
  const configured = configuredConditions(config);
  return { ...others, mode: evaluationMode ?? configured.mode, metrics: own ?? configured.metrics };
}

function pairsOf(config: ActiveConfig, { notifications, streak }: Preferences): string[] {
  const pairs = Object.entries(notifications ?? {}).flatMap(([type, list]) =>
    list === undefined ? [] : [userFields.notification + type, JSON.stringify(list)],
  );
  const isEmpty = Object.values(streak ?? {}).every((value) => value === undefined);
  return streak === undefined || isEmpty ? pairs : [...pairs, userFields.streakPreferences, JSON.stringify(storedStreak(config, streak))];
}

function response(config: ActiveConfig, profile: ProfileFact): PreferencesResponse {
  const notifications = notificationTypes.flatMap((type) => {
    const list = profile[userFields.notification + type];
    return list === undefined ? [] : [[type, JSON.parse(list) as unknown] as const];
  });
  const own = profile[userFields.streakPreferences];
  if (own === undefined) return { notifications: Object.fromEntries(notifications) };
  // What is returned can be sent back: neither conditions on archived metrics nor what users may not have of their own.
  const { enabled = true, mode: evaluationMode, metrics: stored, daysOff } = JSON.parse(own) as StoredStreakPreferences;
  const { personalization, frequency } = config.document.streaks;
  const metrics = stored?.flatMap(({ key: no, threshold }) => {
    const { key, archived } = mustGet(config.metricByNo, Number(no), 'metric');
    return archived ? [] : [{ key, threshold }];
  });
  const conditions = personalization && metrics !== undefined && { evaluationMode, metrics };
  const off = personalization && frequency === 'daily' && daysOff !== undefined && { daysOff: [...daysOff] };
  return { notifications: Object.fromEntries(notifications), streak: { enabled, ...conditions, ...off } };
}

/** Changes the preferences of a user, and returns all of them. Throws a 404 for an unknown user, a 422 for what is not allowed. */
export async function setPreferences(engine: Engine, tenant: number, user: string, preferences: Preferences): Promise<PreferencesResponse> {
  const entryId = randomUUID();
  const { outcome, values, config } = await engine.call(tenant, 'setPreferences', (active) => {
    const pairs = pairsOf(active, preferences);
    return { args: { user, entryId, patchPairs: pairs.length / 2 }, pairs };
  });
  if (outcome !== outcomes.ok) throw refusal(outcome, user);
  return response(config, unpackMessage(values[0]) as ProfileFact);
}

/** What a user prefers: types of notification without a preference are left out. Throws a 404 for an unknown user. */
export async function readPreferences(engine: Engine, tenant: number, user: string): Promise<PreferencesResponse> {
  const { config, profile } = await readUser(engine, tenant, user);
  return response(config, profile);
}

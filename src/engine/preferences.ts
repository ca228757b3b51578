import { randomUUID } from 'node:crypto';
import { LaurelError } from '../errors.js';
import type { ProfileFact } from '../ledger/entry.js';
import { known, type ActiveConfig } from '../plan/active-config.js';
import { outcomes, userFields } from '../redis/contract.js';
import { unpackMessage } from '../redis/message.js';
import type { PreferencesResponse } from '../users/shapes.js';
import type { Engine } from './engine.js';
import { refusal } from './refusals.js';
import { readUser } from './users.js';

export const notificationTypes = ['achievement_completed', 'recap', 'reactivation', 'streak_reminder'] as const;
export const channels = ['email', 'push'] as const;

type NotificationType = (typeof notificationTypes)[number];

/** The contract's `UpdateUserPreferencesRequest`: only what is there is changed. */
export interface Preferences {
  readonly notifications?: Partial<Readonly<Record<NotificationType, readonly (typeof channels)[number][] | undefined>>> | undefined;
  readonly streak?: StreakPreferences | undefined;
}

/** A user's own streak conditions; they take the place of the configured ones where the operator allows it. */
export interface StreakPreferences {
  readonly enabled?: boolean | undefined;
  readonly evaluationMode?: 'AND' | 'OR' | undefined;
  readonly metrics?: readonly { readonly key: string; readonly threshold: number }[] | undefined;
}

/** What Redis keeps of them: metrics by `no`, as text. */
interface StoredStreakPreferences {
  readonly enabled: boolean;
  readonly mode: 'AND' | 'OR';
  readonly metrics: readonly { readonly key: string; readonly threshold: number }[];
}

function storedStreak(config: ActiveConfig, { enabled = true, evaluationMode, metrics }: StreakPreferences): StoredStreakPreferences {
  const { streaks } = config.document;
  if (!streaks.personalization) {
    throw new LaurelError(
      'forbidden',
      'Users have no streak preferences while the streak setting `personalization` is off: switch it on in the streak settings.',
    );
  }
  const unknown = metrics?.filter(({ key }) => !config.metrics.has(key)).map(({ key }) => key) ?? [];
  if (unknown.length > 0) throw new LaurelError('unprocessable', `There are no metrics with these keys: ${unknown.join(', ')}.`);
  const own = metrics?.map(({ key, threshold }) => ({ key: String(known(config.metrics, key, 'metric').no), threshold }));
  const configured = streaks.metrics.map(({ metricId, threshold }) => ({
    key: String(known(config.metricById, metricId, 'metric').no),
    threshold,
  }));
  return { enabled, mode: evaluationMode ?? streaks.evaluationMode, metrics: own ?? configured };
}

function pairsOf(config: ActiveConfig, { notifications, streak }: Preferences): string[] {
  const pairs = Object.entries(notifications ?? {}).flatMap(([type, list]) =>
    list === undefined ? [] : [userFields.notification + type, JSON.stringify(list)],
  );
  return streak === undefined ? pairs : [...pairs, userFields.streakPreferences, JSON.stringify(storedStreak(config, streak))];
}

function response(config: ActiveConfig, profile: ProfileFact): PreferencesResponse {
  const notifications = notificationTypes.flatMap((type) => {
    const list = profile[userFields.notification + type];
    return list === undefined ? [] : [[type, JSON.parse(list) as unknown] as const];
  });
  const own = profile[userFields.streakPreferences];
  if (own === undefined) return { notifications: Object.fromEntries(notifications) };
  const { enabled, mode, metrics } = JSON.parse(own) as StoredStreakPreferences;
  const shown = metrics.map(({ key, threshold }) => ({ key: known(config.metricByNo, Number(key), 'metric').key, threshold }));
  return { notifications: Object.fromEntries(notifications), streak: { enabled, evaluationMode: mode, metrics: shown } };
}

/** Changes what a user prefers, and answers with all of it. Throws a 404 for an unknown user, a 422 for what is not allowed. */
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

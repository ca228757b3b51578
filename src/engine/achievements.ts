import { randomUUID } from 'node:crypto';
import type { Achievement } from '../config/schema/model.js';
import { achievementResponse, completedResponse, filterList, stats, type Counts } from '../responses/achievements.js';
import type { AchievementWithStatsResponse } from '../responses/achievements.js';
import { LaurelError } from '../shared/errors.js';
import { unpackFacts, type UserEntry } from '../ledger/entry.js';
import { requireAchievement, type ActiveConfig } from '../plan/active-config.js';
import { outcomes } from '../redis/contract.js';
import { checkAttributeKeys } from './user-properties.js';
import { userPatch } from './user-properties.js';
import type { UserProperties } from './user-properties.js';
import { pointsBlock } from '../responses/events.js';
import type { Engine } from './engine.js';
import { text } from './function-calls.js';
import type { CompletionResponse } from '../responses/events.js';
import { refusal, type Result, toResult } from './refusals.js';

/** The counts from a reply of the function library: a flat list of achievement no and count, and the number of users. */
export function readCounts(completions: unknown, users: unknown): Counts {
  const flat = Array.isArray(completions) ? completions.map(text) : [];
  const pairs = flat.flatMap((no, i) => (i % 2 === 0 ? [[Number(no), Number(flat[i + 1])] as const] : []));
  return { completions: new Map(pairs), users: Number(text(users)) };
}

/**
 * The active achievements, with how many users have completed each: a locked one is shown only to users who have it, and this is no user's
 * list. `userAttributes`: only those with all of these filters.
 */
export async function listAchievements(
  engine: Engine,
  tenant: number,
  userAttributes: ReadonlyMap<string, string>,
): Promise<AchievementWithStatsResponse[]> {
  const { values, config } = await engine.call(tenant, 'readCounts', (active) => {
    checkAttributeKeys([Object.fromEntries(userAttributes), active.userAttributes]);
    return { args: {} };
  });
  const counts = readCounts(values[0], values[1]);
  return [...config.achievements.values()]
    .filter((achievement) => {
      if (achievement.status !== 'active') return false;
      const filters = new Map(filterList(config, achievement.userAttributes).map(({ key, value }) => [key, value]));
      return [...userAttributes].every(([key, value]) => !filters.has(key) || filters.get(key) === value);
    })
    .map((achievement) => ({ ...achievementResponse(config, achievement), ...stats(counts, achievement.no) }));
}

/** Throws a 422 for an achievement that calls can't complete. */
export function requireApiTrigger({ key, trigger }: Achievement): void {
  if (trigger === 'api') return;
  throw new LaurelError(
    'unprocessable',
    `The achievement ${JSON.stringify(key)} cannot be completed through the API: its trigger is ${trigger}.`,
  );
}

/**
 * Completes an achievement of kind `api` for a user, who is upserted. Throws a 404 for an unknown key, a 422 for an achievement of another
 * kind, one that is locked or whose filters do not match, or one that the user has already.
 */
export async function completeAchievement(
  engine: Engine,
  tenant: number,
  key: string,
  user: UserProperties & { id: string },
): Promise<CompletionResponse> {
  const entryId = randomUUID();
  const { outcome, values, config } = await engine.call(tenant, 'completeAchievement', (active) => {
    const achievement = requireAchievement(active, key);
    requireApiTrigger(achievement);
    checkAttributeKeys([user.attributes, active.userAttributes]);
    const pairs = userPatch(active, user);
    return {
      args: { user: user.id, mode: 'upsert', achievement: achievement.no, entryId, dryRun: 0, patchPairs: pairs.length / 2 },
      pairs,
    };
  });
  if (outcome !== outcomes.ok) throw refusal(outcome, user.id);
  const entry = unpackFacts(values[0]) as UserEntry;
  return {
    completionId: entry.id,
    achievement: completedResponse(config, requireAchievement(config, key), entry.at),
    points: pointsBlock(config, entry),
  };
}

/**
 * Completes the achievement that `pick` takes from the configuration for a user who exists. The value is the user's id. With `isDryRun`, only says
 * whether the user can complete it.
 */
export async function completeForUser(
  engine: Engine,
  tenant: number,
  pick: (config: ActiveConfig) => Achievement,
  { user, isDryRun }: { readonly user: string; readonly isDryRun: boolean },
): Promise<Result<string>> {
  const entryId = randomUUID();
  const { outcome } = await engine.call(tenant, 'completeAchievement', (active) => ({
    args: { user, mode: 'update', achievement: pick(active).no, entryId, dryRun: isDryRun ? 1 : 0, patchPairs: 0 },
  }));
  return toResult(outcome, user);
}

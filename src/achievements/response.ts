import type { Achievement, AttributeFilter } from '../config/model.js';
import { known, type ActiveConfig } from '../plan/active-config.js';
import { instant } from '../users/response.js';
import type { AchievementResponse, EventFilters, UserAchievementResponse } from './shapes.js';

/** Filters as keys and values. */
export function filterList(config: ActiveConfig, list: readonly AttributeFilter[]): { key: string; value: string }[] {
  return list.map(({ attributeId, attributeValue }) => ({
    key: known(config.attributeById, attributeId, 'attribute').key,
    value: attributeValue,
  }));
}

/** Event filters as the contract has them; `eventAttribute`, which it deprecates, is sent where there is exactly one. */
export function eventFilters(config: ActiveConfig, list: readonly AttributeFilter[]): EventFilters {
  const eventAttributes = filterList(config, list);
  const [eventAttribute, second] = eventAttributes;
  return { ...(eventAttribute && !second ? { eventAttribute } : {}), eventAttributes };
}

function byTrigger(config: ActiveConfig, achievement: Achievement): Partial<AchievementResponse> {
  switch (achievement.trigger) {
    case 'metric': {
      const metric = known(config.metricById, achievement.metricId, 'metric');
      const counted = { metricId: metric.id, metricValue: achievement.metricValue, metricName: metric.name };
      return { ...counted, ...eventFilters(config, achievement.eventAttributes) };
    }
    case 'streak':
      return { streakLength: achievement.streakLength };
    case 'achievement':
      return { achievementIds: [...achievement.achievementIds] };
    case 'api':
      return {};
  }
}

/** The contract's `AchievementResponse`. */
export function achievementResponse(config: ActiveConfig, achievement: Achievement): AchievementResponse {
  const { id, key, name, trigger, description, badgeUrl } = achievement;
  return {
    id,
    key,
    name,
    trigger,
    description,
    badgeUrl,
    ...byTrigger(config, achievement),
    userAttributes: filterList(config, achievement.userAttributes),
  };
}

/** The contract's `UserAchievementResponse`. `at` in milliseconds since 1970; undefined for one that is not completed. */
export function completedResponse(config: ActiveConfig, achievement: Achievement, at: number | undefined): UserAchievementResponse {
  return { ...achievementResponse(config, achievement), achievedAt: at === undefined ? null : instant(at) };
}

/** Completions, and users, of a tenant. */
export interface Counts {
  /** Achievement `no` → how many users have completed it. */
  readonly completions: ReadonlyMap<number, number>;
  readonly users: number;
}

/** `rarity` is the percentage of users who have completed it, to two decimals (semantics.md, "Achievements"). */
export function stats({ completions, users }: Counts, no: number): { completions: number; rarity: number } {
  const count = completions.get(no) ?? 0;
  return { completions: count, rarity: users === 0 ? 0 : Math.round((count * 10_000) / users) / 100 };
}

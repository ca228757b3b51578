import type { Achievement } from '../../config/schema/model.js';
import { type UserState, completedBy } from '../../engine/users.js';
import { mustGet } from '../../plan/active-config.js';
import { userFields, userRecords } from '../../redis/contract.js';
import { at, listOf } from '../../redis/encoding.js';
import { shareOf } from '../../shared/progress.js';
import type { NextVariables } from './variables.js';

const none: NextVariables = { name: '', description: '', current: 0, target: 0, progress: 0 };

/** What counts towards a metric achievement: the total, or the sum of the matching events. */
function amountOf({ hash, config }: UserState, { no, metricId, eventAttributes }: Extract<Achievement, { trigger: 'metric' }>): number {
  const counts = listOf(hash, userRecords.metric + String(mustGet(config.metricById, metricId, 'metric').no));
  if (eventAttributes.length === 0) return (at(counts, 'metric', 'total') as number | undefined) ?? 0;
  const sums = at(counts, 'metric', 'sums') as Readonly<Record<string, number>> | undefined;
  return sums?.[String(no)] ?? 0;
}

/** How far a user is; undefined for an achievement without a number to reach. */
function progressOf(state: UserState, achievement: Achievement): { readonly current: number; readonly target: number } | undefined {
  switch (achievement.trigger) {
    case 'metric':
      return { current: amountOf(state, achievement), target: achievement.metricValue };
    case 'streak':
      return state.streak && { current: state.streak.length, target: achievement.streakLength };
    case 'api':
    case 'achievement':
    case 'anniversary':
      return undefined;
  }
}

/** Whether a user can complete an achievement, as far as its status and its filters go. */
const isOpen = ({ config, profile }: UserState, { status, userAttributes }: Achievement): boolean =>
  status === 'active' &&
  userAttributes.every(({ attributeId, attributeValue }) => {
    const { no } = mustGet(config.attributeById, attributeId, 'attribute');
    return profile[userFields.attribute + String(no)] === attributeValue;
  });

/** The incomplete achievement of a metric or a streak that is closest to completion; the first of equals, in the order of the configuration. */
export function nextAchievement(state: UserState): NextVariables {
  const completed = completedBy(state);
  let best = none;
  let bestShare = -1;
  for (const achievement of state.config.achievements.values()) {
    const counted = completed.has(achievement.no) || !isOpen(state, achievement) ? undefined : progressOf(state, achievement);
    if (!counted) continue;
    const { current, target } = counted;
    const share = shareOf(current, target);
    if (share <= bestShare) continue;
    bestShare = share;
    best = { name: achievement.name, description: achievement.description ?? '', current, target, progress: Math.floor(share * 100) };
  }
  return best;
}

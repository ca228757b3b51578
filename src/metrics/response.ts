import type { Metric } from '../config/model.js';
import type { UserAchievementResponse } from '../achievements/shapes.js';
import type { MetricResponse } from './shapes.js';

/**
 * The contract's `MetricResponse`, with the user's total and the metric's achievements. A metric on which nothing has
 * happened yet is at 0. `status` is not in the contract, but the official client library refuses an answer without it.
 */
export function metricResponse({ id, key, name }: Metric, current: number, achievements: UserAchievementResponse[]): MetricResponse {
  return { id, key, name, status: 'active', current, achievements };
}

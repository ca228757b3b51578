import type { Metric } from '../config/model.js';
import { userFields } from '../redis/contract.js';
import type { UserAchievementResponse } from '../achievements/shapes.js';
import type { MetricResponse } from './shapes.js';

/**
 * The contract's `MetricResponse`, from the fields of the user's hash, with the metric's achievements. A metric on which nothing has
 * happened yet is at 0. `status` is not in the contract, but the official client library refuses an answer without it.
 */
export function metricResponse(
  { id, no, key, name }: Metric,
  fields: Readonly<Record<string, string>>,
  achievements: UserAchievementResponse[],
): MetricResponse {
  return { id, key, name, status: 'active', current: Number(fields[`${userFields.metricTotal}${no}`] ?? 0), achievements };
}

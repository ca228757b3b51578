import type { Route } from '../route.js';
import { achievementAdminRoutes } from './achievements.js';
import { attributeAdminRoutes } from './attributes.js';
import { boostAdminRoutes } from './boosts.js';
import { leaderboardAdminRoutes } from './leaderboards.js';
import { levelAdminRoutes } from './points.js';
import { metricAdminRoutes } from './metrics.js';
import { pointsAdminRoutes } from './points.js';
import { settingsAdminRoutes } from './settings.js';
import { triggerAdminRoutes } from './points.js';
import { webhookAdminRoutes } from './webhooks.js';

/** Everything that operators configure. */
export const configurationRoutes: readonly Route[] = [
  ...attributeAdminRoutes,
  ...metricAdminRoutes,
  ...pointsAdminRoutes,
  ...levelAdminRoutes,
  ...boostAdminRoutes,
  ...triggerAdminRoutes,
  ...achievementAdminRoutes,
  ...leaderboardAdminRoutes,
  ...webhookAdminRoutes,
  ...settingsAdminRoutes,
];

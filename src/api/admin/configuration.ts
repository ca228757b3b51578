import type { Route } from '../route.js';
import { resourceRoutes } from './resource-routes.js';
import { resources } from './resources.js';
import { settingsAdminRoutes } from './settings.js';

/** The routes of everything that operators configure. */
export const configurationRoutes: readonly Route[] = [...resourceRoutes(resources), ...settingsAdminRoutes];

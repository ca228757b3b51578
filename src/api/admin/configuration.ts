import type { Route } from '../route.js';
import { configurationFileRoutes } from './configuration-file.js';
import { configurationVersionRoutes } from './configuration-versions.js';
import { resourceRoutes } from './resource-routes.js';
import { resources } from './resources.js';
import { settingsAdminRoutes } from './settings.js';

/** The routes of everything that operators configure. */
export const configurationRoutes: readonly Route[] = [
  ...resourceRoutes(resources),
  ...settingsAdminRoutes,
  ...configurationFileRoutes,
  ...configurationVersionRoutes,
];

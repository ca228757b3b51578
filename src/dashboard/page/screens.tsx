import { lazy } from 'preact-iso';
import type { AnyComponent } from 'preact';

/** A screen and the path of its address, with parameters as `:name`, which are its props. */
export interface ScreenRoute {
  readonly path: string;
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly screen: AnyComponent<any>;
}

const configurationObject = lazy(() => import('./screens/configuration/object.js'));

/** Every screen, each loaded when it is first opened. */
export const screens: readonly ScreenRoute[] = [
  { path: '/', screen: lazy(() => import('./screens/overview/overview.js')) },
  { path: '/users', screen: lazy(() => import('./screens/users/users.js')) },
  { path: '/users/:id', screen: lazy(() => import('./screens/users/user.js')) },
  { path: '/leaderboards', screen: lazy(() => import('./screens/leaderboards/list.js')) },
  { path: '/leaderboards/:board', screen: lazy(() => import('./screens/leaderboards/board.js')) },
  { path: '/achievements', screen: lazy(() => import('./screens/achievements/list.js')) },
  { path: '/achievements/:achievement', screen: lazy(() => import('./screens/achievements/achievement.js')) },
  { path: '/levels', screen: lazy(() => import('./screens/levels/levels.js')) },
  { path: '/messages', screen: lazy(() => import('./screens/messages/messages.js')) },
  { path: '/webhooks', screen: lazy(() => import('./screens/webhooks/list.js')) },
  { path: '/webhooks/:webhook', screen: lazy(() => import('./screens/webhooks/webhook.js')) },
  { path: '/status', screen: lazy(() => import('./screens/operation/status.js')) },
  { path: '/keys', screen: lazy(() => import('./screens/keys/keys.js')) },
  { path: '/tenants', screen: lazy(() => import('./screens/operation/tenants.js')) },
  { path: '/audit', screen: lazy(() => import('./screens/operation/audit.js')) },
  { path: '/configuration', screen: lazy(() => import('./screens/configuration/overview.js')) },
  { path: '/configuration/review', screen: lazy(() => import('./screens/configuration/review.js')) },
  { path: '/configuration/:part', screen: lazy(() => import('./screens/configuration/part.js')) },
  { path: '/configuration/:part/:object', screen: configurationObject },
  { path: '/configuration/:part/:object/:list/:inner', screen: configurationObject },
  { path: '/versions', screen: lazy(() => import('./screens/versions/list.js')) },
  { path: '/versions/:version', screen: lazy(() => import('./screens/versions/version.js')) },
  { path: '/templates', screen: lazy(() => import('./screens/templates/list.js')) },
  { path: '/templates/:template', screen: lazy(() => import('./screens/templates/template.js')) },
  { path: '/files', screen: lazy(() => import('./screens/files/files.js')) },
];

/** The navigation: everyday tasks first. */
export const groups: readonly { readonly title: string; readonly items: readonly { readonly path: string; readonly title: string }[] }[] = [
  {
    title: 'Every day',
    items: [
      { path: '/', title: 'Overview' },
      { path: '/users', title: 'Users' },
      { path: '/leaderboards', title: 'Leaderboards' },
      { path: '/achievements', title: 'Achievements' },
      { path: '/levels', title: 'Levels' },
    ],
  },
  {
    title: 'The game',
    items: [
      { path: '/configuration', title: 'Configuration' },
      { path: '/versions', title: 'Versions' },
      { path: '/templates', title: 'Message templates' },
    ],
  },
  {
    title: 'Deliveries',
    items: [
      { path: '/messages', title: 'Messages' },
      { path: '/webhooks', title: 'Webhooks' },
    ],
  },
  {
    title: 'Operation',
    items: [
      { path: '/status', title: 'Status' },
      { path: '/keys', title: 'Keys and sessions' },
      { path: '/tenants', title: 'Tenants' },
      { path: '/audit', title: 'Audit log' },
      { path: '/files', title: 'Import and export' },
    ],
  },
];

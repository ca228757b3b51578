import { lazy } from 'preact-iso';
import type { AnyComponent } from 'preact';

/** A screen and the path of its address, with parameters as `:name`, which are its props. */
export interface ScreenRoute {
  readonly path: string;
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly screen: AnyComponent<any>;
}

/** Every screen, each loaded when it is first opened. */
export const screens: readonly ScreenRoute[] = [{ path: '/', screen: lazy(() => import('./screens/overview.js')) }];

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

import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Loading } from '../ui/states.js';
import { loadScreen } from './load.js';
import { ScreenError } from './screen-error.js';

/** A screen and the path of its address, with parameters as `:name`, which are its props. */
interface ScreenRoute {
  readonly path: string;
  readonly screen: ComponentType;
}

const configurationObject = screen(() => import('../screens/configuration/object.js'));

/**
 * A screen that is loaded when it is first opened, with progress until then. The router passes the parameters of its path as props. It never suspends:
 * the router would keep the screen before it.
 */
function screen<Params extends object>(load: () => Promise<{ default: ComponentType<Params> }>): ComponentType {
  let Loaded: ComponentType | undefined;
  return function Screen(params: object) {
    const [, setIsLoaded] = useState(false);
    const [error, setError] = useState<unknown>();
    useEffect(() => {
      if (Loaded) return;
      loadScreen(load).then((module) => {
        Loaded = module.default as unknown as ComponentType;
        setIsLoaded(true);
      }, setError);
    }, []);
    if (Loaded) return <Loaded {...params} />;
    return error === undefined ? <Loading /> : <ScreenError error={error} />;
  };
}

/** Every screen, each loaded when it is first opened. */
export const screens: readonly ScreenRoute[] = [
  { path: '/', screen: screen(() => import('../screens/overview/overview.js')) },
  { path: '/users', screen: screen(() => import('../screens/users/users.js')) },
  { path: '/users/:id', screen: screen(() => import('../screens/users/user.js')) },
  { path: '/leaderboards', screen: screen(() => import('../screens/leaderboards/list.js')) },
  { path: '/leaderboards/:board', screen: screen(() => import('../screens/leaderboards/board.js')) },
  { path: '/achievements', screen: screen(() => import('../screens/achievements/list.js')) },
  { path: '/achievements/:achievement', screen: screen(() => import('../screens/achievements/achievement.js')) },
  { path: '/levels', screen: screen(() => import('../screens/levels/levels.js')) },
  { path: '/messages', screen: screen(() => import('../screens/messages/messages.js')) },
  { path: '/webhooks', screen: screen(() => import('../screens/webhooks/list.js')) },
  { path: '/webhooks/:webhook', screen: screen(() => import('../screens/webhooks/webhook.js')) },
  { path: '/status', screen: screen(() => import('../screens/operation/status.js')) },
  { path: '/keys', screen: screen(() => import('../screens/keys/keys.js')) },
  { path: '/tenants', screen: screen(() => import('../screens/operation/tenants.js')) },
  { path: '/audit', screen: screen(() => import('../screens/operation/audit.js')) },
  { path: '/configuration', screen: screen(() => import('../screens/configuration/overview.js')) },
  { path: '/configuration/review', screen: screen(() => import('../screens/configuration/review.js')) },
  { path: '/configuration/:part', screen: screen(() => import('../screens/configuration/part.js')) },
  { path: '/configuration/:part/:object', screen: configurationObject },
  { path: '/configuration/:part/:object/:list/:inner', screen: configurationObject },
  { path: '/versions', screen: screen(() => import('../screens/versions/list.js')) },
  { path: '/versions/:version', screen: screen(() => import('../screens/versions/version.js')) },
  { path: '/templates', screen: screen(() => import('../screens/templates/list.js')) },
  { path: '/templates/:template', screen: screen(() => import('../screens/templates/template.js')) },
  { path: '/files', screen: screen(() => import('../screens/files/files.js')) },
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

/** What addresses of screens name: one of each kind. */
export interface Samples {
  readonly user: string;
  readonly achievementId: string;
  readonly leaderboardId: string;
  readonly leaderboardKey: string;
  readonly systemId: string;
  readonly systemKey: string;
  /** A leaderboard that repeats. */
  readonly weeklyId: string;
  /** The configuration file, with other levels. */
  readonly draft: object;
}

/** An address, or the body that is posted to one. */
export type Reading = string | { readonly path: string; readonly body: object };

/** A screen of the dashboard, and the addresses that it reads when it opens (src/dashboard/page/screens). */
export interface Screen {
  readonly name: string;
  readonly reads: (of: Samples) => readonly Reading[];
}

const encoded = encodeURIComponent;

export const overview: Screen = {
  name: 'overview',
  reads: () => ['/admin/v1/analytics/days', '/admin/v1/analytics/streaks', '/admin/v1/status'],
};

/** The screen of one user has the most reads. */
function userReads({ user, leaderboardKey, systemId, systemKey }: Samples): string[] {
  const own = `/v1/users/${encoded(user)}`;
  return [
    `/admin${own}`,
    `/admin${own}/timeline`,
    ...['metrics', 'preferences', `points/${systemKey}?awards=1`, `points/${systemKey}/boosts`].map((part) => `${own}/${part}`),
    ...['achievements?includeIncomplete=true', 'streak?historyPeriods=182'].map((part) => `${own}/${part}`),
    `${own}/leaderboards/${leaderboardKey}?numEvents=1`,
    ...['/v1/leaderboards', `/v1/points/${systemKey}/levels`, '/admin/v1/points', '/admin/v1/attributes'],
    `/admin/v1/points/${systemId}/boosts?userId=${encoded(user)}`,
    `/admin/v1/application-api-keys?userId=${encoded(user)}`,
    `/admin/v1/messages?userId=${encoded(user)}&limit=5`,
  ];
}

export const screens: readonly Screen[] = [
  overview,
  { name: 'overview, 90 days', reads: () => [`/admin/v1/analytics/days?from=${daysAgo(89)}&until=${daysAgo(0)}`] },
  {
    name: 'users',
    reads: () => ['/admin/v1/users?limit=51', '/admin/v1/users?limit=51&search=user-77', '/admin/v1/users?limit=51&search=x'],
  },
  {
    name: 'users, late pages',
    reads: () => ['/admin/v1/users?limit=51&skip=900000', '/admin/v1/users?limit=51&skip=90000&search=user-7'],
  },
  { name: 'user', reads: userReads },
  {
    name: 'leaderboard',
    reads: ({ leaderboardId, leaderboardKey }) => [
      '/v1/leaderboards?includeFinished=true',
      ...['runs?limit=21', 'groups?limit=9', 'distribution'].map((part) => `/admin/v1/leaderboards/${leaderboardId}/${part}`),
      `/v1/leaderboards/${leaderboardKey}?limit=51`,
    ],
  },
  {
    name: 'finished run of a leaderboard',
    reads: ({ weeklyId }) => [
      `/admin/v1/leaderboards/${weeklyId}/groups?limit=9&run=${daysAgo(finishedDays)}`,
      `/admin/v1/leaderboards/${weeklyId}/distribution?run=${daysAgo(finishedDays)}`,
    ],
  },
  { name: 'achievements', reads: () => ['/admin/v1/achievements?limit=51', '/v1/achievements'] },
  { name: 'achievement', reads: ({ achievementId }) => [`/admin/v1/analytics/achievements/${achievementId}`] },
  {
    name: 'levels',
    reads: ({ systemId, systemKey }) => ['/admin/v1/points', `/admin/v1/analytics/levels/${systemId}`, `/v1/points/${systemKey}/summary`],
  },
  { name: 'configuration', reads: () => ['/admin/v1/configuration', '/admin/v1/configuration/schema'] },
  {
    name: 'review of other levels',
    reads: ({ draft }) => [{ path: '/admin/v1/configuration/dry-run', body: { file: draft, prune: true } }],
  },
  { name: 'versions', reads: () => ['/admin/v1/configuration/versions?limit=21', '/admin/v1/configuration/versions/1'] },
  {
    name: 'messages',
    reads: () => ['/admin/v1/messages?limit=51', '/admin/v1/messages/totals', '/admin/v1/messages/recipients?type=recap'],
  },
  { name: 'webhooks', reads: () => ['/admin/v1/webhooks?limit=51', '/admin/v1/webhooks/totals'] },
  { name: 'status', reads: () => ['/admin/v1/status', '/admin/v1/dead-letters?limit=51', '/admin/v1/clock'] },
  {
    name: 'keys',
    reads: () => ['/admin/v1/admin-api-keys?limit=51', '/admin/v1/application-api-keys?limit=51', '/admin/v1/dashboard-sessions?limit=51'],
  },
  { name: 'tenants', reads: () => ['/admin/v1/tenants?limit=51'] },
  { name: 'audit log', reads: () => ['/admin/v1/audit-log'] },
];

/** Days after which a weekly run is over everywhere. */
const finishedDays = 14;

const dayMs = 86_400_000;
/** The moment of the fill's last day. */
export const filledUntilMs = Date.parse('2040-03-31T12:00:00Z');
/** A date of the service's clock, YYYY-MM-DD, counted back from the last day. */
export const daysAgo = (days: number): string => new Date(filledUntilMs - days * dayMs).toISOString().slice(0, 10);

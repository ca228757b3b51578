/** What addresses of screens name: one of each kind. */
export interface Samples {
  readonly user: string;
  readonly achievementId: string;
  readonly leaderboardId: string;
  readonly leaderboardKey: string;
  readonly systemId: string;
  readonly systemKey: string;
}

/** A screen of the dashboard, and the addresses that it reads when it opens (src/dashboard/page/screens). */
export interface Screen {
  readonly name: string;
  readonly reads: (of: Samples) => readonly string[];
}

const encoded = encodeURIComponent;

export const overview: Screen = {
  name: 'overview',
  reads: () => ['/admin/v1/analytics/days', '/admin/v1/analytics/streaks', '/admin/v1/status'],
};

export const screens: readonly Screen[] = [
  overview,
  { name: 'overview, 90 days', reads: () => [`/admin/v1/analytics/days?from=${daysAgo(89)}&until=${daysAgo(0)}`] },
  {
    name: 'users',
    reads: () => ['/admin/v1/users?limit=50', '/admin/v1/users?limit=50&search=user-77', '/admin/v1/users?limit=50&search=9'],
  },
  {
    name: 'user',
    reads: ({ user, leaderboardKey, systemKey }) => [
      ...[
        '',
        '/metrics',
        `/points/${systemKey}`,
        `/points/${systemKey}/boosts`,
        '/achievements?includeIncomplete=true',
        '/preferences',
      ].map((part) => `/v1/users/${encoded(user)}${part}`),
      `/v1/users/${encoded(user)}/streak?historyPeriods=182`,
      `/v1/users/${encoded(user)}/leaderboards/${leaderboardKey}`,
      `/v1/points/${systemKey}/levels`,
      `/admin/v1/users/${encoded(user)}/timeline?limit=50`,
      `/admin/v1/application-api-keys?userId=${encoded(user)}`,
      `/admin/v1/messages?userId=${encoded(user)}&limit=10`,
    ],
  },
  {
    name: 'leaderboard',
    reads: ({ leaderboardId, leaderboardKey }) => [
      '/admin/v1/leaderboards?limit=100',
      ...['runs?limit=50', 'groups?limit=50', 'distribution'].map((part) => `/admin/v1/leaderboards/${leaderboardId}/${part}`),
      `/v1/leaderboards/${leaderboardKey}?limit=50`,
    ],
  },
  { name: 'achievements', reads: () => ['/admin/v1/achievements?limit=100', '/v1/achievements'] },
  { name: 'achievement', reads: ({ achievementId }) => [`/admin/v1/analytics/achievements/${achievementId}`] },
  {
    name: 'levels',
    reads: ({ systemId, systemKey }) => ['/admin/v1/points', `/admin/v1/analytics/levels/${systemId}`, `/v1/points/${systemKey}/summary`],
  },
  { name: 'configuration', reads: () => ['/admin/v1/configuration', '/admin/v1/configuration/schema'] },
  { name: 'versions', reads: () => ['/admin/v1/configuration/versions?limit=20', '/admin/v1/configuration/versions/1'] },
  {
    name: 'messages',
    reads: () => ['/admin/v1/messages?limit=50', '/admin/v1/messages/totals', '/admin/v1/suppressions?limit=50'],
  },
  { name: 'webhooks', reads: () => ['/admin/v1/webhooks?limit=50', '/admin/v1/webhooks/totals'] },
  { name: 'status', reads: () => ['/admin/v1/status', '/admin/v1/dead-letters?limit=50'] },
  {
    name: 'keys',
    reads: () => ['/admin/v1/admin-api-keys?limit=50', '/admin/v1/application-api-keys?limit=50', '/admin/v1/dashboard-sessions'],
  },
  { name: 'tenants', reads: () => ['/admin/v1/tenants?limit=50'] },
  { name: 'audit log', reads: () => ['/admin/v1/audit-log?limit=50'] },
];

const dayMs = 86_400_000;
/** The moment of the fill's last day. */
export const filledUntilMs = Date.parse('2040-03-31T12:00:00Z');
/** A date of the service's clock, YYYY-MM-DD, counted back from the last day. */
export const daysAgo = (days: number): string => new Date(filledUntilMs - days * dayMs).toISOString().slice(0, 10);

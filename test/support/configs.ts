/** Configurations, and parts of them, that several tests share. A test that is about more than these state writes its own. */

export const cityAndDevice = [
  { key: 'city', name: 'City', type: 'user' },
  { key: 'device', name: 'Device', type: 'event' },
];

export const cityPlanAndDevice = [
  { key: 'city', name: 'City', type: 'user' },
  { key: 'plan', name: 'Plan', type: 'user' },
  { key: 'device', name: 'Device', type: 'event' },
] as const;

/** Points system `p`: a point for each unit of a metric. */
export const pointPerUnit = (metricKey: string): object => ({
  key: 'p',
  name: 'P',
  triggers: [{ key: 't', type: 'metric', metricKey, metricThreshold: 1, points: 1, status: 'active' }],
});

/** Metric `cards`, of which everything is made: two points each, an achievement, a streak, and leaderboards of all time and of each day. */
export const cardsConfig = {
  attributes: [{ key: 'city', name: 'City', type: 'user' }],
  metrics: [{ key: 'cards', name: 'Cards' }],
  points: [
    {
      key: 'xp',
      name: 'XP',
      triggers: [{ key: 't', type: 'metric', metricKey: 'cards', metricThreshold: 1, points: 2, status: 'active' }],
    },
  ],
  achievements: [
    { key: 'ten', name: 'Ten', trigger: 'metric', metricKey: 'cards', metricValue: 10, status: 'active' },
    { key: 'welcome', name: 'Welcome', trigger: 'api', status: 'active' },
  ],
  streaks: { enabled: true, frequency: 'daily', metrics: [{ metricKey: 'cards', threshold: 1 }] },
  leaderboards: [
    { key: 'all', name: 'All', status: 'active', start: '2020-01-01', rankBy: 'metric', metricKey: 'cards' },
    {
      key: 'day',
      name: 'Day',
      status: 'active',
      start: '2040-01-02',
      rankBy: 'metric',
      metricKey: 'cards',
      runUnit: 'day',
      runInterval: 1,
    },
  ],
};

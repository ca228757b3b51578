/** What completes an achievement, in words. */
export const triggerNames: Readonly<Record<string, string>> = {
  metric: 'a total of a metric',
  streak: 'the length of a streak',
  api: 'a call of your server',
  achievement: 'other achievements',
  anniversary: 'an anniversary of signing up',
};

import { dateToDay, dayToDate } from '../../../shared/calendar.js';

/** The configuration files of the demo, by the number of days after which each is applied. Each is applied on top of those before it. */
export interface GameChange {
  readonly afterDays: number;
  readonly file: object;
}

const webhookKinds = ['achievement.completed', 'points.level_changed', 'streak.lost', 'leaderboard.finished'];

/** What the demo adds to the sample configuration before the first user arrives. */
const opening = (monday: string, webhookUrl: string) => ({
  attributes: [{ key: 'subject', name: 'Subject', type: 'event' }],
  metrics: [{ key: 'quizzes-passed', name: 'Quizzes passed', units: 'quizzes' }],
  points: [
    {
      ...{ key: 'points', name: 'Points', description: 'Earned by studying.' },
      triggers: [{ key: 'quiz', type: 'metric', metricKey: 'quizzes-passed', metricThreshold: 1, points: 15, status: 'active' }],
    },
  ],
  achievements: [
    {
      ...{ key: 'ten-quizzes', name: 'Quiz champion', description: 'Ten quizzes passed.', status: 'active' },
      ...{ trigger: 'metric', metricKey: 'quizzes-passed', metricValue: 10 },
    },
  ],
  leaderboards: [
    {
      ...{ key: 'city-league', name: 'City league', description: 'Points of the week, in each city.', status: 'active' },
      ...{ rankBy: 'points', pointsSystemKey: 'points', breakdownAttributes: ['city'], start: monday, runUnit: 'day', runInterval: 7 },
    },
    { key: 'streaks', name: 'Longest running streaks', status: 'active', rankBy: 'streak', maxParticipants: 100 },
  ],
  webhooks: [{ key: 'study-app', name: 'Back end of the study app', url: webhookUrl, events: webhookKinds }],
});

/** A weekend with double points. */
const doubleWeekend = (saturday: string, sunday: string) => ({
  points: [
    {
      ...{ key: 'points', name: 'Points', description: 'Earned by studying.' },
      boosts: [{ key: 'double-weekend', name: 'Double weekend', start: saturday, end: sunday, multiplier: 2 }],
    },
  ],
});

/** The highest level turned out to be out of reach, and the quizzes were popular. */
const rebalanced = {
  points: [
    {
      ...{ key: 'points', name: 'Points', description: 'Earned by studying.' },
      levels: [{ key: 'master', name: 'Master', points: 4_000, description: 'There is little left to learn.' }],
    },
  ],
  achievements: [
    {
      ...{ key: 'month-of-quizzes', name: 'Quiz master', description: 'Forty quizzes passed.', status: 'active' },
      ...{ trigger: 'metric', metricKey: 'quizzes-passed', metricValue: 40 },
    },
  ],
};

const mondayBefore = (day: number): number => day - ((((day + 3) % 7) + 7) % 7);

/** The game and its changes within a month that begins on a day, YYYY-MM-DD. */
export function gameOf(firstDate: string, webhookUrl: string): readonly [GameChange, ...GameChange[]] {
  const firstDay = dateToDay(firstDate);
  const monday = mondayBefore(firstDay);
  const saturday = monday + 14 + 5;
  return [
    { afterDays: 0, file: opening(dayToDate(monday), webhookUrl) },
    { afterDays: saturday - firstDay - 2, file: doubleWeekend(dayToDate(saturday), dayToDate(saturday + 1)) },
    { afterDays: 22, file: rebalanced },
  ];
}

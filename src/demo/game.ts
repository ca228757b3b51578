import { parse } from 'yaml';
import { z } from 'zod';
import { dateToDay, dayToDate } from '../shared/calendar.js';

/** The configuration files of the demo, by the number of days after which each is applied. Each is applied on top of those before it. */
export interface GameChange {
  readonly afterDays: number;
  readonly file: object;
}

const webhookKinds = ['achievement.completed', 'points.level_changed', 'streak.lost', 'leaderboard.finished'];

/** The points system of the sample configuration. A file that mentions a system replaces all of it. */
const systemSchema = z.looseObject({
  triggers: z.array(z.looseObject({})),
  boosts: z.array(z.looseObject({})),
  levels: z.array(z.looseObject({ key: z.string() })),
});
type System = z.infer<typeof systemSchema>;

const sampleSystem = (sample: string): System => z.object({ points: z.tuple([systemSchema]) }).parse(parse(sample)).points[0];

const quizTrigger = { key: 'quiz', type: 'metric', metricKey: 'quizzes-passed', metricThreshold: 1, points: 15, status: 'active' };

const quizAchievement = (key: string, name: string, metricValue: number) => ({
  key,
  name,
  description: `${metricValue} quizzes passed.`,
  status: 'active',
  trigger: 'metric',
  metricKey: 'quizzes-passed',
  metricValue,
});

/** What the demo adds to the sample configuration before the first user arrives. */
const opening = (system: System, monday: string, webhookUrl: string) => ({
  // A message that waits does so in real time, while the test clock moves on by days.
  settings: { achievementFromHour: 0, achievementToHour: 24 },
  messages: { quietFromHour: null, quietToHour: null },
  attributes: [{ key: 'subject', name: 'Subject', type: 'event' }],
  metrics: [{ key: 'quizzes-passed', name: 'Quizzes passed', units: 'quizzes' }],
  points: [system],
  achievements: [quizAchievement('ten-quizzes', 'Quiz champion', 10)],
  leaderboards: [
    {
      key: 'city-league',
      name: 'City league',
      description: 'Points of the week, in each city.',
      status: 'active',
      rankBy: 'points',
      pointsSystemKey: 'points',
      breakdownAttributes: ['city'],
      start: monday,
      runUnit: 'day',
      runInterval: 7,
    },
    { key: 'streaks', name: 'Longest running streaks', status: 'active', rankBy: 'streak', maxParticipants: 100 },
  ],
  webhooks: [{ key: 'study-app', name: 'Back end of the study app', url: webhookUrl, events: webhookKinds }],
});

const mondayBefore = (day: number): number => day - ((((day + 3) % 7) + 7) % 7);

/** The highest level turns out to be out of reach. */
const withReachableLevels = (system: System): System => ({
  ...system,
  levels: system.levels.map((level) => (level.key === 'master' ? { ...level, points: 4_000 } : level)),
});

/** The game and its changes within a month that begins on a day, YYYY-MM-DD, on top of the text of the sample configuration. */
export function gameOf(sample: string, firstDate: string, webhookUrl: string): readonly [GameChange, ...GameChange[]] {
  const firstDay = dateToDay(firstDate);
  const monday = mondayBefore(firstDay);
  const saturday = monday + 14 + 5;
  const weekend = { start: dayToDate(saturday), end: dayToDate(saturday + 1) };
  const own = sampleSystem(sample);
  const system = { ...own, triggers: [...own.triggers, quizTrigger] };
  const boosted = { ...system, boosts: [...own.boosts, { key: 'double-weekend', name: 'Double weekend', ...weekend, multiplier: 2 }] };
  return [
    { afterDays: 0, file: opening(system, dayToDate(monday), webhookUrl) },
    { afterDays: saturday - firstDay - 2, file: { points: [boosted] } },
    {
      afterDays: 22,
      file: { points: [withReachableLevels(boosted)], achievements: [quizAchievement('month-of-quizzes', 'Quiz master', 40)] },
    },
  ];
}

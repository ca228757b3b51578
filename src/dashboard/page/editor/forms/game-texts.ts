import type { FieldText } from '../file/form-fields.js';
import { badge, description, name, userAttributes } from './field-texts.js';

/** The words of the forms for points, achievements and leaderboards. */

const eventAttributes: FieldText = {
  label: 'Only events with',
  help: 'Only events that match all of these attributes. Every event without any.',
};

export const pointsFields: Readonly<Record<string, FieldText>> = {
  name,
  description,
  badge,
  maxPoints: { label: 'Most points', help: 'The most that a user can have. Empty: no limit.' },
};

export const levelFields: Readonly<Record<string, FieldText>> = {
  name,
  points: { label: 'From points', help: 'The total from which a user has the level.' },
  description,
  badge,
};

export const triggerFields: Readonly<Record<string, FieldText>> = {
  type: { label: 'Awards for' },
  metricKey: { label: 'Metric' },
  metricThreshold: { label: 'Every', help: 'At every multiple that the user’s sum of matching events passes.' },
  eventAttributes,
  achievementKey: { label: 'Achievement' },
  streakLength: { label: 'Streak length', help: 'At every multiple of this number of periods.' },
  timeUnit: { label: 'Unit of time' },
  timeInterval: { label: 'Every', help: 'How many hours or days, from when the user was created.' },
  points: { label: 'Points', help: 'Negative deducts.' },
  blockIfOutOfPoints: {
    label: 'Refuse if out of points',
    help: 'An event is refused if the user has fewer points than the trigger deducts.',
  },
  userAttributes,
  status: { label: 'Status' },
};

export const boostFields: Readonly<Record<string, FieldText>> = {
  name,
  multiplier: { label: 'Multiplier', help: 'Above 0 and below 100, but not 1.' },
  start: { label: 'First day', help: 'In each user’s own time zone.' },
  end: { label: 'Last day', help: 'Empty: no end.' },
  rounding: { label: 'Rounding', help: 'Of fractions of a point.' },
  userId: { label: 'Only for the user', help: 'A user id. Empty: all users.' },
  userAttributes,
};

export const achievementFields: Readonly<Record<string, FieldText>> = {
  name,
  description,
  badge,
  trigger: {
    label: 'Completed by',
    help:
      'A total of a metric, a streak, a call of your server (api), other achievements, or an anniversary of the user’s sign-up date. ' +
      'With another one, users keep what they have completed.',
  },
  metricKey: { label: 'Metric' },
  metricValue: { label: 'Total to reach' },
  eventAttributes,
  streakLength: { label: 'Streak length', help: 'In periods.' },
  achievementKeys: { label: 'Needs all of', help: 'The achievements that a user must have completed.' },
  anniversaryYears: { label: 'Years', help: 'Completed on the day that is so many years after the user’s sign-up date.' },
  userAttributes,
  status: {
    label: 'Status',
    help:
      'inactive: not shown. active: users complete it; users who qualify when it becomes active get it at once, without points or ' +
      'notifications. locked: no user completes it; only users who have it see it.',
  },
};

export const leaderboardFields: Readonly<Record<string, FieldText>> = {
  name,
  description,
  rankBy: { label: 'Rank by' },
  metricKey: { label: 'Metric' },
  pointsSystemKey: { label: 'Points system' },
  maxParticipants: {
    label: 'Most participants',
    help: 'From 1 to 1,000, in each group. The best of all users who have a value are shown.',
  },
  start: { label: 'First day', help: 'In each user’s own time zone. Empty: today.' },
  end: { label: 'Last day', help: 'Empty: no end.' },
  runUnit: { label: 'Repeats by', help: 'Empty: one leaderboard that does not repeat.' },
  runInterval: { label: 'Length of a run', help: 'In these units, counted from the first day. A week is 7 days.' },
  breakdownAttributes: { label: 'Groups by', help: 'One group for every combination of values of these user attributes.' },
  startTime: { label: 'Events count from', help: 'A time of the user’s day, HH:MM. Empty: midnight.' },
  endTime: { label: 'Events count until', help: 'A time of the user’s day, HH:MM. Empty: midnight.' },
  status: {
    label: 'Status',
    help: 'inactive: not shown. active: open from the first day on. scheduled: the same, with a first day in the future. Active ones keep what their values depend on.',
  },
};

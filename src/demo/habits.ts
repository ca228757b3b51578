import { DateTime } from 'luxon';
import { dayToDate } from '../shared/calendar.js';
import type { Random } from '../shared/random.js';
import type { Person } from './people.js';

/** How a kind of learner studies. Days are counted from the person's first one. */
interface LearnerKind {
  /** The share of the people. */
  readonly share: number;
  /** The probability of studying on a day. */
  readonly daily: number;
  /** The probability of giving up after a day on which the person studied. */
  readonly quits: number;
  readonly maxSessions: number;
  readonly maxCards: number;
}

const learnerKinds: readonly [LearnerKind, ...LearnerKind[]] = [
  { share: 0.3, daily: 0.96, quits: 0.003, maxSessions: 4, maxCards: 50 },
  { share: 0.42, daily: 0.72, quits: 0.025, maxSessions: 3, maxCards: 40 },
  { share: 0.28, daily: 0.5, quits: 0.24, maxSessions: 2, maxCards: 25 },
];

const weekendShare = 0.8;
const quizShare = 0.5;
const usualDeviceShare = 0.85;
const devices: readonly [string, ...string[]] = ['mobile', 'mobile', 'tablet', 'web'];
const subjects: readonly [string, ...string[]] = ['languages', 'history', 'biology', 'math', 'geography'];
/** Minutes of the local day around which people study. They are so far apart that no two activities of a person share an hour. */
const usualMinutes = [7 * 60 + 30, 11 * 60 + 30, 15 * 60 + 30, 19 * 60 + 30] as const;
const jitterMinutes = 45;
const quizAfterMinutes = 60;
const minCards = 6;

/** Something that a person does, as the study app reports it. */
export interface Activity {
  readonly atMs: number;
  readonly metric: 'flashcards-viewed' | 'quizzes-passed';
  readonly value: number;
  readonly attributes: Readonly<Record<string, string>>;
}

interface Habit extends LearnerKind {
  readonly device: string;
  /** The place in `usualMinutes` of the first session of a day. */
  readonly first: number;
}

function drawHabit(random: Random): Habit {
  return { ...random.pickByShare(learnerKinds), device: random.pick(devices), first: random.below(usualMinutes.length) };
}

/** A moment of a person's local day, in ms since 1970. */
const momentOf = ({ zone }: Person, day: number, minute: number): number =>
  DateTime.fromISO(dayToDate(day), { zone }).plus({ minutes: minute }).toMillis();

/** What a person does from the day of the first visit to the last day, both in days since 1970-01-01. */
export function activitiesOf(random: Random, person: Person, { firstDay, lastDay }: { firstDay: number; lastDay: number }): Activity[] {
  const habit = drawHabit(random);
  const activities: Activity[] = [];
  for (let day = firstDay; day <= lastDay; day += 1) {
    const isWeekend = [2, 3].includes(((day % 7) + 7) % 7);
    if (day > firstDay && !random.chance(habit.daily * (isWeekend ? weekendShare : 1))) continue;
    activities.push(...dayOf(random, person, habit, day));
    if (random.chance(habit.quits)) break;
  }
  return activities;
}

/** The sessions of a day: some cards each, and now and then a quiz after them. */
function dayOf(random: Random, person: Person, habit: Habit, day: number): Activity[] {
  const sessions = 1 + random.below(habit.maxSessions);
  return Array.from({ length: sessions }, (_, session): Activity[] => {
    const usual = usualMinutes[(habit.first + session) % usualMinutes.length] ?? 0;
    const minute = usual + random.below(2 * jitterMinutes) - jitterMinutes;
    const device = random.chance(usualDeviceShare) ? habit.device : random.pick(devices);
    const value = minCards + random.below(habit.maxCards);
    const views: Activity = { atMs: momentOf(person, day, minute), metric: 'flashcards-viewed', value, attributes: { device } };
    const subject = random.pick(subjects);
    if (!random.chance(quizShare)) return [views];
    const atMs = momentOf(person, day, minute + quizAfterMinutes);
    return [views, { atMs, metric: 'quizzes-passed', value: 1, attributes: { device, subject } }];
  }).flat();
}

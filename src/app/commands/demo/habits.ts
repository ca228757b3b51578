import { DateTime } from 'luxon';
import { dayToDate } from '../../../shared/calendar.js';
import type { Random } from '../../../shared/random.js';
import type { Person } from './people.js';

/** How a kind of learner studies. Days are counted from the person's first one. */
interface Temper {
  /** The share of the people. */
  readonly share: number;
  /** The probability of studying on a day. */
  readonly daily: number;
  /** The probability of giving up after a day on which the person studied. */
  readonly quits: number;
  readonly maxSessions: number;
  readonly maxCards: number;
}

const tempers: readonly [Temper, ...Temper[]] = [
  { share: 0.3, daily: 0.96, quits: 0.003, maxSessions: 3, maxCards: 26 },
  { share: 0.42, daily: 0.72, quits: 0.025, maxSessions: 3, maxCards: 20 },
  { share: 0.28, daily: 0.5, quits: 0.24, maxSessions: 2, maxCards: 14 },
];

const weekendShare = 0.8;
const quizShare = 0.4;
const usualDeviceShare = 0.85;
const devices: readonly [string, ...string[]] = ['mobile', 'mobile', 'tablet', 'web'];
const subjects: readonly [string, ...string[]] = ['languages', 'history', 'biology', 'math', 'geography'];
/** Minutes of the local day at which people like to study: before work, at noon, in the evening. */
const usualMinutes: readonly [number, ...number[]] = [7 * 60, 8 * 60, 12 * 60 + 30, 18 * 60, 20 * 60, 21 * 60];
const jitterMinutes = 50;
const minuteMs = 60_000;

/** Something that a person does, as the study app reports it. */
export interface Deed {
  readonly atMs: number;
  readonly metric: 'flashcards-viewed' | 'quizzes-passed';
  readonly value: number;
  readonly attributes: Readonly<Record<string, string>>;
}

interface Habit extends Temper {
  readonly device: string;
  readonly minute: number;
}

function drawHabit(random: Random): Habit {
  let drawn = random.next();
  const temper = tempers.find(({ share }) => (drawn -= share) < 0) ?? tempers[0];
  return { ...temper, device: random.pick(devices), minute: random.pick(usualMinutes) };
}

/** A moment of a person's local day, in ms since 1970. */
const momentOf = ({ zone }: Person, day: number, minute: number): number =>
  DateTime.fromISO(dayToDate(day), { zone }).plus({ minutes: minute }).toMillis();

/** What a person does from the day of the first visit to the last day, both in days since 1970-01-01. */
export function deedsOf(random: Random, person: Person, { firstDay, lastDay }: { firstDay: number; lastDay: number }): Deed[] {
  const habit = drawHabit(random);
  const deeds: Deed[] = [];
  for (let day = firstDay; day <= lastDay; day += 1) {
    const isWeekend = [2, 3].includes(((day % 7) + 7) % 7);
    if (day > firstDay && !random.chance(habit.daily * (isWeekend ? weekendShare : 1))) continue;
    deeds.push(...dayOf(random, person, habit, day));
    if (random.chance(habit.quits)) break;
  }
  return deeds;
}

/** The sessions of a day: some cards each, and now and then a quiz at their end. */
function dayOf(random: Random, person: Person, habit: Habit, day: number): Deed[] {
  const sessions = 1 + random.below(habit.maxSessions);
  return Array.from({ length: sessions }, (_, session) => {
    const minute = habit.minute - session * 4 * 60 + random.below(2 * jitterMinutes) - jitterMinutes;
    const startMs = momentOf(person, day, Math.max(minute, 5));
    const device = random.chance(usualDeviceShare) ? habit.device : random.pick(devices);
    const views = 1 + random.below(5);
    const deeds = Array.from({ length: views }, (_, view): Deed => {
      const value = 4 + random.below(habit.maxCards);
      return { atMs: startMs + view * 6 * minuteMs, metric: 'flashcards-viewed', value, attributes: { device } };
    });
    const subject = random.pick(subjects);
    if (!random.chance(quizShare)) return deeds;
    const atMs = startMs + views * 6 * minuteMs;
    return [...deeds, { atMs, metric: 'quizzes-passed' as const, value: 1, attributes: { device, subject } }];
  }).flat();
}

import { dateToDay, dayToDate, dayMs } from '../shared/calendar.js';
import { Random } from '../shared/random.js';
import { type Activity, activitiesOf } from './habits.js';
import { Census, type Person } from './people.js';

export interface StoryOptions {
  readonly seed: number;
  readonly users: number;
  /** The last day, YYYY-MM-DD. */
  readonly until: string;
}

/** One event, with the person who caused it. The first one of a person brings the profile. */
export interface StoryEvent extends Activity {
  readonly person: Person;
  readonly isFirst: boolean;
}

/** What happens at one moment of the clock. */
export interface Scene {
  readonly atMs: number;
  readonly events: StoryEvent[];
  /** Ids of users who complete their profile. */
  readonly profiles: string[];
  /** Ids of users whom support gives a freeze. */
  readonly freezes: string[];
  /** Users who pause their streak, from a local date to another. */
  readonly pauses: { readonly userId: string; readonly start: string; readonly end: string }[];
}

/** A month of the study app. */
export interface Story {
  /** The first day of the month, YYYY-MM-DD. */
  readonly firstDay: string;
  readonly startMs: number;
  readonly endMs: number;
  readonly events: number;
  readonly scenes: readonly Scene[];
}

export const storyDays = 30;
interface Cohort {
  readonly share: number;
  readonly day: number;
}

/** People of a cohort begin within some days of the same start, in days of the month. */
const cohorts: readonly [Cohort, ...Cohort[]] = [
  { share: 0.45, day: 0 },
  { share: 0.33, day: 9 },
  { share: 0.22, day: 19 },
];
const cohortSpreadDays = 4;
const profileShare = 0.55;
const freezeShare = 0.05;
const pauseShare = 0.04;
const supportAfterDays = 6;
const pauseDays = 3;

const hourMs = 3_600_000;
/** The clock moves in steps of so many ms: what happens within one has the same time. */
const stepMs = hourMs;
/** The first day has begun this long before UTC's in the easternmost zones. */
const eastMs = 14 * hourMs;
/** The month ends in the evening of Europe. */
const endHourMs = 21 * hourMs;

/** Numbers of a person that do not depend on how many others there are. */
const randomOf = (seed: number, no: number): Random => new Random((Math.imul(seed, 0x9e3779b1) + Math.imul(no + 1, 0x85ebca6b)) >>> 0);

function firstDayOf(random: Random, start: number): number {
  return start + random.pickByShare(cohorts).day + random.below(cohortSpreadDays);
}

class Script {
  readonly startMs: number;
  readonly endMs: number;
  private readonly scenes = new Map<number, Scene>();

  constructor(firstDay: number) {
    this.startMs = firstDay * dayMs - eastMs;
    this.endMs = (firstDay + storyDays - 1) * dayMs + endHourMs;
  }

  /** Whether a moment is within the month. */
  has(atMs: number): boolean {
    return atMs > this.startMs && atMs <= this.endMs - stepMs;
  }

  /** The scene of a moment. */
  at(atMs: number): Scene {
    const sceneMs = Math.ceil(atMs / stepMs) * stepMs;
    const scene = this.scenes.get(sceneMs) ?? { atMs: sceneMs, events: [], profiles: [], freezes: [], pauses: [] };
    this.scenes.set(sceneMs, scene);
    return scene;
  }

  inOrder(): Scene[] {
    return [...this.scenes.values()].sort((a, b) => a.atMs - b.atMs);
  }
}

/** What the people of support do for some users. */
function addSupport(script: Script, random: Random, { id, firstMs }: { readonly id: string; readonly firstMs: number }): void {
  if (random.chance(profileShare) && script.has(firstMs + hourMs)) script.at(firstMs + hourMs).profiles.push(id);
  const laterMs = firstMs + supportAfterDays * dayMs;
  const [isGiven, isPaused] = [random.chance(freezeShare), random.chance(pauseShare)];
  if (!script.has(laterMs)) return;
  if (isGiven) script.at(laterMs).freezes.push(id);
  const start = Math.floor(laterMs / dayMs) + 2;
  if (isPaused) script.at(laterMs).pauses.push({ userId: id, start: dayToDate(start), end: dayToDate(start + pauseDays - 1) });
}

/** Plans a month: who begins when, who comes back, who gives up. It depends on the options alone. */
export function planStory({ seed, users, until }: StoryOptions): Story {
  const lastDay = dateToDay(until);
  const firstDay = lastDay - storyDays + 1;
  const script = new Script(firstDay);
  const census = new Census();
  let events = 0;
  for (let no = 0; no < users; no += 1) {
    const random = randomOf(seed, no);
    const person = census.draw(random);
    const activities = activitiesOf(random, person, { firstDay: firstDayOf(random, firstDay), lastDay })
      .filter(({ atMs }) => script.has(atMs))
      .sort((a, b) => a.atMs - b.atMs);
    for (const [index, activity] of activities.entries())
      script.at(activity.atMs).events.push({ ...activity, person, isFirst: index === 0 });
    events += activities.length;
    const [first] = activities;
    if (first) addSupport(script, random, { id: person.id, firstMs: first.atMs });
  }
  return { firstDay: dayToDate(firstDay), startMs: script.startMs, endMs: script.endMs, events, scenes: script.inOrder() };
}

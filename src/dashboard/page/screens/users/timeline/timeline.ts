import type { components } from '../../../api/schema/admin.js';

export type Award = components['schemas']['TimelineAward'];
export type EventEntry = components['schemas']['TimelineEvent'];
export type AchievementEntry = components['schemas']['TimelineAchievement'];
/** A period of a streak has a date and no time. */
export type StreakEntry = Omit<components['schemas']['TimelineStreak'], 'at'>;
export type Entry = EventEntry | components['schemas']['TimelineOtherAward'] | AchievementEntry | StreakEntry;

/** An entry of a day, with the achievements that it completed. */
export interface Item {
  readonly entry: Exclude<Entry, StreakEntry>;
  readonly achievements: readonly AchievementEntry[];
}

/** What happened on a day, newest first. */
export interface Day {
  readonly day: string;
  readonly streaks: readonly StreakEntry[];
  readonly items: readonly Item[];
}

/** The date of a moment in a time zone. */
function localDate(at: string, zone: string): string {
  // Swedish dates are written YYYY-MM-DD.
  return new Intl.DateTimeFormat('sv-SE', { timeZone: zone }).format(new Date(at));
}

/** The time of a moment in a time zone: `14:03:59`. */
export function localTime(at: string, zone: string): string {
  return new Intl.DateTimeFormat('sv-SE', { timeStyle: 'medium', timeZone: zone }).format(new Date(at));
}

/** The moment at which a date begins in a time zone. */
export function startOfDate(date: string, zone: string): string {
  const utcMs = Date.parse(`${date}T00:00:00Z`);
  const offsetMs = (ms: number): number => {
    const at = new Date(ms).toISOString();
    return Date.parse(`${localDate(at, zone)}T${localTime(at, zone)}Z`) - Math.floor(ms / 1_000) * 1_000;
  };
  // The offset at the result decides, which a change of the clocks on that day makes another than at midnight UTC.
  const nearMs = utcMs - offsetMs(utcMs);
  return new Date(utcMs - offsetMs(nearMs)).toISOString();
}

const isDate = (text: string | undefined): text is string =>
  text !== undefined && /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text));

/** The instants of `?from=` and `?until=`, which are dates in a time zone, both included. A text that is no date counts as absent. */
export function rangeOf(query: Readonly<Record<string, string>>, zone: string): { from?: string; until?: string } {
  const { from, until } = query;
  const after = isDate(until) ? new Date(Date.parse(until) + 86_400_000).toISOString().slice(0, 10) : undefined;
  return {
    ...(isDate(from) ? { from: startOfDate(from, zone) } : {}),
    ...(after === undefined ? {} : { until: startOfDate(after, zone) }),
  };
}

function dayOf(entry: Entry, zone: string, isOwn: boolean): string {
  if (entry.type === 'streak') return entry.date;
  return isOwn && entry.type !== 'achievement' ? entry.day : localDate(entry.at, zone);
}

type AtMoment = ReadonlyMap<string, readonly Exclude<Entry, StreakEntry>[]>;

/** Triggers of achievements that no event completes. */
const withoutEvent: ReadonlySet<string> = new Set(['api', 'anniversary']);

/**
 * The event that completed an achievement: the only one of the same moment. Undefined where there are none or several. A call of the API and an
 * anniversary complete achievements too, and composite ones with them.
 */
function causeOf({ at, achievement: { trigger } }: AchievementEntry, moments: AtMoment): EventEntry | undefined {
  if (withoutEvent.has(trigger)) return undefined;
  const entries = moments.get(at) ?? [];
  const isByCall =
    trigger === 'achievement' && entries.some((entry) => entry.type === 'achievement' && withoutEvent.has(entry.achievement.trigger));
  const [event, ...others] = entries.filter((entry) => entry.type === 'event');
  return isByCall || others.length > 0 ? undefined : event;
}

/** Puts achievements under the events that completed them. */
function itemsOf(entries: readonly Exclude<Entry, StreakEntry>[]): Item[] {
  const moments = new Map<string, Exclude<Entry, StreakEntry>[]>();
  for (const entry of entries) moments.set(entry.at, [...(moments.get(entry.at) ?? []), entry]);
  const caused = new Map<EventEntry, AchievementEntry[]>();
  for (const entry of entries) {
    const event = entry.type === 'achievement' ? causeOf(entry, moments) : undefined;
    if (event && entry.type === 'achievement') caused.set(event, [...(caused.get(event) ?? []), entry]);
  }
  return entries
    .filter((entry) => entry.type !== 'achievement' || causeOf(entry, moments) === undefined)
    .map((entry) => ({ entry, achievements: entry.type === 'event' ? (caused.get(entry) ?? []) : [] }));
}

/** Groups the entries of a timeline, newest first, by their day in a time zone. In the user's own zone, it is the local day that they counted for. */
export function daysOf(entries: readonly Entry[], zone: string, isOwn = true): Day[] {
  const days = new Map<string, Entry[]>();
  for (const entry of entries) {
    const day = dayOf(entry, zone, isOwn);
    days.set(day, [...(days.get(day) ?? []), entry]);
  }
  return [...days]
    .sort(([a], [b]) => (a < b ? 1 : -1))
    .map(([day, some]) => ({
      day,
      streaks: some.filter((entry) => entry.type === 'streak'),
      items: itemsOf(some.filter((entry) => entry.type !== 'streak')),
    }));
}

/** What a streak entry says. */
export const streakSentence = (entry: StreakEntry): string =>
  `${periodSentence(entry)}${entry.resetAt === undefined ? '' : ' (reset by an operator)'}`;

function periodSentence({ how, length, frequency }: StreakEntry): string {
  const unit = { daily: 'day', weekly: 'week', monthly: 'month' }[frequency];
  const streak = `${length} ${unit}${length === 1 ? '' : 's'}`;
  switch (how) {
    case 'extended':
      return `Streak extended to ${streak}`;
    case 'freeze':
      return `A freeze kept the streak at ${streak}`;
    case 'pause':
      return `A pause kept the streak at ${streak}`;
    case 'day_off':
      return `A day off kept the streak at ${streak}`;
    case 'lost':
      return 'Streak lost';
    case 'move':
      return `A move to another time zone kept the streak at ${streak}`;
  }
}

/** The boosts of an award: `× 2 Double weekend`; undefined without any. */
export const boostsSentence = ({ boosts }: Award): string | undefined =>
  boosts.length === 0 ? undefined : boosts.map(({ name, multiplier }) => `× ${multiplier} ${name}`).join(', ');

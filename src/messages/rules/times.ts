import { dayToDate, firstDayOf, type Frequency, periodOf, weekShiftOf, dayMs } from '../../shared/calendar.js';
import { localDayOf, momentOf, offsetAt } from '../../shared/zones.js';
import type { NotificationType } from '../../config/schema/message-types.js';
import { weekdays } from '../../config/schema/kinds.js';
import type { ConfigDocument, MessageSettings } from '../../config/schema/model.js';
import type { WebhookKind } from '../../config/schema/webhook-kinds.js';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** The kinds that are due at an hour of the user's local day. */
export const scheduleKinds = [
  'emails.recap_due',
  'emails.reactivation_due',
  'emails.streak_reminder_due',
  'emails.achievement_due',
] as const satisfies WebhookKind[];
export type ScheduleKind = (typeof scheduleKinds)[number];
/** The kinds that are published by reading all users of a zone. */
export type UserScheduleKind = Exclude<ScheduleKind, 'emails.achievement_due'>;

/** An occurrence of a schedule: its configured hour on a local day. */
export interface Occurrence {
  /** In milliseconds since 1970. */
  readonly at: number;
  /** The local day, in days since 1970-01-01. */
  readonly day: number;
}

/** How the weeks of a zone begin: by a shift (shared/calendar.ts) from a local day on. The oldest first, from the beginning of time. */
type WeekRules = readonly { readonly from: number; readonly shift: number }[];

/** `weeks` is absent where weeks have not begun on another day for long. */
export type Rules = Pick<ConfigDocument, 'settings' | 'streaks'> & { readonly weeks?: WeekRules };

/** Whether a week begins on a local day (docs/rules/streaks.md, "Another first day of the week"). */
function isFirstOfWeek({ settings, weeks = [] }: Pick<Rules, 'settings' | 'weeks'>, day: number): boolean {
  const { from, shift } = weeks.findLast((rule) => rule.from <= day) ?? { from: -Infinity, shift: weekShiftOf(settings) };
  const first = firstDayOf('weekly', periodOf('weekly', day, shift), shift);
  // The first new week may lack its first day, which is in the week before.
  return day === first || (day === from && day === first + 1);
}

/** The first and the last day of the week that contains a local day. */
function weekOf(rules: Pick<Rules, 'settings' | 'weeks'>, day: number): { first: number; last: number } {
  let [first, last] = [day, day];
  while (!isFirstOfWeek(rules, first)) first -= 1;
  while (!isFirstOfWeek(rules, last + 1)) last += 1;
  return { first, last };
}

/** A change of `weekStart`, in milliseconds since 1970. */
export interface WeekChange {
  readonly at: number;
  readonly weekStart: ConfigDocument['settings']['weekStart'];
}

/** The rules of a zone after changes of `weekStart`, the oldest first: the week that is running then ends as it would have ended. */
export function rulesIn(zone: string, rules: Pick<ConfigDocument, 'settings' | 'streaks'>, changes: readonly WeekChange[]): Rules {
  let weeks: WeekRules = [];
  for (const { at, weekStart } of changes) {
    const day = localDayOf(at, zone);
    const shift = weekShiftOf({ weekStart });
    const before =
      weeks.length > 0 ? weeks : [{ from: -Infinity, shift: weekShiftOf({ weekStart: weekStart === 'monday' ? 'sunday' : 'monday' }) }];
    const running = before.filter(({ from }) => from <= day);
    const isBack = running.at(-1)?.shift === shift;
    weeks = isBack ? running : [...running, { from: weekOf({ ...rules, weeks: running }, day).last + 1, shift }];
  }
  return { ...rules, weeks };
}

/** The first and the last day of the day, week or month that contains a local day. */
function daysOf(frequency: Frequency, rules: Pick<Rules, 'settings' | 'weeks'>, day: number): { first: number; last: number } {
  if (frequency === 'weekly') return weekOf(rules, day);
  const shift = weekShiftOf(rules.settings);
  const period = periodOf(frequency, day, shift);
  return { first: firstDayOf(frequency, period, shift), last: firstDayOf(frequency, period + 1, shift) - 1 };
}

/** The dates, `YYYY-MM-DD`, of the recap period that contains a day, in days since 1970-01-01. */
export function recapDates(rules: Pick<Rules, 'settings' | 'weeks'>, day: number): { first: string; last: string } {
  const { recapFrequency: frequency } = rules.settings;
  if (frequency !== 'yearly') {
    const { first, last } = daysOf(frequency, rules, day);
    return { first: dayToDate(first), last: dayToDate(last) };
  }
  const year = dayToDate(day).slice(0, 'YYYY'.length);
  return { first: `${year}-01-01`, last: `${year}-12-31` };
}

/** The period of a recap on a day: the one that ended the day before. */
export const recapPeriod = (rules: Rules, day: number): { first: string; last: string } => recapDates(rules, day - 1);

/** The first and the last day of the streak period that contains a day, in days since 1970-01-01. */
const streakPeriod = (rules: Rules, day: number): { first: number; last: number } => daysOf(rules.streaks.frequency, rules, day);

/** The hour of the local day at a time, from 0 to 23. */
function localHourOf(at: number, zone: string): number {
  const local = at + offsetAt(at, zone);
  return Math.floor((local - Math.floor(local / dayMs) * dayMs) / hourMs);
}

/** Whether the email about an achievement completed at a time is due at once. */
export function isAchievementHour({ settings }: Rules, zone: string, at: number): boolean {
  const hour = localHourOf(at, zone);
  return settings.achievementFromHour <= hour && hour < settings.achievementToHour;
}

function isReminderDay(rules: Rules, day: number): boolean {
  const { frequency, enabled } = rules.streaks;
  if (!enabled) return false;
  switch (frequency) {
    case 'daily':
      return true;
    case 'weekly':
      return weekdays[(day + weekShiftOf({ weekStart: 'monday' })) % weekdays.length] === rules.settings.streakReminderWeekday;
    case 'monthly': {
      const { first, last } = streakPeriod(rules, day);
      return day === Math.min(first + rules.settings.streakReminderDay - 1, last);
    }
  }
}

/** Whether a kind is due on a local day, in days since 1970-01-01. */
export function isScheduledDay(kind: ScheduleKind, rules: Rules, day: number): boolean {
  switch (kind) {
    case 'emails.recap_due':
      return recapDates(rules, day).first === dayToDate(day);
    case 'emails.reactivation_due':
    case 'emails.achievement_due':
      return true;
    case 'emails.streak_reminder_due':
      return isReminderDay(rules, day);
  }
}

function hourOf(kind: ScheduleKind, { settings, streaks }: Rules): number {
  switch (kind) {
    case 'emails.recap_due':
    case 'emails.reactivation_due':
      return settings.emailHour;
    case 'emails.streak_reminder_due':
      return streaks.frequency === 'daily' ? settings.streakReminderHour : settings.emailHour;
    case 'emails.achievement_due':
      return settings.achievementFromHour;
  }
}

/** The moment of an hour of a local day. Where clocks are put forward over it, the hour after; where the day ends with it, the day's last minute. */
function momentOn(zone: string, local: number, hour: number): number {
  const at = momentOf(local * dayMs + hour * hourMs, zone);
  const shown = localDayOf(at, zone);
  if (shown === local) return at;
  const lastMinute = momentOf(shown * dayMs, zone) - minuteMs;
  // A zone can skip a whole day.
  return localDayOf(lastMinute, zone) === local ? lastMinute : at;
}

/** When a kind is due on a local day, if it is. */
export const dueOn = (kind: ScheduleKind, rules: Rules, zone: string, day: number): number => momentOn(zone, day, hourOf(kind, rules));

/** Whether two occurrences count as one: users receive only one of them, also when the configured hour or day changes in between. */
export function isSameOccurrence(kind: UserScheduleKind, rules: Rules, one: Occurrence, other: Occurrence): boolean {
  switch (kind) {
    case 'emails.recap_due':
    case 'emails.reactivation_due':
      return one.day === other.day;
    case 'emails.streak_reminder_due':
      return streakPeriod(rules, one.day).first === streakPeriod(rules, other.day).first;
  }
}

/**
 * The newest occurrence of a kind in a zone, less than a day old and, for a reminder, in the current streak period; undefined when there is none. If
 * the hour occurs twice, it is the first.
 */
export function newestOccurrence(kind: ScheduleKind, rules: Rules, zone: string, now: number): Occurrence | undefined {
  const today = localDayOf(now, zone);
  const currentPeriod = streakPeriod(rules, today);
  for (const day of [today, today - 1]) {
    const at = dueOn(kind, rules, zone, day);
    if (at > now || !isScheduledDay(kind, rules, day)) continue;
    const isOver = now - at >= dayMs || (kind === 'emails.streak_reminder_due' && day < currentPeriod.first);
    return isOver ? undefined : { at, day };
  }
  return undefined;
}

/** The longest time between two occurrences of a kind (a yearly recap), or until a user is inactive for the longest of `reactivationDays`. */
const farthestDays = 366;

/** The first occurrence of a kind in a zone after a moment, among the days that are wanted; undefined if there is none for a year. */
export function nextOccurrence(
  kind: ScheduleKind,
  rules: Rules,
  { zone, after }: { readonly zone: string; readonly after: number },
  isWanted: (day: number) => boolean,
): number | undefined {
  const today = localDayOf(after, zone);
  for (let local = today; local <= today + farthestDays; local += 1) {
    if (!isScheduledDay(kind, rules, local) || !isWanted(local)) continue;
    const at = dueOn(kind, rules, zone, local);
    if (at > after) return at;
  }
  return undefined;
}

/** The time after a moment at which the hours for webhooks about achievements begin in a zone. */
export const nextAchievementHour = (rules: Rules, zone: string, after: number): number =>
  nextOccurrence('emails.achievement_due', rules, { zone, after }, () => true) ?? after + dayMs;

/** The time at which an hour of the local day of `from` begins, `days` later; `hour` may be 24, the start of the next day. */
const hourAt = (from: number, zone: string, days: number, hour: number): number =>
  momentOf((localDayOf(from, zone) + days) * dayMs + hour * hourMs, zone, from);

/** When quiet hours that contain a time end; undefined outside of them. */
export function quietUntil({ quietFromHour: from, quietToHour: to }: MessageSettings, zone: string, at: number): number | undefined {
  if (from === null || to === null || from === to) return undefined;
  const hour = localHourOf(at, zone);
  const isQuiet = from < to ? from <= hour && hour < to : hour >= from || hour < to;
  return isQuiet ? hourAt(at, zone, hour < to ? 0 : 1, to) : undefined;
}

/** The first time, at or after another, between the hours for messages about achievements. */
function achievementTime({ settings }: Rules, zone: string, at: number): number {
  const hour = localHourOf(at, zone);
  if (hour < settings.achievementFromHour) return hourAt(at, zone, 0, settings.achievementFromHour);
  return hour < settings.achievementToHour ? at : hourAt(at, zone, 1, settings.achievementFromHour);
}

type MessageRules = Rules & Pick<ConfigDocument, 'messages'>;

/**
 * The first time, at or after another, at which a message of a type may be sent: outside of quiet hours, and between the hours for achievements.
 * Undefined if these hours are all quiet.
 */
export function sendableAt(type: NotificationType, rules: MessageRules, zone: string, at: number): number | undefined {
  const end = at + 3 * dayMs;
  let time = at;
  while (time < end) {
    const within = type === 'achievement_completed' ? achievementTime(rules, zone, time) : time;
    const quietEnd = quietUntil(rules.messages, zone, within);
    if (quietEnd === undefined) return within;
    time = quietEnd;
  }
  return undefined;
}

/**
 * When the message about an achievement is due that was completed at a time: after `achievementGroupMinutes`, so that others can join it, but within
 * the hours for achievements. One that was completed before they begin waits long enough anyway.
 */
export function achievementDueAt(rules: MessageRules, zone: string, completedAt: number): number {
  const from = achievementTime(rules, zone, completedAt);
  const end = hourAt(from, zone, 0, rules.settings.achievementToHour);
  return Math.max(from, Math.min(completedAt + rules.messages.achievementGroupMinutes * minuteMs, end - minuteMs));
}

import type { NotificationType } from '../../config/schema/message-types.js';
import { limits } from '../../shared/limits.js';
import { Memo } from '../../shared/memo.js';
import { cut, oneLine } from './bounds.js';
import { readableOn, textOn } from './colors.js';
import { fontStacks } from './fonts.js';
import type { MessageSettings } from '../../config/schema/model.js';
import type { AchievementVariables, MessageVariables, StreakDay, StreakVariables } from './variables.js';
import { fill, type LocalWords } from './words.js';

/** The backgrounds of the layout (templates/email.liquid) on which there is text in the brand's colour. */
const lightBackgrounds = ['#ffffff', '#f4f5f7'] as const;
const darkBackgrounds = ['#20242c', '#16181d'] as const;

/** A period in the calendar of a streak. */
interface CalendarCell {
  readonly state: StreakDay['state'];
  readonly symbol: string;
  /** The number of the day, or the name of the month. */
  readonly day: string;
  /** For screen readers: the date and the state. */
  readonly label: string;
}

interface CalendarView {
  readonly title: string;
  /** Of daily streaks: one letter for each column. */
  readonly weekdays: readonly { readonly letter: string; readonly name: string }[];
  readonly rows: readonly (readonly CalendarCell[])[];
  /** The states that occur. */
  readonly legend: readonly { readonly state: StreakDay['state']; readonly symbol: string; readonly word: string }[];
}

interface ProgressView {
  readonly title: string;
  readonly detail: string;
  /** From 0 to 100. */
  readonly percent: number;
}

/** A row of the table of a recap. */
interface StatView {
  readonly name: string;
  readonly value: string;
  /** Such as `+12`; empty without a change. */
  readonly change: string;
}

/** What the layout shows besides the texts of the template. Everything is plain text. */
export interface DetailsView {
  readonly achievements: readonly AchievementVariables[];
  /** How many further achievements there are; empty for none. */
  readonly moreAchievements: string;
  readonly calendar: CalendarView | null;
  readonly stats: readonly StatView[];
  readonly progress: readonly ProgressView[];
}

/** Text symbols, which are no emoji: they have the colour of the text, and do not depend on colour. */
const symbols: Readonly<Record<StreakDay['state'], string>> = {
  extended: '✓',
  frozen: '❄\ufe0e',
  paused: '‖',
  kept: '=',
  missed: '–',
  today: '•',
};

const daysPerRow = 7;

/** The colours of a brand: as a background with text on it, and as text that is readable on the backgrounds of the layout. */
export function brandColors({
  brandColor,
}: MessageSettings): Readonly<Record<'brand' | 'onBrand' | 'light' | 'onLight' | 'dark' | 'onDark', string>> {
  const light = readableOn(brandColor, lightBackgrounds);
  const dark = readableOn(brandColor, darkBackgrounds);
  return { brand: brandColor, onBrand: textOn(brandColor), light, onLight: textOn(light), dark, onDark: textOn(dark) };
}

/** Making a format takes a tenth of a millisecond, and an email needs five. */
const dateFormats = new Memo<string, Intl.DateTimeFormat>(limits.maxParsedTexts);
const numberFormats = new Memo<string, Intl.NumberFormat>(limits.maxParsedTexts);

const formatDate = (locale: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat =>
  dateFormats.get(`${locale} ${JSON.stringify(options)}`, () => new Intl.DateTimeFormat(locale, { ...options, timeZone: 'UTC' }));
const formatNumber = (locale: string): Intl.NumberFormat => numberFormats.get(locale, () => new Intl.NumberFormat(locale));

/** What stands below the symbol of a period. */
const cellFormats: Readonly<Record<StreakVariables['frequency'], Intl.DateTimeFormatOptions>> = {
  daily: { day: 'numeric' },
  weekly: { day: 'numeric', month: 'short' },
  monthly: { month: 'short' },
};

/** The calendar of a streak; null without any active period in it. */
function calendarView({ frequency, days }: StreakVariables, locale: string, words: LocalWords): CalendarView | null {
  if (!days.some(({ state }) => state === 'extended')) return null;
  const short = formatDate(locale, cellFormats[frequency]);
  const long = formatDate(locale, { dateStyle: 'full' });
  const cells = days.map(({ date, state }): CalendarCell => {
    const at = Date.parse(date);
    return { state, symbol: symbols[state], day: short.format(at), label: `${long.format(at)}: ${words.states[state]}` };
  });
  const rows = Array.from({ length: Math.ceil(cells.length / daysPerRow) }, (_, i) => cells.slice(i * daysPerRow, (i + 1) * daysPerRow));
  const [letter, name] = [formatDate(locale, { weekday: 'narrow' }), formatDate(locale, { weekday: 'long' })];
  const firstRow = frequency === 'daily' ? days.slice(0, daysPerRow) : [];
  const used = new Set(days.map(({ state }) => state));
  return {
    title: fill(words.streak[frequency], { n: String(days.length) }),
    weekdays: firstRow.map(({ date }) => ({ letter: letter.format(Date.parse(date)), name: name.format(Date.parse(date)) })),
    rows,
    legend: [...used].map((state) => ({ state, symbol: symbols[state], word: words.states[state] })),
  };
}

/** How numbers are written, and words. */
interface Format {
  readonly number: Intl.NumberFormat;
  readonly words: LocalWords;
}

/** The table of a recap: metrics and points that changed, and places on leaderboards. */
function statsOf({ metrics, points, leaderboards }: MessageVariables, { number, words }: Format): StatView[] {
  const signed = (change: number): string => (change > 0 ? `+${number.format(change)}` : number.format(change));
  const changed = <T extends { readonly change: number; readonly name: string }>(values: Readonly<Record<string, T>>, max: number): T[] =>
    Object.values(values)
      .filter(({ change }) => change !== 0)
      .slice(0, max);
  const counts = changed(metrics, limits.maxMessageMetrics).map(({ name, units, total, change }) => ({
    name: shortName(name),
    value: shortName(`${number.format(total)} ${units}`.trim()),
    change: signed(change),
  }));
  const awards = changed(points, limits.maxMessagePoints).map(({ name, total, change }) => ({
    name: shortName(name),
    value: number.format(total),
    change: signed(change),
  }));
  const places = Object.values(leaderboards).flatMap(({ name, rank }) =>
    rank === null ? [] : { name: shortName(name), value: fill(words.rank, { n: number.format(rank) }), change: '' },
  );
  return [...counts, ...awards, ...places.slice(0, limits.maxMessageLeaderboards)];
}

/** Progress bars: the next achievement, and the next level of the first points system in which the user has points. */
function progressOf({ next, points }: MessageVariables, { number, words }: Format): ProgressView[] {
  const bars: ProgressView[] = [];
  if (next.name !== '') {
    const detail = fill(words.of, { current: number.format(next.current), target: number.format(next.target) });
    bars.push({ title: fill(words.next, { name: shortName(next.name) }), detail, percent: next.progress });
  }
  const system = Object.values(points).find(({ total, nextLevel }) => total > 0 && nextLevel !== '');
  if (system) {
    const { name, level, nextLevel, toNextLevel, progress } = system;
    const detail = fill(words.toNextLevel, { points: number.format(toNextLevel), level: shortName(nextLevel) });
    bars.push({
      title: [name, level]
        .filter((part) => part !== '')
        .map(shortName)
        .join(': '),
      detail,
      percent: progress,
    });
  }
  return bars;
}

const shortName = (name: string): string => cut(name, limits.maxMessageNameChars);

/** An image that is shown: only from http and https, and with an address that is not too long. */
const imageUrl = (url: string): string => (/^https?:\/\//i.test(url) && url.length <= limits.maxMessageImageChars ? url : '');

function achievementsOf({ achievements = [] }: MessageVariables): AchievementVariables[] {
  return achievements.slice(0, limits.maxMessageAchievements).map(({ name, description, badgeUrl }) => ({
    name: shortName(name),
    description: cut(description, limits.maxMessageDescriptionChars),
    badgeUrl: imageUrl(badgeUrl),
  }));
}

function moreOf({ achievements = [] }: MessageVariables, { number, words }: Format): string {
  const more = achievements.length - limits.maxMessageAchievements;
  return more > 0 ? fill(words.more, { n: number.format(more) }) : '';
}

/** The types whose layout shows the calendar of the streak. */
export const typesWithCalendar: ReadonlySet<NotificationType> = new Set(['recap', 'reactivation', 'streak_reminder']);
const withProgress: ReadonlySet<NotificationType> = new Set(['recap', 'reactivation', 'achievement_completed']);

/** What the layout shows of the variables, for a message in a locale, with the words of its language. */
export function detailsView(variables: MessageVariables, locale: string, words: LocalWords): DetailsView {
  const { type, streak } = variables;
  const format = { number: formatNumber(locale), words };
  return {
    achievements: achievementsOf(variables),
    moreAchievements: moreOf(variables, format),
    calendar: typesWithCalendar.has(type) ? calendarView(streak, locale, words) : null,
    stats: type === 'recap' ? statsOf(variables, format) : [],
    progress: withProgress.has(type) ? progressOf(variables, format) : [],
  };
}

/** The brand as the layout shows it. */
export function brandView(messages: MessageSettings): {
  readonly name: string;
  readonly font: string;
  readonly logoUrl: string;
  readonly address: readonly string[];
} {
  const { brandName, brandFont, brandLogoUrl, brandAddress } = messages;
  const lines = (brandAddress ?? '').split('\n').map((line) => oneLine(line, limits.maxMessageNameChars));
  return {
    name: oneLine(brandName, limits.maxMessageNameChars),
    font: fontStacks[brandFont],
    logoUrl: imageUrl(brandLogoUrl ?? ''),
    address: lines.filter((line) => line !== '').slice(0, limits.maxMessageAddressLines),
  };
}

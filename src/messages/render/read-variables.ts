import type { PointsSystem } from '../../config/schema/model.js';
import { readRanks } from '../../engine/leaderboards.js';
import type { SummaryStores } from '../../engine/points.js';
import { readStreak } from '../../engine/streaks.js';
import { type UserState, readUser } from '../../engine/users.js';
import type { ActiveConfig } from '../../plan/active-config.js';
import { levelsOf } from '../../plan/points.js';
import { userFields } from '../../redis/contract.js';
import { totalsOf } from '../../redis/encoding.js';
import { statusOn } from '../../responses/leaderboards.js';
import { levelAt } from '../../responses/points.js';
import { baseStreak, type StreakPeriodResponse } from '../../responses/streaks.js';
import { userResponse } from '../../responses/users.js';
import { dateToDay, dayToDate, utcDate } from '../../shared/calendar.js';
import { addDecimals } from '../../shared/decimal.js';
import { LaurelError } from '../../shared/errors.js';
import { limits } from '../../shared/limits.js';
import { own } from '../../shared/own.js';
import { nextLevel, periodState } from '../../shared/progress.js';
import type { CompletedAchievement, NotificationAbout } from '../rules/notification.js';
import { localeOfAttribute } from './locales.js';
import { nextAchievement } from './next-achievement.js';
import type { MessageConfig } from './texts.js';
import { usesOf } from './texts.js';
import type { AchievementVariables, MessageVariables, PointsVariables, StreakDay, StreakVariables } from './variables.js';
import { typesWithCalendar } from './view.js';

/** Object `no` → its change in the period of a recap. */
type Changes = ReadonlyMap<number, number>;

const periodsShown: Readonly<Record<StreakVariables['frequency'], number>> = {
  daily: limits.messageStreakDays,
  weekly: limits.messageStreakWeeks,
  monthly: limits.messageStreakMonths,
};

function stateOf(period: StreakPeriodResponse, before: StreakPeriodResponse | undefined, isCurrent: boolean): StreakDay['state'] {
  const state = periodState(period, before, isCurrent);
  return state === 'open' ? 'today' : state;
}

/** The calendar of a user's streak. Once it is read, Postgres has everything that the user had done by then. */
async function readDays(stores: SummaryStores, { config, streak }: UserState, user: string): Promise<StreakDay[]> {
  if (!streak) return [];
  // The period before the first one tells whether that was extended.
  const { streakHistory } = await readStreak(stores, config.tenant, user, periodsShown[config.document.streaks.frequency] + 1);
  const last = streakHistory.length - 1;
  const days = streakHistory.map((period, i) => ({ date: period.periodStart, state: stateOf(period, streakHistory[i - 1], i === last) }));
  return days.slice(1);
}

/** The changes of all metrics and points systems in the period of a recap; none for other messages. */
async function readChanges(
  stores: SummaryStores,
  { config, ledgerId, streak }: UserState,
  user: string,
  about: NotificationAbout,
): Promise<Changes> {
  const changes = new Map<number, number>();
  if (about.type !== 'recap') return changes;
  // The calendar of a streak, which is read before, has waited for this user's own entries.
  if (!streak) await stores.history.waitFor(config.tenant, ledgerId);
  const objects = [...config.metrics.values(), ...config.systems.values()].map(({ no }) => no);
  const span = { first: dateToDay(about.periodStart), last: dateToDay(about.periodEnd) };
  for (const { object, change } of await stores.aggregates.daysOfAll(config.tenant, user, objects, span)) {
    changes.set(object, addDecimals(changes.get(object) ?? 0, change));
  }
  return changes;
}

/** Places on the leaderboards that the message uses: those that its texts name, and in a recap the first ones that are active. */
async function readPlaces(stores: SummaryStores, { config, now }: UserState, user: string, used: readonly string[]) {
  const boards = [...config.leaderboards.values()];
  const wanted = boards.filter(({ key }) => used.includes(key));
  const running = wanted.filter((board) => statusOn(board, utcDate(now)) === 'active');
  const ranks = await readRanks(stores.engine, config, user, running);
  const none = { rank: null, value: null };
  return Object.fromEntries(wanted.map(({ key, name }) => [key, { name, ...(ranks.get(key) ?? none) }]));
}

/** The keys of the leaderboards that the layout of a recap shows. */
function shownBoards({ config, now }: UserState): string[] {
  const active = [...config.leaderboards.values()].filter((board) => statusOn(board, utcDate(now)) === 'active');
  return active.slice(0, limits.maxMessageLeaderboards).map(({ key }) => key);
}

function pointsOf(system: PointsSystem, total: number, change: number): PointsVariables {
  const levels = levelsOf(system);
  const next = nextLevel(levels, total);
  const share = next?.share ?? (levels.length > 0 ? 1 : 0);
  return {
    name: system.name,
    total,
    change,
    level: levelAt(system, total)?.name ?? '',
    nextLevel: next?.level.name ?? '',
    toNextLevel: next?.missing ?? 0,
    progress: Math.floor(share * 100),
  };
}

/** Metrics and points systems, by key. */
function totals({ config, hash }: UserState, changes: Changes): Pick<MessageVariables, 'metrics' | 'points'> {
  const [ofMetrics, ofPoints] = [totalsOf(hash, 'metric'), totalsOf(hash, 'points')];
  const metrics = Array.from(config.metrics.values(), ({ no, key, name, units }) => {
    return [key, { name, units, total: ofMetrics.get(no) ?? 0, change: changes.get(no) ?? 0 }] as const;
  });
  const points = Array.from(config.systems.values(), (system) => {
    return [system.key, pointsOf(system, ofPoints.get(system.no) ?? 0, changes.get(system.no) ?? 0)] as const;
  });
  return { metrics: Object.fromEntries(metrics), points: Object.fromEntries(points) };
}

/** The locale of a user: that of the attribute which the settings name, or the default one. */
export function localeOfUser({ config, profile }: UserState): string {
  const { defaultLocale, localeAttribute } = config.document.messages;
  const attribute = localeAttribute === null ? undefined : config.attributeById.get(localeAttribute);
  const own = attribute && localeOfAttribute(profile[userFields.attribute + String(attribute.no)] ?? '');
  return own ?? defaultLocale;
}

function profileVariables({ config, profile, day }: UserState, id: string): Pick<MessageVariables, 'user' | 'brand' | 'date'> {
  const { name, email, attributes } = userResponse(config, id, profile);
  const all = Array.from(config.userAttributes.keys(), (key) => [key, own(attributes, key) ?? ''] as const);
  const { brandName, brandUrl } = config.document.messages;
  return {
    date: dayToDate(day),
    brand: { name: brandName, url: brandUrl ?? '' },
    user: { id, name: name ?? '', email: email ?? '', attributes: Object.fromEntries(all) },
  };
}

const achievementOf = ({ name, description, badgeUrl }: CompletedAchievement): AchievementVariables => ({
  name,
  description: description ?? '',
  badgeUrl: badgeUrl ?? '',
});

const weekDays = 7;

/** What a period of a recap is called, by its first and its last date. The frequency of the settings may have changed since. */
function periodName(start: string, end: string): 'day' | 'week' | 'month' | 'year' {
  if (start === end) return 'day';
  const days = dateToDay(end) - dateToDay(start) + 1;
  if (days === weekDays) return 'week';
  return start.slice(0, 'YYYY-MM'.length) === end.slice(0, 'YYYY-MM'.length) ? 'month' : 'year';
}

type AboutVariables = Pick<MessageVariables, 'achievement' | 'achievements' | 'period' | 'reactivation'>;

function aboutVariables(about: NotificationAbout): AboutVariables {
  switch (about.type) {
    case 'achievement_completed': {
      const achievements = about.achievements.map(achievementOf);
      const [achievement = { name: '', description: '', badgeUrl: '' }] = achievements;
      return { achievement, achievements };
    }
    case 'recap': {
      const { periodStart: start, periodEnd: end } = about;
      return { period: { start, end, name: periodName(start, end) } };
    }
    case 'reactivation': {
      const { daysSinceLastActive, messageNumber } = about;
      return { reactivation: { daysSinceLastActive, messageNumber } };
    }
    case 'streak_reminder':
      return {};
  }
}

/** A user's state, settled; undefined for a user who does not exist. */
async function stateOfUser({ engine }: SummaryStores, tenant: number, user: string): Promise<UserState | undefined> {
  try {
    return await readUser(engine, tenant, user);
  } catch (error) {
    if (error instanceof LaurelError && error.code === 'not_found') return undefined;
    throw error;
  }
}

/** A user's state, and the variables that it gives to a message; undefined for a user who does not exist. */
export interface UserVariables {
  readonly variables: MessageVariables;
  readonly state: UserState;
}

/** Whom a message is to, and for previews what it is rendered with in place of what is stored. */
export interface Recipient {
  readonly user: string;
  /** In place of the user's locale. */
  readonly locale?: string | undefined;
  /** The texts that decide what has to be read; those of the configuration without it. */
  readonly texts?: ((config: MessageConfig) => MessageConfig) | undefined;
}

/**
 * Reads the variables of a message: one call for the user, another one for the calendar of the streak and one for each leaderboard only if the message
 * shows them, and the sums of the period for a recap. Returns undefined for a user who does not exist.
 */
export async function readVariables(
  stores: SummaryStores,
  { tenant }: Pick<ActiveConfig, 'tenant'>,
  { user, locale: chosen, texts }: Recipient,
  about: NotificationAbout,
): Promise<UserVariables | undefined> {
  const state = await stateOfUser(stores, tenant, user);
  if (!state) return undefined;
  const { config, streak } = state;
  const locale = chosen ?? localeOfUser(state);
  const uses = usesOf(texts?.(config) ?? config, about.type, locale);
  const days = typesWithCalendar.has(about.type) || uses.streakDays ? await readDays(stores, state, user) : [];
  const changes = await readChanges(stores, state, user, about);
  const used = about.type === 'recap' ? [...uses.leaderboards, ...shownBoards(state)] : uses.leaderboards;
  const { length, frequency, freezes = 0, expires } = baseStreak(config, streak);
  const variables = {
    type: about.type,
    locale,
    ...profileVariables(state, user),
    ...totals(state, changes),
    streak: { length, frequency, freezes, expires: expires ?? '', days },
    next: nextAchievement(state),
    leaderboards: await readPlaces(stores, state, user, used),
    ...aboutVariables(about),
  };
  return { variables, state };
}

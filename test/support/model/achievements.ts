/** Rules "Achievements": conditions and completions. */
import type { Achievement, AnniversaryAchievement, ConfigDocument, MetricAchievement } from '../../../src/config/schema/model.js';
import { add, amount, isInRange, type Amount } from './decimal.js';
import { shownLength } from './streaks.js';
import { dayOf, instant, plus } from './time.js';
import { localDayOf, type SentWebhook, type User } from './users.js';
import { byId, live, matches, Refused, shownEventFilters, shownFilters, type World } from './world.js';

/** Whether a user may complete an achievement now, if the rest is so. */
const isOpenTo = (achievement: Achievement, user: User): boolean =>
  !achievement.archived &&
  achievement.status === 'active' &&
  !user.completed.has(achievement.id) &&
  matches(achievement.userAttributes, user.attributes);

/** Rule "Changes": an achievement has a sum for each metric that it has counted with filters. */
const sumOf = ({ metricId, id }: MetricAchievement): string => `${metricId} ${id}`;

/** What a metric achievement goes by: the total, or with event filters the total of the matching events. */
function valueOf(achievement: MetricAchievement, user: User): Amount | undefined {
  return achievement.eventAttributes.length > 0 ? user.sums.get(sumOf(achievement)) : user.totals.get(achievement.metricId);
}

/** The local day on which a user completes it; infinity without a date of signing up. */
const anniversaryOf = ({ anniversaryYears }: AnniversaryAchievement, { signUpDate }: User): number =>
  signUpDate === null ? Infinity : plus(dayOf(signUpDate), anniversaryYears, 'year');

/** Whether what the achievement asks for is so. Nothing but its call completes one of the kind `api`. */
function isReached(world: World, achievement: Achievement, user: User): boolean {
  switch (achievement.trigger) {
    case 'metric': {
      const value = valueOf(achievement, user);
      return value !== undefined && value >= amount(achievement.metricValue);
    }
    case 'streak':
      return shownLength(world, user) >= achievement.streakLength;
    case 'achievement':
      return achievement.achievementIds.every((id) => user.completed.has(id));
    case 'anniversary':
      return anniversaryOf(achievement, user) <= Math.max(user.paidThrough, localDayOf(user, world.now));
    case 'api':
      return false;
  }
}

/** Completes achievements, and then the composites whose last prerequisites these were, however deep. Returns all, in that order. */
function complete(world: World, achievements: readonly Achievement[], user: User): Achievement[] {
  for (const { id } of achievements) user.completed.set(id, world.now);
  const completed = [...achievements];
  for (const done of completed) {
    for (const composite of world.config.achievements) {
      if (composite.trigger !== 'achievement' || !composite.achievementIds.includes(done.id)) continue;
      if (!isOpenTo(composite, user) || !isReached(world, composite, user)) continue;
      user.completed.set(composite.id, world.now);
      completed.push(composite);
    }
  }
  return completed;
}

export const completedWebhooks = (completed: readonly Achievement[]): SentWebhook[] =>
  completed.map(({ id }) => ({ kind: 'achievement.completed', about: id }));

/** Adds an event to the sums of the achievements whose filters it matches, whether or not they are active. */
export function count(config: ConfigDocument, user: User, metricId: string, value: Amount, attributes: ReadonlyMap<string, string>): void {
  for (const achievement of live(config.achievements)) {
    if (achievement.trigger !== 'metric' || achievement.metricId !== metricId) continue;
    if (achievement.eventAttributes.length === 0 || !matches(achievement.eventAttributes, attributes)) continue;
    const sum = add(user.sums.get(sumOf(achievement)) ?? 0n, value);
    if (!isInRange(sum)) throw new Refused(422, 'the sum of an achievement would be too large');
    user.sums.set(sumOf(achievement), sum);
  }
}

/**
 * Rule "Order inside an event": metric achievements, streak achievements if the streak was extended, composites; each kind in the order of
 * the configuration. Composites follow in the order in which their last prerequisites were completed.
 */
export function completeByEvent(world: World, user: User, metricId: string, isExtended: boolean): Achievement[] {
  const { achievements } = world.config;
  const ofMetric = achievements.filter((achievement) => achievement.trigger === 'metric' && achievement.metricId === metricId);
  const ofStreak = isExtended ? achievements.filter(({ trigger }) => trigger === 'streak') : [];
  const reached = [...ofMetric, ...ofStreak].filter((each) => isOpenTo(each, user) && isReached(world, each, user));
  return complete(world, reached, user);
}

/** A call completes an achievement: a 422 if it may not. */
export function completeByCall(world: World, achievement: Achievement, user: User): Achievement[] {
  if (achievement.trigger !== 'api' || !isOpenTo(achievement, user)) throw new Refused(422, 'this user cannot complete it');
  return complete(world, [achievement], user);
}

const isAnniversary = (achievement: Achievement): achievement is AnniversaryAchievement => achievement.trigger === 'anniversary';

/** The first day of a span on which a user is still to complete an anniversary achievement, whether or not the filters match. */
export function nextAnniversary({ achievements }: ConfigDocument, user: User, span: { after: number; last: number }): number | undefined {
  const days = live(achievements)
    .filter(isAnniversary)
    .filter(({ id, status }) => status === 'active' && !user.completed.has(id))
    .map((achievement) => anniversaryOf(achievement, user));
  return days.filter((day) => day > span.after && day <= span.last).sort((a, b) => a - b)[0];
}

/** The days of a span come: their anniversary achievements are completed. */
export function completeAnniversaries(world: World, user: User, span: { after: number; last: number }): Achievement[] {
  const isDue = (achievement: AnniversaryAchievement): boolean => {
    const day = anniversaryOf(achievement, user);
    return day > span.after && day <= span.last;
  };
  const due = world.config.achievements.filter(isAnniversary).filter((achievement) => isOpenTo(achievement, user) && isDue(achievement));
  return complete(world, due, user);
}

/** Rule "Anniversaries": another date of signing up completes silently what has come by it. */
export function followSignUp(world: World, user: User): void {
  for (const achievement of world.config.achievements.filter(isAnniversary)) {
    if (isOpenTo(achievement, user) && isReached(world, achievement, user)) complete(world, [achievement], user);
  }
}

/** The condition of an achievement: after a change, more users may qualify. */
function conditionOf(achievement: Achievement | undefined): string {
  if (!achievement || achievement.archived || achievement.status !== 'active') return 'closed';
  const {
    created: _created,
    updated: _updated,
    name: _name,
    key: _key,
    description: _description,
    badgeUrl: _badgeUrl,
    ...rest
  } = achievement;
  return JSON.stringify(rest);
}

/** Rule "Activation": users who already qualify complete it silently, and so do the composites that follow. */
export function backfill(world: World, before: ConfigDocument): void {
  for (const achievement of world.config.achievements) {
    const old = before.achievements.find(({ id }) => id === achievement.id);
    if (conditionOf(achievement) === conditionOf(old)) continue;
    for (const user of world.users.values()) {
      if (isOpenTo(achievement, user) && isReached(world, achievement, user)) complete(world, [achievement], user);
    }
  }
}

function kindBody(config: ConfigDocument, achievement: Achievement): object {
  switch (achievement.trigger) {
    case 'metric': {
      const { id, name } = byId(config.metrics, achievement.metricId);
      const filters = shownEventFilters(config, achievement.eventAttributes);
      return { metricId: id, metricName: name, metricValue: achievement.metricValue, ...filters };
    }
    case 'streak':
      return { streakLength: achievement.streakLength };
    case 'achievement':
      return { achievementIds: achievement.achievementIds };
    case 'anniversary':
      return { anniversaryYears: achievement.anniversaryYears };
    case 'api':
      return {};
  }
}

const body = (config: ConfigDocument, achievement: Achievement): object => {
  const { id, key, name, trigger, description, badgeUrl } = achievement;
  const userAttributes = shownFilters(config, achievement.userAttributes);
  return { id, key, name, trigger, description, badgeUrl, userAttributes, ...kindBody(config, achievement) };
};

/** An achievement of a user; `achievedAt` is null while it isn't completed. */
export function userAchievementBody(world: World, user: User, achievement: Achievement): object {
  const at = user.completed.get(achievement.id);
  return { ...body(world.config, achievement), achievedAt: at === undefined ? null : instant(at) };
}

/** Rule "completions … rarity": percent of all users, two decimals, a half up; 0 without users. */
function stats(world: World, achievement: Achievement): object {
  const users = BigInt(world.users.size);
  const completions = [...world.users.values()].filter(({ completed }) => completed.has(achievement.id)).length;
  const hundredths = users === 0n ? 0n : (BigInt(completions) * 20_000n + users) / (2n * users);
  return { completions, rarity: Number(hundredths) / 100 };
}

/** An inactive achievement does not exist; a locked one exists for the users who have it. */
const isActive = ({ status }: Achievement): boolean => status === 'active';
const seenBy = (config: ConfigDocument, user: User): Achievement[] =>
  live(config.achievements).filter((one) => isActive(one) || (one.status === 'locked' && user.completed.has(one.id)));

export const allAchievementsBody = (world: World): object[] =>
  live(world.config.achievements)
    .filter(isActive)
    .map((achievement) => ({ ...body(world.config, achievement), ...stats(world, achievement) }));

/** A user's achievements in the order of the configuration. */
export const userAchievementsBody = (world: World, user: User, includeIncomplete: boolean): object[] =>
  seenBy(world.config, user)
    .filter(({ id }) => includeIncomplete || user.completed.has(id))
    .map((achievement) => ({ ...userAchievementBody(world, user, achievement), ...stats(world, achievement) }));

/** The achievements of a metric, completed or not, as the metrics call shows them. */
export const metricAchievementsBody = (world: World, user: User, metricId: string): object[] =>
  seenBy(world.config, user)
    .filter((achievement) => achievement.trigger === 'metric' && achievement.metricId === metricId)
    .map((achievement) => userAchievementBody(world, user, achievement));

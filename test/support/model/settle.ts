/** Rules "Settle" and "What applying does": the passing of time, and a new version of the configuration. */
import type { ConfigDocument, Leaderboard } from '../../../src/config/schema/model.js';
import { backfill, completeAnniversaries, completedWebhooks, nextAnniversary } from './achievements.js';
import { enterChanges, fill, fillsAt, finalise, finalisesAt, stateOf, type Change } from './leaderboards.js';
import { earn } from './points.js';
import { isOpen } from './runs.js';
import { extend, grantGrace, nextGrace, resume, settleStreaks, weeksOf } from './streaks.js';
import { nextHour, settleTimeTriggers } from './time-triggers.js';
import { changedWeeks, startOfDay } from './time.js';
import { localDayOf, zoneOf, type User } from './users.js';
import type { World } from './world.js';

/**
 * Takes a user from where the user was to now: a function of what is stored and of now, however late it comes. Returns what it changed of
 * the values that leaderboards rank.
 */
export function settle(world: World, user: User, now: number): Change[] {
  const changes: Change[] = [];
  const next = (): number | undefined => nextAnniversary(world.config, user, { after: user.paidThrough, last: localDayOf(user, now) });
  for (let day = next(); day !== undefined; day = next()) changes.push(...celebrate(world, user, day));
  return [...changes, ...settleUntil(world, user, now)];
}

/** Rule "Anniversaries": what completes at the beginning of a day, or with the move that skipped that, after all that time did before. */
function celebrate(world: World, user: User, day: number): Change[] {
  const { now } = world;
  const after = user.paidThrough;
  world.now = Math.max(startOfDay(zoneOf(user), day), user.movedAt);
  const changes = settleUntil(world, user, world.now);
  const completed = completeAnniversaries(world, user, { after, last: user.paidThrough });
  user.webhooks.push(...completedWebhooks(completed));
  const earned = earn(world, { user, created: false, completed, extendedTo: null, event: null });
  world.now = now;
  return [...changes, ...earned.map(({ change }) => change)];
}

function settleUntil(world: World, user: User, now: number): Change[] {
  const today = Math.max(user.paidThrough, localDayOf(user, now));
  const awarded = settleTimeTriggers(world, user, today, now);
  user.paidThrough = today;
  user.settledAt = now;
  return [...awarded, ...settleInZone(world, user, now)];
}

/** What a new zone changes at once: the streak day, and what has been missed by it. */
export function settleInZone(world: World, user: User, now: number): Change[] {
  if (world.config.streaks.enabled) user.day = Math.max(user.day, localDayOf(user, now));
  return settleStreaks(world, user, now);
}

/** The next moment at which time may do something to a user. */
const dueAt = (world: World, user: User): number =>
  Math.min(startOfDay(zoneOf(user), user.paidThrough + 1), nextHour(world.config, user), nextGrace(user, user.settledAt));

interface Due {
  readonly at: number;
  readonly act: () => void;
}

/** The next due moment of all users and leaderboards. At the same moment, users go first, by id. */
function nextDue(world: World, usersById: readonly User[]): Due {
  const users = usersById.map((user): Due => ({ at: dueAt(world, user), act: () => settleStored(world, user, world.now) }));
  const boards = world.config.leaderboards.flatMap((board): Due[] => [
    { at: fillsAt(world, board), act: () => fill(world, board) },
    { at: finalisesAt(world, board), act: () => finalise(world, board, world.now) },
  ]);
  const nothing: Due = { at: Infinity, act: () => undefined };
  return [...users, ...boards].reduce((next, due) => (due.at < next.at ? due : next), nothing);
}

/** Settles a stored user, and enters on the boards what that has changed. */
export function settleStored(world: World, user: User, now: number): void {
  const changes = settle(world, user, now);
  if (changes.length > 0) enterChanges(world, user, changes);
}

/** A change of all users at once applies in the order of their ids. */
const byUserId = (world: World): User[] => [...world.users.values()].sort((a, b) => (a.id < b.id ? -1 : 1));

/** Moves the clock, and does everything that is due up to then, in the order of time. */
export function sweep(world: World, until: number): void {
  const usersById = byUserId(world);
  for (let due = nextDue(world, usersById); due.at <= until; due = nextDue(world, usersById)) {
    world.now = Math.max(world.now, due.at);
    due.act();
  }
  world.now = until;
  for (const user of usersById) settleStored(world, user, until);
}

/** Whether a change of the settings may make a period count as kept. */
const conditionsOf = ({ streaks: { enabled, evaluationMode, metrics } }: ConfigDocument): string =>
  JSON.stringify([enabled, evaluationMode, metrics]);

/** Rule "Moving": a new default zone moves each user without a zone. */
function moveHome(world: World, user: User): void {
  const oldZone = zoneOf(user);
  user.defaultZone = world.config.settings.defaultTimeZone;
  if (zoneOf(user) === oldZone) return;
  user.movedAt = world.now;
  grantGrace(world, user, oldZone);
}

/** Rule "Week start", for a user with streaks. */
function changeWeeks(world: World, user: User, before: ConfigDocument): void {
  const { weekStart } = world.config.settings;
  if (weekStart === before.settings.weekStart || !user.hasInitialFreezes) return;
  const day = Math.max(user.day, localDayOf(user, world.now));
  user.earlierWeeks = changedWeeks(weeksOf({ config: before }, user), weekStart, day);
}

/** What the new version does to a user who has been settled by the old one. */
function adopt(world: World, user: User, before: ConfigDocument): void {
  const { streaks } = world.config;
  if (streaks.enabled && !before.streaks.enabled) resume(user, world.now, weeksOf({ config: before }, user));
  changeWeeks(world, user, before);
  moveHome(world, user);
  if (streaks.enabled && conditionsOf(world.config) !== conditionsOf(before)) enterChanges(world, user, extend(world, user));
}

const streakBoards = ({ streaks }: ConfigDocument): string => (streaks.enabled ? streaks.frequency : 'none');

/**
 * Puts a new version of the configuration into force, when everything has been settled by the old one: no time before this moment is looked
 * at again. Streaks are looked at again if their conditions have changed, boards are opened and filled, and achievements are completed
 * silently by who qualifies now.
 */
export function reconfigure(world: World, document: ConfigDocument): void {
  const before = world.config;
  sweep(world, world.now);
  world.config = document;
  for (const user of byUserId(world)) adopt(world, user, before);
  const wasOpen = (board: Leaderboard): boolean => before.leaderboards.some((old) => old.id === board.id && isOpen(old));
  for (const board of document.leaderboards.filter(isOpen)) {
    if (!wasOpen(board)) stateOf(world, board).isFilled = false;
  }
  sweep(world, world.now);
  backfill(world, before);
  if (streakBoards(document) !== streakBoards(before)) {
    // A board whose start is still to come is filled then.
    const filled = document.leaderboards.filter((board) => board.rankBy === 'streak' && isOpen(board) && stateOf(world, board).isFilled);
    for (const board of filled) fill(world, board);
  }
}

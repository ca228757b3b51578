/** Rules "Order inside an event" and "A call that …": what callers send about one user, each call one step that happens as a whole or not at all. */
import type { Achievement, Metric, PointsSystem } from '../../../src/config/schema/model.js';
import * as achievements from './achievements.js';
import { add, amount, isInRange, shown, type Amount } from './decimal.js';
import { movesBody } from './leaderboard-answers.js';
import { enterChanges, groupsOf, type Change, type Move } from './leaderboards.js';
import { adjustedBody, earnedBody } from './points-answers.js';
import { adjust, earn, type Deed, type Earned } from './points.js';
import { settleInZone, settleStored } from './settle.js';
import { streakBody } from './streak-answers.js';
import * as streaks from './streaks.js';
import type { Adjustment, EventRequest, IdentifyMode } from './subject.js';
import { dayMs } from './time.js';
import { change, checkProperties, draftOf, newUser, reach, takeDevices, userBody, zoneOf, type User, type UserInCall } from './users.js';
import { byKey, live, Refused, sentAttributes, type Answer, type CountedEvent, type World } from './world.js';

/** A call under way: it works on a copy of the user, which replaces the user when nothing refuses any more. */
interface Call {
  readonly user: User;
  readonly created: boolean;
  /** What settling in a new zone has changed. */
  readonly settled: readonly Change[];
  readonly groupsBefore: ReadonlyMap<string, string | null>;
  readonly signUpBefore: string | null;
}

/** The stored user of a call, settled; undefined for an unknown one. */
function storedUser(world: World, id: string): User | undefined {
  const user = world.users.get(id);
  if (user) settleStored(world, user, world.now);
  return user;
}

/** Upserts the user of a call. A new zone settles once more, in its own calendar, before anything else happens. */
function begin(world: World, { id, ...properties }: UserInCall): Call {
  const stored = storedUser(world, id);
  const user = stored ? draftOf(stored) : newUser(world, id, properties.tz ?? null);
  const groupsBefore = groupsOf(world, user);
  const oldZone = zoneOf(user);
  change(world, user, properties);
  if (stored && zoneOf(user) !== oldZone) {
    user.movedAt = world.now;
    streaks.grantGrace(world, user, oldZone);
  }
  const signUpBefore = stored?.signUpDate ?? null;
  return { user, created: !stored, settled: settleInZone(world, user, world.now), groupsBefore, signUpBefore };
}

/** Nothing refuses any more: the copy becomes the user, and the boards take what has changed. */
function commit(world: World, { user, settled, groupsBefore, signUpBefore }: Call, changes: readonly Change[]): Move[] {
  world.users.set(user.id, user);
  takeDevices(world, user);
  enterChanges(world, user, settled);
  const moves = enterChanges(world, user, changes, groupsBefore);
  if (user.signUpDate !== signUpBefore) achievements.followSignUp(world, user);
  return moves;
}

/** What a call that is no event has done. */
const deedOf = ({ user, created }: Call, completed: readonly Achievement[] = []): Deed => ({
  user,
  created,
  completed,
  extendedTo: null,
  event: null,
});

const changesOf = (earned: readonly Earned[]): Change[] => earned.map((each) => each.change);

/** Adds an event to the user's total of its metric. */
function countTotal(world: World, user: User, metric: Metric, added: Amount): Change {
  const before = user.totals.get(metric.id);
  const after = add(before ?? 0n, added);
  // What is beyond by less than a rounding is beyond, too.
  if (!isInRange((before ?? 0n) + added)) throw new Refused(422, 'the total would be too large');
  user.totals.set(metric.id, after);
  const source = `metric:${metric.id}`;
  const isChanged = after !== before;
  const sequence = isChanged ? reach(world, user, source) : (user.reached.get(source) ?? 0);
  return { source, moment: world.now, after, gain: added, isChanged, sequence };
}

/** What an event has led to, besides the user's state. */
interface Results {
  readonly completed: readonly Achievement[];
  readonly earned: readonly Earned[];
  readonly moves: readonly Move[];
  readonly isExtended: boolean;
}

const nothing: Results = { completed: [], earned: [], moves: [], isExtended: false };

function eventBody(world: World, user: User, metric: Metric, { completed, earned, moves, isExtended }: Results): object {
  return {
    metricId: metric.id,
    total: shown(user.totals.get(metric.id) ?? 0n),
    achievements: completed.map((achievement) => achievements.userAchievementBody(world, user, achievement)),
    currentStreak: { ...streakBody(world, user), extended: isExtended },
    points: earnedBody(world, earned),
    leaderboards: movesBody(world, moves),
  };
}

/** Everything that an event does to a user, in the order of the rule. A correction does not count for streaks. */
function act(world: World, call: Call, metric: Metric, counted: Pick<CountedEvent, 'value' | 'attributes' | 'isCorrection'>): Results {
  const { value, attributes, isCorrection } = counted;
  const { user, created } = call;
  const { frequency } = world.config.streaks;
  const total = countTotal(world, user, metric, value);
  achievements.count(world.config, user, metric.id, value, attributes);
  const lengths = !isCorrection && streaks.count(world, user, metric.id, value) ? streaks.extend(world, user) : [];
  const isExtended = lengths.some(({ source }) => source === `streak:${frequency}`);
  const completed = achievements.completeByEvent(world, user, metric.id, isExtended);
  const extendedTo = isExtended ? user.streaks[frequency].length : null;
  if (extendedTo !== null) user.webhooks.push({ kind: extendedTo === 1 ? 'streak.started' : 'streak.extended', about: extendedTo });
  user.webhooks.push(...achievements.completedWebhooks(completed));
  const earned = earn(world, { user, created, completed, extendedTo, event: { metric, value, attributes } });
  const moves = commit(world, call, [total, ...changesOf(earned), ...lengths]);
  return { completed, earned, moves, isExtended };
}

/** Whether a key has been used, and not too long ago. */
function isUsed({ config, now }: World, user: User, key: string): boolean {
  const usedAt = user.usedKeys.get(key);
  const days = config.settings.idempotencyRetentionDays;
  return usedAt !== undefined && (days === null || now < usedAt + days * dayMs);
}

/** One event. A replay shows the current state and changes nothing. */
export function event(world: World, { metricKey, user: sent, value, attributes, idempotencyKey }: EventRequest): Answer {
  const { config } = world;
  checkProperties(sent);
  if (!isInRange(amount(value))) throw new Refused(422, 'the value is too large');
  // What the configuration or the state refuses is refused after the key, which an archived metric keeps.
  const known = config.metrics.find(({ key }) => key === metricKey);
  const stored = known && storedUser(world, sent.id);
  const usedKey = `${known?.id ?? ''} ${idempotencyKey ?? ''}`;
  if (known && idempotencyKey !== undefined && stored && isUsed(world, stored, usedKey)) {
    return { status: 202, body: { ...eventBody(world, stored, known, nothing), idempotencyKey, idempotentReplayed: true } };
  }
  const metric = byKey(config.metrics, metricKey);
  sentAttributes(config, 'user', sent.attributes);
  const eventAttributes = sentAttributes(config, 'event', attributes);
  const call = begin(world, sent);
  if (idempotencyKey !== undefined) call.user.usedKeys.set(usedKey, world.now);
  const counted = { value: amount(value), attributes: eventAttributes, isCorrection: false };
  const results = act(world, call, metric, counted);
  const eventId = keep(world, { ...counted, userId: sent.id, metricId: metric.id });
  const body = { eventId, ...eventBody(world, call.user, metric, results) };
  return { status: 201, body: idempotencyKey === undefined ? body : { ...body, idempotencyKey, idempotentReplayed: false } };
}

/** Keeps an event that was counted. Returns its id. */
function keep({ events }: World, counted: Omit<CountedEvent, 'correctedBy'>): string {
  const id = `event-${events.size + 1}`;
  events.set(id, { ...counted, correctedBy: null });
  return id;
}

/** Rule "Corrections": counts the negative value of an event, once. */
export function correct(world: World, userId: string, eventId: string): Answer {
  const { config, events } = world;
  const event = events.get(eventId);
  if (event?.userId !== userId) throw new Refused(404, 'there is no such event');
  if (event.isCorrection || event.value === 0n) throw new Refused(422, 'it cannot be corrected');
  if (event.correctedBy !== null) return { status: 200 };
  const metric = live(config.metrics).find(({ id }) => id === event.metricId);
  if (!metric) throw new Refused(404, 'the metric is archived');
  const isKnown = (id: string): boolean => live(config.attributes).some((attribute) => attribute.id === id);
  const attributes = new Map([...event.attributes].filter(([id]) => isKnown(id)));
  const counted = { value: -event.value, attributes, isCorrection: true };
  act(world, begin(world, { id: userId }), metric, counted);
  event.correctedBy = keep(world, { ...counted, userId, metricId: metric.id });
  return { status: 201 };
}

/** Creates or changes a user. */
export function identify(world: World, mode: IdentifyMode, user: UserInCall): Answer {
  checkProperties(user);
  sentAttributes(world.config, 'user', user.attributes);
  const stored = storedUser(world, user.id);
  if (mode === 'create' && stored) throw new Refused(422, 'the user exists');
  if (mode === 'update' && !stored) throw new Refused(404, 'there is no such user');
  const call = begin(world, user);
  commit(world, call, changesOf(earn(world, deedOf(call))));
  return { status: mode === 'create' ? 201 : 200, body: userBody(world, call.user) };
}

/** Completes an achievement of the kind `api`. */
export function completeAchievement(world: World, key: string, sent: UserInCall): Answer {
  checkProperties(sent);
  const achievement = byKey(
    world.config.achievements.filter(({ status }) => status !== 'inactive'),
    key,
  );
  sentAttributes(world.config, 'user', sent.attributes);
  const call = begin(world, sent);
  const completed = achievements.completeByCall(world, achievement, call.user);
  call.user.webhooks.push(...achievements.completedWebhooks(completed));
  const earned = earn(world, deedOf(call, completed));
  commit(world, call, changesOf(earned));
  const body = { achievement: achievements.userAchievementBody(world, call.user, achievement), points: earnedBody(world, earned) };
  return { status: 201, body };
}

/** Adds points to a settled user, or takes them. A replay shows the current state and changes nothing. */
export function adjustPoints(world: World, user: User, system: PointsSystem, { amount: points, idempotencyKey }: Adjustment): object {
  const usedKey = `${system.id} ${idempotencyKey ?? ''}`;
  if (idempotencyKey !== undefined && isUsed(world, user, usedKey)) return adjustedBody(user, system, 0);
  const { before, change } = adjust(world, user, system, points);
  if (idempotencyKey !== undefined) user.usedKeys.set(usedKey, world.now);
  enterChanges(world, user, [change]);
  return adjustedBody(user, system, (user.points.get(system.id)?.total ?? 0) - before);
}

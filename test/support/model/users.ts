/** Rules "Users": profiles, creating and changing a user. */
import { createHash } from 'node:crypto';
import type { ConfigDocument } from '../../../src/config/schema/model.js';
import type { Amount } from './decimal.js';
import type { SystemState } from './points.js';
import { newStreaks, type Pause, type PersonalConditions, type Streaks } from './streak-state.js';
import { dateOf, instant, isZone, localDay, type Weeks } from './time.js';
import { live, Refused, sentAttributes, type World } from './world.js';

/** What a caller may say of a user. What is left out stays as it is; null clears. */
export interface UserProperties {
  readonly name?: string | null | undefined;
  readonly email?: string | null | undefined;
  readonly tz?: string | null | undefined;
  readonly signUpDate?: string | null | undefined;
  readonly subscribeToEmails?: boolean | undefined;
  readonly deviceTokens?: readonly string[] | null | undefined;
  readonly attributes?: Readonly<Record<string, string>> | undefined;
}

export type UserInCall = UserProperties & { readonly id: string };

/** A webhook about a user, of a kind that is sent at once: what it is about. */
export interface SentWebhook {
  readonly kind: 'achievement.completed' | 'streak.started' | 'streak.extended' | 'streak.lost';
  /** The id of the achievement, or the length of the streak. */
  readonly about: string | number;
}

export interface User {
  readonly id: string;
  readonly created: number;
  /** The local day of creation, in the zone that the user then had. */
  readonly createdDay: number;
  readonly control: boolean;
  updated: number;
  name: string | null;
  email: string | null;
  tz: string | null;
  /** A date, `YYYY-MM-DD`. */
  signUpDate: string | null;
  /** The default zone, of users without one. */
  defaultZone: string;
  subscribeToEmails: boolean;
  deviceTokens: readonly string[] | null;
  /** By the id of the attribute. */
  readonly attributes: Map<string, string>;
  /** The **streak day**: the highest local day at which the user was settled or had an event, while streaks were enabled. */
  day: number;
  /** Up to where time has been applied. */
  settledAt: number;
  /** The local day up to which time triggers have paid: a move between zones pays nothing before the next settle. */
  paidThrough: number;
  /** When the user last moved between time zones. */
  movedAt: number;
  /** By the id of the metric. Nothing for a metric without events. */
  readonly totals: Map<string, Amount>;
  /** When idempotency keys were used, each with its metric's id. */
  readonly usedKeys: Map<string, number>;
  /** By the id of the points system. Nothing for a system without awards. */
  readonly points: Map<string, SystemState>;
  /** By the ids of a metric and a trigger on it: the sum of the matching events, and the highest that it has been. */
  readonly progress: Map<string, { sum: Amount; highest: Amount }>;
  /** By the ids of a metric and an achievement that counted it with event filters: the sum of the matching events. */
  readonly sums: Map<string, Amount>;
  /** By the id of the achievement: when it was completed. */
  readonly completed: Map<string, number>;
  readonly streaks: Streaks;
  freezes: number;
  /** Whether the initial ones have been given: whether the user has been settled while streaks were enabled. */
  hasInitialFreezes: boolean;
  /** The local day up to which freezes have been earned. */
  freezesThrough: number;
  readonly pauses: Pause[];
  /** How weeks were before the last change of the day on which they start. */
  earlierWeeks: Weeks['earlier'];
  personal: PersonalConditions | null;
  /** The weekdays that the user has off in place of the configured ones. */
  daysOff: readonly number[] | null;
  /** False while the user has switched streaks off. */
  hasStreaks: boolean;
  /** When (World.sequence) each value that leaderboards rank was last changed: `metric:`, `points:` and the id, `streak:` and the frequency. */
  readonly reached: Map<string, number>;
  /** The oldest first. */
  readonly webhooks: SentWebhook[];
}

/** A user with none is in the configured one. */
export const zoneOf = (user: User): string => user.tz ?? user.defaultZone;

/** The user's local day at a moment, which can be before the streak day. */
export const localDayOf = (user: User, ms: number): number => localDay(zoneOf(user), ms);

/** Notes that a value that leaderboards rank has changed. Returns its number. */
export function reach(world: World, user: User, source: string): number {
  world.sequence += 1;
  user.reached.set(source, world.sequence);
  return world.sequence;
}

/** The user's own copy of what a call works on: if the call is refused, the copy is thrown away. */
export const draftOf = (user: User): User => structuredClone(user);

/** Rule "Users": decided once, by the first 32 bits of the SHA-1 of the id. */
function isControl(id: string, ratio: number): boolean {
  return createHash('sha1').update(id).digest().readUInt32BE(0) / 2 ** 32 < ratio;
}

/** A new user. The zone counts already: it decides the local day of the creation. */
export function newUser(world: World, id: string, tz: string | null): User {
  const defaultZone = world.config.settings.defaultTimeZone;
  const day = localDay(tz ?? defaultZone, world.now);
  return {
    id,
    created: world.now,
    createdDay: day,
    control: isControl(id, world.config.settings.controlRatio),
    updated: world.now,
    name: null,
    email: null,
    tz: null,
    signUpDate: null,
    defaultZone,
    subscribeToEmails: true,
    deviceTokens: null,
    attributes: new Map(),
    day,
    settledAt: world.now,
    paidThrough: day,
    movedAt: -Infinity,
    totals: new Map(),
    usedKeys: new Map(),
    points: new Map(),
    progress: new Map(),
    sums: new Map(),
    completed: new Map(),
    streaks: newStreaks(),
    freezes: 0,
    hasInitialFreezes: false,
    freezesThrough: day,
    pauses: [],
    earlierWeeks: null,
    personal: null,
    daysOff: null,
    hasStreaks: true,
    reached: new Map(),
    webhooks: [],
  };
}

/** What is wrong with properties whatever is stored: a 422. */
export function checkProperties({ tz }: UserProperties): void {
  if (typeof tz === 'string' && !isZone(tz)) throw new Refused(422, `${tz} is not a time zone`);
}

/** Rule "Users": touches only what was sent. `updated` moves only when something really changes. */
export function change(world: World, user: User, properties: UserProperties): void {
  const attributes = sentAttributes(world.config, 'user', properties.attributes);
  const before = JSON.stringify([profile(user), [...user.attributes]]);
  if (properties.name !== undefined) user.name = properties.name || null;
  const storesAddress = properties.email === null || properties.subscribeToEmails !== false;
  if (properties.email !== undefined && storesAddress) user.email = properties.email;
  if (properties.tz !== undefined) user.tz = properties.tz;
  if (properties.signUpDate !== undefined && properties.signUpDate !== user.signUpDate) {
    const today = dateOf(localDayOf(user, world.now));
    if (properties.signUpDate !== null && properties.signUpDate > today) throw new Refused(422, 'a user cannot sign up after today');
    user.signUpDate = properties.signUpDate;
  }
  if (properties.subscribeToEmails !== undefined) user.subscribeToEmails = properties.subscribeToEmails;
  if (properties.deviceTokens !== undefined) user.deviceTokens = properties.deviceTokens;
  for (const [id, value] of attributes) user.attributes.set(id, value);
  if (properties.subscribeToEmails === true && user.email === null) throw new Refused(422, 'emails need an address');
  if (JSON.stringify([profile(user), [...user.attributes]]) !== before) user.updated = world.now;
}

/** Rule "Users": a token is the same device with and without the prefix of its provider. */
const deviceOf = (token: string): string => token.replace(/^(?:expo|fcm|apns):/, '');

/** The tokens of a list without those of the devices of others; null if it has none of them. */
export function tokensWithout(list: readonly string[] | null, others: readonly string[]): readonly string[] | null {
  const devices = others.map(deviceOf);
  const kept = list?.filter((token) => !devices.includes(deviceOf(token)));
  return kept && kept.length !== list?.length ? kept : null;
}

/** Rule "Users": a device belongs to the user who registered it last. */
export function takeDevices(world: World, user: User): void {
  for (const other of world.users.values()) {
    const kept = other.id === user.id ? null : tokensWithout(other.deviceTokens, user.deviceTokens ?? []);
    if (kept) Object.assign(other, { deviceTokens: kept, updated: world.now });
  }
}

const profile = ({ name, email, tz, signUpDate, subscribeToEmails, deviceTokens }: User): object => ({
  name,
  email,
  tz,
  signUpDate,
  subscribeToEmails,
  deviceTokens,
});

/** The user as the APIs show it. */
export function userBody(world: World, user: User): object {
  const known = live(world.config.attributes).filter(({ id, type }) => type === 'user' && user.attributes.has(id));
  return {
    id: user.id,
    ...profile(user),
    attributes: Object.fromEntries(known.map(({ id, key }) => [key, user.attributes.get(id)])),
    control: user.control,
    created: instant(user.created),
    updated: instant(user.updated),
  };
}

/** The user whom a path names; a 404 without one. */
export function knownUser(world: World, id: string): User {
  const user = world.users.get(id);
  if (!user) throw new Refused(404, `there is no user ${id}`);
  return user;
}

/** Rule "Deleting": a configuration without what is for one user alone. */
export function withoutBoostsOf(config: ConfigDocument, id: string): ConfigDocument {
  const pointsSystems = config.pointsSystems.map((system) => ({ ...system, boosts: system.boosts.filter(({ userId }) => userId !== id) }));
  return { ...config, pointsSystems };
}

import type { ConfigFile } from '../../src/config/file/file.js';
import { seeded, type Event } from './events.js';

/** Where users live, after the configuration's own zone. */
const zones = [
  ...['Europe/Lisbon', 'Europe/Berlin', 'America/New_York', 'America/Los_Angeles', 'America/Sao_Paulo', 'Asia/Kolkata'],
  ...['Asia/Tokyo', 'Africa/Lagos', 'Pacific/Auckland'],
] as const;
/** Values of an attribute: those that the configuration names, and others up to this number. */
const attributeValues = 8;
/** The largest value of an event on a metric without a threshold, and on any metric. */
const usualValue = 5;
const largestValue = 1_000_000;

interface Metric {
  readonly key: string;
  readonly maxValue: number;
}

interface Attribute {
  readonly key: string;
  readonly values: readonly string[];
}

/** What the users of a configuration send. */
export interface Traffic {
  readonly metrics: readonly Metric[];
  readonly userAttributes: readonly Attribute[];
  readonly eventAttributes: readonly Attribute[];
  readonly zones: readonly string[];
}

type Fields = Readonly<Record<string, unknown>>;
const fieldsIn = (list: unknown): readonly Fields[] => (Array.isArray(list) ? (list as Fields[]) : []);

/**
 * The traffic of a configuration: events on its metrics, with all of its attributes and the values that its filters name. An event's value is at most
 * the lowest threshold of a trigger or a streak on its metric, so that about every second event passes one. Metrics on which an event may be
 * refused (`blockIfOutOfPoints`) are left out. Throws when no metric is left.
 */
export function trafficOf(file: ConfigFile): Traffic {
  const systems = file.pointsSystems.map(({ lists }) => lists);
  const triggers = systems.flatMap((lists) => lists?.triggers?.map(({ value }): Fields => value) ?? []);
  const boosts = systems.flatMap((lists) => lists?.boosts?.map(({ value }): Fields => value) ?? []);
  const filtered = [...triggers, ...boosts, ...file.achievements.map(({ value }): Fields => value)];

  const thresholds = [
    ...triggers.map(({ metricKey, metricThreshold }) => [metricKey, metricThreshold] as const),
    ...fieldsIn(file.streaks?.value.metrics).map(({ metricKey, threshold }) => [metricKey, threshold] as const),
  ];
  const maxValue = (key: string): number => {
    const own = thresholds.flatMap(([metric, threshold]) => (metric === key && typeof threshold === 'number' ? [threshold] : []));
    return own.length === 0 ? usualValue : Math.min(largestValue, Math.max(1, Math.ceil(Math.min(...own))));
  };
  const metrics = file.metrics
    .map(({ value }) => value.key)
    .filter((key) => !triggers.some(({ metricKey, blockIfOutOfPoints }) => metricKey === key && blockIfOutOfPoints === true))
    .map((key) => ({ key, maxValue: maxValue(key) }));
  if (metrics.length === 0) throw new Error(`${file.fileName} has no metric whose events are always accepted.`);

  const attributes = (type: 'user' | 'event'): Attribute[] =>
    file.attributes
      .filter(({ value }) => value.type === type)
      .map(({ value: { key } }) => {
        const filters = filtered.flatMap((object) => fieldsIn(object[`${type}Attributes`]));
        const named = filters.flatMap(({ attributeKey, attributeValue }) => (attributeKey === key ? [String(attributeValue)] : []));
        const others = Array.from({ length: attributeValues }, (_, i) => `${key}-${i + 1}`);
        const distinct = [...new Set(named)];
        return { key, values: [...distinct, ...others.slice(0, Math.max(1, attributeValues - distinct.length))] };
      });
  const ownZone = file.settings?.value.defaultTimeZone;
  return {
    ...{ metrics, userAttributes: attributes('user'), eventAttributes: attributes('event') },
    zones: typeof ownZone === 'string' ? [...new Set([ownZone, ...zones])] : zones,
  };
}

/** The number of the user who sends an event, from 0, by how many events came before it. */
export type Senders = (sent: number) => number;

/** Users who are drawn, each with the same probability. */
export function drawn(users: number, seed: number): Senders {
  const random = seeded(seed);
  return () => Math.floor(random() * users);
}

/** Users in turn, so that each sends as many events. */
export const inTurn =
  (users: number): Senders =>
  (sent) =>
    sent % users;

/** Events that a user sends before they go. */
const eventsOfSession = 20;
const sessionS = 300;

/** How many users there are at a time when each stays for five minutes, at a rate of events. */
export const usersPresent = (ratePerS: number): number => Math.ceil((ratePerS * sessionS) / eventsOfSession);

/**
 * Sessions: `present` users send in turn. After 20 events a user goes and the next one of all takes the place; the sessions of different places
 * begin at different times. There must be at least twice as many users as places.
 */
export const sessions =
  (users: number, present: number): Senders =>
  (sent) => {
    const place = sent % present;
    const turn = Math.floor(sent / present) + (place % eventsOfSession);
    return (place + present * Math.floor(turn / eventsOfSession)) % users;
  };

export interface TrafficOptions {
  /** What its idempotency keys start with: unique among the sequences of a run. */
  readonly name: string;
  readonly seed: number;
  readonly senders: Senders;
}

/** One value of each, by the digits of a number, so that the values of different attributes are independent. */
function digits(number: number, attributes: readonly Attribute[]): Record<string, string> {
  let rest = number;
  return Object.fromEntries(
    attributes.map(({ key, values }) => {
      const value = values[rest % values.length] ?? '';
      rest = Math.floor(rest / values.length);
      return [key, value];
    }),
  );
}

/** Events with the whole profile of their user, which stays the same, as a back end sends that does not remember what it has sent. */
export function trafficEvents(
  { metrics, userAttributes, eventAttributes, zones: all }: Traffic,
  { name, seed, senders }: TrafficOptions,
): () => Event {
  const random = seeded(seed);
  const below = (count: number): number => Math.floor(random() * count);
  let sent = 0;
  return () => {
    const no = senders(sent);
    sent += 1;
    const metric = metrics[below(metrics.length)];
    if (!metric) throw new Error('There is no metric.');
    return {
      metricKey: metric.key,
      user: {
        ...{ id: `user-${1 + no}`, name: `User ${1 + no}`, tz: all[no % all.length] },
        ...(userAttributes.length > 0 && { attributes: digits(Math.floor(no / all.length), userAttributes) }),
      },
      value: 1 + below(metric.maxValue),
      ...(eventAttributes.length > 0 && { attributes: digits(below(2 ** 30), eventAttributes) }),
      idempotencyKey: `${name}-${String(sent).padStart(35 - name.length, '0')}`,
    };
  };
}

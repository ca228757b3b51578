/** State and shared parts of the model: the whole state, filters, refusals and responses. */
import type { AttributeFilter, ConfigDocument, ConfigObject } from '../../../src/config/schema/model.js';
import type { Amount } from './decimal.js';
import type { BoardState } from './leaderboards.js';
import type { User } from './users.js';

/** An event that was counted, as far as a correction takes it back. */
export interface CountedEvent {
  readonly userId: string;
  readonly metricId: string;
  readonly value: Amount;
  /** By the id of the attribute. */
  readonly attributes: ReadonlyMap<string, string>;
  readonly isCorrection: boolean;
  correctedBy: string | null;
}

/** Everything there is. `sequence` counts the changes of values: of two equal values, the one with the lower number was there first. */
export interface World {
  config: ConfigDocument;
  now: number;
  sequence: number;
  /** In the order in which they were created. */
  readonly users: Map<string, User>;
  /** By the id of the leaderboard. */
  readonly boards: Map<string, BoardState>;
  /** By the id of the event. */
  readonly events: Map<string, CountedEvent>;
}

/** What a call is answered with. A refusal has no body: its words are not compared. */
export interface Answer {
  readonly status: number;
  readonly body?: unknown;
}

/** Thrown when a call is refused; its changes so far are discarded. */
export class Refused extends Error {
  readonly status: 403 | 404 | 422;

  constructor(status: 403 | 404 | 422, why: string) {
    super(why);
    this.status = status;
  }
}

export const live = <T extends { readonly archived: boolean }>(objects: readonly T[]): T[] => objects.filter(({ archived }) => !archived);

/** The object with an id, archived or not. A valid document has it. */
export function byId<T extends ConfigObject>(objects: readonly T[], id: string): T {
  const found = objects.find((object) => object.id === id);
  if (!found) throw new Error(`no object ${id} in the configuration`);
  return found;
}

/** The object in use that a path names; a 404 without one. */
export function byKey<T extends ConfigObject>(objects: readonly T[], key: string): T {
  const found = live(objects).find((object) => object.key === key);
  if (!found) throw new Refused(404, `there is nothing with the key ${key}`);
  return found;
}

/** All filters match, or there are none. */
export const matches = (filters: readonly AttributeFilter[], values: ReadonlyMap<string, string>): boolean =>
  filters.every(({ attributeId, attributeValue }) => values.get(attributeId) === attributeValue);

/** Filters as answers show them. */
export const shownFilters = (config: ConfigDocument, filters: readonly AttributeFilter[]): { key: string; value: string }[] =>
  filters.map(({ attributeId, attributeValue }) => ({ key: byId(config.attributes, attributeId).key, value: attributeValue }));

/** Event filters as answers show them: `eventAttribute` stands where there is exactly one. */
export function shownEventFilters(config: ConfigDocument, filters: readonly AttributeFilter[]): object {
  const eventAttributes = shownFilters(config, filters);
  return { eventAttributes, ...(eventAttributes.length === 1 ? { eventAttribute: eventAttributes[0] } : {}) };
}

/** Attributes that were sent, by the id of the attribute; a 422 for keys that are not configured. */
export function sentAttributes(
  config: ConfigDocument,
  type: 'user' | 'event',
  sent: Readonly<Record<string, string>> | undefined,
): Map<string, string> {
  const known = live(config.attributes).filter((attribute) => attribute.type === type);
  return new Map(
    Object.entries(sent ?? {}).map(([key, value]) => {
      const attribute = known.find((candidate) => candidate.key === key);
      if (!attribute) throw new Refused(422, `unknown attribute ${key}`);
      return [attribute.id, value];
    }),
  );
}

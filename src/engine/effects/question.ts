/** A question about a change of the configuration: a count, and the sentence for its result. */
import type { ObjectKind } from '../../config/schema/kind.js';
import type { SingleName } from '../../config/schema/kinds.js';
import type { ConfigDocument, ConfigObject } from '../../config/schema/model.js';
import type { Count } from '../../history/counts.js';

/** The change from one document of a tenant to another one that is planned, at a moment in milliseconds since 1970. */
export interface PlannedChange {
  readonly from: ConfigDocument;
  readonly to: ConfigDocument;
  readonly now: number;
}

/** What an effect is of. */
export interface EffectSubject {
  readonly kind: ObjectKind | SingleName;
  /** Null for what there is one of. */
  readonly key: string | null;
  /** The key of the points system that a level, trigger or boost is of. */
  readonly within: string | null;
}

export interface Question {
  readonly subject: EffectSubject;
  /** Null for what can't be counted beforehand. */
  readonly count: Count | null;
  readonly of: 'users' | 'deliveries';
  /** For the operator, who reads it below the name of the subject. */
  readonly sentence: (count: number) => string;
  /** What the sentence would count: `users who would change level`. */
  readonly what: string;
}

export const subjectOf = (kind: ObjectKind, { key }: ConfigObject, within: string | null = null): EffectSubject => ({ kind, key, within });

/** `1 user`, `4,102 users`. */
export const counted = (count: number, one: string, many = `${one}s`): string =>
  `${count.toLocaleString('en-US')} ${count === 1 ? one : many}`;

/** The objects of a list after a change, each with what it was; nothing is ever removed from a list. */
export function pairs<T extends ConfigObject>(from: readonly T[], to: readonly T[]): { readonly was: T | undefined; readonly is: T }[] {
  const known = new Map(from.map((object) => [object.id, object]));
  return to.map((is) => ({ was: known.get(is.id), is }));
}

/** Whether an object was in use and no longer is. */
export const isDropped = (was: ConfigObject | undefined, is: ConfigObject): was is ConfigObject =>
  was !== undefined && !was.archived && is.archived;

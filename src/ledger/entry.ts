/**
 * The entries of the ledger stream, as lua/ packs them. Every number is an absolute fact after the change (design.md, invariant 4); an
 * event's response is made from its entry too, so that what a caller was told and what Postgres keeps are the same facts.
 */
interface EntryBase {
  /** A UUID. */
  readonly id: string;
  readonly user: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly rev: number;
}

/** Field (contract.ts, userFields) → text. The whole profile, attributes included. */
export type ProfileFact = Readonly<Record<string, string>>;

export interface TriggerFact {
  readonly no: number;
  readonly progress: number;
  readonly high: number;
}

export interface AwardFact {
  readonly trigger: number;
  /** Counts the awards of one event from 0. */
  readonly ordinal: number;
  readonly awarded: number;
  readonly total: number;
  readonly boosts: readonly number[];
}

export interface PointsFact {
  readonly no: number;
  readonly before: number;
  readonly total: number;
  /** The `no` of a level; 0 for none. */
  readonly level: number;
  readonly levelBefore: number;
  readonly awards: readonly AwardFact[];
}

export interface BoardFact {
  readonly no: number;
  readonly run: number;
  readonly seq: number;
  readonly value: number;
  readonly rank: number;
  readonly previousRank?: number;
  readonly previousValue?: number;
  /** The value of the last place on a full board, which a newcomer has to beat; 0 while there is room. */
  readonly threshold: number;
  /** Who had to leave for the user. */
  readonly left?: string;
}

/** An event that was counted. */
export interface EventEntry extends EntryBase {
  readonly kind: 'event';
  /** The user's local day, in days since 1970-01-01. */
  readonly day: number;
  /** Present when the event created the user or changed the profile. */
  readonly profile?: ProfileFact;
  readonly metric: number;
  readonly value: number;
  readonly total: number;
  /** Pairs of event attribute no, as text, and value. */
  readonly attributes: readonly (readonly [string, string])[];
  readonly key?: string;
  readonly triggers: readonly TriggerFact[];
  readonly points: readonly PointsFact[];
  readonly boards: readonly BoardFact[];
}

/** A user was created or changed by a call of its own. */
export interface UserEntry extends EntryBase {
  readonly kind: 'user';
  readonly profile: ProfileFact;
}

/** A user who already had a value was entered on a board that has become active. */
export interface PlaceEntry extends EntryBase {
  readonly kind: 'place';
  readonly day: number;
  readonly boards: readonly BoardFact[];
}

/** Boards lost their last places because their limit was lowered. */
export interface TrimEntry {
  readonly kind: 'trim';
  readonly boards: readonly { readonly no: number; readonly run: number; readonly users: readonly string[] }[];
}

export type LedgerEntry = EventEntry | UserEntry | PlaceEntry | TrimEntry;

/** What Redis keeps of a recent award. */
export interface RecentAward {
  /** The event's id. */
  readonly id: string;
  readonly at: number;
  readonly award: AwardFact;
}

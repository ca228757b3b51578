import type { Frequency } from '../shared/calendar.js';
import { userRecords } from '../redis/contract.js';
import { type Unpacked, at, keyOfStored, unpackMessage } from '../redis/encoding.js';
import { type Place, entryVersion, named } from '../redis/layout.js';

/** The `trigger` of an award that an operator gave. */
export const noTrigger = 0;

/** The last four hex digits of an id count its awards. */
const ordinalDigits = 4;

/**
 * The id of an award: the random UUID of its event with the last 16 bits increased by the award's ordinal, marked as custom version 8 (RFC 9562), so
 * that no award has the id of an event. Derived and not stored; the response, the recent awards and Postgres agree on it.
 */
export function awardId(eventId: string, ordinal: number): string {
  const last = (Number.parseInt(eventId.slice(-ordinalDigits), 16) + ordinal) % 16 ** ordinalDigits;
  return `${eventId.slice(0, 14)}8${eventId.slice(15, -ordinalDigits)}${last.toString(16).padStart(ordinalDigits, '0')}`;
}

const lengthBytes = 4;

/** Joins values, each preceded by its length in bytes (big-endian, four bytes), as lua/modules/ledger.lua does. */
export function joinValues(values: readonly Buffer[]): Buffer {
  return Buffer.concat(
    values.flatMap((value) => {
      const length = Buffer.allocUnsafe(lengthBytes);
      length.writeUInt32BE(value.length);
      return [length, value];
    }),
  );
}

/** Splits values that `joinValues` or the function library joined. Throws a RangeError when the last one is truncated. */
export function splitValues(joined: Buffer): Buffer[] {
  const values: Buffer[] = [];
  let at = 0;
  while (at < joined.length) {
    const start = at + lengthBytes;
    at = start + joined.readUInt32BE(at);
    if (at > joined.length) throw new RangeError('a joined value is truncated');
    values.push(joined.subarray(start, at));
  }
  return values;
}

/**
 * The entries of the ledger stream, which lua/ packs as lists (redis/layout.ts). Every number is the absolute value after the change (ARCHITECTURE.md,
 * invariant 4). An event's response is made from its entry too, so that the response and Postgres contain the same facts.
 */
interface EntryBase {
  /** A UUID: an event's own; for `settle`, that of the call that settled. */
  readonly id: string;
  readonly user: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** The user's local day, in days since 1970-01-01. */
  readonly day: number;
  readonly rev: number;
  readonly points: readonly PointsFact[];
  readonly boards: readonly BoardFact[];
  /** Present when the user was created or the profile changed. */
  readonly profile?: ProfileFact;
  /** The `no` of each completed achievement, in order. */
  readonly achieved?: readonly number[];
  /** The changed fields of the user's hash, each followed by its value, byte for byte. Separate fields in the stream. */
  readonly state: readonly Buffer[];
  /** All streaks (lua/modules/streaks.lua) when they changed. (`true` in the stream: the streaks are in the core of the user.) */
  readonly streaks?: StoredStreaks;
  readonly periods?: readonly PeriodFact[];
  readonly pauses?: readonly PauseFact[];
  /** Streak freezes earned by passing days. */
  readonly freezes?: number;
  /** Present when the entry is for a local day before one that has been counted already, or may have been. */
  readonly back?: true;
}

/**
 * One period of a streak: extended; covered by a freeze, a pause, a day off, or a move between zones; lost, by a reset too; or restored.
 */
export interface PeriodFact {
  readonly frequency: Frequency;
  /** Counted from 1970 (docs/rules/time.md). */
  readonly period: number;
  readonly length: number;
  readonly how: 'extended' | 'freeze' | 'pause' | 'day_off' | 'move' | 'lost' | 'restored';
  /** Whether it is of the frequency that was configured, and so of the streak that responses show. */
  readonly isShown?: true;
  /** When the streak was last reset in the period, in milliseconds since 1970, and the longest that it was when it was reset. */
  readonly resetAt?: number;
  readonly resetLength?: number;
}

/** Local days since 1970-01-01, both inclusive. */
export interface PauseFact {
  readonly id: string;
  readonly first: number;
  readonly last: number;
}

/** The core of a user's state (redis/layout.ts), which contains the streaks. */
export type StoredStreaks = Unpacked;

/** A field of one of a user's streaks: the number of a period, a length or a time. */
export function streakPlace(stored: StoredStreaks, frequency: Frequency, place: Exclude<Place<'streak'>, 'counts'>): number {
  return at(stored, 'core', `${frequency}.${place}`) as number;
}

/** The displayed streak of a user after the entry. */
export interface StreakFact {
  readonly length: number;
  /** Periods; -1 for none. */
  readonly started: number;
  readonly current: number;
  /** Whether the streak has been extended in the current period. */
  readonly isExtended: boolean;
  /** Milliseconds since 1970; 0 for never. */
  readonly extendedAt: number;
  /** Whether this event extended it. */
  readonly extended: boolean;
  readonly freezes: number;
  /** The first local day that is in the configured weeks; absent where all are (docs/rules/streaks.md). */
  readonly weeksFrom?: number;
  /** The weekdays, from 0 for Sunday, that do not count for the user; absent for none. */
  readonly daysOff?: readonly number[];
  /** Of a read: whether a pause covers the current period. */
  readonly isPaused?: boolean;
}

/** Field (contract.ts, userFields) → text: the whole profile, attributes included. */
export type ProfileFact = Readonly<Record<string, string>>;

export interface AwardFact {
  /** The `no` of the trigger; `noTrigger` of an adjustment. */
  readonly trigger: number;
  /** Counts the awards of one event from 0. */
  readonly ordinal: number;
  readonly awarded: number;
  readonly total: number;
  readonly boosts: readonly number[];
  /** When it was earned, in milliseconds since 1970, and the local day. */
  readonly at: number;
  readonly day: number;
}

export interface PointsFact {
  readonly no: number;
  readonly before: number;
  readonly total: number;
  /** The `no` of a level; 0 for none. */
  readonly level: number;
  readonly levelBefore: number;
  /** Whether the total is unchanged. */
  readonly same?: true;
  readonly awards: readonly AwardFact[];
}

export interface BoardFact {
  readonly no: number;
  /** The first local day of the run; 0 for a leaderboard that does not repeat. */
  readonly run: number;
  /** The attribute values of a breakdown, each as its length in bytes, a colon and the value. */
  readonly group?: string;
  /** Absent when the user is no longer a participant. */
  readonly seq?: number;
  readonly value?: number;
  /** Absent when the user is beyond the participant limit. */
  readonly rank?: number;
  readonly previousRank?: number;
  readonly previousValue?: number;
  /** The value of the last rank on a full leaderboard, which a new participant must beat; 0 while there is room. */
  readonly threshold: number;
}

/** Points that an operator added or took. */
export interface AdjustmentFact {
  /** The `no` of the points system. */
  readonly system: number;
  readonly reason: string;
  /** The admin key with which it was asked for. */
  readonly keyId: string;
}

/** A counted event. */
export interface EventEntry extends EntryBase {
  readonly kind: 'event';
  readonly metric: number;
  readonly value: number;
  readonly total: number;
  /** Whether the total is unchanged. */
  readonly same?: true;
  /** Pairs of event attribute no, as text, and value. */
  readonly attributes: readonly (readonly [string, string])[];
  readonly key?: string;
  /** Absent while streaks are not enabled. */
  readonly streak?: StreakFact;
}

/**
 * Another change of a user: created or changed by a call (`user`), settled by time (`settle`), an achievement completed by a call (`completion`), a
 * freeze, a pause, a restore or a reset (`streak`), entered into an object that became active (`activation`), points added or taken by an operator
 * (`adjustment`); or a user lost devices to another one, whose entry follows and is committed in the same transaction (`handover`).
 */
export interface UserEntry extends EntryBase {
  readonly kind: 'user' | 'settle' | 'completion' | 'streak' | 'activation' | 'adjustment' | 'handover';
  /** Of an adjustment. */
  readonly adjustment?: AdjustmentFact;
  /** The idempotency key of an adjustment. */
  readonly key?: string;
}

/** The participant limits of leaderboards have changed. */
interface LimitsEntry {
  readonly kind: 'limits';
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly boards: readonly { readonly no: number; readonly before: number }[];
}

/** A segment of time ended with the activation of a configuration (lua/modules/segments.lua). */
export interface SegmentEntry {
  readonly kind: 'segment';
  /** Milliseconds since 1970: the moment of its end. */
  readonly at: number;
  readonly segment: SegmentFact;
}

export interface SegmentFact {
  readonly no: number;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** The version of the configuration in the segment, the hash of its plan, and the version that followed. */
  readonly version: number;
  readonly plan: string;
  readonly next: number;
}

/** No user lives in a segment before `no` any more. */
export interface SegmentsDroppedEntry {
  readonly kind: 'segmentsDropped';
  readonly no: number;
}

/** A run of a leaderboard ended: its rankings are final. */
export interface FinalEntry {
  readonly kind: 'final';
  readonly id: string;
  readonly no: number;
  readonly run: number;
  /** The most participants of the final rankings, in each group. */
  readonly max: number;
  readonly at: number;
}

/** A user was deleted, with everything of the user in earlier entries. A later user may have the same id. */
interface DeletionEntry {
  readonly kind: 'deletion';
  readonly id: string;
  readonly user: string;
  readonly at: number;
}

export type LedgerEntry = EventEntry | UserEntry | LimitsEntry | SegmentEntry | SegmentsDroppedEntry | FinalEntry | DeletionEntry;

type List = readonly unknown[];

const awardFact = (list: List): AwardFact => named('awardFact', list) as unknown as AwardFact;
const boardFact = (list: List): BoardFact => named('boardFact', list) as unknown as BoardFact;
const periodFact = (list: List): PeriodFact => named('periodFact', list) as unknown as PeriodFact;

/** Unpacks a StreakFact; `false` means none. */
export function streakFact(list: unknown): StreakFact | undefined {
  if (!Array.isArray(list)) return undefined;
  return { isExtended: false, extended: false, ...named('streakFact', list) } as unknown as StreakFact;
}

function pointsFact(list: List): PointsFact {
  const fact = named('pointsFact', list);
  fact['awards'] = (fact['awards'] as List[]).map(awardFact);
  return fact as unknown as PointsFact;
}

/** How the lists in an entry are unpacked. An entry without one lacks it. */
const unpackPlaces: readonly (readonly [Place<'entry'>, (packed: never) => unknown])[] = [
  ['points', (lists: readonly List[]) => lists.map(pointsFact)],
  ['boards', (lists: readonly List[]) => lists.map(boardFact)],
  ['periods', (lists: readonly List[]) => lists.map(periodFact)],
  ['streak', streakFact],
  ['key', keyOfStored],
  ['segment', (list: List) => named('segment', list)],
  ['adjustment', (list: List) => named('adjustment', list)],
];

/** Unpacks the facts of an entry. Throws when it is not a ledger entry. */
export function unpackFacts(blob: unknown): LedgerEntry {
  const list = unpackMessage(blob);
  if (!Array.isArray(list) || list[0] !== entryVersion) throw new Error(`not a ledger entry of version ${entryVersion}`);
  // Changed in place: a copy of each entry was a tenth of the write-behind's work.
  list[0] = false;
  const entry = named('entry', list);
  if (typeof entry['kind'] !== 'string') throw new Error('a ledger entry without a kind');
  if (entry['kind'] === 'limits') return entry as unknown as LedgerEntry;
  for (const [place, unpack] of unpackPlaces) if (entry[place] !== undefined) entry[place] = unpack(entry[place] as never);
  return entry as unknown as LedgerEntry;
}

const coreField = Buffer.from(userRecords.core);

/** Unpacks an entry of the stream: fields, each followed by its value, `e` first (redis/contract.ts, `ledger`). Throws as `unpackFacts` does. */
export function unpackEntry([, blob, ...changed]: readonly Buffer[]): LedgerEntry {
  const entry = unpackFacts(blob);
  if (!('user' in entry) || entry.kind === 'deletion') return entry;
  const state = changed[0]?.length === 0 && changed[1] ? splitValues(changed[1]) : changed;
  if (entry.streaks === undefined) return Object.assign(entry, { state });
  const core = state.findIndex((field, i) => i % 2 === 0 && coreField.equals(field));
  return Object.assign(entry, { state, streaks: unpackMessage(state[core + 1]) as StoredStreaks });
}

import { userFields } from '../redis/contract.js';
import type { Frequency } from '../shared/calendar.js';
import type { Place } from '../shared/ranking.js';
import { collectAnalytics, type AnalyticsRow } from './analytics-days.js';
import { collectSummaries, emptySummaries, type Summaries } from './days.js';
import {
  awardId,
  streakPlace,
  type AwardFact,
  type AdjustmentFact,
  type BoardFact,
  type EventEntry,
  type FinalEntry,
  type LedgerEntry,
  type PauseFact,
  type PeriodFact,
  type PointsFact,
  type ProfileFact,
  type SegmentEntry,
  type SegmentsDroppedEntry,
  type StoredStreaks,
  type UserEntry,
} from './entry.js';

type EntryOfUser = EventEntry | UserEntry;

/** An entry and its id in the stream. */
export interface ParsedEntry {
  readonly id: string;
  readonly entry: LedgerEntry;
}

/** A fact about a user and the entry that contains it. */
export interface UserFact<T> {
  readonly entry: EntryOfUser;
  readonly fact: T;
}

/** A profile, and since when at the latest it has its time zone, in milliseconds since 1970: the batch's first entry with this zone. */
export interface ProfileRow extends UserFact<ProfileFact> {
  readonly zoneSince: number;
}

/** The position in the ledger at which a total was reached: the padded id of the entry that changed it last; empty if no entry of the batch did. */
export interface Reached {
  readonly reached: string;
}

const padMs = 16;
const padSeq = 10;

/** The id of a stream entry as a string that sorts. */
function sortable(id: string): string {
  const [ms = '', seq = ''] = id.split('-');
  return `${ms.padStart(padMs, '0')}-${seq.padStart(padSeq, '0')}`;
}

export interface AwardRow {
  readonly id: string;
  readonly entry: EntryOfUser;
  readonly system: number;
  readonly award: AwardFact;
}

export interface HistoryRow {
  readonly board: BoardFact;
  readonly entry: EntryOfUser;
  readonly previousRank: number | null;
  readonly previousValue: number | null;
}

/** The lengths of a user's streaks, the positions at which changed ones were reached, and the longest of each within the batch. */
export interface StreakRow extends UserFact<Readonly<Record<Frequency, number>>> {
  readonly reached: Partial<Record<Frequency, string>>;
  readonly longest: Partial<Record<Frequency, number>>;
}

/** The fields of a user's hash that the batch changes: their values at its end, and the revisions that wrote them. */
export interface HashRow {
  readonly user: string;
  readonly fields: Map<string, { readonly value: Buffer; readonly rev: number }>;
  rev: number;
}

/** A user's place on a leaderboard after the batch; null when the user has none any more. */
export interface ParticipantRow {
  readonly no: number;
  readonly run: number;
  readonly group: string;
  readonly user: string;
  readonly place: Place | null;
}

export type PlacedParticipant = ParticipantRow & { readonly place: Place };

/**
 * The rows of a run of ledger entries: every event and award, and only the newest version of each piece of state. Each key of a map identifies one
 * row of one table: an upsert of many rows must change a row only once.
 */
export interface Batch {
  readonly events: EventEntry[];
  readonly awards: AwardRow[];
  readonly adjustments: UserFact<AdjustmentFact>[];
  readonly achievements: Map<string, UserFact<number>>;
  readonly users: Map<string, ProfileRow>;
  readonly metrics: Map<string, { readonly event: EventEntry } & Reached>;
  readonly points: Map<string, UserFact<PointsFact> & Reached>;
  readonly hashes: Map<string, HashRow>;
  readonly streaks: Map<string, StreakRow>;
  readonly pauses: Map<string, UserFact<readonly PauseFact[]>>;
  readonly periods: Map<string, UserFact<PeriodFact>>;
  readonly participants: Map<string, ParticipantRow>;
  readonly history: Map<string, HistoryRow>;
  readonly summaries: Summaries;
  readonly analytics: Map<string, AnalyticsRow>;
  /** The newest time in the entries, in milliseconds since 1970. */
  newestAt: number;
  /** Written in order, after everything else. */
  readonly finals: FinalEntry[];
  /** Written in order. */
  readonly segments: (SegmentEntry | SegmentsDroppedEntry)[];
}

export function emptyBatch(): Batch {
  return {
    events: [],
    awards: [],
    adjustments: [],
    achievements: new Map(),
    users: new Map(),
    metrics: new Map(),
    points: new Map(),
    hashes: new Map(),
    streaks: new Map(),
    pauses: new Map(),
    periods: new Map(),
    participants: new Map(),
    history: new Map(),
    summaries: emptySummaries(),
    analytics: new Map(),
    newestAt: 0,
    finals: [],
    segments: [],
  };
}

/** Sorts entries, oldest first, into the rows of each table. */
export function collectBatch(entries: readonly ParsedEntry[], batch = emptyBatch()): Batch {
  for (const { id, entry } of entries) collectEntry(batch, entry, sortable(id));
  return batch;
}

function collectEntry(batch: Batch, entry: LedgerEntry, id: string): void {
  if ('at' in entry) batch.newestAt = Math.max(batch.newestAt, entry.at);
  switch (entry.kind) {
    case 'limits':
      return;
    case 'segment':
    case 'segmentsDropped':
      batch.segments.push(entry);
      return;
    case 'final':
      batch.finals.push(entry);
      return;
    case 'deletion':
      throw new Error('a user is deleted between two batches, not within one');
    case 'event':
      collectEvent(batch, entry, id);
      collectOfUser(batch, entry, id);
      return;
    default:
      if (entry.adjustment) batch.adjustments.push({ entry, fact: entry.adjustment });
      collectOfUser(batch, entry, id);
  }
}

function collectEvent(batch: Batch, event: EventEntry, id: string): void {
  batch.events.push(event);
  const metricKey = `${event.metric}:${event.user}`;
  const earlier = batch.metrics.get(metricKey);
  batch.metrics.set(metricKey, { event, reached: event.same ? (earlier?.reached ?? '') : id });
}

function collectOfUser(batch: Batch, entry: EntryOfUser, id: string): void {
  const { user } = entry;
  if (entry.profile) batch.users.set(user, { entry, fact: entry.profile, zoneSince: zoneSince(batch.users.get(user), entry.profile) });
  for (const fact of entry.points) {
    const earlier = batch.points.get(`${fact.no}:${user}`);
    batch.points.set(`${fact.no}:${user}`, { entry, fact, reached: fact.same ? (earlier?.reached ?? '') : id });
    for (const award of fact.awards) batch.awards.push({ id: awardId(entry.id, award.ordinal), entry, system: fact.no, award });
  }
  for (const achievement of entry.achieved ?? []) batch.achievements.set(`${achievement}:${user}`, { entry, fact: achievement });
  if (entry.streaks !== undefined && (entry.periods?.length ?? 0) > 0) {
    const earlier = batch.streaks.get(user);
    batch.streaks.set(user, {
      entry,
      fact: lengthsOf(entry.streaks),
      reached: reachedIn(earlier, entry, id),
      longest: longestOf(earlier, entry),
    });
  }
  if (entry.pauses) batch.pauses.set(user, { entry, fact: entry.pauses });
  for (const fact of entry.periods ?? []) {
    // Restoring a streak restores its length, but not the missed periods.
    if (fact.how === 'restored') continue;
    const key = `${fact.frequency}:${fact.period}:${user}`;
    batch.periods.set(key, { entry, fact: withResets(batch.periods.get(key)?.fact, fact) });
  }
  for (const board of entry.boards) collectBoard(batch, entry, board);
  collectHash(batch.hashes, entry);
  collectSummaries(batch.summaries, entry);
  collectAnalytics(batch.analytics, entry);
}

function zoneSince(earlier: ProfileRow | undefined, profile: ProfileFact): number {
  const isSame = earlier !== undefined && (earlier.fact[userFields.tz] ?? '') === (profile[userFields.tz] ?? '');
  return isSame ? earlier.zoneSince : Number(profile[userFields.updated]);
}

function collectHash(rows: Batch['hashes'], { user, rev, state }: EntryOfUser): void {
  if (state.length === 0) return;
  const row = rows.get(user) ?? { user, fields: new Map(), rev };
  rows.set(user, row);
  row.rev = rev;
  for (let i = 0; i + 1 < state.length; i += 2) row.fields.set((state[i] as Buffer).toString(), { value: state[i + 1] as Buffer, rev });
}

/** What became of a period, with the resets of before. */
function withResets(earlier: PeriodFact | undefined, fact: PeriodFact): PeriodFact {
  if (earlier?.resetAt === undefined) return fact;
  const resetLength = Math.max(earlier.resetLength ?? 0, fact.resetLength ?? 0);
  return { ...fact, resetAt: fact.resetAt ?? earlier.resetAt, resetLength };
}

/** The lengths of the three streaks. */
export function lengthsOf(stored: StoredStreaks): Readonly<Record<Frequency, number>> {
  const length = (frequency: Frequency): number => streakPlace(stored, frequency, 'length');
  return { daily: length('daily'), weekly: length('weekly'), monthly: length('monthly') };
}

/** The positions at which the three streaks were reached: `id` for those that this entry changed. */
function reachedIn(earlier: StreakRow | undefined, { periods = [] }: EntryOfUser, id: string): StreakRow['reached'] {
  const reached = { ...earlier?.reached };
  for (const { frequency, how } of periods) if (how === 'extended' || how === 'restored') reached[frequency] = id;
  return reached;
}

function longestOf(earlier: StreakRow | undefined, { periods = [] }: EntryOfUser): StreakRow['longest'] {
  const longest = { ...earlier?.longest };
  for (const { frequency, length } of periods) longest[frequency] = Math.max(longest[frequency] ?? 0, length);
  return longest;
}

function collectBoard(batch: Batch, entry: EntryOfUser, board: BoardFact): void {
  const { no, run } = board;
  const group = board.group ?? '';
  const place = board.value === undefined || board.seq === undefined ? null : { value: board.value, seq: board.seq };
  batch.participants.set(`${no}:${run}:${group.length}:${group}:${entry.user}`, { no, run, group, user: entry.user, place });
  if (board.rank === undefined && board.previousRank === undefined) return;
  const historyKey = `${no}:${run}:${entry.day}:${entry.user}`;
  const earlier = batch.history.get(historyKey);
  batch.history.set(historyKey, {
    board,
    entry,
    previousRank: earlier ? earlier.previousRank : (board.previousRank ?? null),
    previousValue: earlier ? earlier.previousValue : (board.previousValue ?? null),
  });
}

import { awardId } from './award-id.js';
import type {
  AwardFact,
  BoardFact,
  EventEntry,
  FinalEntry,
  LedgerEntry,
  PauseFact,
  PeriodFact,
  PointsFact,
  ProfileFact,
  SumFact,
  TriggerFact,
  UserEntry,
} from './entry.js';

type EntryOfUser = EventEntry | UserEntry;

/** A fact about a user, with the entry that it came in. */
export interface OfUser<T> {
  readonly entry: EntryOfUser;
  readonly fact: T;
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

/** A user's place on a board after the batch; null when the user has left it for good. */
export interface PlaceRow {
  readonly no: number;
  readonly run: number;
  readonly group: string;
  readonly user: string;
  /** `present`: on the board, and not outside a full one. */
  readonly place: { readonly value: number; readonly seq: number; readonly present: boolean } | null;
}

/** Somebody else's newer value took the user's place on a board. */
export interface PushedOut {
  readonly no: number;
  readonly run: number;
  readonly group: string;
  readonly user: string;
}

/**
 * What a run of ledger entries leaves behind: every event and award, and of each piece of state only the newest. Each map's key names
 * one row of one table, so that a batch touches a row once, as an upsert of many rows must.
 */
export interface Batch {
  readonly events: EventEntry[];
  readonly awards: AwardRow[];
  readonly achievements: Map<string, OfUser<number>>;
  readonly users: Map<string, OfUser<ProfileFact>>;
  readonly metrics: Map<string, EventEntry>;
  readonly points: Map<string, OfUser<PointsFact>>;
  readonly triggers: Map<string, OfUser<TriggerFact>>;
  readonly sums: Map<string, OfUser<SumFact>>;
  readonly streaks: Map<string, OfUser<unknown>>;
  readonly pauses: Map<string, OfUser<readonly PauseFact[]>>;
  readonly times: Map<string, OfUser<readonly [hour: number, day: number]>>;
  readonly periods: Map<string, OfUser<PeriodFact>>;
  readonly places: Map<string, PlaceRow>;
  readonly pushedOut: Map<string, PushedOut>;
  readonly history: Map<string, HistoryRow>;
  /** In order, after everything else. */
  readonly finals: FinalEntry[];
}

/** Sorts entries, oldest first, into the rows of each table. */
export function collectBatch(entries: readonly LedgerEntry[]): Batch {
  const batch: Batch = {
    events: [],
    awards: [],
    achievements: new Map(),
    users: new Map(),
    metrics: new Map(),
    points: new Map(),
    triggers: new Map(),
    sums: new Map(),
    streaks: new Map(),
    pauses: new Map(),
    times: new Map(),
    periods: new Map(),
    places: new Map(),
    pushedOut: new Map(),
    history: new Map(),
    finals: [],
  };
  for (const entry of entries) collectEntry(batch, entry);
  return batch;
}

function collectEntry(batch: Batch, entry: LedgerEntry): void {
  switch (entry.kind) {
    case 'trim':
      for (const { no, run, users } of entry.boards) for (const user of users) pushOut(batch, { no, run, group: '', user }, true);
      return;
    case 'final':
      batch.finals.push(entry);
      return;
    case 'event':
      collectEvent(batch, entry);
      collectOfUser(batch, entry);
      return;
    default:
      collectOfUser(batch, entry);
  }
}

function collectEvent(batch: Batch, event: EventEntry): void {
  batch.events.push(event);
  batch.metrics.set(`${event.metric}:${event.user}`, event);
  for (const fact of event.triggers) batch.triggers.set(`${fact.no}:${event.user}`, { entry: event, fact });
  for (const fact of event.sums) batch.sums.set(`${fact.no}:${event.user}`, { entry: event, fact });
}

function collectOfUser(batch: Batch, entry: EntryOfUser): void {
  const { user } = entry;
  if (entry.profile) batch.users.set(user, { entry, fact: entry.profile });
  for (const fact of entry.points) {
    batch.points.set(`${fact.no}:${user}`, { entry, fact });
    for (const award of fact.awards) batch.awards.push({ id: awardId(entry.id, award.ordinal), entry, system: fact.no, award });
  }
  for (const achievement of entry.achieved ?? []) batch.achievements.set(`${achievement}:${user}`, { entry, fact: achievement });
  if (entry.streaks !== undefined) batch.streaks.set(user, { entry, fact: entry.streaks });
  if (entry.pauses) batch.pauses.set(user, { entry, fact: entry.pauses });
  if (entry.time) batch.times.set(user, { entry, fact: entry.time });
  for (const fact of entry.periods ?? []) batch.periods.set(`${fact.frequency}:${fact.period}:${user}`, { entry, fact });
  for (const board of entry.boards) collectBoard(batch, entry, board);
}

const placeKey = ({ no, run, group, user }: PushedOut): string => `${no}:${run}:${group.length}:${group}:${user}`;

/** A user who is pushed off a board of totals is no longer a row of it; on the others the value is kept for the final rankings. */
function pushOut(batch: Batch, row: PushedOut, forgets: boolean): void {
  const key = placeKey(row);
  const earlier = batch.places.get(key);
  if (forgets) batch.places.set(key, { ...row, place: null });
  else if (earlier?.place) batch.places.set(key, { ...row, place: { ...earlier.place, present: false } });
  else batch.pushedOut.set(key, row);
}

function collectBoard(batch: Batch, entry: EntryOfUser, board: BoardFact): void {
  const { no, run } = board;
  const group = board.group ?? '';
  const key = placeKey({ no, run, group, user: entry.user });
  batch.pushedOut.delete(key);
  const present = board.rank !== undefined;
  const place = board.value === undefined || board.seq === undefined ? null : { value: board.value, seq: board.seq, present };
  batch.places.set(key, { no, run, group, user: entry.user, place });
  if (board.left !== undefined) pushOut(batch, { no, run, group, user: board.left }, true);
  if (board.pushed !== undefined) pushOut(batch, { no, run, group, user: board.pushed }, false);
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

import { awardId } from './award-id.js';
import type { AwardFact, BoardFact, EventEntry, LedgerEntry, PlaceEntry, PointsFact, ProfileFact, TriggerFact } from './entry.js';

interface OfUser {
  readonly user: string;
  readonly at: number;
  readonly rev: number;
}

export interface AwardRow extends AwardFact {
  readonly id: string;
  readonly event: EventEntry;
  readonly system: number;
}

export interface HistoryRow {
  readonly board: BoardFact;
  readonly user: string;
  readonly day: number;
  readonly at: number;
  readonly previousRank: number | null;
  readonly previousValue: number | null;
}

/** A user's place on a board after the batch; null when the user has left it. */
export interface PlaceRow {
  readonly no: number;
  readonly run: number;
  readonly user: string;
  readonly place: { readonly value: number; readonly seq: number } | null;
}

/**
 * What a run of ledger entries leaves behind: every event and award, and of each piece of state only the newest. Each map's key names
 * one row of one table, so that a batch touches a row once, as an upsert of many rows must.
 */
export interface Batch {
  readonly events: EventEntry[];
  readonly awards: AwardRow[];
  readonly users: Map<string, OfUser & { readonly profile: ProfileFact }>;
  readonly metrics: Map<string, EventEntry>;
  readonly points: Map<string, OfUser & { readonly fact: PointsFact }>;
  readonly triggers: Map<string, OfUser & { readonly fact: TriggerFact }>;
  readonly places: Map<string, PlaceRow>;
  readonly history: Map<string, HistoryRow>;
}

/** Sorts entries, oldest first, into the rows of each table. */
export function collectBatch(entries: readonly LedgerEntry[]): Batch {
  const batch: Batch = {
    events: [],
    awards: [],
    users: new Map(),
    metrics: new Map(),
    points: new Map(),
    triggers: new Map(),
    places: new Map(),
    history: new Map(),
  };
  for (const entry of entries) collectEntry(batch, entry);
  return batch;
}

function collectEntry(batch: Batch, entry: LedgerEntry): void {
  switch (entry.kind) {
    case 'event':
      collectEvent(batch, entry);
      return;
    case 'user':
      batch.users.set(entry.user, entry);
      return;
    case 'place':
      for (const board of entry.boards) collectBoard(batch, entry, board);
      return;
    case 'trim':
      for (const { no, run, users } of entry.boards) for (const user of users) setPlace(batch, { no, run, user, place: null });
  }
}

function collectEvent(batch: Batch, event: EventEntry): void {
  batch.events.push(event);
  batch.metrics.set(`${event.metric}:${event.user}`, event);
  if (event.profile) batch.users.set(event.user, { user: event.user, at: event.at, rev: event.rev, profile: event.profile });
  for (const fact of event.triggers)
    batch.triggers.set(`${fact.no}:${event.user}`, { user: event.user, at: event.at, rev: event.rev, fact });
  for (const fact of event.points) {
    batch.points.set(`${fact.no}:${event.user}`, { user: event.user, at: event.at, rev: event.rev, fact });
    for (const award of fact.awards) batch.awards.push({ ...award, id: awardId(event.id, award.ordinal), event, system: fact.no });
  }
  for (const board of event.boards) collectBoard(batch, event, board);
}

function setPlace(batch: Batch, row: PlaceRow): void {
  batch.places.set(`${row.no}:${row.run}:${row.user}`, row);
}

function collectBoard(batch: Batch, { user, day, at }: EventEntry | PlaceEntry, board: BoardFact): void {
  const { no, run } = board;
  setPlace(batch, { no, run, user, place: board });
  if (board.left !== undefined) setPlace(batch, { no, run, user: board.left, place: null });
  const key = `${no}:${run}:${day}:${user}`;
  const earlier = batch.history.get(key);
  batch.history.set(key, {
    board,
    user,
    day,
    at,
    previousRank: earlier ? earlier.previousRank : (board.previousRank ?? null),
    previousValue: earlier ? earlier.previousValue : (board.previousValue ?? null),
  });
}

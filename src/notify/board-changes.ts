import type { BoardFact, LedgerEntry } from '../ledger/entry.js';

/** One run and group of a leaderboard. */
export interface BoardKey {
  /** The leaderboard's `no`. */
  readonly no: number;
  /** The first local day of the run, 0 for a board that does not repeat. */
  readonly run: number;
  /** Empty for a board that is not broken down. */
  readonly group: string;
}

/** What entries have done to leaderboards. */
export interface BoardChanges {
  /** Those that have changed, and when they first did. */
  readonly changed: ReadonlyMap<string, BoardKey & { readonly at: number }>;
  /** Those of them that were being filled, because they or their users' streaks had been configured anew. */
  readonly filled: ReadonlySet<string>;
  /** Boards that do not repeat and begin anew, with nobody on them. */
  readonly emptied: ReadonlySet<number>;
  /** The runs that have ended. */
  readonly ended: readonly { readonly no: number; readonly run: number; readonly at: number }[];
}

export const nameOf = ({ no, run, group }: BoardKey): string => `${no}:${run}:${group}`;

/** Whether a fact is of a place, and not of a value that has found none. */
const isVisible = ({ rank, previousRank }: BoardFact): boolean => rank !== undefined || previousRank !== undefined;

/** Collects what entries, oldest first, have done to leaderboards. `now` is the moment of entries that tell none. */
export function boardChangesOf(entries: readonly LedgerEntry[], now: number): BoardChanges {
  const changed = new Map<string, BoardKey & { at: number }>();
  const filled = new Set<string>();
  const emptied = new Set<number>();
  const ended = new Map<string, { no: number; run: number; at: number }>();
  const change = (key: BoardKey, at: number): void => {
    if (!changed.has(nameOf(key))) changed.set(nameOf(key), { ...key, at });
  };
  for (const entry of entries) {
    switch (entry.kind) {
      case 'trim':
        for (const { no, run, group = '' } of entry.boards) change({ no, run, group }, now);
        break;
      case 'empty':
        emptied.add(entry.no);
        break;
      case 'final':
        ended.set(`${entry.no}:${entry.run}`, { no: entry.no, run: entry.run, at: entry.at });
        break;
      case 'forget':
        break;
      default:
        for (const fact of entry.boards.filter(isVisible)) {
          const key = { no: fact.no, run: fact.run, group: fact.group ?? '' };
          change(key, entry.at);
          if (entry.kind === 'activation') filled.add(nameOf(key));
        }
    }
  }
  // What has changed before the end of a run is in its final rankings.
  for (const [name, { no, run }] of changed) if (ended.has(`${no}:${run}`)) changed.delete(name);
  return { changed, filled, emptied, ended: [...ended.values()] };
}

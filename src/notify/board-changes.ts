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

/** One that has changed, and when it first did. */
export interface ChangedBoard extends BoardKey {
  readonly at: number;
  /** How many participants it had until then; absent where that is as configured. */
  readonly max?: number;
}

/** What entries have done to leaderboards. */
export interface BoardChanges {
  readonly changed: ReadonlyMap<string, ChangedBoard>;
  /** Those of them that were being filled, because they or their users' streaks had been configured anew. */
  readonly filled: ReadonlySet<string>;
  /** Leaderboards, by `no`, whose participant limit has changed: when, and what it was before. */
  readonly limited: ReadonlyMap<number, { readonly at: number; readonly before: number }>;
  /** The runs that have ended. */
  readonly ended: readonly { readonly no: number; readonly run: number; readonly at: number }[];
}

export const nameOf = ({ no, run, group }: BoardKey): string => `${no}:${run}:${group}`;

/** Whether a fact is of a place, and not of a value beyond the participant limit. */
const isVisible = ({ rank, previousRank }: BoardFact): boolean => rank !== undefined || previousRank !== undefined;

/** Collects what entries, oldest first, have done to leaderboards. */
export function boardChangesOf(entries: readonly LedgerEntry[]): BoardChanges {
  const changed = new Map<string, ChangedBoard>();
  const filled = new Set<string>();
  const limited = new Map<number, { at: number; before: number }>();
  const ended = new Map<string, { no: number; run: number; at: number }>();
  const change = (key: BoardKey, at: number): void => {
    if (!changed.has(nameOf(key))) changed.set(nameOf(key), { ...key, at });
  };
  for (const entry of entries) {
    switch (entry.kind) {
      case 'limits':
        for (const { no, before } of entry.boards) if (!limited.has(no)) limited.set(no, { at: entry.at, before });
        break;
      case 'final':
        ended.set(`${entry.no}:${entry.run}`, { no: entry.no, run: entry.run, at: entry.at });
        break;
      case 'forget':
        break;
      default:
        for (const fact of entry.boards) {
          // What fills a board has no ranks yet.
          if (!isVisible(fact) && entry.kind !== 'activation') continue;
          const key = { no: fact.no, run: fact.run, group: fact.group ?? '' };
          change(key, entry.at);
          if (entry.kind === 'activation') filled.add(nameOf(key));
        }
    }
  }
  // What has changed before the end of a run is in its final rankings.
  for (const [name, { no, run }] of changed) if (ended.has(`${no}:${run}`)) changed.delete(name);
  return { changed, filled, limited, ended: [...ended.values()] };
}

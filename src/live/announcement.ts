import { z } from 'zod';
import type { LedgerEntry } from '../ledger/entry.js';
import { limits } from '../shared/limits.js';

/** A change of a group of a leaderboard: who was moved by it. */
interface BoardChange {
  readonly no: number;
  /** The first local day of the run; 0 for a leaderboard that does not repeat. */
  readonly run: number;
  /** Empty for a leaderboard without a breakdown; null: all groups. */
  readonly group: string | null;
  /** Null: any user. */
  readonly users: readonly string[] | null;
}

interface Changes {
  readonly boards: readonly BoardChange[];
  /** Whose profiles have changed: leaderboards show their names. */
  readonly profiles: readonly string[];
}

/** What entries of a ledger have changed, as far as live streams show it. */
export interface Announcement {
  /** The id of the newest of the entries. */
  readonly upTo: string;
  /** Undefined: anything may have changed. */
  readonly changes: Changes | undefined;
}

/**
 * The message in JSON. Each user is named once, in `users`; the lists of boards and profiles have indexes of it. A message without them says that
 * anything may have changed.
 */
const messageSchema = z.object({
  upTo: z.string(),
  users: z.array(z.string()).optional(),
  boards: z.array(z.tuple([z.number(), z.number(), z.string().nullable(), z.array(z.number()).nullable()])).default([]),
  profiles: z.array(z.number()).default([]),
});

/** Collects users and what has changed about them. */
class Collector {
  readonly users = new Map<string, number>();
  readonly boards = new Map<string, { readonly no: number; readonly run: number; readonly group: string | null; users: Set<number> | null }>();
  readonly profiles = new Set<number>();

  /** Returns false for an entry that may change anything. */
  add(entry: LedgerEntry): boolean {
    switch (entry.kind) {
      case 'limits':
      case 'deletion':
        return false;
      // The configuration that ended a segment is announced on a channel of its own.
      case 'segment':
      case 'segmentsDropped':
        return true;
      case 'final':
        this.board(entry.no, entry.run, null).users = null;
        return true;
      default: {
        if (entry.profile) this.profiles.add(this.indexOf(entry.user));
        for (const { no, run, group = '' } of entry.boards) this.board(no, run, group).users?.add(this.indexOf(entry.user));
        return this.users.size <= limits.maxAnnouncedUsers;
      }
    }
  }

  private board(no: number, run: number, group: string | null) {
    const key = `${no}:${run}:${group ?? '*'}`;
    let board = this.boards.get(key);
    if (!board) this.boards.set(key, (board = { no, run, group, users: new Set() }));
    return board;
  }

  private indexOf(user: string): number {
    const known = this.users.get(user);
    if (known !== undefined) return known;
    this.users.set(user, this.users.size);
    return this.users.size - 1;
  }
}

/** The message that anything up to an entry may have changed. */
export const everythingMessage = (upTo: string): string => JSON.stringify({ upTo });

/** The message about entries, the oldest first. `entry` is undefined for one that can't be parsed. */
export function messageAbout(entries: readonly { readonly id: string; readonly entry: LedgerEntry | undefined }[]): string {
  const upTo = entries.at(-1)?.id ?? '0-0';
  const collected = new Collector();
  try {
    for (const { entry } of entries) if (!entry || !collected.add(entry)) return everythingMessage(upTo);
  } catch {
    // An entry that becomes a dead letter may lack anything.
    return everythingMessage(upTo);
  }
  return JSON.stringify({
    upTo,
    users: [...collected.users.keys()],
    boards: [...collected.boards.values()].map(({ no, run, group, users }) => [no, run, group, users && [...users]]),
    profiles: [...collected.profiles],
  });
}

/** The announcement in a message. One that can't be read, from another version, says that anything may have changed. */
export function parseAnnouncement(message: string): Announcement {
  let parsed: unknown;
  try {
    parsed = JSON.parse(message);
  } catch {
    parsed = undefined;
  }
  const { success, data } = messageSchema.safeParse(parsed);
  if (!success) return { upTo: '0-0', changes: undefined };
  const { upTo, users, boards, profiles } = data;
  if (!users) return { upTo, changes: undefined };
  const named = (indexes: readonly number[]): string[] => indexes.map((index) => users[index] ?? '');
  return {
    upTo,
    changes: {
      boards: boards.map(([no, run, group, moved]) => ({ no, run, group, users: moved && named(moved) })),
      profiles: named(profiles),
    },
  };
}

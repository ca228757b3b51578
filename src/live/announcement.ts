import { z } from 'zod';
import type { LedgerEntry } from '../ledger/entry.js';
import type { StreamEntry } from '../ledger/stream-entries.js';
import { limits } from '../shared/limits.js';

/** A change of a group of a leaderboard: who was moved by it. */
export interface BoardChange {
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

/** A ledger entry of a user who is watched. */
export interface WatchedEntry {
  readonly id: string;
  /** The facts, as `unpackFacts` takes them. */
  readonly facts: Buffer;
}

/** The id of an announcement that is about no entries: a Redis was restored, or a worker had not announced the tenant before. */
export const noEntry = '0-0';

/** What entries of a ledger have changed, as far as live streams show it. */
export interface Announcement {
  /** The id of the entry before them: that of the newest one in the announcement before, unless one was lost. Undefined where there are no entries. */
  readonly after: string | undefined;
  /** The id of the newest of the entries. */
  readonly upTo: string;
  /** What leaderboards show. Undefined: anything may have changed. */
  readonly changes: Changes | undefined;
  /** The users who were deleted. */
  readonly deleted: readonly string[];
  /** The entries of users who are watched, the oldest first. */
  readonly entries: readonly WatchedEntry[];
  /** The users whose entries are announced from now on, and were not before. */
  readonly joined: readonly string[];
  /** The process whose interest this is the reply to. */
  readonly to: string | undefined;
}

/** What a process of the API says about a tenant that it watches. */
export interface Interest {
  /** Identifies the process. */
  readonly from: string;
  /** The users whose streams it has. */
  readonly users: readonly string[];
  /** Whether the workers reply even if they know these users. */
  readonly isAsking: boolean;
}

/**
 * The message in JSON. Each user is named once, in `users`; the lists of boards and profiles have indexes of it. A message without them says that
 * anything may have changed.
 */
const messageSchema = z.object({
  after: z.string().optional(),
  upTo: z.string(),
  users: z.array(z.string()).optional(),
  boards: z.array(z.tuple([z.number(), z.number(), z.string().nullable(), z.array(z.number()).nullable()])).default([]),
  profiles: z.array(z.number()).default([]),
  deleted: z.array(z.string()).default([]),
  entries: z.array(z.tuple([z.string(), z.base64()])).default([]),
  joined: z.array(z.string()).default([]),
  to: z.string().optional(),
});
type Message = z.input<typeof messageSchema>;

const interestSchema = z.object({ from: z.string(), users: z.array(z.string()), isAsking: z.boolean() });

/** Collects users and what has changed about them. */
class Collector {
  readonly users = new Map<string, number>();
  readonly boards = new Map<
    string,
    { readonly no: number; readonly run: number; readonly group: string | null; users: Set<number> | null }
  >();
  readonly profiles = new Set<number>();
  private moves = 0;

  /** Returns false for an entry that may change anything. */
  add(entry: LedgerEntry): boolean {
    switch (entry.kind) {
      case 'limits':
        return false;
      // The configuration that ended a segment is announced on a channel of its own, and `deleted` has the users who were deleted.
      case 'segment':
      case 'segmentsDropped':
      case 'deletion':
        return true;
      case 'final':
        this.board(entry.no, entry.run, null).users = null;
        return true;
      default: {
        if (entry.profile) this.profiles.add(this.indexOf(entry.user));
        for (const { no, run, group = '' } of entry.boards) this.board(no, run, group).users?.add(this.indexOf(entry.user));
        this.moves += entry.boards.length;
        return this.users.size <= limits.maxAnnouncedUsers && this.moves <= limits.maxAnnouncedMoves;
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

/** What entries change on leaderboards; nothing if they may change anything. */
function changesOf(entries: readonly Pick<StreamEntry, 'entry'>[]): Pick<Message, 'users' | 'boards' | 'profiles'> {
  const collected = new Collector();
  try {
    for (const { entry } of entries) if (!entry || !collected.add(entry)) return {};
  } catch {
    // An entry that becomes a dead letter may lack anything.
    return {};
  }
  return {
    users: [...collected.users.keys()],
    boards: [...collected.boards.values()].map(({ no, run, group, users }) => [no, run, group, users && [...users]]),
    profiles: [...collected.profiles],
  };
}

const text = (message: Message): string => JSON.stringify(message);

/** The message that anything may have changed, and that entries of users may have been missed. */
export const everythingMessage: string = text({ upTo: noEntry });

/** The message to a process, about users whose entries are announced from now on. */
export const joinedMessage = (joined: readonly string[], to: string): string => text({ upTo: noEntry, users: [], joined: [...joined], to });

/** The entries of the users who are watched, in parts of limits.maxAnnouncedChars. */
function watchedParts(entries: readonly StreamEntry[], isWatched: (user: string) => boolean): [id: string, facts: string][][] {
  const parts: [string, string][][] = [];
  let chars = Infinity;
  for (const { id, entry, fields } of entries) {
    if (!entry || !('user' in entry) || entry.kind === 'deletion' || !isWatched(entry.user)) continue;
    const facts = fields[1]?.toString('base64') ?? '';
    if (chars + facts.length > limits.maxAnnouncedChars) {
      parts.push([]);
      chars = 0;
    }
    parts.at(-1)?.push([id, facts]);
    chars += facts.length;
  }
  return parts;
}

/** The messages about the entries after `after`, the oldest first, with those of the users who are watched: usually one message. */
export function messagesAbout(after: string, entries: readonly StreamEntry[], isWatched: (user: string) => boolean): string[] {
  const deleted = entries.flatMap(({ entry }) => (entry?.kind === 'deletion' ? [entry.user] : []));
  const parts = watchedParts(entries, isWatched);
  const last = Math.max(parts.length - 1, 0);
  const upToOf = (part: number): string => (part === last ? entries : (parts[part] ?? []).map(([id]) => ({ id }))).at(-1)?.id ?? after;
  const [first = [], ...others] = parts;
  return [
    text({ after, upTo: upToOf(0), ...changesOf(entries), deleted, entries: first }),
    ...others.map((part, i) => text({ after: upToOf(i), upTo: upToOf(i + 1), users: [], entries: part })),
  ];
}

export const interestMessage = (interest: Interest): string => JSON.stringify(interest);

function parsed<T>(schema: z.ZodType<T>, message: string): T | undefined {
  try {
    return schema.safeParse(JSON.parse(message)).data;
  } catch {
    return undefined;
  }
}

/** The announcement in a message. One that can't be read, from another version, says that anything may have changed. */
export function parseAnnouncement(message: string): Announcement {
  const data = parsed(messageSchema, message);
  if (!data) return { after: undefined, upTo: noEntry, changes: undefined, deleted: [], entries: [], joined: [], to: undefined };
  const { after, upTo, users, boards, profiles, deleted, entries, joined, to } = data;
  const named = (indexes: readonly number[]): string[] => indexes.map((index) => users?.[index] ?? '');
  const changes = users && {
    boards: boards.map(([no, run, group, moved]) => ({ no, run, group, users: moved && named(moved) })),
    profiles: named(profiles),
  };
  const watched = entries.map(([id, facts]) => ({ id, facts: Buffer.from(facts, 'base64') }));
  return { after, upTo, changes, deleted, entries: watched, joined, to };
}

/** The interest in a message. One that can't be read is in no user. */
export const parseInterest = (message: string): Interest => parsed(interestSchema, message) ?? { from: '', users: [], isAsking: false };

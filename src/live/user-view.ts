import { isBelow } from '../redis/partition.js';
import { limits } from '../shared/limits.js';
import { noEntry } from './announcement.js';
import type { View, Watcher } from './board-view.js';
import { message } from './event-stream.js';
import { inSlices } from './slices.js';

const entryId = /^\d{1,16}-\d{1,10}$/;

interface Kept {
  readonly id: string;
  readonly bytes: Buffer;
  /** By `performance.now()`. */
  readonly sentAt: number;
}

/**
 * The stream of a user: a message for each ledger entry that changed something for the user, with the id of the entry. It keeps the newest messages
 * for clients that come back. One that may have missed others gets `reset`: it reads the user again.
 */
export class UserView implements View {
  readonly watchers = new Set<Watcher>();
  /** When the last watcher left, or the view was opened, by `performance.now()`. */
  idleSince = performance.now();
  /** Returns the entry up to which all entries of the tenant have been announced to this process. */
  private readonly announcedUpTo: () => string;
  /** The entry behind which no message is missing; undefined until the workers announce the user's entries. */
  private since: string | undefined;
  private lastId = noEntry;
  /** The newest, the oldest first. */
  private messages: Kept[] = [];
  private keptBytes = 0;
  private interruptions = 0;

  constructor(announcedUpTo: () => string) {
    this.announcedUpTo = announcedUpTo;
  }

  get isPending(): boolean {
    return this.since === undefined;
  }

  /** Adds a watcher, and sends the messages after the last one that it has, together, or `reset`. */
  join(watcher: Watcher): void {
    this.watchers.add(watcher);
    if (this.since === undefined) return;
    const { lastId } = watcher;
    if (lastId === undefined || !this.hasAllAfter(lastId, this.since)) {
      watcher.send(message('reset', this.lastId, '{}'), this.lastId);
      return;
    }
    const missed = this.messages.filter(({ id }) => isBelow(lastId, id));
    if (missed.length > 0) watcher.send(Buffer.concat(missed.map(({ bytes }) => bytes)), this.lastId);
  }

  leave(watcher: Watcher): void {
    this.watchers.delete(watcher);
    this.idleSince = performance.now();
  }

  /** Entries may be missed from now on, until `reset`. */
  interrupt(): void {
    this.interruptions += 1;
    this.since = undefined;
    this.messages = [];
    this.keptBytes = 0;
  }

  /** Interrupts the stream. The function that it returns begins it anew with the entry that it is given, unless it was interrupted again. */
  begin(): (upTo: string) => Promise<void> {
    this.interrupt();
    const { interruptions } = this;
    return async (upTo) => {
      if (interruptions === this.interruptions) await this.reset(upTo);
    };
  }

  /** Adds what an entry changed. One that was added before, or that the watchers have read, is ignored. */
  async add(id: string, json: string): Promise<void> {
    if (this.since === undefined || !isBelow(this.lastId, id)) return;
    this.lastId = id;
    const bytes = message('change', id, json);
    this.messages.push({ id, bytes, sentAt: performance.now() });
    this.keptBytes += bytes.length;
    while (this.messages.length > limits.liveUserMessages || this.keptBytes > limits.liveUserBytes) this.dropFirst();
    await this.broadcast(id, bytes, ({ lastId = noEntry }) => !entryId.test(lastId) || isBelow(lastId, id));
  }

  /** Drops messages that were sent before a time, by `performance.now()`: a client that comes back later reads the user again. */
  dropBefore(time: number): void {
    while ((this.messages[0]?.sentAt ?? Infinity) < time) this.dropFirst();
  }

  /** The user was deleted. */
  end(): void {
    this.interrupt();
    void inSlices([...this.watchers], (watcher) => {
      watcher.end();
    });
  }

  /** Whether it has all messages after an id. The id may be of another process, or of a Redis that was restored to an earlier state. */
  private hasAllAfter(id: string, since: string): boolean {
    if (!entryId.test(id) || isBelow(id, since)) return false;
    return !isBelow(this.lastId, id) || !isBelow(this.announcedUpTo(), id);
  }

  /** Entries after this one will be added: the watchers read the user again. */
  private async reset(upTo: string): Promise<void> {
    this.messages = [];
    this.keptBytes = 0;
    this.since = this.lastId = upTo;
    await this.broadcast(upTo, message('reset', upTo, '{}'), ({ lastId }) => lastId !== upTo);
  }

  /** Sends a message to the connections that watch now and lack it. */
  private async broadcast(id: string, bytes: Buffer, lacks: (watcher: Watcher) => boolean): Promise<void> {
    await inSlices([...this.watchers], (watcher) => {
      if (this.watchers.has(watcher) && lacks(watcher)) watcher.send(bytes, id);
    });
  }

  private dropFirst(): void {
    const first = this.messages.shift();
    if (!first) return;
    this.since = first.id;
    this.keptBytes -= first.bytes.length;
  }
}

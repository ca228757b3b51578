import { isBelow } from '../redis/partition.js';
import { limits } from '../shared/limits.js';
import type { View, Watcher } from './board-view.js';
import { message } from './event-stream.js';

const entryId = /^\d{1,16}-\d{1,10}$/;

/**
 * The stream of a user: a message for each ledger entry that changed something for the user, with the id of the entry. It keeps the newest messages
 * for clients that come back. One that may have missed others gets `reset`: it reads the user again.
 */
export class UserView implements View {
  readonly watchers = new Set<Watcher>();
  /** When the last watcher left, or the view was opened, by `performance.now()`. */
  idleSince = performance.now();
  /** The entry behind which no message is missing; undefined until the workers announce the user's entries. */
  private since: string | undefined;
  private lastId = '0-0';
  /** The newest, each with when it was sent, by `performance.now()`. */
  private messages: { readonly id: string; readonly bytes: Buffer; readonly sentAt: number }[] = [];

  get isPending(): boolean {
    return this.since === undefined;
  }

  /** Adds a watcher, and sends the messages after the entry `lastId`, or `reset`. */
  join(watcher: Watcher, lastId: string | undefined): void {
    this.watchers.add(watcher);
    if (this.since === undefined) return;
    if (lastId === undefined || !entryId.test(lastId) || isBelow(lastId, this.since)) watcher.send(message('reset', this.lastId, '{}'));
    else for (const { id, bytes } of this.messages) if (isBelow(lastId, id)) watcher.send(bytes);
  }

  leave(watcher: Watcher): void {
    this.watchers.delete(watcher);
    this.idleSince = performance.now();
  }

  /** Entries may be missed from now on, until `reset`. */
  interrupt(): void {
    this.since = undefined;
    this.messages = [];
  }

  /** Entries after this one will be added: the watchers read the user again. */
  reset(upTo: string): void {
    this.messages = [];
    this.since = this.lastId = upTo;
    const bytes = message('reset', upTo, '{}');
    for (const watcher of [...this.watchers]) watcher.send(bytes);
  }

  /** Adds what an entry changed. One that was added before, or that the watchers have read, is ignored. */
  add(id: string, json: string): void {
    if (this.since === undefined || !isBelow(this.lastId, id)) return;
    this.lastId = id;
    const bytes = message('change', id, json);
    this.messages.push({ id, bytes, sentAt: performance.now() });
    if (this.messages.length > limits.liveUserMessages) this.dropFirst();
    for (const watcher of [...this.watchers]) watcher.send(bytes);
  }

  /** Drops messages that were sent before a time, by `performance.now()`: a client that comes back later reads the user again. */
  dropBefore(time: number): void {
    while ((this.messages[0]?.sentAt ?? Infinity) < time) this.dropFirst();
  }

  /** The user was deleted. */
  end(): void {
    this.interrupt();
    for (const watcher of [...this.watchers]) watcher.end();
  }

  private dropFirst(): void {
    this.since = this.messages.shift()?.id;
  }
}

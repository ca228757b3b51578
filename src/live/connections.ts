import type { ServerResponse } from 'node:http';
import type { AccountChange, SentKey } from '../access/account.js';
import type { Principal } from '../access/key-ring.js';
import { LaurelError } from '../shared/errors.js';
import { limits } from '../shared/limits.js';
import type { View, Watcher } from './board-view.js';
import { heartbeat, retryAfter } from './event-stream.js';
import { inSlices } from './slices.js';

/** The settings that bound the streams of a process. */
export interface LiveBounds {
  readonly liveConnections: number;
  readonly liveConnectionsPerTenant: number;
  /** Of one application key or live token. */
  readonly liveConnectionsPerKey: number;
  /** What may wait for a slow reader before it is disconnected. */
  readonly liveBufferKb: number;
}

export interface ConnectionsOptions {
  readonly bounds: LiveBounds;
  /** The time by which keys and tokens expire, in milliseconds since 1970. */
  readonly now: () => number;
  /** Throws a 401 once a key is no longer valid. */
  readonly recheck: (key: SentKey) => Promise<unknown>;
}

/** What the streams of a process have done since its start. */
export interface LiveCounts {
  messages: number;
  bytes: number;
  /** Connections that were closed because their reader was too slow. */
  slow: number;
}

/** A place among the streams that the settings allow. */
interface Slot {
  readonly key: SentKey;
  /** What `liveConnectionsPerKey` counts by; undefined for an admin key. */
  readonly counter: string | undefined;
  /** The user that a live token is bound to. */
  readonly userId: string | undefined;
  /** In milliseconds since 1970; Infinity for never. */
  readonly expiresMs: number;
}

interface Watched {
  readonly view: View;
  readonly lastId: string | undefined;
}

const bytesPerKb = 1_024;

/** When a client connects again. */
const retryMs = (): number => Math.round(limits.liveRetryMinMs + Math.random() * (limits.liveRetryMaxMs - limits.liveRetryMinMs));

/** Tells a client of a process that is about to stop to connect again. */
export function sendElsewhere(response: ServerResponse): void {
  if (!response.destroyed) response.end(retryAfter(retryMs()));
}

/** One stream of server-sent events. */
class Connection implements Watcher {
  readonly slot: Slot;
  private readonly response: ServerResponse;
  private readonly view: View;
  private readonly maxBytes: number;
  private readonly counts: LiveCounts;
  private sentAt = performance.now();

  constructor(slot: Slot, response: ServerResponse, how: { view: View; maxBytes: number; counts: LiveCounts }) {
    this.slot = slot;
    this.response = response;
    this.view = how.view;
    this.maxBytes = how.maxBytes;
    this.counts = how.counts;
  }

  send(messages: Buffer): void {
    this.counts.messages += 1;
    this.write(messages);
  }

  /** Sends a comment unless something was sent within limits.liveHeartbeatMs. */
  keepAlive(now: number): void {
    if (now - this.sentAt >= limits.liveHeartbeatMs) this.write(heartbeat);
  }

  /** Ends the stream; the client connects again, after `retryMs` if it is given. */
  end(retryMs?: number): void {
    this.close();
    if (!this.response.writableEnded) this.response.end(retryMs === undefined ? undefined : retryAfter(retryMs));
  }

  /** Leaves the view. */
  close(): void {
    this.view.leave(this);
  }

  private write(bytes: Buffer): void {
    if (this.response.writableEnded || this.response.destroyed) return;
    // What is waiting already: a single message may be larger than the buffer.
    if (this.response.writableLength > this.maxBytes) {
      this.counts.slow += 1;
      this.close();
      this.response.destroy();
      return;
    }
    this.sentAt = performance.now();
    this.counts.bytes += bytes.length;
    this.response.write(bytes);
  }
}

/** The streams of this process: within the bounds of the settings, and only as long as their keys and tokens are valid. */
export class Connections {
  readonly counts: LiveCounts = { messages: 0, bytes: 0, slow: 0 };
  private readonly options: ConnectionsOptions;
  private readonly slots = new Set<Slot>();
  private readonly open = new Set<Connection>();
  private readonly ofTenant = new Map<number, number>();
  private readonly ofKey = new Map<string, number>();
  private isRecheckDue = false;
  private hasClosed = false;

  constructor(options: ConnectionsOptions) {
    this.options = options;
  }

  get count(): number {
    return this.open.size;
  }

  /** Whether this process is about to stop. */
  get isClosing(): boolean {
    return this.hasClosed;
  }

  /** Reserves a place for a stream. Throws a 429 or a 503 when there is none. `start` or `release` must follow. */
  reserve(tenant: number, { kind, keyId, prefix = '', live, expires }: Principal): Slot {
    const { liveConnections, liveConnectionsPerTenant, liveConnectionsPerKey } = this.options.bounds;
    const counter = live?.tokenId ?? (kind === 'application' ? keyId : undefined);
    const retryAfterS = limits.liveRefusedRetryS;
    if (this.slots.size >= liveConnections) {
      throw new LaurelError('not_ready', 'This process has as many live streams as LIVE_CONNECTIONS allows.', { retryAfterS });
    }
    if ((this.ofTenant.get(tenant) ?? 0) >= liveConnectionsPerTenant) {
      const sentence = `A tenant may have ${liveConnectionsPerTenant} live streams on one process: close others first.`;
      throw new LaurelError('too_many_requests', sentence, { retryAfterS });
    }
    if (counter !== undefined && (this.ofKey.get(counter) ?? 0) >= liveConnectionsPerKey) {
      const sentence = `An application key or a live token may have ${liveConnectionsPerKey} live streams on one process: close others first.`;
      throw new LaurelError('too_many_requests', sentence, { retryAfterS });
    }
    const expiresMs = Math.min(expires?.getTime() ?? Infinity, live?.expires.getTime() ?? Infinity);
    const slot = { key: { prefix, keyId, tenant }, counter, userId: live?.userId, expiresMs };
    this.slots.add(slot);
    this.tally(slot, 1);
    return slot;
  }

  release(slot: Slot): void {
    if (this.slots.delete(slot)) this.tally(slot, -1);
  }

  /**
   * Streams a view to a response whose headers are sent, until either side ends it. `lastId` is the last message that the client has received,
   * unless it sends the header Last-Event-ID.
   */
  start(slot: Slot, response: ServerResponse, { view, lastId }: Watched): void {
    const { req: request } = response;
    const { counts } = this;
    const maxBytes = this.options.bounds.liveBufferKb * bytesPerKb;
    const connection = new Connection(slot, response, { view, maxBytes, counts });
    const closed = (): void => {
      connection.close();
      this.open.delete(connection);
      this.release(slot);
    };
    response.once('close', closed);
    if (response.destroyed || request.method === 'HEAD' || this.hasClosed) {
      if (response.destroyed) closed();
      else connection.end(this.hasClosed ? retryMs() : undefined);
      return;
    }
    this.open.add(connection);
    // Also for a process that is killed: its clients connect again at different times.
    response.write(retryAfter(retryMs()));
    const header = request.headers['last-event-id'];
    view.join(connection, typeof header === 'string' ? header : lastId);
    // The key may have been revoked while the view was read.
    this.recheckOf([connection]);
  }

  /** To be called each second: comments, and streams whose keys or tokens have expired. `now` is by `performance.now()`. */
  tick(now = performance.now()): void {
    const keysNow = this.options.now();
    for (const connection of [...this.open]) if (connection.slot.expiresMs <= keysNow) connection.end();
    void inSlices([...this.open], (connection) => {
      connection.keepAlive(now);
    });
    if (this.isRecheckDue) this.recheck();
  }

  /** Ends the streams whose keys are no longer valid: those that a change of the account may be about, or all without it. */
  recheck(change?: AccountChange): void {
    if (!change) this.isRecheckDue = false;
    const open = [...this.open];
    this.recheckOf(change ? open.filter(({ slot: { key } }) => change.prefixes.has(key.prefix) || change.tenants.has(key.tenant)) : open);
  }

  /** Ends the streams of tokens that are bound to a user who was deleted. */
  endOf(tenant: number, user: string): void {
    for (const connection of [...this.open]) {
      if (connection.slot.userId === user && connection.slot.key.tenant === tenant) connection.end();
    }
  }

  /** Tells all clients to connect again, at different times, and ends their streams. Later ones are told as well. */
  close(): void {
    this.hasClosed = true;
    for (const connection of [...this.open]) connection.end(retryMs());
  }

  private recheckOf(connections: readonly Connection[]): void {
    const byKey = new Map<string, { readonly key: SentKey; readonly sharing: Connection[] }>();
    for (const connection of connections) {
      const { key } = connection.slot;
      const id = `${key.keyId} ${key.tenant}`;
      const known = byKey.get(id);
      if (known) known.sharing.push(connection);
      else byKey.set(id, { key, sharing: [connection] });
    }
    for (const { key, sharing } of byKey.values()) {
      this.options.recheck(key).catch((error: unknown) => {
        // Postgres is away: as requests do, streams go on until it says that a key is revoked.
        if (error instanceof LaurelError && error.code === 'unauthorized') for (const connection of sharing) connection.end();
        else this.isRecheckDue = true;
      });
    }
  }

  /** Counts a slot for its tenant and its key. */
  private tally({ key: { tenant }, counter }: Slot, by: 1 | -1): void {
    add(this.ofTenant, tenant, by);
    if (counter !== undefined) add(this.ofKey, counter, by);
  }
}

/** Adds to a count, and drops it at 0. */
function add<K>(counts: Map<K, number>, key: K, by: number): void {
  const count = (counts.get(key) ?? 0) + by;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}

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
  /** Of one application key, user of a live token, or live token without a user. */
  readonly liveConnectionsPerKey: number;
  /** What may wait for a slow reader before messages are left out. */
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
  /** How often messages were left out because a client read too slowly. */
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
  /** Whether the stream ends as soon as it begins: the user was deleted meanwhile. */
  isOver: boolean;
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
  lastId: string | undefined;
  private readonly response: ServerResponse;
  private readonly view: View;
  private readonly maxBytes: number;
  private readonly counts: LiveCounts;
  private sentAt = performance.now();
  /** Whether messages are left out until the client has read what waits. */
  private isBehind = false;
  private isClosed = false;

  constructor(slot: Slot, response: ServerResponse, how: Watched & { readonly maxBytes: number; readonly counts: LiveCounts }) {
    this.slot = slot;
    this.response = response;
    this.view = how.view;
    this.lastId = how.lastId;
    this.maxBytes = how.maxBytes;
    this.counts = how.counts;
  }

  send(messages: Buffer, lastId: string): void {
    if (!this.isWritable) return;
    // What waits already: a single message may be larger than the buffer.
    if (this.response.writableLength > this.maxBytes) {
      this.catchUpLater();
      return;
    }
    this.counts.messages += 1;
    this.lastId = lastId;
    this.write(messages);
  }

  /** Sends a comment unless something was sent within limits.liveHeartbeatMs. */
  keepAlive(now: number): void {
    if (this.isWritable && now - this.sentAt >= limits.liveHeartbeatMs) this.write(heartbeat);
  }

  /** Ends the stream; the client connects again, after `retryMs` if it is given. */
  end(retryMs?: number): void {
    this.close();
    if (!this.response.writableEnded) this.response.end(retryMs === undefined ? undefined : retryAfter(retryMs));
  }

  /** Leaves the view. */
  close(): void {
    this.isClosed = true;
    this.view.leave(this);
  }

  private get isWritable(): boolean {
    return !this.isClosed && !this.isBehind && !this.response.writableEnded && !this.response.destroyed;
  }

  /**
   * Leaves messages out until the client has read what waits. To disconnect it would not help: it would come back, and be sent as much again.
   * One that reads nothing for limits.connectionIdleMs is disconnected by the server.
   */
  private catchUpLater(): void {
    this.counts.slow += 1;
    this.isBehind = true;
    this.write(heartbeat, (error) => {
      this.isBehind = false;
      if (!error && this.isWritable) this.view.join(this);
    });
  }

  private write(bytes: Buffer, done?: (error?: Error | null) => void): void {
    this.sentAt = performance.now();
    this.counts.bytes += bytes.length;
    this.response.write(bytes, done);
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
    const counter = live?.holder ?? (kind === 'application' ? keyId : undefined);
    const retryAfterS = limits.liveRefusedRetryS;
    if (this.slots.size >= liveConnections) {
      throw new LaurelError('not_ready', 'This process has as many live streams as LIVE_CONNECTIONS allows.', { retryAfterS });
    }
    if ((this.ofTenant.get(tenant) ?? 0) >= liveConnectionsPerTenant) {
      const sentence = `A tenant may have ${liveConnectionsPerTenant} live streams on one process: close others first.`;
      throw new LaurelError('too_many_requests', sentence, { retryAfterS });
    }
    if (counter !== undefined && (this.ofKey.get(counter) ?? 0) >= liveConnectionsPerKey) {
      const sentence = `An application key or the user of a live token may have ${liveConnectionsPerKey} live streams on one process: close others first.`;
      throw new LaurelError('too_many_requests', sentence, { retryAfterS });
    }
    const expiresMs = Math.min(expires?.getTime() ?? Infinity, live?.expires.getTime() ?? Infinity);
    const slot = { key: { prefix, keyId, tenant }, counter, userId: live?.userId, expiresMs, isOver: false };
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
    const { req: request, socket } = response;
    // A response without a socket waits for that of an earlier request on the connection, perhaps another stream, and does not notice when
    // the client disconnects.
    if (!socket?.writable || request.method === 'HEAD' || this.hasClosed || slot.isOver) {
      this.release(slot);
      if (!response.destroyed) response.end(request.method === 'HEAD' ? undefined : retryAfter(retryMs()));
      return;
    }
    const { counts } = this;
    const maxBytes = this.options.bounds.liveBufferKb * bytesPerKb;
    const header = request.headers['last-event-id'];
    const had = typeof header === 'string' ? header : lastId;
    const connection = new Connection(slot, response, { view, lastId: had, maxBytes, counts });
    response.once('close', () => {
      connection.close();
      this.open.delete(connection);
      this.release(slot);
    });
    this.open.add(connection);
    // Also for a process that is killed: its clients connect again at different times.
    response.write(retryAfter(retryMs()));
    view.join(connection);
    // The key may have been revoked while the view was read.
    this.recheckOf([connection]);
  }

  /** To be called each second: comments, and streams whose keys or tokens have expired. `now` is by `performance.now()`. */
  tick(now = performance.now()): void {
    const keysNow = this.options.now();
    end([...this.open].filter(({ slot }) => slot.expiresMs <= keysNow));
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

  /** Ends the streams of tokens that are bound to users who were deleted, also those that have not begun. */
  endOf(tenant: number, users: ReadonlySet<string>): void {
    const isOf = ({ userId, key }: Slot): boolean => key.tenant === tenant && userId !== undefined && users.has(userId);
    for (const slot of this.slots) if (isOf(slot)) slot.isOver = true;
    end([...this.open].filter(({ slot }) => slot.isOver));
  }

  /** Tells all clients to connect again, at different times, and ends their streams. Later ones are told as well. */
  close(): void {
    this.hasClosed = true;
    void inSlices([...this.open], (connection) => {
      connection.end(retryMs());
    });
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
        if (error instanceof LaurelError && error.code === 'unauthorized') end(sharing);
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

/** Ends streams. Their clients connect again, and learn why. */
function end(connections: readonly Connection[]): void {
  void inSlices(connections, (connection) => {
    connection.end();
  });
}

/** Adds to a count, and drops it at 0. */
function add<K>(counts: Map<K, number>, key: K, by: number): void {
  const count = (counts.get(key) ?? 0) + by;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}

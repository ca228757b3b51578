import type { RankingsQuery } from '../engine/leaderboards.js';
import { type BoardState, firstMessages, messagesBetween } from './board-changes.js';
import type { Announcement } from './announcement.js';
import { limits } from '../shared/limits.js';
import { inSlices } from './slices.js';

/** A connection that watches a view. */
export interface Watcher {
  /** The id of the last message that it was sent, or that its client had before. */
  readonly lastId: string | undefined;
  /** Sends messages, the last of which has the id `lastId`. One whose client reads too slowly sends nothing, and joins again once the client has read. */
  send(messages: Buffer, lastId: string): void;
  /** Ends the stream; the client connects again, and learns why there is nothing to watch. */
  end(): void;
}

/** What connections watch. */
export interface View {
  /** Adds a watcher, and sends what it lacks after its last message. */
  join(watcher: Watcher): void;
  leave(watcher: Watcher): void;
}

/** A group of a leaderboard. */
export interface BoardPlace {
  readonly no: number;
  /** Empty for a leaderboard without a breakdown. */
  readonly group: string;
}

export interface BoardViewOptions {
  readonly tenant: number;
  /** The key of the leaderboard. */
  readonly key: string;
  readonly query: RankingsQuery;
  readonly read: () => Promise<BoardState>;
  /** Called with an error of a read. Returns whether the read is repeated; otherwise the watchers' streams end. */
  readonly onFailure: (error: unknown) => boolean;
  /** Called when `place` may have changed. */
  readonly onPlace: () => void;
  /** Called when a change is sent: `changedMs` is when it was made, in milliseconds since 1970. */
  readonly onChange: (changedMs: number) => void;
}

/** The shares of limits.liveRefreshMs after which views are read again: views that began together would otherwise be read together for ever. */
const minRefreshShare = 0.75;

/**
 * A page, or a list of users, of a leaderboard that connections of this process watch. However many they are, it is read once for each change, at
 * most once in limits.liveIntervalMs, and its messages are encoded once. While no connection watches it, it is not read.
 */
export class BoardView implements View {
  readonly options: BoardViewOptions;
  readonly watchers = new Set<Watcher>();
  /** When the last watcher left, by `performance.now()`. */
  idleSince = performance.now();
  private state: BoardState | undefined;
  private first: Buffer | undefined;
  private reading: Promise<void> | undefined;
  /** Until the last change is written to all watchers. */
  private sending: Promise<void> = Promise.resolve();
  private readAt = -Infinity;
  private timer: NodeJS.Timeout | undefined;
  private isDue = false;
  private isStopped = false;
  /** When the oldest change that is not sent yet was made. */
  private changedMs = Infinity;
  private readonly refreshMs = limits.liveRefreshMs * (minRefreshShare + (1 - minRefreshShare) * Math.random());

  constructor(options: BoardViewOptions) {
    this.options = options;
  }

  /** What it shows; undefined until it has been read. */
  get place(): BoardPlace | undefined {
    return this.state && { no: this.state.board.no, group: this.state.group };
  }

  /** Reads the view unless what has been read is current. Throws what the read throws. */
  async open(): Promise<void> {
    let isStale = this.isDue && this.watchers.size === 0;
    while (!this.state || isStale) {
      isStale = false;
      // The read of a timer may have failed, which is not an error here: then this is another one.
      this.reading ??= this.refresh();
      await this.reading;
    }
  }

  /** Adds a watcher, and sends what it lacks: nothing, if the current state is the one that it has. */
  join(watcher: Watcher): void {
    this.watchers.add(watcher);
    this.schedule();
    if (this.state) this.sendFirst(watcher, this.state);
  }

  private sendFirst(watcher: Watcher, state: BoardState): void {
    if (state.id === watcher.lastId) return;
    this.first ??= firstMessages(state);
    watcher.send(this.first, state.id);
  }

  leave(watcher: Watcher): void {
    this.watchers.delete(watcher);
    this.idleSince = performance.now();
  }

  /** Whether it shows one of these users. */
  showsAny(users: ReadonlySet<string>): boolean {
    return this.state?.rows.some(({ userId }) => users.has(userId)) === true;
  }

  /** Whether a change of a run may be visible: a view of the current run moves on to the next one. */
  showsRun(run: number): boolean {
    return this.options.query.run === undefined || this.state?.run === run;
  }

  /** What it shows may have changed, up to an announcement: it is read again as soon as limits.liveIntervalMs allows. */
  touch(upTo: Announcement['upTo'] | undefined): void {
    this.isDue = true;
    if (upTo !== undefined) this.changedMs = Math.min(this.changedMs, Number.parseInt(upTo, 10) || Infinity);
    this.schedule();
  }

  /** Reads it again if it was last read too long ago: announcements may be lost, and a run begins without one. */
  touchOld(): void {
    if (performance.now() - this.readAt >= this.refreshMs) this.touch(undefined);
  }

  stop(): void {
    this.isStopped = true;
    clearTimeout(this.timer);
  }

  private schedule(): void {
    if (this.isStopped || !this.isDue || this.reading || this.timer || this.watchers.size === 0) return;
    const waitMs = Math.max(this.readAt + limits.liveIntervalMs - performance.now(), 0);
    this.timer = setTimeout(() => {
      this.timer = undefined;
      if (this.watchers.size === 0) return;
      // A connection that joined meanwhile may have begun a read.
      this.reading ??= this.refresh().catch((error: unknown) => {
        this.failed(error);
      });
    }, waitMs);
  }

  private failed(error: unknown): void {
    if (this.options.onFailure(error)) {
      this.touch(undefined);
      return;
    }
    // The next connection learns why.
    this.state = this.first = undefined;
    this.options.onPlace();
    void inSlices([...this.watchers], (watcher) => {
      watcher.end();
    });
  }

  private async refresh(): Promise<void> {
    // With many watchers on a busy process, this is what slows messages down, and changes are sent together.
    await this.sending;
    this.isDue = false;
    this.readAt = performance.now();
    const { changedMs } = this;
    this.changedMs = Infinity;
    try {
      this.show(await this.options.read(), changedMs);
    } catch (error) {
      // For the connections that watch it while another one opens it.
      this.isDue = true;
      this.changedMs = Math.min(changedMs, this.changedMs);
      this.readAt = performance.now() + limits.liveFailureMs;
      throw error;
    } finally {
      this.reading = undefined;
      this.schedule();
    }
  }

  private show(state: BoardState, changedMs: number): void {
    const before = this.state;
    this.state = state;
    this.options.onPlace();
    if (before?.id === state.id) return;
    this.first = undefined;
    if (this.watchers.size === 0) return;
    // The one before is written: `refresh` has waited for it.
    this.sending = this.broadcast(before, state, changedMs);
  }

  /** Sends to the connections that watch now. Those that join later, or lack the state before, begin with the state that this leads to. */
  private async broadcast(before: BoardState | undefined, state: BoardState, changedMs: number): Promise<void> {
    const messages = before && messagesBetween(before, state);
    await inSlices([...this.watchers], (watcher) => {
      if (!this.watchers.has(watcher)) return;
      if (messages && watcher.lastId === before.id) watcher.send(messages, state.id);
      else this.sendFirst(watcher, state);
    });
    if (Number.isFinite(changedMs)) this.options.onChange(changedMs);
  }
}

import type { RankingsQuery } from '../engine/leaderboards.js';
import { type BoardState, firstMessages, messagesBetween } from './board-changes.js';
import type { Announcement } from './announcement.js';
import { limits } from '../shared/limits.js';

/** A connection that watches a view. */
export interface Watcher {
  send(messages: Buffer): void;
  /** Ends the stream; the client connects again, and learns why there is nothing to watch. */
  end(): void;
}

/** What connections watch. */
export interface View {
  /** Adds a watcher, and sends what it lacks; `lastId` is the id of the last message that it has received. */
  join(watcher: Watcher, lastId: string | undefined): void;
  leave(watcher: Watcher): void;
}

export interface BoardViewOptions {
  readonly tenant: number;
  /** The key of the leaderboard. */
  readonly key: string;
  readonly query: RankingsQuery;
  readonly read: () => Promise<BoardState>;
  /** Called with an error of a read. Returns whether the read is repeated; otherwise the watchers' streams end. */
  readonly onFailure: (error: unknown) => boolean;
  /** Called when a change is sent: `changedMs` is when it was made, in milliseconds since 1970. */
  readonly onChange: (changedMs: number) => void;
}

/**
 * A page, or a list of users, of a leaderboard that connections of this process watch. However many they are, it is read once for each change, at
 * most once in limits.liveIntervalMs, and its messages are encoded once.
 */
export class BoardView implements View {
  readonly options: BoardViewOptions;
  readonly watchers = new Set<Watcher>();
  /** When the last watcher left, by `performance.now()`. */
  idleSince = performance.now();
  private state: BoardState | undefined;
  private first: Buffer | undefined;
  private reading: Promise<void> | undefined;
  private readAt = -Infinity;
  private timer: NodeJS.Timeout | undefined;
  private isDue = false;
  /** When the oldest change that is not sent yet was made. */
  private changedMs = Infinity;

  constructor(options: BoardViewOptions) {
    this.options = options;
  }

  /** Reads the view unless it has been read. Throws what the read throws. */
  async open(): Promise<void> {
    if (this.state) return;
    // The failure of a read that others wait for is their own.
    this.reading ??= this.refresh();
    await this.reading;
  }

  /** Adds a watcher, and sends what it lacks: nothing, if it has the state with the id `lastId` and that is the current one. */
  join(watcher: Watcher, lastId: string | undefined): void {
    this.watchers.add(watcher);
    if (!this.state || this.state.id === lastId) return;
    this.first ??= firstMessages(this.state);
    watcher.send(this.first);
  }

  leave(watcher: Watcher): void {
    this.watchers.delete(watcher);
    this.idleSince = performance.now();
  }

  /** Whether it shows one of these users. */
  showsAny(users: ReadonlySet<string>): boolean {
    return this.state?.rows.some(({ userId }) => users.has(userId)) === true;
  }

  /** Whether a change of a group of a leaderboard, of a run, may be visible. */
  isOf(no: number, run: number, group: string | null): boolean {
    const { state } = this;
    if (!state) return true;
    // A view of the current run moves on to the next one.
    const isRun = this.options.query.run === undefined || state.run === run;
    return state.board.no === no && isRun && (group === null || state.group === group);
  }

  /** What it shows may have changed, up to an announcement: it is read again as soon as limits.liveIntervalMs allows. */
  touch(upTo: Announcement['upTo'] | undefined): void {
    this.isDue = true;
    if (upTo !== undefined) this.changedMs = Math.min(this.changedMs, Number.parseInt(upTo, 10) || Infinity);
    this.schedule();
  }

  /** Reads it again if it was last read so long ago: announcements may be lost, and a run begins without one. */
  touchAfter(ms: number): void {
    if (performance.now() - this.readAt >= ms) this.touch(undefined);
  }

  stop(): void {
    clearTimeout(this.timer);
    this.isDue = false;
  }

  private schedule(): void {
    if (!this.isDue || this.reading || this.timer) return;
    const waitMs = Math.max(this.readAt + limits.liveIntervalMs - performance.now(), 0);
    this.timer = setTimeout(() => {
      this.timer = undefined;
      this.reading = this.refresh().catch((error: unknown) => {
        this.failed(error);
      });
    }, waitMs);
  }

  private failed(error: unknown): void {
    this.readAt = performance.now() + limits.liveFailureMs;
    if (this.options.onFailure(error)) {
      this.touch(undefined);
      return;
    }
    // The next connection learns why.
    this.state = this.first = undefined;
    for (const watcher of [...this.watchers]) watcher.end();
  }

  private async refresh(): Promise<void> {
    this.isDue = false;
    this.readAt = performance.now();
    const { changedMs } = this;
    this.changedMs = Infinity;
    try {
      this.show(await this.options.read(), changedMs);
    } finally {
      this.reading = undefined;
      this.schedule();
    }
  }

  private show(state: BoardState, changedMs: number): void {
    const messages = this.state && messagesBetween(this.state, state);
    this.state = state;
    if (!messages) return;
    this.first = undefined;
    for (const watcher of [...this.watchers]) watcher.send(messages);
    if (Number.isFinite(changedMs)) this.options.onChange(changedMs);
  }
}

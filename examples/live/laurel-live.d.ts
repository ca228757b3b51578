/** A row of a ranking. */
export interface Row {
  readonly userId: string;
  readonly userName: string | null;
  readonly rank: number;
  readonly value: number;
  /** With `userIds`: the rank among these users. */
  readonly rankInList?: number;
}

/** A row that has changed: `rank` is null for a user who is no longer in the page, `previousRank` for one who was not. */
export interface ChangedRow {
  readonly userId: string;
  readonly userName?: string | null;
  readonly rank: number | null;
  readonly value?: number;
  readonly rankInList?: number;
  readonly previousRank: number | null;
}

/** What `GET /v1/leaderboards/{key}` responds. */
export interface Ranking {
  readonly key: string;
  readonly name: string;
  readonly rankings: readonly Row[];
}

export interface WatchOptions {
  /** Of Laurel, without a path: `https://laurel.example.com`. */
  readonly url: string;
  /** Further parameters, such as `limit`. */
  readonly query?: Readonly<Record<string, string>>;
  /** Returns a new live token, from the page's own server. Called for each connection. */
  readonly token: () => Promise<string>;
  /** Called with `live` when a stream is open, and with `waiting` when it is lost and will be opened again. */
  readonly onStatus?: (status: 'live' | 'waiting', error?: unknown) => void;
  /** Resolves after a time; for tests. */
  readonly wait?: (ms: number) => Promise<void>;
  /** That of the browser without it. */
  readonly EventSource?: new (address: URL) => {
    addEventListener(event: string, listener: (message: { readonly data: string; readonly lastEventId: string }) => void): void;
    close(): void;
  };
}

export interface WatchLeaderboardOptions extends WatchOptions {
  readonly onRanking: (ranking: Ranking, changed: readonly ChangedRow[]) => void;
  readonly onFinished?: (run: { readonly runStart: string | null; readonly runEnd: string | null }) => void;
}

export interface WatchUserOptions extends WatchOptions {
  readonly onReset: () => void;
  readonly onChange: (change: Readonly<Record<string, unknown>>) => void;
}

export function merge(rows: readonly Row[], changed: readonly ChangedRow[]): Row[];
export function watchLeaderboard(key: string, options: WatchLeaderboardOptions): () => void;
export function watchUser(id: string, options: WatchUserOptions): () => void;

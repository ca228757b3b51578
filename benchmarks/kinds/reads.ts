/** A read over HTTP that is measured. */
export interface Read {
  readonly name: string;
  /** The path, for a user. */
  readonly path: (user: string) => string;
  /** What its rate is to be at least, as a share of the bare server's. */
  readonly atLeast: number;
}

export const reads: readonly Read[] = [
  { name: 'a page of 10', path: () => '/v1/leaderboards/all-time?limit=10', atLeast: 0.6 },
  { name: 'a page of 100', path: () => '/v1/leaderboards/all-time?limit=100', atLeast: 0.35 },
  { name: 'a user', path: (user) => `/v1/users/${user}`, atLeast: 0.6 },
  { name: "a user's points", path: (user) => `/v1/users/${user}/points/points`, atLeast: 0.6 },
  { name: "a user's rank, with history", path: (user) => `/v1/users/${user}/leaderboards/all-time`, atLeast: 0.6 },
];

/** Every bound of the local stores. */
export const storeBounds = {
  /** How long a start waits for another process that starts the same store and may be installing Redis. */
  lockWaitMs: 10 * 60_000,
  /** How long a stop waits for the lock. By then the server is up, and no holder of the lock takes long. */
  stopLockWaitMs: 30_000,
  /** How often a waiting process checks a file, a process or a port. */
  pollMs: 25,
  /** How long a server may take to respond at all. */
  answerMs: 60_000,
  /** How long a server that responds may take to read its data (the append-only file, the write-ahead log). */
  loadMs: 10 * 60_000,
  /** Timeout of one attempt to connect, and of one command of a check. */
  checkMs: 1_000,
  /** How long a server may take to stop by itself. A fast shutdown of Postgres writes a checkpoint. */
  stopMs: 30_000,
  /** How long a server may take to stop after a harder signal. */
  killMs: 5_000,
  /** Bytes of a path that every system takes for a socket: 104 on macOS, 108 on Linux, each with a zero at the end. */
  maxSocketBytes: 103,
  /** Connections to Postgres: of 64 API processes and a worker with pools of 10, two of each API process for exports, and of commands. */
  postgresConnections: 830,
  /** How long the package manager may take. */
  installMs: 10 * 60_000,
  /** The last bytes of a command's output that are kept, and of a server's log that an error shows. */
  maxOutputBytes: 64 * 1024,
  logTailBytes: 2_000,
  /** A start truncates a server's log that is larger. */
  maxLogBytes: 10 * 1024 * 1024,
} as const;

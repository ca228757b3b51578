/** Every bound of the local stores, with its unit last. */
export const storeBounds = {
  /** How long a start waits for another process that is starting the same store: that one may be installing Redis. */
  lockWaitMs: 10 * 60_000,
  /** How long a stop waits for it. By then the server is up, and nothing that holds the lock takes long. */
  stopLockWaitMs: 30_000,
  /** How often a file, a process or a port is looked at again while waiting. */
  pollMs: 25,
  /** How long a server may take to answer at all. */
  responseMs: 60_000,
  /** How long a server that answers may take to read its data back (the append-only file, the write-ahead log). */
  loadMs: 10 * 60_000,
  /** How long one attempt to connect, or one command of a check, may take. */
  checkMs: 1_000,
  /** How long a server may take to stop by itself. A fast shutdown of Postgres writes a checkpoint. */
  stopMs: 30_000,
  /** How long it may take after a harder signal. */
  killMs: 5_000,
  /** Bytes of a path that every system takes for a socket: 104 on macOS, 108 on Linux, each with a zero at the end. */
  maxSocketBytes: 103,
  /** How long the package manager may take. */
  installMs: 10 * 60_000,
  /** Bytes of a command's output that are kept, and of a server's log that an error shows. */
  maxOutputBytes: 64 * 1024,
  logTailBytes: 2_000,
  /** Bytes above which a server's log is begun anew at its start. */
  maxLogBytes: 10 * 1024 * 1024,
} as const;

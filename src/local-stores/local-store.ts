import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { OperatorError } from '../shared/errors.js';
import { storeBounds } from './bounds.js';
import { enterUser, hasUsers, withFolderLock } from './folder-lock.js';

/** A Redis or Postgres that Laurel runs itself, in a folder of its own. */
export interface LocalStore {
  /** Address with user and password, for the client library. */
  readonly url: string;
  readonly pid: number;
  /** Whether it was running already: left behind by a service that was killed, or used by another one now. */
  readonly adopted: boolean;
  /**
   * Gives the server up: it is stopped in order unless another living process, or another LocalStore of this one, uses it. Calling it again
   * does nothing more.
   */
  stop(): Promise<void>;
}

export interface LocalStoreOptions {
  /** Laurel's data folder; relative to the working directory. Made when missing. */
  readonly dataDir: string;
  /** Takes one plain sentence for the operator. */
  readonly log: (line: string) => void;
  /** False: a data folder without the store is an error. */
  readonly create?: boolean;
}

/** @throws OperatorError when the data folder does not hold a store, which `file` shows, and none may be created. */
export async function expectStore({ dataDir, create }: LocalStoreOptions, name: string, file: string): Promise<void> {
  if (create !== false || (await isThere(file))) return;
  throw new OperatorError(
    `The data folder ${resolve(dataDir)} has no ${name}, and this command creates none. ` +
      'Set REDIS_URL and DATABASE_URL to the stores of the service, or DATA_DIR to its data folder.',
  );
}

export async function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

/** A server that answers. */
export interface RunningServer {
  readonly url: string;
  readonly pid: number;
  readonly adopted: boolean;
  /** Stops it in order, then by force; returns when its process is gone. */
  shutDown(): Promise<void>;
}

/**
 * Finds or starts the server of a folder, one process at a time, and shares it: a `laurel apply` beside a running `laurel serve` uses the same
 * server, and whoever leaves last ends it.
 */
export async function shareServer(folder: string, log: (line: string) => void, obtain: () => Promise<RunningServer>): Promise<LocalStore> {
  return withFolderLock(folder, storeBounds.lockWaitMs, async () => {
    const server = await obtain();
    const { leave } = await enterUser(folder);
    let stopped: Promise<void> | undefined;
    const stop = (): Promise<void> =>
      withFolderLock(folder, storeBounds.stopLockWaitMs, async () => {
        await leave();
        if (await hasUsers(folder)) log(`Another Laurel process uses the server in ${folder}: it is left running.`);
        else await server.shutDown();
      });
    return { url: server.url, pid: server.pid, adopted: server.adopted, stop: () => (stopped ??= stop()) };
  });
}

/** What a file system refuses, in words of the operator's. */
const refusals: Readonly<Record<string, string>> = {
  EACCES: 'this user may not use it',
  EPERM: 'this user may not use it',
  EROFS: 'it can only be read',
  ENOSPC: 'its disk is full',
  ENOTDIR: 'there is a file in its place',
  EEXIST: 'there is a file in its place',
};

/** Runs the work, and turns what the file system refuses into an OperatorError: it is the operator who can change it. */
export async function explainFolderErrors<T>(dataDir: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const { code = '', path = '' } = error as NodeJS.ErrnoException;
    const refusal = refusals[code];
    if (refusal === undefined) throw error;
    throw new OperatorError(`The data folder ${dataDir} cannot be used: ${refusal} (${code} at ${path}). Set DATA_DIR to another one.`, {
      cause: error,
    });
  }
}

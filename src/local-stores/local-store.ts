import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { OperatorError } from '../shared/errors.js';
import { storeBounds } from './bounds.js';
import { enterUser, hasUsers, withFolderLock } from './folder-lock.js';
import { ProcessHandle } from './processes.js';

/** A Redis or Postgres that Laurel runs itself, in a folder of its own. */
export interface LocalStore {
  /** With user and password, for the client library. */
  readonly url: string;
  readonly pid: number;
  /** Whether it was running already: left by a service that was killed, or used by another one. */
  readonly adopted: boolean;
  /** Starts the server again, at the same address where that is possible, if its process has ended. Returns whether it had ended. */
  revive(): Promise<boolean>;
  /**
   * Shuts the server down unless another living process, or another LocalStore of this one, uses it. Further calls do nothing.
   */
  stop(): Promise<void>;
}

export interface LocalStoreOptions {
  /** Laurel's data folder, relative to the working directory. Created when missing. */
  readonly dataDir: string;
  /** Takes one plain sentence for the operator. */
  readonly log: (line: string) => void;
  /** False: a data folder without the store is an error. */
  readonly create?: boolean;
}

/** @throws OperatorError when the data folder has no store, of which `file` is a part, and none may be created. */
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

/** A server that responds. */
export interface RunningServer {
  readonly url: string;
  readonly pid: number;
  readonly adopted: boolean;
  /** Shuts the folder's server down, by force if it takes too long; returns when its process is gone. Another process may have started it since. */
  shutDown(): Promise<void>;
}

/**
 * Finds or starts the server of a folder, one process at a time, and shares it: a `laurel apply` beside a running `laurel serve` uses the same
 * server, and the last process to leave stops it.
 */
export async function shareServer(folder: string, log: (line: string) => void, obtain: () => Promise<RunningServer>): Promise<LocalStore> {
  return withFolderLock(folder, storeBounds.lockWaitMs, async () => {
    const server = await obtain();
    let process = new ProcessHandle(server.pid);
    const { leave } = await enterUser(folder);
    let stopped: Promise<void> | undefined;
    const stop = (): Promise<void> =>
      withFolderLock(folder, storeBounds.stopLockWaitMs, async () => {
        await leave();
        if (await hasUsers(folder)) log(`Another Laurel process uses the server in ${folder}: it is left running.`);
        else await server.shutDown();
      });
    const revive = async (): Promise<boolean> => {
      if (process.isAlive()) return false;
      await withFolderLock(folder, storeBounds.lockWaitMs, async () => {
        if (!stopped) process = new ProcessHandle((await obtain()).pid);
      });
      return true;
    };
    const stopOnce = (): Promise<void> => {
      stopped ??= stop();
      return stopped;
    };
    return { url: server.url, pid: server.pid, adopted: server.adopted, revive, stop: stopOnce };
  });
}

/** Errors of the file system, worded for the operator. */
const refusals: Readonly<Record<string, string>> = {
  EACCES: 'this user may not use it',
  EPERM: 'this user may not use it',
  EROFS: 'it can only be read',
  ENOSPC: 'its disk is full',
  ENOTDIR: 'there is a file in its place',
  EEXIST: 'there is a file in its place',
};

/** Runs the work, and turns refusals of the file system into OperatorErrors, since the operator can resolve them. */
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

import { readFileSync, watch } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { failureText, type Print } from '../output.js';

/** A save is several events, and some editors write a file in parts. */
const settleMs = 100;

/** Undefined while an editor replaces the file. */
function contentsOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

/**
 * Calls `apply` after each change of a configuration file's contents, one at a time, and prints why one fails. The first call comes at once, for a
 * change during the start. Returns what ends this, after a call in progress.
 */
export function applyWhenSaved(file: string, apply: () => Promise<void>, print: Print): () => Promise<void> {
  const end = new AbortController();
  let applied: string | undefined;
  const look = async (): Promise<void> => {
    await delay(settleMs, undefined, { signal: end.signal });
    const contents = contentsOf(file);
    if (contents === undefined || contents === applied) return;
    applied = contents;
    await apply();
  };
  const report = (error: unknown): void => {
    if (!end.signal.aborted) print(failureText(error));
  };
  let last = Promise.resolve();
  const queue = (): void => {
    last = last.then(look).catch(report);
  };
  // The folder, since editors replace the file.
  const watcher = watch(dirname(resolve(file)), (_, name) => {
    if (name === null || name === basename(file)) queue();
  });
  watcher.on('error', report);
  queue();
  return async () => {
    end.abort();
    watcher.close();
    await last;
  };
}

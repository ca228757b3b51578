import pino, { type Logger } from 'pino';
import { createLog } from '../logging/log.js';
import { LaurelError, OperatorError } from '../shared/errors.js';
import type { Print } from './commands/keys.js';

export const printTo =
  (stream: NodeJS.WritableStream): Print =>
  (line) => {
    stream.write(`${line}\n`);
  };

/** The log of this process, on standard error. Writes are synchronous, so that a process that ends loses none. */
export const openLog = (level: string, name?: string): Logger => createLog(level, pino.destination({ dest: 2, sync: true }), name);

/** What an operator sees of an error that ends a process: a sentence, or the stack of an unexpected error. */
export function failureText(error: unknown): string {
  if (error instanceof OperatorError || error instanceof LaurelError) return error.message;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

import pino, { type Logger } from 'pino';
import { createLog } from '../logging/log.js';
import { LaurelError, OperatorError } from '../shared/errors.js';

/** Prints a line for the operator. */
export type Print = (line: string) => void;

export const printTo =
  (stream: NodeJS.WritableStream): Print =>
  (line) => {
    stream.write(`${line}\n`);
  };

/** Whether programs read what the service writes, as in a container. */
export const isProduction = process.env['NODE_ENV'] === 'production';

/**
 * Shows the operator of a service plain lines on standard output. In production they are JSON lines like those of the log, and LOG_LEVEL does not
 * hide them: the generated admin key is shown only once.
 */
export function printOfService(): Print {
  if (!isProduction) return printTo(process.stdout);
  const lines = createLog('info', process.stdout, 'supervisor');
  return (line) => {
    if (line !== '') lines.info(line.trim());
  };
}

/** Logs what Node writes to standard error as plain text: its warnings, and an error that nothing has caught, which ends the process. */
export function logNodeEvents(log: Logger): void {
  process.removeAllListeners('warning');
  process.on('warning', (warning) => {
    log.warn({ err: warning }, 'Node.js warning');
  });
  process.on('uncaughtException', (error) => {
    log.fatal({ err: error }, 'unexpected error, exiting');
    process.exit(1);
  });
}

/** The log of this process, on standard error. Writes are synchronous, so that a process that ends loses none. */
export const openLog = (level: string, name?: string): Logger => createLog(level, pino.destination({ dest: 2, sync: true }), name);

/** What an operator sees of an error that ends a process: a sentence, or the stack of an unexpected error. */
export function failureText(error: unknown): string {
  if (error instanceof OperatorError || error instanceof LaurelError) return error.message;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

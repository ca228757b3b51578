import { Writable } from 'node:stream';
import type { Logger } from 'pino';
import { createLog } from '../../src/logging/log.js';

export interface LogLines {
  readonly log: Logger;
  /** What has been logged until now, as it was written. */
  readonly text: () => string;
  /** What has been logged until now, by line. */
  readonly lines: () => Record<string, unknown>[];
}

/** A log as the service has it, which a test can read. */
export function logLines(level: string): LogLines {
  let written = '';
  const sink = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      written += chunk.toString();
      done();
    },
  });
  return {
    log: createLog(level, sink),
    text: () => written,
    lines: () =>
      written
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as Record<string, unknown>),
  };
}

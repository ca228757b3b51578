import { Writable } from 'node:stream';
import type { Logger } from 'pino';
import { createLog } from '../../src/logging/log.js';

export interface LogLines {
  readonly log: Logger;
  /** The raw log so far. */
  readonly text: () => string;
  /** The parsed lines so far. */
  readonly lines: () => Record<string, unknown>[];
}

/** The service's log, readable by a test. */
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

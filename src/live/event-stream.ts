import type { ServerResponse } from 'node:http';

/** Headers of a stream: caches store nothing, and proxies (nginx) neither buffer nor compress it. */
export const streamHeaders = {
  'Content-Type': 'text/event-stream; charset=utf-8',
  'Cache-Control': 'no-store, no-transform',
  'X-Accel-Buffering': 'no',
} as const;

/** The body of a response that is a stream of server-sent events. */
export class EventStream {
  /** Called once, when the headers are sent. The client may have disconnected. */
  readonly start: (response: ServerResponse) => void;

  constructor(start: (response: ServerResponse) => void) {
    this.start = start;
  }
}

/** A message of a stream as it is sent. `data` is JSON, which has no line breaks. */
export const message = (event: string, id: string, data: string): Buffer => Buffer.from(`event: ${event}\nid: ${id}\ndata: ${data}\n\n`);

/** A comment, which clients ignore. */
export const heartbeat = Buffer.from(':\n\n');

/** Makes the client wait before it connects again. */
export const retryAfter = (ms: number): Buffer => Buffer.from(`retry: ${ms}\n\n`);

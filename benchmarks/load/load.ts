import { Client } from 'undici';
import { percentile } from '../measure/stats.js';
import { Pace } from './pace.js';

/** One request, as it is drawn before it is sent. */
export interface LoadRequest {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly body?: string;
  readonly idempotencyKey?: string;
}

export interface LoadOptions {
  readonly url: string;
  readonly apiKey: string;
  /** The tenant of the requests; the default tenant without it. */
  readonly tenant?: string | undefined;
  readonly connections: number;
  readonly seconds: number;
  readonly next: () => LoadRequest;
  readonly signal: AbortSignal;
  /** Requests a second over all connections; as many as the server takes without it. */
  readonly rate?: number;
  /** Ends the load in order before its time. */
  readonly end?: AbortSignal;
}

export interface LoadResult {
  /** Responses with a 2xx, a second. */
  readonly ratePerS: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  readonly answered: number;
  /** Responses with another status, failed connections and timeouts together. */
  readonly failed: number;
  /** Mean size of a response's body. */
  readonly answerBytes: number;
}

const timeoutMs = 10_000;

/**
 * Sends requests over `connections` connections, one at a time on each, for `seconds`. Without a rate, a connection sends the next request as
 * soon as it has a response. With a rate, requests become due at even intervals whether or not earlier ones have a response, and a latency
 * counts from the moment at which the request was due. Rejects when it is interrupted.
 */
export async function load(options: LoadOptions): Promise<LoadResult> {
  options.signal.throwIfAborted();
  const running = new Load(options);
  try {
    return await running.run();
  } finally {
    await running.close();
  }
}

class Load {
  private readonly options: LoadOptions;
  private readonly headers: readonly string[];
  private readonly clients: readonly Client[];
  private readonly latenciesMs: number[] = [];
  private ok = 0;
  private failed = 0;
  private bodyBytes = 0;
  private isOver = false;

  constructor(options: LoadOptions) {
    this.options = options;
    const { apiKey, tenant } = options;
    this.headers = ['content-type', 'application/json', 'x-api-key', apiKey, ...(tenant === undefined ? [] : ['tenant-id', tenant])];
    const timeouts = { headersTimeout: timeoutMs, bodyTimeout: timeoutMs };
    this.clients = Array.from({ length: options.connections }, () => new Client(options.url, timeouts));
  }

  async run(): Promise<LoadResult> {
    const { seconds, signal, end, rate } = this.options;
    const finish = (): void => {
      this.isOver = true;
    };
    const timer = setTimeout(finish, seconds * 1_000);
    for (const each of [signal, end]) each?.addEventListener('abort', finish);
    const startedMs = performance.now();
    try {
      await (rate === undefined ? Promise.all(this.clients.map((client) => this.unpaced(client))) : this.paced(rate));
      signal.throwIfAborted();
      return this.result((performance.now() - startedMs) / 1_000);
    } finally {
      clearTimeout(timer);
      for (const each of [signal, end]) each?.removeEventListener('abort', finish);
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.clients.map((client) => client.destroy()));
  }

  /** As many requests as one connection can send. */
  private unpaced(client: Client): Promise<void> {
    return new Promise((done) => {
      const next = (): void => {
        if (this.isOver) done();
        else this.send(client, performance.now(), next);
      };
      next();
    });
  }

  /** Requests at even intervals, each on a connection that is free, or on the first that becomes free. */
  private async paced(rate: number): Promise<void> {
    const free = [...this.clients];
    const dueMs: number[] = [];
    const take = (client: Client): void => {
      const due = dueMs.shift();
      if (due === undefined) free.push(client);
      else this.send(client, due, () => take(client));
    };
    const send = (due: number): void => {
      dueMs.push(due);
      const client = free.pop();
      if (client) take(client);
    };
    await new Pace(rate).run(() => this.isOver, send);
    dueMs.length = 0;
    await Promise.all(this.clients.map((client) => client.close()));
  }

  /** Sends one request. `done` runs once it has a response or has failed. */
  private send(client: Client, dueMs: number, done: () => void): void {
    const { method, path, body = null, idempotencyKey } = this.options.next();
    const headers = [...this.headers, ...(idempotencyKey === undefined ? [] : ['idempotency-key', idempotencyKey])];
    let status = 0;
    client.dispatch(
      { method, path, headers, body },
      {
        onRequestStart: () => undefined,
        onResponseStart: (_, statusCode) => {
          status = statusCode;
        },
        onResponseData: (_, { length }) => {
          this.bodyBytes += length;
        },
        onResponseEnd: () => {
          this.latenciesMs.push(performance.now() - dueMs);
          if (status >= 200 && status < 300) this.ok += 1;
          else this.failed += 1;
          done();
        },
        onResponseError: () => {
          this.failed += 1;
          // A server that is away refuses at once: not in the same turn of the event loop again.
          setImmediate(done);
        },
      },
    );
  }

  private result(seconds: number): LoadResult {
    const sorted = Float64Array.from(this.latenciesMs).sort();
    return {
      ratePerS: this.ok / seconds,
      p50Ms: percentile(sorted, 0.5),
      p99Ms: percentile(sorted, 0.99),
      maxMs: percentile(sorted, 1),
      answered: sorted.length,
      failed: this.failed,
      answerBytes: this.bodyBytes / Math.max(1, sorted.length),
    };
  }
}

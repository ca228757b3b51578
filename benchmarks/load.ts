import autocannon from 'autocannon';
import { type BenchmarkEvent } from './events.js';
import { percentile } from './stats.js';

export interface LoadOptions {
  readonly url: string;
  readonly path: string;
  readonly apiKey: string;
  readonly connections: number;
  readonly seconds: number;
  readonly nextEvent: () => BenchmarkEvent;
  readonly signal: AbortSignal;
  /** Events a second over all connections; as many as will go without it. */
  readonly rate?: number;
  /** Ends the load in order before its time. */
  readonly end?: AbortSignal;
}

export interface LoadResult {
  /** Answers with a 2xx, a second. */
  readonly eventsPerS: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  readonly answered: number;
  /** Answers with another status, failed connections and timeouts together. */
  readonly failed: number;
  /** Mean size of an answer's body. */
  readonly answerBytes: number;
}

/**
 * Sends events over `connections` connections, one request at a time on each, for `seconds`. Latencies are taken from autocannon's
 * events and not from its histogram, which holds whole milliseconds only.
 */
export async function load(options: LoadOptions): Promise<LoadResult> {
  const latenciesMs: number[] = [];
  let bodyBytes = 0;
  const request: autocannon.Request = {
    method: 'POST',
    path: options.path,
    setupRequest: (defaults) => {
      const { body, idempotencyKey } = options.nextEvent();
      return { ...defaults, body, headers: { ...defaults.headers, 'idempotency-key': idempotencyKey } };
    },
    onResponse: (_status, body) => {
      bodyBytes += Buffer.byteLength(body);
    },
  };
  const result = await run(options, request, (responseMs) => latenciesMs.push(responseMs));
  const sorted = Float64Array.from(latenciesMs).sort();
  return {
    eventsPerS: result['2xx'] / result.duration,
    p50Ms: percentile(sorted, 0.5),
    p99Ms: percentile(sorted, 0.99),
    maxMs: percentile(sorted, 1),
    answered: latenciesMs.length,
    failed: result.non2xx + result.errors,
    answerBytes: bodyBytes / Math.max(1, latenciesMs.length),
  };
}

/** One run of autocannon, as a promise that also rejects when it is interrupted. */
async function run(
  { url, connections, seconds, apiKey, signal, rate, end }: LoadOptions,
  request: autocannon.Request,
  onLatency: (responseMs: number) => void,
): Promise<autocannon.Result> {
  signal.throwIfAborted();
  const headers = { 'content-type': 'application/json', 'x-api-key': apiKey };
  const result = await new Promise<autocannon.Result>((resolve, reject) => {
    const options = {
      url,
      connections,
      duration: seconds,
      headers,
      requests: [request],
      ...(rate === undefined ? {} : { overallRate: rate }),
    };
    const instance = autocannon(options, (error: Error | null, all) => {
      for (const each of [signal, end]) each?.removeEventListener('abort', stop);
      if (error) reject(error);
      else resolve(all);
    });
    const stop = () => instance.stop();
    for (const each of [signal, end]) each?.addEventListener('abort', stop);
    instance.on('response', (_client, _status, _bytes, responseMs) => onLatency(responseMs));
  });
  signal.throwIfAborted();
  return result;
}

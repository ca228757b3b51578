import { Counter, Histogram, type Registry } from 'prom-client';

/** Seconds: from one that Redis answers at once to one that waits for Postgres until it gives up. */
export const durationBuckets = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10];

/** A request that has been answered. */
export interface AnsweredRequest {
  readonly method: string;
  /** The pattern of the route, `none` for an address that there is not. */
  readonly route: string;
  readonly status: number;
  readonly seconds: number;
}

/** Whoever calls may make up methods, so what no route has is one label. */
const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** Counts requests by route and status, and how long they took by route. Returns what is to be told of each. */
export function countRequests(registry: Registry): (request: AnsweredRequest) => void {
  const requests = new Counter({
    name: 'laurel_http_requests_total',
    help: 'Requests that have been answered, by method, route (its pattern) and status.',
    labelNames: ['method', 'route', 'status'],
    registers: [registry],
  });
  const durations = new Histogram({
    name: 'laurel_http_request_duration_seconds',
    help: 'Time from the head of a request to its answer, by method and route.',
    labelNames: ['method', 'route'],
    buckets: durationBuckets,
    registers: [registry],
  });
  return ({ method: sent, route, status, seconds }) => {
    const method = methods.has(sent) ? sent : 'other';
    requests.inc({ method, route, status });
    durations.observe({ method, route }, seconds);
  };
}

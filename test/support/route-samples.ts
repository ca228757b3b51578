import type { Route } from '../../src/api/route.js';

/** What the requests of `sampleRequest` name: everything has the key `k`. */
export const routeConfig = JSON.stringify({
  metrics: [{ key: 'k', name: 'K' }],
  achievements: [{ key: 'k', name: 'K', trigger: 'api', status: 'active' }],
  points: [{ key: 'k', name: 'K' }],
  leaderboards: [{ key: 'k', name: 'K', rankBy: 'metric', metricKey: 'k', status: 'active' }],
});

/** A request that is well-formed and about a user: for the routes that take the user from their query or body. */
interface Sample {
  readonly query?: string;
  readonly body?: unknown;
}
const summary = '?aggregation=daily&startDate=2040-01-01&endDate=2040-01-02';
const samples: Readonly<Record<string, (user: string) => Sample>> = {
  'post /metrics/{key}/event': (id) => ({ body: { user: { id }, value: 1 } }),
  'post /users': (id) => ({ body: { id } }),
  'put /users/{id}': () => ({ body: {} }),
  'patch /users/{id}': () => ({ body: {} }),
  'post /achievements/{key}/complete': (id) => ({ body: { user: { id } } }),
  'patch /users/{id}/preferences': () => ({ body: {} }),
  'get /streaks': (id) => ({ query: `?userIds=${id}` }),
  'get /users/{id}/metrics/{key}/event-summary': () => ({ query: summary }),
  'get /users/{id}/points/{key}/event-summary': () => ({ query: summary }),
  'post /live-tokens': (id) => ({ body: { leaderboards: ['k'], userId: id } }),
  'get /leaderboards/{key}': (id) => ({ query: `?userId=${id}` }),
};

/** A request to a route, about a user; well-formed if the route needs the user to decide who may call it. `address` is relative to the API's base. */
export function sampleRequest(
  { method, path }: Pick<Route, 'method' | 'path'>,
  user: string,
): { readonly address: string; readonly body?: unknown } {
  const { query = '', body } = samples[`${method} ${path}`]?.('ana') ?? {};
  const address = path.replace('{id}', user).replace(/\{\w+\}/g, 'k') + query;
  return { address, ...(body === undefined ? {} : { body }) };
}

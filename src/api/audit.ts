import type { Principal } from '../access/key-ring.js';
import { counted } from '../shared/counted.js';
import { limits } from '../shared/limits.js';
import { JsonText } from '../shared/json.js';
import { isRead } from './auth.js';
import type { Api, Audited, Exchange, Route, RouteResponse, Services } from './route.js';

type AnyExchange = Exchange<unknown, unknown, unknown>;

/** The lists of a response whose objects the request has changed. */
const changedLists = ['created', 'updated', 'deleted'] as const;

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** What the audit log says about a number of things: `2 streak freezes given`; undefined for none. `users` are those that the request names without it. */
export function countOf(count: number, what: string, done: string, users?: readonly string[]): Audited | undefined {
  if (count === 0) return undefined;
  return { summary: `${counted(count, what)} ${done}`, ...(users ? { users } : {}) };
}

/** A name for an object of a response. One that is about a user is named by its id alone, since its other texts may name the user. */
function labelOf(object: unknown): string | undefined {
  if (!isRecord(object)) return undefined;
  const isPersonal = 'userId' in object || 'email' in object;
  const texts = isPersonal ? [object['id']] : [object['key'], object['name'], object['prefix'], object['id']];
  // The key of an admin key or an application key is a secret.
  const shown = 'prefix' in object ? texts.filter((text) => text !== object['key']) : texts;
  return shown.find((text): text is string => typeof text === 'string' && text !== '');
}

function listSummary(done: string, objects: readonly unknown[]): string {
  const labels = objects.map(labelOf).filter((label) => label !== undefined);
  const shown = labels.slice(0, limits.maxAuditLabels).join(', ');
  const more = labels.length > limits.maxAuditLabels ? ` and ${labels.length - limits.maxAuditLabels} more` : '';
  return `${objects.length} ${done}${shown === '' ? '' : `: ${shown}${more}`}`;
}

/** What a response says that was changed: `2 created: gold, silver`, or the route's summary for one without such lists. */
function summaryOf({ summary, path }: Route, { params, response }: AnyExchange): string | undefined {
  const lists = isRecord(response) ? changedLists.map((done) => [done, response[done]] as const) : [];
  const found = lists.filter((list): list is readonly [(typeof changedLists)[number], readonly unknown[]] => Array.isArray(list[1]));
  const changed = found.filter(([, objects]) => objects.length > 0);
  if (found.length > 0) return changed.length === 0 ? undefined : changed.map(([done, objects]) => listSummary(done, objects)).join('; ');
  const named = isRecord(params) && !path.startsWith('/users/') ? Object.values(params).map(String) : [];
  return named.length === 0 ? summary : `${summary}: ${named.join(', ')}`;
}

/** The values of the fields `userId` anywhere in a body. */
function userIdsIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(userIdsIn);
  if (!isRecord(value)) return [];
  return Object.entries(value).flatMap(([field, part]) => (field === 'userId' && typeof part === 'string' ? [part] : userIdsIn(part)));
}

/** The users that a request names. */
function usersOf({ path, access }: Route, { params, query, body }: AnyExchange): readonly string[] {
  if (typeof access === 'function') return access({ params, query, body });
  const own = path.startsWith('/users/{id}') && isRecord(params) ? [String(params['id'])] : [];
  const events = Array.isArray(body)
    ? body.flatMap((item) => (isRecord(item) && isRecord(item['user']) ? [String(item['user']['id'])] : []))
    : [];
  return [...own, ...events, ...userIdsIn(body)];
}

/** Whether the successes of a caller at a route are in the audit log: all changes through the Admin API, and all of the dashboard. */
function isAudited({ sessionId }: Principal, api: Api, { isTraffic }: Route): boolean {
  return sessionId !== undefined || (api === 'admin' && isTraffic !== true);
}

type Handle = Route['handle'];
type AnyRequest = Parameters<Handle>[0];

/** The version of the configuration of a tenant, for routes that change it. */
const versionOf = async ({ engine }: Services, tenant: number, { changesConfiguration }: Route): Promise<number | null> =>
  changesConfiguration ? (await engine.config(tenant)).version : null;

/**
 * The handler of an endpoint that also saves an entry of the audit log for each success that belongs there, before the response. Events with an API
 * key pay for one comparison.
 */
export function auditing({ api, route }: AuditedEndpoint): Handle {
  if (isRead(route) && !route.audit) return route.handle;
  const handleAndNote = noting({ api, route });
  return (request) => (isAudited(request.principal, api, route) ? handleAndNote(request) : route.handle(request));
}

interface AuditedEndpoint {
  readonly api: Api;
  readonly route: Route;
}

function noting({ api, route }: AuditedEndpoint): Handle {
  const isOfTenant = api === 'application' || route.scope === 'tenant';
  return async (request) => {
    const { services, principal, tenant } = request;
    const before = await versionOf(services, tenant, route);
    const response = await route.handle(request);
    const audited = auditedOf(route, request, response);
    if (!audited) return response;
    const version = await versionOf(services, tenant, route);
    await services.audit.note({
      tenant: isOfTenant ? tenant : null,
      keyId: principal.keyId,
      via: principal.sessionId === undefined ? 'api' : 'dashboard',
      operation: route.operation,
      ...audited,
      ignoredFields: request.ignoredFields,
      configurationVersion: version === before ? null : version,
    });
    return response;
  };
}

function auditedOf(route: Route, { params, query, body }: AnyRequest, { body: sent, summary: noted }: RouteResponse): Audited | undefined {
  const exchange = { params, query, body, response: sent instanceof JsonText ? undefined : sent };
  if (route.audit) {
    const audited = route.audit(exchange);
    return audited && { users: usersOf(route, exchange), ...audited };
  }
  const summary = noted ?? summaryOf(route, exchange);
  return summary === undefined ? undefined : { summary, users: usersOf(route, exchange) };
}

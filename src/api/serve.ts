import type Koa from 'koa';
import type { Principal } from '../access/key-ring.js';
import { idProblem } from '../engine/user-properties.js';
import { LaurelError } from '../shared/errors.js';
import { EventStream, streamHeaders } from '../live/event-stream.js';
import { JsonText } from '../shared/json.js';
import { limits } from '../shared/limits.js';
import { inTurnsOf } from '../threads/turns.js';
import { checkCaller, checkFilters, checkUsers, checkWrites, tenantFor } from './auth.js';
import { parsePart } from './errors.js';
import { isLongList, parseList, type ParsedBody } from './lists.js';
import { auditing } from './audit.js';
import { bodyReader } from './body.js';
import type { CostlyRequests } from './costly.js';
import { auditedNames, headerOf, ignoredFields, ignoredFieldsHeader, withWarnings } from './ignored-fields.js';
import { type RateLimit, commonHeaders } from './middleware.js';
import { type Api, type Route, type RouteResponse, type Services, none } from './route.js';

export interface ServeOptions {
  readonly services: Services;
  /** Undefined: requests are not limited. */
  readonly rateLimit: RateLimit | undefined;
  readonly costly: CostlyRequests;
  /** Returns the caller of a request, or throws; by the X-API-KEY header without it. */
  readonly authenticate?: Authenticate;
}

export type Authenticate = (context: Koa.Context) => Principal | Promise<Principal>;

/** A route under one of its base paths. */
export interface Endpoint {
  readonly api: Api;
  readonly route: Route;
  /** The pattern of the path with its base, as the router writes it: `/v1/users/:id`. */
  readonly pattern: string;
}

/** Serves a request to an endpoint, with the raw parameters of its path. */
export type Serve = (context: Koa.Context, params: Readonly<Record<string, string>>) => Promise<void>;

/** Throws a 400 for an invalid percent-encoding, which the router would pass on undecoded, as a wrong id. */
function checkAddress({ url }: Koa.Context): void {
  if (!url.includes('%')) return;
  try {
    decodeURIComponent(url);
  } catch (error) {
    throw new LaurelError('invalid_request', 'Invalid percent-encoding in the URL: encode text as UTF-8.', { cause: error });
  }
}

/** The parameters of the query string. Throws a 422 for more than limits.maxQueryParameters. */
function queryOf(context: Koa.Context): Koa.Context['query'] {
  const { search } = context;
  if (search === '') return {};
  if (search.split('&', limits.maxQueryParameters + 1).length > limits.maxQueryParameters) {
    throw new LaurelError('unprocessable', `The query has more than ${limits.maxQueryParameters} parameters: send fewer.`);
  }
  return context.query;
}

/** Decodes a header as UTF-8, which clients send and Node reads as Latin-1. Bytes that are not UTF-8 stay as they are. */
function decodeHeader(value: string): string {
  const bytes = Buffer.from(value, 'latin1');
  const decoded = bytes.toString('utf8');
  return Buffer.from(decoded, 'utf8').equals(bytes) ? decoded : value;
}

function idempotencyKey(context: Koa.Context): string | undefined {
  const header = context.req.headers['idempotency-key'];
  if (typeof header !== 'string') return undefined;
  const key = decodeHeader(header);
  const problem = idProblem(key);
  if (problem !== undefined) throw new LaurelError('unprocessable', `The Idempotency-Key header ${problem}.`);
  return key;
}

async function learntTenant(named: string, principal: Principal, route: Route, { account }: Services): Promise<number> {
  if (principal.tenant === null) await account.learnTenant(named);
  return tenantFor(principal, named, account, route);
}

function tenantOf(context: Koa.Context, principal: Principal, route: Route, services: Services): number | Promise<number> {
  const header = context.req.headers['tenant-id'];
  if (header === undefined) return tenantFor(principal, undefined, services.account, route);
  return learntTenant(decodeHeader(String(header)), principal, route, services);
}

/** The parsed body; of the Admin API, with the fields that it doesn't know. */
function bodyOf(context: Koa.Context, { api, route }: Endpoint): ParsedBody | Promise<ParsedBody> {
  const { rawBody, body: sent } = context.request;
  if (!route.body) return { body: undefined, ignored: [] };
  if (rawBody === undefined || rawBody === '') {
    if (route.bodyOptional) return { body: parsePart(route.body, {}, 'The body'), ignored: [] };
    throw new LaurelError('invalid_json', 'Send a JSON body.');
  }
  if (isLongList(route.body, sent)) return parseList(route.body, sent, 'The body');
  const body = parsePart(route.body, sent, 'The body');
  return { body, ignored: api === 'admin' ? ignoredFields(sent, body) : [] };
}

/** Authenticates by the X-API-KEY header. */
const byKey =
  ({ account }: Services): Authenticate =>
  (context) => {
    const key = context.req.headers['x-api-key'];
    return account.authenticate(typeof key === 'string' ? key : undefined);
  };

/** Authenticates by the parameter `token`, or by the X-API-KEY header without it. */
function byTokenOrKey(services: Services): Authenticate {
  const authenticate = byKey(services);
  return (context) => {
    const { token } = queryOf(context);
    return typeof token === 'string' ? services.liveTokens.authenticate(token) : authenticate(context);
  };
}

/** Authenticates and authorises. Returns the caller, and the `no` of the request's tenant. */
async function admit(context: Koa.Context, { api, route }: Endpoint, { services, rateLimit, authenticate }: Admitting): Promise<Admitted> {
  const found = authenticate(context);
  const principal = found instanceof Promise ? await found : found;
  // The browsers of all users have tokens of one admin key: each user has a limit of its own, so that they can't use up that of the key's server.
  if (rateLimit) await rateLimit.count(principal.live?.holder ?? principal.keyId, (headers) => context.set(headers));
  const implied = tenantOf(context, principal, route, services);
  const tenant = typeof implied === 'number' ? implied : await implied;
  checkCaller(principal, api, route);
  context.state['tenant'] = tenant;
  return { principal, tenant };
}

type Admitting = ServeOptions & { readonly authenticate: Authenticate };

interface Admitted {
  readonly principal: Principal;
  readonly tenant: number;
}

/**
 * What a request to an endpoint passes, in this order: the key, the rate limit, the tenant and the caller's permission (401 and 403 take precedence
 * over every other error), the body, the parameters, whose data it concerns, and the handler.
 */
export function serveEndpoint(endpoint: Endpoint, options: ServeOptions): Serve {
  const { route, pattern } = endpoint;
  const { services } = options;
  const byHeader = route.live === 'stream' ? byTokenOrKey : byKey;
  const admitting: Admitting = { ...options, authenticate: options.authenticate ?? byHeader(services) };
  const handle = auditing(endpoint);
  const readBody = bodyReader(route.maxBodyBytes ?? limits.maxBodyBytes, route.deferredField);
  return async (context, rawParams) => {
    context['_matchedRoute'] = pattern;
    const { principal, tenant } = await admit(context, endpoint, admitting);
    await readBody(context);
    checkAddress(context);
    const params = parsePart(route.params, rawParams, 'The path');
    const query = route.query === none ? {} : parsePart(route.query, queryOf(context), 'The query');
    const parsing = bodyOf(context, endpoint);
    const { body, ignored } = parsing instanceof Promise ? await parsing : parsing;
    checkUsers(principal, route, { params, query, body });
    checkWrites(principal, route, { params, query, body });
    checkFilters(principal, route, () => context.query);
    const key = route.idempotent ? idempotencyKey(context) : undefined;
    if (ignored.length > 0) context.set(ignoredFieldsHeader, headerOf(ignored));
    const names = ignored.length > 0 ? auditedNames(ignored) : [];
    const respond = (): Promise<RouteResponse> =>
      handle({ services, principal, tenant, params, query, body, idempotencyKey: key, ignoredFields: names });
    const response = await inTurn(respond, { endpoint, principal, costly: options.costly });
    send(context, withWarnings(response, ignored), route);
  };
}

/** Runs the handler. What it does in threads takes turns with that of other tenants; only the Admin API uses them. */
function inTurn(
  respond: () => Promise<RouteResponse>,
  { endpoint: { api, route }, principal, costly }: { endpoint: Endpoint; principal: Principal; costly: CostlyRequests },
): Promise<RouteResponse> {
  if (api !== 'admin') return respond();
  const owner = { tenant: principal.tenant, usedMs: 0 };
  return route.costly ? costly.run(principal.keyId, owner, respond) : inTurnsOf(owner, respond);
}

/** Sends JSON with all of its headers in one call; Koa sends what is not JSON. */
function send(context: Koa.Context, { status, body, download }: RouteResponse, { produces }: Route): void {
  if (body instanceof EventStream) {
    context.res.statusCode = status;
    if (context.writable) context.res.writeHead(status, { ...commonHeaders(context), ...streamHeaders });
    context.respond = false;
    try {
      body.start(context.res);
    } catch (error) {
      // Its headers are sent: a client would wait for ever.
      context.res.destroy();
      throw error;
    }
    return;
  }
  if (produces !== undefined || typeof body !== 'object' || body === null) {
    context.status = status;
    context.set(commonHeaders(context));
    context.set('Cache-Control', 'no-store');
    context.body = body;
    if (download) context.attachment(download.name);
    const type = download?.type ?? produces;
    if (typeof type === 'string') context.type = type;
    return;
  }
  const text = body instanceof JsonText ? body.text : JSON.stringify(body);
  context.res.statusCode = status;
  // The client may have disconnected.
  if (context.writable) {
    context.res.writeHead(status, {
      ...commonHeaders(context),
      'Cache-Control': 'no-store',
      'Content-Type': 'application/json; charset=utf-8',
      'Content-Length': Buffer.byteLength(text),
    });
    context.res.end(text);
  }
  // Not earlier: Koa sends the response to an error above.
  context.respond = false;
}

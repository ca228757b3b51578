import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type Koa from 'koa';
import type { Logger } from 'pino';
import { limits } from '../limits.js';

/** A request that has been answered. It tells nothing of whom it was about: `route` is the pattern, and not the address. */
export interface Answered {
  readonly method: string;
  /** `/v1/users/:id`; `none` for an address that there is not. */
  readonly route: string;
  readonly status: number;
  /** From the head of the request to its answer. */
  readonly seconds: number;
}

/** A request that is to be answered. */
export interface Asked {
  readonly id: string;
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
}

/** Who watches requests. */
export interface RequestWatch {
  /** Counts a request. */
  readonly answered?: ((request: Answered) => void) | undefined;
  /** Answers a request, and traces it. `outcome` is known when `answer` is through. */
  readonly around?: ((request: Asked, answer: () => Promise<void>, outcome: () => Answered) => Promise<void>) | undefined;
}

const wellFormedId = new RegExp(`^[A-Za-z0-9._-]{1,${limits.maxRequestIdChars}}$`);

/** The id of a request: the caller's X-Request-Id if it is well-formed, else a new one. A key that was sent in the wrong header is none. */
export function requestId({ headers }: Koa.Request): string {
  const sent = headers['x-request-id'];
  return typeof sent === 'string' && wellFormedId.test(sent) && sent !== headers['x-api-key'] ? sent : randomUUID();
}

/** The pattern that the router found for a request. */
function routeOf(context: Koa.Context): string {
  const route = context['_matchedRoute'] as unknown;
  return typeof route === 'string' ? route : 'none';
}

/** What a request's log lines begin with. The address stays out of them, as ids and e-mail addresses are in it. */
export const requestLog = (log: Logger, context: Koa.Context): Logger =>
  log.child({ requestId: context.state['requestId'] as string, method: context.method, route: routeOf(context) });

export interface ObservedOptions {
  readonly log: Logger;
  /** ACCESS_LOG: the level of the line that is logged of each request. */
  readonly accessLog: 'debug' | 'info';
  readonly watch: RequestWatch;
}

/** Gives each request an id, which its answer and its log lines carry, and tells of it when it has been answered. */
export function observed({ log, accessLog, watch }: ObservedOptions): Koa.Middleware {
  const isLogged = log.isLevelEnabled(accessLog);
  const { answered, around } = watch;
  return async (context, next) => {
    const begun = performance.now();
    const id = requestId(context.request);
    context.state['requestId'] = id;
    context.set('X-Request-Id', id);
    const { method } = context;
    const outcome = (): Answered => ({
      method,
      route: routeOf(context),
      status: context.status,
      seconds: (performance.now() - begun) / 1000,
    });
    const answer = next as () => Promise<void>;
    await (around ? around({ id, method, headers: context.headers }, answer, outcome) : answer());
    if (!answered && !isLogged) return;
    const request = outcome();
    answered?.(request);
    if (isLogged) {
      const { route, status, seconds } = request;
      log[accessLog]({ requestId: id, method, route, status, ms: Math.round(seconds * 1e4) / 10 }, 'request');
    }
  };
}

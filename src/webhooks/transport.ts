import { createHmac, randomBytes } from 'node:crypto';
import { type LookupAddress, lookup as dnsLookup } from 'node:dns';
import { type LookupFunction, isIP } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { Agent, type Dispatcher, buildConnector, request } from 'undici';
import { isPublicAddress, receiverFault, type WebhookReceivers } from '../config/schema/webhook-url.js';
import { limits } from '../shared/limits.js';

/** The secrets of an endpoint. */
export interface Secrets {
  readonly secret: string;
  /** The previous secret, while both are valid. */
  readonly previous: string | null;
}

const secretBytes = 32;

/** A new secret in the format of Standard Webhooks: `whsec_` and the base64 of random bytes. */
export const newSecret = (): string => `whsec_${randomBytes(secretBytes).toString('base64')}`;

/**
 * The headers that identify an event and its sender: those of Standard Webhooks, and `X-Trophy-Signature` for handlers written for the hosted
 * service. `body` is signed as sent. While two secrets are valid, `webhook-signature` has a signature for each; `X-Trophy-Signature` uses only the
 * newer one, whose text, `whsec_` included, is the key.
 */
export function signatureHeaders(id: string, at: Date, body: string, { secret, previous }: Secrets): Record<string, string> {
  const signatures = [secret, previous].filter((each) => each !== null).map((each) => new Webhook(each).sign(id, at, body));
  return {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': signatures.join(' '),
    'x-trophy-signature': createHmac('sha256', secret).update(body).digest('base64'),
  };
}

/** The outcome of one request. */
export interface Outcome {
  /** Whether the receiver accepted the event: a status of 200 to 299. */
  readonly isAccepted: boolean;
  /** Null without a response. */
  readonly status: number | null;
  /** The start of the response's body. */
  readonly answer: string | null;
  /** Why there is no response, or why it is not accepted. */
  readonly error: string | null;
  readonly durationMs: number;
}

/** Looks up all addresses of a name. */
export type Resolver = (name: string) => Promise<readonly LookupAddress[]>;

/** Calls `end` after a time, unless the function that it returns is called before. */
export type Timer = (ms: number, end: () => void) => () => void;

export interface TransportOptions {
  readonly receivers: WebhookReceivers;
  readonly resolve?: Resolver;
  /** What ends lookups. */
  readonly timer?: Timer;
  /** The response timeout of a receiver. */
  readonly responseMs?: number;
}

/** A host that events are not sent to. A name without any address is none, too: the difference would tell callers which names this network has. */
class PrivateAddressError extends Error {
  constructor(host: string) {
    super(`${host} has no public address: check the name, or set WEBHOOK_ALLOW_PRIVATE=1 to allow private ones`);
  }
}

const systemResolver: Resolver = (name) =>
  new Promise((resolve, reject) => {
    dnsLookup(name, { all: true }, (error, addresses) => {
      if (error) reject(error);
      else resolve(addresses);
    });
  });

/**
 * Shares concurrent lookups of one name. The system resolves names in a few threads, and lookups of one endpoint whose name server does not respond
 * would occupy all of them.
 */
function deduplicated(resolve: Resolver): Resolver {
  const pending = new Map<string, ReturnType<Resolver>>();
  return (name) => {
    const lookup = pending.get(name) ?? resolve(name).finally(() => pending.delete(name));
    pending.set(name, lookup);
    return lookup;
  };
}

const systemTimer: Timer = (ms, end) => {
  const timer = setTimeout(end, ms).unref();
  return () => {
    clearTimeout(timer);
  };
};

/**
 * Resolves names to public addresses. A name without any has none at the same deadline, whether it leads to private ones, does not exist or its name
 * server does not respond: the time of an outcome does not tell callers which names this network has.
 */
function resolvingPublic(resolve: Resolver, timer: Timer): Resolver {
  return (name) =>
    new Promise((done) => {
      const cancel = timer(limits.webhookLookupMs, () => {
        done([]);
      });
      resolve(name)
        .then((addresses) => {
          const open = addresses.filter(({ address }) => isPublicAddress(address));
          if (open.length === 0) return;
          cancel();
          done(open);
        })
        .catch(() => undefined);
    });
}

/** A lookup for connections that returns only allowed addresses. */
export function lookupOf(resolve: Resolver, isOpen: (address: string) => boolean): LookupFunction {
  return (name, { all, family }, callback) => {
    resolve(name)
      .then((addresses) => {
        const open = addresses.filter((one) => isOpen(one.address) && (family === 0 || family === undefined || one.family === family));
        const [first] = open;
        if (!first) callback(new PrivateAddressError(name), '', 0);
        else if (all === true) callback(null, [...open]);
        else callback(null, first.address, first.family);
      })
      .catch((error: unknown) => {
        callback(error as NodeJS.ErrnoException, '', 0);
      });
  };
}

/**
 * Connects to allowed addresses only. The check applies to the connection's own address: one in the URL, or those that the name resolves to for this
 * connection, so that a name that resolves elsewhere the next time gains nothing; and, once connected, the remote address.
 */
function connectorOf({ receivers, resolve = systemResolver, timer = systemTimer }: TransportOptions): buildConnector.connector {
  const isOpen = (address: string): boolean => receivers !== 'public' || isPublicAddress(address);
  const shared = deduplicated(resolve);
  const lookUp = receivers === 'public' ? resolvingPublic(shared, timer) : shared;
  const connect = buildConnector({ timeout: limits.webhookConnectMs, lookup: lookupOf(lookUp, isOpen) });
  return (options, callback) => {
    const host = options.hostname.replace(/^\[(.*)\]$/, '$1');
    if (isIP(host) !== 0 && !isOpen(host)) {
      callback(new PrivateAddressError(host), null);
      return;
    }
    connect(options, (...[error, socket]) => {
      if (error) callback(error, null);
      else if (isOpen(socket.remoteAddress ?? '')) callback(null, socket);
      else {
        socket.destroy();
        callback(new PrivateAddressError(host), null);
      }
    });
  };
}

/** The first bytes of a body, as text that Postgres can store. */
async function readStart(body: Dispatcher.ResponseData['body']): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  // Only the status matters, so the body may be truncated and has a short timeout.
  const timeout = setTimeout(() => body.destroy(), limits.webhookAnswerBodyMs);
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes >= limits.webhookAnswerBytes) break;
    }
  } catch {
    // The part that has arrived is shown.
  } finally {
    clearTimeout(timeout);
    body.destroy();
  }
  const text = Buffer.concat(chunks).subarray(0, limits.webhookAnswerBytes).toString('utf8');
  return text.replaceAll('\0', '\u{fffd}');
}

function errorMessage(error: unknown, isLate: boolean, responseMs: number): string {
  if (isLate) return `no response within ${responseMs / 1000} s`;
  // Several addresses of a name were tried.
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error;
  const message = first instanceof Error ? first.message : String(first);
  return (message || 'the connection failed').replaceAll('\0', '').slice(0, limits.maxTextChars).toWellFormed();
}

function statusError(status: number): string | null {
  if (status >= 200 && status < 300) return null;
  return status >= 300 && status < 400
    ? `responded with status ${status}: redirects are not followed, so set the URL to the final address`
    : `responded with status ${status}`;
}

/**
 * Sends events to receivers, whose URLs may come from people who must not reach this machine's network: only over https and to public addresses,
 * unless the settings allow others. Follows no redirects, uses no proxy of the environment, and limits what it reads of a response.
 */
export class Transport {
  private readonly options: TransportOptions;
  private readonly agent: Agent;
  /** Running requests. (A signal shared by all would hold a reference to each for as long as the process lives.) */
  private readonly inFlight = new Set<AbortController>();
  private hasStopped = false;

  constructor(options: TransportOptions) {
    this.options = options;
    const responseMs = options.responseMs ?? limits.webhookAnswerMs;
    // No limit on connections: they are limited for each endpoint, so that an endpoint does not wait for another one of its host.
    this.agent = new Agent({ connect: connectorOf(options), headersTimeout: responseMs, bodyTimeout: responseMs, maxOrigins: Infinity });
  }

  /** Whether it has been stopped: later failures are not the receiver's. */
  get isStopped(): boolean {
    return this.hasStopped;
  }

  /** Posts a body to a configured URL. Does not throw: an error is part of the outcome. */
  async post(url: string, headers: Readonly<Record<string, string>>, body: string, waitMs?: number): Promise<Outcome> {
    const startedAt = performance.now();
    const responseMs = waitMs ?? this.options.responseMs ?? limits.webhookAnswerMs;
    const aborting = new AbortController();
    let isLate = false;
    const patience = setTimeout(() => {
      isLate = true;
      aborting.abort();
    }, responseMs);
    this.inFlight.add(aborting);
    if (this.hasStopped) aborting.abort();
    const done = (outcome: Omit<Outcome, 'durationMs'>): Outcome => ({
      ...outcome,
      durationMs: Math.round(performance.now() - startedAt),
    });
    try {
      const fault = receiverFault(url, this.options.receivers);
      if (fault !== null) return done({ isAccepted: false, status: null, answer: null, error: `the url ${fault}` });
      const { statusCode, body: response } = await request(url, {
        method: 'POST',
        body,
        dispatcher: this.agent,
        signal: aborting.signal,
        headers: { 'content-type': 'application/json', 'user-agent': 'Laurel-Webhooks', ...headers },
      });
      const error = statusError(statusCode);
      return done({ isAccepted: error === null, status: statusCode, answer: await readStart(response), error });
    } catch (error) {
      return done({ isAccepted: false, status: null, answer: null, error: errorMessage(error, isLate, responseMs) });
    } finally {
      clearTimeout(patience);
      this.inFlight.delete(aborting);
    }
  }

  /** Aborts running requests. */
  async stop(): Promise<void> {
    this.hasStopped = true;
    for (const each of this.inFlight) each.abort();
    await this.agent.destroy();
  }
}

import { createHmac, randomBytes } from 'node:crypto';
import { type LookupAddress, lookup as dnsLookup } from 'node:dns';
import { type LookupFunction, isIP } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { Agent, type Dispatcher, buildConnector, request } from 'undici';
import { isPublicAddress, privateUrlFault } from '../config/webhook-url.js';
import { limits } from '../shared/limits.js';

/** The secrets of an endpoint. */
export interface Secrets {
  readonly secret: string;
  /** The one before, while both are valid. */
  readonly previous: string | null;
}

const secretBytes = 32;

/** A new secret, as the Standard Webhooks write it: `whsec_` and the base64 of random bytes. */
export const newSecret = (): string => `whsec_${randomBytes(secretBytes).toString('base64')}`;

/**
 * The headers by which a receiver knows a message and its sender: those of the Standard Webhooks, and `X-Trophy-Signature`, for handlers
 * written for the hosted service. `body` is signed as it is sent. While two secrets are valid, `webhook-signature` has a signature under each;
 * `X-Trophy-Signature` has room for one, and is made with the newer, whose text, `whsec_` included, is the key, as such handlers have it.
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

/** What became of one request. */
export interface Outcome {
  /** Whether the receiver has taken the message: a status of 200 to 299. */
  readonly isTaken: boolean;
  /** Null without an answer. */
  readonly status: number | null;
  /** The start of the answer's body. */
  readonly answer: string | null;
  /** Why there is no answer, or why it does not count, in a sentence. */
  readonly error: string | null;
  readonly durationMs: number;
}

/** Looks up all addresses of a name. */
export type Resolver = (name: string) => Promise<readonly LookupAddress[]>;

export interface TransportOptions {
  /** Whether private addresses and http are allowed. */
  readonly allowPrivate: boolean;
  readonly resolve?: Resolver;
  /** How long a receiver may take to answer. */
  readonly answerMs?: number;
}

/** An address that nothing is sent to. */
class ClosedAddress extends Error {
  constructor(host: string) {
    super(`${host} is, or leads to, a private address, to which nothing is sent (WEBHOOK_ALLOW_PRIVATE=1 allows it)`);
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
 * Asks for a name once at a time; whoever asks meanwhile gets the same answer. The system looks names up in a few threads, and those of one
 * endpoint whose name server does not answer would take them all.
 */
function onceAtATime(resolve: Resolver): Resolver {
  const asking = new Map<string, ReturnType<Resolver>>();
  return (name) => {
    const asked = asking.get(name) ?? resolve(name).finally(() => asking.delete(name));
    asking.set(name, asked);
    return asked;
  };
}

/** A lookup for connections that knows only those addresses of a name to which something may be sent. */
export function lookupOf(resolve: Resolver, isOpen: (address: string) => boolean): LookupFunction {
  return (name, { all, family }, callback) => {
    resolve(name)
      .then((addresses) => {
        const open = addresses.filter((one) => isOpen(one.address) && (family === 0 || family === undefined || one.family === family));
        const [first] = open;
        if (!first) callback(new ClosedAddress(name), '', 0);
        else if (all === true) callback(null, [...open]);
        else callback(null, first.address, first.family);
      })
      .catch((error: unknown) => {
        callback(error as NodeJS.ErrnoException, '', 0);
      });
  };
}

/**
 * Connects to open addresses only. What is judged is what the connection goes to: an address in the URL, or those that a name leads to at that
 * very moment, so a name that leads elsewhere the next time gains nothing; and, once connected, the other end.
 */
function connectorOf({ allowPrivate, resolve = systemResolver }: TransportOptions): buildConnector.connector {
  const isOpen = (address: string): boolean => allowPrivate || isPublicAddress(address);
  const connect = buildConnector({ timeout: limits.webhookConnectMs, lookup: lookupOf(onceAtATime(resolve), isOpen) });
  return (options, callback) => {
    const host = options.hostname.replace(/^\[(.*)\]$/, '$1');
    if (isIP(host) !== 0 && !isOpen(host)) {
      callback(new ClosedAddress(host), null);
      return;
    }
    connect(options, (...[error, socket]) => {
      if (error) callback(error, null);
      else if (isOpen(socket.remoteAddress ?? '')) callback(null, socket);
      else {
        socket.destroy();
        callback(new ClosedAddress(host), null);
      }
    });
  };
}

/** The first bytes of a body, as text that Postgres can keep. */
async function startOf(body: Dispatcher.ResponseData['body']): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  // What comes after the status decides nothing, so it may break off, and is not waited for for long.
  const patience = setTimeout(() => body.destroy(), limits.webhookAnswerBodyMs);
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes >= limits.webhookAnswerBytes) break;
    }
  } catch {
    // Whatever has come is shown.
  } finally {
    clearTimeout(patience);
    body.destroy();
  }
  const text = Buffer.concat(chunks).subarray(0, limits.webhookAnswerBytes).toString('utf8');
  return text.replaceAll('\0', '\u{fffd}');
}

/** What went wrong, in the words of whoever found it out. */
function describe(error: unknown, isLate: boolean, answerMs: number): string {
  if (isLate) return `no answer within ${answerMs / 1000} s`;
  // Several addresses of a name were tried.
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error;
  const message = first instanceof Error ? first.message : String(first);
  return (message || 'the connection failed').replaceAll('\0', '').slice(0, limits.maxTextChars).toWellFormed();
}

function refusal(status: number): string | null {
  if (status >= 200 && status < 300) return null;
  return status >= 300 && status < 400
    ? `answered with status ${status}: redirects are not followed, so the URL must be where the receiver is`
    : `answered with status ${status}`;
}

/**
 * Sends messages to receivers, whose URLs come from people who may not be trusted with this machine's network: only over https and to public
 * addresses, unless private ones are allowed. No redirect is followed, no proxy of the environment is used, and an answer is read to a limit.
 */
export class Transport {
  private readonly options: TransportOptions;
  private readonly agent: Agent;
  /** What is under way. (A signal that they all depended on would remember each of them for as long as the process lives.) */
  private readonly underWay = new Set<AbortController>();
  private isOver = false;

  constructor(options: TransportOptions) {
    this.options = options;
    const answerMs = options.answerMs ?? limits.webhookAnswerMs;
    // As many connections as are asked for: how many that are is bounded for each endpoint, so that one does not wait for another of its host.
    this.agent = new Agent({ connect: connectorOf(options), headersTimeout: answerMs, bodyTimeout: answerMs, maxOrigins: Infinity });
  }

  /** Whether it has been stopped: what failed since then says nothing about the receiver. */
  get isStopped(): boolean {
    return this.isOver;
  }

  /** Posts a body to a URL of a configuration. Throws nothing: what goes wrong is the outcome. */
  async post(url: string, headers: Readonly<Record<string, string>>, body: string, waitMs?: number): Promise<Outcome> {
    const startedAt = performance.now();
    const answerMs = waitMs ?? this.options.answerMs ?? limits.webhookAnswerMs;
    const breaking = new AbortController();
    let isLate = false;
    const patience = setTimeout(() => {
      isLate = true;
      breaking.abort();
    }, answerMs);
    this.underWay.add(breaking);
    if (this.isOver) breaking.abort();
    const done = (outcome: Omit<Outcome, 'durationMs'>): Outcome => ({
      ...outcome,
      durationMs: Math.round(performance.now() - startedAt),
    });
    try {
      const fault = this.options.allowPrivate ? null : privateUrlFault(url);
      if (fault !== null) return done({ isTaken: false, status: null, answer: null, error: `the url ${fault}` });
      const { statusCode, body: answer } = await request(url, {
        ...{ method: 'POST', body, dispatcher: this.agent, signal: breaking.signal },
        headers: { 'content-type': 'application/json', 'user-agent': 'Laurel-Webhooks', ...headers },
      });
      const error = refusal(statusCode);
      return done({ isTaken: error === null, status: statusCode, answer: await startOf(answer), error });
    } catch (error) {
      return done({ isTaken: false, status: null, answer: null, error: describe(error, isLate, answerMs) });
    } finally {
      clearTimeout(patience);
      this.underWay.delete(breaking);
    }
  }

  /** Breaks off what is under way. */
  async stop(): Promise<void> {
    this.isOver = true;
    for (const each of this.underWay) each.abort();
    await this.agent.destroy();
  }
}

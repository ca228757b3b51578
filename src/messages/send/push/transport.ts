import type { Dispatcher } from 'undici';
import { Agent, type Pool, request } from 'undici';
import { limits } from '../../../shared/limits.js';
import { type Push, type SendResult, detailOf } from '../provider.js';

/** Whom a push is for. */
export interface Recipient {
  readonly tenant: number;
  readonly user: string;
}

export interface PushTransport {
  /** Sends a push to one device. Does not throw: an error is a result. */
  send(push: Push, to: Recipient): Promise<SendResult>;
  stop(): Promise<void>;
}

/** The timeouts of connections to providers. */
export const timeouts = {
  headersTimeout: limits.pushResponseMs,
  bodyTimeout: limits.pushResponseMs,
  connect: { timeout: limits.pushConnectMs },
};

export const newAgent = (): Agent => new Agent(timeouts);

/** Closes connections once their requests have responses, but waits no longer than a shutdown may. */
export async function close(agent: Agent | Pool): Promise<void> {
  if (agent.closed || agent.destroyed) return;
  const timer = setTimeout(() => void agent.destroy(), limits.pushStopMs);
  await agent.close();
  clearTimeout(timer);
}

export interface Reply {
  readonly status: number;
  /** The parsed body; the text if it is not JSON. */
  readonly body: unknown;
}

/** Posts JSON. Throws if there is no response in time. */
export async function post(
  dispatcher: Dispatcher,
  url: string | URL,
  headers: Readonly<Record<string, string>>,
  content: object,
): Promise<Reply> {
  const { statusCode, body } = await request(url, {
    method: 'POST',
    dispatcher,
    body: JSON.stringify(content),
    signal: AbortSignal.timeout(limits.pushSendMs),
    headers: { 'content-type': 'application/json', ...headers },
  });
  const text = await body.text();
  try {
    return { status: statusCode, body: JSON.parse(text) as unknown };
  } catch {
    return { status: statusCode, body: text };
  }
}

/** The result without a response. */
export function unreachable(error: unknown, personal: readonly string[]): SendResult {
  // Several addresses of a name were tried.
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error;
  const cause = first instanceof Error && first.cause instanceof Error ? first.cause : first;
  const message = cause instanceof Error ? cause.message : String(cause);
  return { kind: 'unavailable', status: null, detail: detailOf(message || 'the connection failed', personal) };
}

export const stopping: SendResult = { kind: 'unavailable', status: null, detail: 'Laurel is stopping' };

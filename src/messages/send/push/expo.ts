import { Expo, type ExpoPushMessage, type ExpoPushReceipt, type ExpoPushTicket } from 'expo-server-sdk';
import type pg from 'pg';
import type { Agent } from 'undici';
import { limits } from '../../../shared/limits.js';
import { type Push, type SendResult, detailOf } from '../provider.js';
import { type Ticket, saveTickets } from './receipts.js';
import { parseToken } from '../../../shared/device-tokens.js';
import { type PushTransport, type Recipient, close, newAgent, stopping, unreachable } from './transport.js';

export interface ExpoOptions {
  readonly accessToken: string | null;
  /** The address of Expo's push service. */
  readonly url: string;
  readonly pool: pg.Pool;
  /** Tickets that could not be saved: their receipts will not be read. */
  readonly onUnsaved: (error: unknown) => void;
  /** The current time in milliseconds. */
  readonly clock?: () => number;
}

interface Waiting {
  readonly push: Push;
  readonly to: Recipient;
  readonly done: (result: SendResult) => void;
}

/** An error of the SDK for a response that is not 200, or has errors. */
interface ApiError extends Error {
  readonly statusCode?: number;
  readonly code?: string;
}

function messageOf({ id, token, title, body, url }: Push): ExpoPushMessage {
  const content = { title, body, data: { messageId: id, ...(url === null ? {} : { url }) } };
  // A push that is sent twice replaces itself on the device.
  return { to: parseToken(token).value, ...content, sound: 'default', ttl: limits.pushLifetimeS, collapseId: id, tag: id };
}

/** Expo's response about one push, as a result. */
function expoResult(ticket: Exclude<ExpoPushTicket, { status: 'ok' }>, personal: readonly string[]): SendResult {
  const code = ticket.details?.error;
  const result = { status: 200, detail: detailOf(`${code ?? 'error'}: ${ticket.message}`, personal) };
  switch (code) {
    case 'DeviceNotRegistered':
      return { kind: 'permanent', isGone: true, ...result };
    case 'MessageTooBig':
    case 'DeveloperError':
      return { kind: 'permanent', isGone: false, ...result };
    case 'InvalidCredentials':
      return { kind: 'unavailable', ...result };
    default:
      return { kind: 'temporary', ...result };
  }
}

/** The result of every push of a request that failed. */
function failureOf(error: ApiError, personal: readonly string[]): SendResult {
  const { statusCode: status, code, message } = error;
  if (status === undefined) return unreachable(error, personal);
  const result = { status, detail: detailOf(`${code ?? status}: ${message}`, personal) };
  if (status === 401 || status === 403 || status === 404) return { kind: 'unavailable', ...result };
  const isRefused = status >= 400 && status < 500 && status !== 429;
  return isRefused ? { kind: 'permanent', isGone: false, ...result } : { kind: 'temporary', ...result };
}

/** Expo's push service. Pushes of the same moment share a request. */
export class ExpoTransport implements PushTransport {
  private readonly options: ExpoOptions;
  private readonly agent: Agent = newAgent();
  private readonly expo: Expo;
  /** By tenant: a request may have tokens of one app only. */
  private readonly waiting = new Map<number, Waiting[]>();
  private readonly inFlight = new Set<Promise<void>>();
  private hasStopped = false;

  constructor(options: ExpoOptions) {
    this.options = options;
    const origin = new URL(options.url).origin;
    // The SDK takes another address only from a variable of the environment that is for all of the process.
    const httpAgent = this.agent.compose((dispatch) => (request, handler) => dispatch({ ...request, origin }, handler));
    this.expo = new Expo({ httpAgent, ...(options.accessToken === null ? {} : { accessToken: options.accessToken }) });
  }

  send(push: Push, to: Recipient): Promise<SendResult> {
    if (this.hasStopped) return Promise.resolve(stopping);
    return new Promise((done) => {
      const batch = this.waiting.get(to.tenant) ?? [];
      batch.push({ push, to, done });
      this.waiting.set(to.tenant, batch);
      if (batch.length === 1) setTimeout(() => this.flush(to.tenant, batch), limits.expoCollectMs);
      if (batch.length === limits.expoBatchMessages) this.flush(to.tenant, batch);
    });
  }

  /** The receipts that Expo has, by ticket. Throws if there is no response. */
  receipts(tickets: readonly string[]): Promise<Readonly<Record<string, ExpoPushReceipt>>> {
    return this.expo.getPushNotificationReceiptsAsync([...tickets]);
  }

  async stop(): Promise<void> {
    this.hasStopped = true;
    for (const [tenant, batch] of this.waiting) {
      this.waiting.delete(tenant);
      for (const { done } of batch) done(stopping);
    }
    await close(this.agent);
    await Promise.all(this.inFlight);
  }

  private flush(tenant: number, batch: readonly Waiting[]): void {
    // A full batch has left before its time.
    if (this.waiting.get(tenant) !== batch) return;
    this.waiting.delete(tenant);
    const delivery = this.deliver(batch).finally(() => this.inFlight.delete(delivery));
    this.inFlight.add(delivery);
  }

  private async deliver(batch: readonly Waiting[]): Promise<void> {
    const personal = batch.map(({ push }) => parseToken(push.token).value);
    let tickets: readonly ExpoPushTicket[];
    try {
      tickets = await this.expo.sendPushNotificationsAsync(batch.map(({ push }) => messageOf(push)));
    } catch (error) {
      const failure = failureOf(error as ApiError, personal);
      if (failure.kind === 'permanent' && batch.length > 1) await this.deliverHalves(batch);
      else for (const { done } of batch) done(failure);
      return;
    }
    await this.save(batch, tickets);
    tickets.forEach((ticket, index) =>
      batch[index]?.done(ticket.status === 'ok' ? { kind: 'accepted', status: 200, detail: null } : expoResult(ticket, personal)),
    );
  }

  /** Expo refuses a whole request for one push, or for tokens of several apps. */
  private async deliverHalves(batch: readonly Waiting[]): Promise<void> {
    const middle = Math.ceil(batch.length / 2);
    await Promise.all([this.deliver(batch.slice(0, middle)), this.deliver(batch.slice(middle))]);
  }

  private async save(batch: readonly Waiting[], issued: readonly ExpoPushTicket[]): Promise<void> {
    const tickets = batch.flatMap(({ push, to }, index): Ticket[] => {
      const ticket = issued[index];
      return ticket?.status === 'ok' ? [{ ticket: ticket.id, tenant: to.tenant, user: to.user, token: push.token }] : [];
    });
    if (tickets.length === 0) return;
    const now = (this.options.clock ?? Date.now)();
    try {
      await saveTickets(this.options.pool, tickets, new Date(now), new Date(now + limits.expoReceiptDelayMs));
    } catch (error) {
      this.options.onUnsaved(error);
    }
  }
}

import { limits } from '../../../shared/limits.js';
import type { Push, SendResult } from '../provider.js';
import { type PushProvider, parseToken, pushProviders } from '../../../shared/device-tokens.js';
import type { PushTransport, Recipient } from './transport.js';

/** A provider's transport, or the result of each push for it: the provider is not configured, or its credentials are unusable. */
export type Route = PushTransport | SendResult;

const isTransport = (route: Route): route is PushTransport => 'send' in route;

/** Sends each push by the provider of its token. */
export class PushRouter implements PushTransport {
  private readonly routes: Readonly<Record<PushProvider, Route>>;
  private readonly sendMs: number;

  /** `sendMs` is the timeout of one push. */
  constructor(
    routes: Readonly<Record<PushProvider, Route>>,
    { sendMs = limits.pushSendMs }: { readonly sendMs?: number | undefined } = {},
  ) {
    this.routes = routes;
    this.sendMs = sendMs;
  }

  async send(push: Push, to: Recipient): Promise<SendResult> {
    const { provider, value } = parseToken(push.token);
    if (value === '') return { kind: 'permanent', isGone: true, status: null, detail: 'the token is empty' };
    const route = this.routes[provider];
    return isTransport(route) ? this.inTime(route.send(push, to)) : route;
  }

  async stop(): Promise<void> {
    const transports = pushProviders.map((provider) => this.routes[provider]).filter(isTransport);
    await Promise.all(transports.map((transport) => transport.stop()));
  }

  /** One timeout for all that a provider may need: the sign-in, a wait for a batch, the SDK's own retries. */
  private async inTime(sending: Promise<SendResult>): Promise<SendResult> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<SendResult>((resolve) => {
      timer = setTimeout(() => resolve({ kind: 'unavailable', status: null, detail: 'no response in time' }), this.sendMs);
    });
    try {
      return await Promise.race([sending, late]);
    } finally {
      clearTimeout(timer);
    }
  }
}

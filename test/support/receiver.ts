import { createHmac } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';

/** A request to the receiver. */
export interface Received {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly raw: string;
  /** The parsed body; tests look into it by path. */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly body: any;
  readonly at: number;
}

/** The response of a path. `hang` never responds. */
type Answering = number | 'hang' | ((request: Received, response: ServerResponse) => void);

/** A receiver of webhooks on loopback. Stop it in an `after` hook. */
export interface Receiver {
  readonly url: string;
  readonly received: Received[];
  /** The response of each path; 204 by default. */
  readonly answers: Record<string, Answering>;
  at(path: string): Received[];
  stop(): Promise<void>;
}

async function rawBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

export async function startReceiver(): Promise<Receiver> {
  const received: Received[] = [];
  const answers: Record<string, Answering> = {};
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const raw = await rawBody(request);
    const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
    const got = { path: request.url ?? '', headers, raw, body: JSON.parse(raw) as unknown, at: Date.now() };
    received.push(got);
    const how = answers[got.path] ?? 204;
    if (typeof how === 'function') how(got, response);
    else if (how !== 'hang') response.writeHead(how).end();
  };
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    answers,
    at: (path) => received.filter((one) => one.path === path),
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Whether a request is signed with a secret, as a receiver by the Standard Webhooks sees it. */
export function isSigned({ raw, headers }: Pick<Received, 'raw' | 'headers'>, secret: string): boolean {
  try {
    new Webhook(secret).verify(raw, headers);
    return true;
  } catch {
    return false;
  }
}

/** Whether a request is signed with a secret, as a handler that was written for the hosted service sees it. */
export const isSignedAsHosted = ({ raw, headers }: Pick<Received, 'raw' | 'headers'>, secret: string): boolean =>
  headers['x-trophy-signature'] === createHmac('sha256', secret).update(raw).digest('base64');

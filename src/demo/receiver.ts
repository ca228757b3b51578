import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The back end of the study app as far as webhooks are concerned: it accepts every message. */
export interface WebhookReceiver {
  readonly url: string;
  stop(): Promise<void>;
}

const portOf = (url: string | undefined): number => (url === undefined ? 0 : Number(new URL(url).port));

/** Listens on loopback: on the port of a URL that an earlier run returned, or on a free one if there is none or another program has that port. */
export async function startWebhookReceiver(earlierUrl?: string): Promise<WebhookReceiver> {
  const server = createServer((request, response) => {
    request.resume().once('end', () => response.writeHead(204).end());
  });
  server.listen(portOf(earlierUrl), '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch (error) {
    if (earlierUrl !== undefined && (error as NodeJS.ErrnoException).code === 'EADDRINUSE') return startWebhookReceiver();
    throw error;
  }
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/laurel`,
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { Server as NetServer, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { OperatorError } from '../errors.js';
import { limits } from '../limits.js';

const pollMs = 10;

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** An address to listen on, and the setting that another port is set with. */
export interface Listen {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  readonly variable: string;
}

export interface HttpServer {
  /** `http://host:port`. */
  readonly address: string;
  /**
   * Stops accepting connections, answers what has come and tells clients to leave their connections; cuts off what is left after
   * `graceMs`.
   */
  stop(graceMs: number): Promise<void>;
}

const malformed: Readonly<Record<string, readonly [string, string]>> = {
  HPE_HEADER_OVERFLOW: ['431 Request Header Fields Too Large', `The headers are larger than ${limits.maxHeaderBytes} bytes; send less.`],
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'The request took too long to arrive; send it again.'],
};

/** What Node's parser refuses never reaches the application: it is answered here, in the same form. */
function answerMalformed(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const [status, sentence] = malformed[error.code ?? ''] ?? ['400 Bad Request', 'This is not a valid HTTP request.'];
  const body = JSON.stringify({ error: sentence });
  socket.end(
    `HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}

/** Node would answer an unknown `Expect` without a body. */
function refuseExpectation(_request: IncomingMessage, response: ServerResponse): void {
  const body = JSON.stringify({ error: 'The only expectation that is met is 100-continue: leave the Expect header out.' });
  response.writeHead(417, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body), Connection: 'close' });
  response.end(body);
}

function listen(server: Server, { host, port, variable }: Listen): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: Error & { code?: string }) => {
      const message = error.code === 'EADDRINUSE' ? `Port ${port} of ${host} is taken: set ${variable} to another one.` : error.message;
      reject(new OperatorError(message, { cause: error }));
    });
    server.listen(port, host, resolve);
  });
}

/** How long clients may take; `limits` says what each means. */
export type ClientLimits = Readonly<
  Record<'requestHeadersMs' | 'requestMs' | 'requestCheckMs' | 'connectionIdleMs' | 'maxConnections', number>
>;

/**
 * Serves on an address; port 0 takes any free one. Clients that are too slow are cut off, so that they can't hold connections for nothing.
 * Throws an OperatorError when the port is taken.
 */
export async function startServer(
  handle: Handler,
  where: Listen,
  { requestHeadersMs, requestMs, requestCheckMs, connectionIdleMs, maxConnections }: ClientLimits = limits,
): Promise<HttpServer> {
  const { host } = where;
  let stopping = false;
  let open = 0;
  const server = createServer(
    {
      maxHeaderSize: limits.maxHeaderBytes,
      headersTimeout: requestHeadersMs,
      requestTimeout: requestMs,
      connectionsCheckingInterval: requestCheckMs,
      requireHostHeader: false,
    },
    (request, response) => {
      if (stopping) response.setHeader('Connection', 'close');
      handle(request, response);
    },
  );
  // Node would leave out what is beyond 2,000 without a word: a key, perhaps. Their bytes are limited.
  server.maxHeadersCount = 0;
  server.timeout = connectionIdleMs;
  server.maxConnections = maxConnections;
  server.on('clientError', answerMalformed);
  server.on('checkExpectation', refuseExpectation);
  server.on('connection', (socket) => {
    open += 1;
    socket.once('close', () => {
      open -= 1;
    });
  });
  await listen(server, where);
  const { port: boundPort } = server.address() as AddressInfo;
  return {
    address: `http://${host.includes(':') ? `[${host}]` : host}:${boundPort}`,
    stop: async (graceMs) => {
      stopping = true;
      // http.Server's own close cuts off idle connections at once, on which a request may be on its way.
      NetServer.prototype.close.call(server);
      const settleBy = Date.now() + Math.min(graceMs, limits.stopIdleMs);
      while (open > 0 && Date.now() < settleBy) await delay(pollMs);
      server.closeIdleConnections();
      const cutOffAt = Date.now() + graceMs;
      while (open > 0 && Date.now() < cutOffAt) {
        await delay(pollMs);
        server.closeIdleConnections();
      }
      server.closeAllConnections();
    },
  };
}

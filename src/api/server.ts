import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { Server as NetServer, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { OperatorError } from '../shared/errors.js';
import { limits } from '../shared/limits.js';

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
  /** Goes on serving, and tells clients with each answer to leave their connections. */
  leave(): void;
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

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/**
 * The requests that one connection has sent without waiting for their answers. A few are worked on at a time, and nothing more is read from the
 * connection while others wait: what it holds is then bounded by what Node reads at once (64 KiB).
 */
class Pipeline {
  private readonly socket: Socket;
  private readonly handle: Handler;
  private readonly waiting: Exchange[] = [];
  private underWay = 0;

  constructor(socket: Socket, handle: Handler) {
    this.socket = socket;
    this.handle = handle;
    // Node goes on reading whenever a request has been read.
    socket.on('resume', () => {
      this.hold();
    });
  }

  take(exchange: Exchange): void {
    if (this.underWay < limits.maxPipelinedRequests) {
      this.begin(exchange);
      return;
    }
    this.waiting.push(exchange);
    this.hold();
  }

  private begin({ request, response }: Exchange): void {
    this.underWay += 1;
    // When the answer has gone out, so that those to a client that does not read do not pile up.
    response.once('close', () => {
      this.underWay -= 1;
      this.goOn();
    });
    this.handle(request, response);
  }

  private goOn(): void {
    const next = this.socket.destroyed ? undefined : this.waiting.shift();
    if (!next) return;
    this.begin(next);
    if (this.waiting.length === 0) this.socket.resume();
  }

  private hold(): void {
    if (this.waiting.length > 0) this.socket.pause();
  }
}

/** Bounds the requests of each connection that are worked on at the same time. */
function inTurn(handle: Handler): Handler {
  const pipelines = new WeakMap<Socket, Pipeline>();
  return (request, response) => {
    const { socket } = request;
    let pipeline = pipelines.get(socket);
    if (!pipeline) pipelines.set(socket, (pipeline = new Pipeline(socket, handle)));
    pipeline.take({ request, response });
  };
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

/** Throws an OperatorError when one of these addresses is taken: a start finds that out before it does anything else. */
export async function expectFree(all: readonly Listen[]): Promise<void> {
  const probes: Server[] = [];
  try {
    for (const where of all) {
      const probe = createServer();
      await listen(probe, where);
      probes.push(probe);
    }
  } finally {
    await Promise.all(probes.map((probe) => new Promise((resolve) => probe.close(resolve))));
  }
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
    inTurn((request, response) => {
      if (stopping) response.setHeader('Connection', 'close');
      handle(request, response);
    }),
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
    leave: () => {
      stopping = true;
    },
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

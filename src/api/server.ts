import cluster from 'node:cluster';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { Server as NetServer, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { OperatorError } from '../shared/errors.js';
import { limits } from '../shared/limits.js';

const pollMs = 10;

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** An address to listen on, and the name of the setting for its port. */
export interface Listen {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  readonly variable: string;
}

export interface HttpServer {
  /** `http://host:port`. */
  readonly address: string;
  /** Sends `Connection: close` with each further response, and continues to serve. */
  leave(): void;
  /** Leaves, and stops accepting connections, while other processes accept them on the same port. Returns when none is open, or after `idleMs`. */
  retire(idleMs: number): Promise<void>;
  /** Stops accepting connections and finishes requests in flight. Closes what is still open after `graceMs`. */
  stop(graceMs: number): Promise<void>;
}

const malformed: Readonly<Record<string, readonly [string, string]>> = {
  HPE_HEADER_OVERFLOW: [
    '431 Request Header Fields Too Large',
    `The headers are larger than ${limits.maxHeaderBytes} bytes: send fewer or smaller headers.`,
  ],
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'The request took too long to arrive: send it again.'],
};

/** Responds to what Node's parser rejects, which never reaches the application, with an error of the usual form. */
function respondMalformed(error: Error & { code?: string }, socket: Socket): void {
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

/** Whether a request has one `Host`, as RFC 9112 requires; one of HTTP/1.0 may have none. With two, a proxy could have decided by the other one. */
function hasOneHost({ rawHeaders, httpVersionMinor }: IncomingMessage): boolean {
  let hosts = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) if (rawHeaders[i]?.length === 4 && rawHeaders[i]?.toLowerCase() === 'host') hosts += 1;
  return hosts === 1 || (hosts === 0 && httpVersionMinor === 0);
}

function refuse(response: ServerResponse, status: number, sentence: string): void {
  const body = JSON.stringify({ error: sentence });
  response.writeHead(status, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body), Connection: 'close' });
  response.end(body);
}

/** Responds to an unknown `Expect`. Node's own response has no body. */
function refuseExpectation(_request: IncomingMessage, response: ServerResponse): void {
  refuse(response, 417, 'Only the expectation 100-continue is supported: leave the Expect header out.');
}

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/**
 * The pipelined requests of one connection. At most limits.maxPipelinedRequests are in progress, and the socket is paused while others wait, so
 * that a connection holds at most what Node reads at once (64 KiB).
 */
class Pipeline {
  private readonly socket: Socket;
  private readonly handle: Handler;
  private readonly waiting: Exchange[] = [];
  private inProgress = 0;

  constructor(socket: Socket, handle: Handler) {
    this.socket = socket;
    this.handle = handle;
    // Node resumes the socket after each request.
    socket.on('resume', () => {
      this.hold();
    });
  }

  take(exchange: Exchange): void {
    if (this.inProgress < limits.maxPipelinedRequests) {
      this.begin(exchange);
      return;
    }
    this.waiting.push(exchange);
    this.hold();
  }

  private begin({ request, response }: Exchange): void {
    this.inProgress += 1;
    // Counted until the response is sent, so that responses to a client that does not read can't pile up.
    response.once('close', () => {
      this.inProgress -= 1;
      this.startNext();
    });
    this.handle(request, response);
  }

  private startNext(): void {
    const next = this.socket.destroyed ? undefined : this.waiting.shift();
    if (!next) return;
    this.begin(next);
    if (this.waiting.length === 0) this.socket.resume();
  }

  private hold(): void {
    if (this.waiting.length > 0) this.socket.pause();
  }
}

/** Limits the requests in progress on each connection. */
function limitPipelines(handle: Handler): Handler {
  const pipelines = new WeakMap<Socket, Pipeline>();
  return (request, response) => {
    const { socket } = request;
    let pipeline = pipelines.get(socket);
    if (!pipeline) {
      pipeline = new Pipeline(socket, handle);
      pipelines.set(socket, pipeline);
    }
    pipeline.take({ request, response });
  };
}

function listen(server: Server, { host, port, variable }: Listen): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: Error & { code?: string }) => {
      const message = error.code === 'EADDRINUSE' ? `Port ${port} of ${host} is in use: set ${variable} to another port.` : error.message;
      reject(new OperatorError(message, { cause: error }));
    });
    // A process of a supervisor gets the port from it, and would wait for one that is gone without end.
    const gone = (): void => {
      reject(new OperatorError('The supervisor process has exited.'));
    };
    cluster.worker?.once('disconnect', gone);
    server.listen(port, host, () => {
      cluster.worker?.off('disconnect', gone);
      resolve();
    });
  });
}

/** Throws an OperatorError if a port is in use. A start checks this first, before it changes anything. */
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

/** Timeouts of clients, in ms, and the limit of connections; documented in `limits`. */
export type ClientLimits = Readonly<
  Record<'requestHeadersMs' | 'requestMs' | 'requestCheckMs' | 'connectionIdleMs' | 'maxConnections', number>
>;

/** Serves on an address. Disconnects clients that are too slow, so that they can't exhaust connections. Throws an OperatorError if the port is in use. */
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
      // Node's own response has no body.
      requireHostHeader: false,
    },
    limitPipelines((request, response) => {
      if (stopping) response.setHeader('Connection', 'close');
      if (hasOneHost(request)) handle(request, response);
      else refuse(response, 400, 'An HTTP/1.1 request has one Host header: send it once.');
    }),
  );
  // Node silently drops headers beyond 2,000, perhaps the key. maxHeaderSize limits them instead.
  server.maxHeadersCount = 0;
  server.timeout = connectionIdleMs;
  server.on('clientError', respondMalformed);
  server.on('checkExpectation', refuseExpectation);
  server.on('connection', (socket) => {
    // Not server.maxConnections: in a cluster, full processes would pass a connection to each other without end.
    if (open >= maxConnections) socket.destroy();
    open += 1;
    socket.once('close', () => {
      open -= 1;
    });
  });
  await listen(server, where);
  // http.Server's own close would drop idle connections at once, although a request may be in transit on them.
  const closeListener = (): void => {
    if (server.listening) NetServer.prototype.close.call(server);
  };
  const { port: boundPort } = server.address() as AddressInfo;
  return {
    address: `http://${host.includes(':') ? `[${host}]` : host}:${boundPort}`,
    leave: () => {
      stopping = true;
    },
    retire: async (idleMs) => {
      stopping = true;
      closeListener();
      const giveUpAt = Date.now() + idleMs;
      while (open > 0 && Date.now() < giveUpAt) await delay(pollMs);
    },
    stop: async (graceMs) => {
      stopping = true;
      closeListener();
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

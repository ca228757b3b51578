import { Agent, request } from 'node:http';
import { holdToReference } from './reference.js';

/** What a service answered. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The parsed body. */
  readonly body: unknown;
}

/**
 * Why a request got no answer. `refused`: no connection was made, so the request was never sent. `lost`: the connection broke after that,
 * and what became of the request is unknown.
 */
export class NoAnswer extends Error {
  readonly refused: boolean;

  constructor(cause: NodeJS.ErrnoException) {
    super(`no answer: ${cause.message}`, { cause });
    this.name = 'NoAnswer';
    this.refused = cause.code === 'ECONNREFUSED';
  }
}

/** A client with keep-alive connections, like a back end. Close it at the end. */
export class Client {
  private readonly agent: Agent;
  private readonly key: string;

  constructor(key: string, connections: number) {
    this.key = key;
    // Idle connections are closed before the server closes them (5 s), so that no request goes out on one that is closing.
    this.agent = new Agent({ keepAlive: true, maxSockets: connections, timeout: 4_000 });
  }

  close(): void {
    this.agent.destroy();
  }

  /** Sends one request. Throws NoAnswer when the connection is refused or breaks, or nothing comes for `timeoutMs`. */
  send(
    address: string,
    method: string,
    path: string,
    { body, headers = {}, timeoutMs = 30_000 }: { body?: unknown; headers?: Readonly<Record<string, string>>; timeoutMs?: number } = {},
  ): Promise<Answer> {
    const payload = body === undefined ? undefined : JSON.stringify(body);
    const answered = new Promise<Answer>((resolve, reject) => {
      const fail = (error: Error): void => reject(new NoAnswer(error));
      const sent = request(
        address + path,
        {
          agent: this.agent,
          method,
          timeout: timeoutMs,
          headers: {
            'x-api-key': this.key,
            'content-type': 'application/json',
            ...(payload === undefined ? {} : { 'content-length': Buffer.byteLength(payload) }),
            ...headers,
          },
        },
        (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.on('error', fail);
          response.on('end', () => {
            const text = Buffer.concat(chunks).toString('utf8');
            resolve({
              status: response.statusCode ?? 0,
              headers: response.headers,
              body: text === '' ? undefined : (JSON.parse(text) as unknown),
            });
          });
        },
      );
      sent.on('timeout', () => sent.destroy(new Error(`nothing came for ${timeoutMs} ms`)));
      sent.on('error', fail);
      sent.end(payload);
    });
    return answered.then((answer) => {
      holdToReference(method, path, answer.status, answer.body);
      return answer;
    });
  }

  event(address: string, metric: string, body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    return this.send(address, 'POST', `/v1/metrics/${metric}/event`, { body, headers });
  }
}

/** Runs `count` loops side by side until all have returned; the first failure is thrown. */
export async function inParallel(count: number, loop: (index: number) => Promise<void>): Promise<void> {
  await Promise.all(Array.from({ length: count }, (_, index) => loop(index)));
}

import { createServer, connect, type AddressInfo, type Server, type Socket } from 'node:net';

/** A statement held between a client and Postgres. */
export interface Held {
  /** Forwards it, and everything after it. */
  readonly release: () => void;
  /** Cuts the connection; the statement never arrives. */
  readonly drop: () => void;
}

type Rule =
  | { readonly kind: 'hold'; readonly statement: string; readonly done: (held: Held) => void }
  | { readonly kind: 'lose answer'; readonly statement: string; readonly done: () => void };

/** `begin` and `commit` travel alone in a message of their own: Q, four bytes of length, the text, a zero. */
const carries = (chunk: Buffer, statement: string): boolean => chunk[0] === 0x51 && chunk.toString('latin1', 5) === `${statement}\0`;

/**
 * A proxy between a real client and a real Postgres, disturbed at an exact point: like a machine that stops in the middle of a transaction, or a
 * connection that breaks before a response arrives.
 */
export class Network {
  /** The address of the database, through this network. */
  readonly url: string;
  private readonly server: Server;
  private readonly sockets: Set<Socket>;
  private readonly state: { rule: Rule | undefined; frozen: boolean };

  private constructor(url: string, server: Server, sockets: Set<Socket>, state: { rule: Rule | undefined; frozen: boolean }) {
    this.url = url;
    this.server = server;
    this.sockets = sockets;
    this.state = state;
  }

  static async before(databaseUrl: string): Promise<Network> {
    const target = new URL(databaseUrl);
    const sockets = new Set<Socket>();
    const state: { rule: Rule | undefined; frozen: boolean } = { rule: undefined, frozen: false };
    const server = createServer((client) => {
      const upstream = connect(Number(target.port), target.hostname);
      for (const [socket, other] of [
        [client, upstream],
        [upstream, client],
      ] as const) {
        sockets.add(socket);
        socket.on('error', () => undefined);
        socket.on('close', () => {
          sockets.delete(socket);
          other.destroy();
        });
      }
      forward(client, upstream, state);
      if (state.frozen) for (const socket of [client, upstream]) socket.pause();
    });
    await listen(server, 0);
    const url = new URL(databaseUrl);
    url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    return new Network(url.href, server, sockets, state);
  }

  /** Resolves when the next such statement is held. */
  hold(statement: 'begin' | 'commit'): Promise<Held> {
    return new Promise((resolve) => {
      this.state.rule = { kind: 'hold', statement, done: resolve };
    });
  }

  /** Forwards the next such statement, and cuts its connection once Postgres has responded; resolves then. */
  loseAnswer(statement: 'commit'): Promise<void> {
    return new Promise((resolve) => {
      this.state.rule = { kind: 'lose answer', statement, done: resolve };
    });
  }

  /** Holds all traffic in both directions until `thaw`, without breaking connections. */
  freeze(): void {
    this.state.frozen = true;
    for (const socket of this.sockets) socket.pause();
  }

  thaw(): void {
    this.state.frozen = false;
    for (const socket of this.sockets) socket.resume();
  }

  /** Breaks every connection and refuses new ones, until `heal`. */
  async cut(): Promise<void> {
    const closed = new Promise((resolve) => this.server.close(resolve));
    for (const socket of this.sockets) socket.destroy();
    await closed;
  }

  /** Accepts connections again, at the same address. */
  async heal(): Promise<void> {
    await listen(this.server, Number(new URL(this.url).port));
  }

  async stop(): Promise<void> {
    this.thaw();
    if (this.server.listening) await this.cut();
  }
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve) => server.listen(port, '127.0.0.1', resolve));
}

function forward(client: Socket, upstream: Socket, state: { rule: Rule | undefined; frozen: boolean }): void {
  let held: Buffer[] | undefined;
  let answerIsLost: (() => void) | undefined;
  client.on('data', (chunk) => {
    if (held) {
      held.push(chunk);
      return;
    }
    const { rule } = state;
    if (rule && carries(chunk, rule.statement)) {
      state.rule = undefined;
      if (rule.kind === 'lose answer') {
        answerIsLost = rule.done;
      } else {
        held = [chunk];
        rule.done({
          release: () => {
            for (const part of held ?? []) upstream.write(part);
            held = undefined;
          },
          drop: () => client.destroy(),
        });
        return;
      }
    }
    upstream.write(chunk);
  });
  upstream.on('data', (chunk) => {
    if (!answerIsLost) {
      client.write(chunk);
      return;
    }
    client.destroy();
    answerIsLost();
  });
}

import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** A line of MONITOR: `+<seconds> [<database> <source>] "<word>" "<word>" …`. */
const line = /^\+\d+\.\d+ \[\d+ (\S+)\] (.*)$/;
const word = /"((?:[^"\\]|\\.)*)"/g;
const escape = /\\(x[0-9a-f]{2}|.)/g;
const named: Readonly<Record<string, number>> = { n: 10, r: 13, t: 9, a: 7, b: 8 };

/** The bytes of a word, which MONITOR writes with escapes. */
function bytesOf(escaped: string): Buffer {
  const text = escaped.replace(escape, (_, code: string) =>
    code.length === 3 ? String.fromCharCode(parseInt(code.slice(1), 16)) : String.fromCharCode(named[code] ?? code.charCodeAt(0)),
  );
  return Buffer.from(text, 'latin1');
}

/** One command as MONITOR shows it. */
export interface Command {
  /** The address of the connection that sent it; `lua` when a function made it. */
  readonly source: string;
  /** The words, byte for byte. */
  readonly words: readonly Buffer[];
}

/** The words of commands as texts. */
export const wordsOf = (commands: readonly Command[]): string[][] => commands.map(({ words }) => words.map(String));

/** What functions did, and not connections. */
export const inside = (commands: readonly Command[]): Command[] => commands.filter(({ source }) => source === 'lua');

/** What each process asks once a second, whatever else it does (src/ledger/active-redis.ts), and how a connection to a cluster refreshes its slots. */
const isUpkeep = ({ source, words }: Command): boolean =>
  source !== 'lua' &&
  /^(?:info server persistence|hmget \S+:meta epoch server|cluster slots|client setname .*refresher.*)$/i.test(words.map(String).join(' '));

/**
 * What Redis is told, as MONITOR shows it. (The monitor of ioredis breaks down when another connection's command comes in one read with the
 * answer to MONITOR, leaves the escapes in, and takes a word that ends in a quote and a space for two.)
 */
export class Monitor {
  private readonly socket: Socket;
  private rest = '';
  private commands: Command[] = [];
  private waiting: { readonly mark: string; readonly done: () => void } | null = null;

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.setEncoding('latin1').on('data', (chunk: string) => this.take(chunk));
  }

  static async start(redisUrl: string): Promise<Monitor> {
    const { protocol, hostname, port, password, pathname } = new URL(redisUrl);
    const socket = protocol === 'unix:' ? connect(decodeURIComponent(pathname)) : connect(Number(port), hostname);
    await once(socket, 'connect');
    const monitor = new Monitor(socket);
    if (password !== '') await monitor.ask(`AUTH ${decodeURIComponent(password)}`);
    await monitor.ask('MONITOR');
    return monitor;
  }

  /**
   * The commands since the last call. `send` makes Redis see a command (of a connection, not of a function) with the text that it is given
   * among its words: once MONITOR has shown it, everything before it is here.
   */
  async taken(send: (mark: string) => Promise<unknown>): Promise<Command[]> {
    const mark = `mark-${Math.random()}`;
    const seen = new Promise<void>((resolve) => {
      this.waiting = { mark, done: resolve };
    });
    await send(mark);
    await seen;
    const { commands } = this;
    this.commands = [];
    return commands.filter((command) => !isUpkeep(command));
  }

  /** The commands while `work` runs. */
  async during(send: (mark: string) => Promise<unknown>, work: () => Promise<unknown>): Promise<Command[]> {
    await this.taken(send);
    await work();
    return this.taken(send);
  }

  stop(): void {
    this.socket.destroy();
  }

  /** Sends one of our own commands and waits for its reply: what other connections do before that is not shown. */
  private async ask(command: string): Promise<void> {
    const reply = once(this.socket, 'data');
    this.socket.write(`${command}\r\n`);
    const [text] = (await reply) as [string];
    if (!text.startsWith('+OK')) throw new Error(`Redis refuses to be monitored: ${text}`);
  }

  private take(chunk: string): void {
    const lines = (this.rest + chunk).split('\r\n');
    this.rest = lines.pop() ?? '';
    for (const text of lines) {
      const [, source = '', words = ''] = line.exec(text) ?? [];
      if (source !== 'lua' && this.waiting && words.includes(this.waiting.mark)) this.waiting.done();
      else if (source !== '') this.commands.push({ source, words: [...words.matchAll(word)].map(([, escaped = '']) => bytesOf(escaped)) });
    }
  }
}

import { request, type IncomingMessage } from 'node:http';
import { until } from './stage.js';
import { adminKey } from './world.js';

/** A message of a stream of server-sent events. */
export interface StreamMessage {
  readonly event: string;
  readonly id: string;
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly data: any;
  /** When it was received, by `performance.now()`. */
  readonly atMs: number;
}

export interface StreamOptions {
  /** Null sends none. */
  readonly key?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A row of a ranking as a client knows it. */
export interface LiveRow {
  readonly userId: string;
  readonly rank: number | null;
  readonly value?: number;
  readonly previousRank?: number | null;
}

function fieldsOf(block: string): Map<string, string> {
  const fields = new Map<string, string>();
  for (const line of block.split('\n')) {
    const [, name = '', value = ''] = /^([^:]*):? ?(.*)$/.exec(line) ?? [];
    fields.set(name, value);
  }
  return fields;
}

/** The message of a block of a stream, if it has one. */
function messagesOf(fields: ReadonlyMap<string, string>): StreamMessage[] {
  const data = fields.get('data');
  if (data === undefined) return [];
  const [event = 'message', id = ''] = [fields.get('event'), fields.get('id')];
  return [{ event, id, data: JSON.parse(data) as unknown, atMs: performance.now() }];
}

/** The messages in a text that a stream has sent. */
export const parseMessages = (text: string): StreamMessage[] =>
  text
    .split('\n\n')
    .slice(0, -1)
    .flatMap((block) => messagesOf(fieldsOf(block)));

/** The ranking after messages, as lines such as `1 ana 10`. */
export function merged(messages: readonly StreamMessage[]): string[] {
  let rows: LiveRow[] = [];
  for (const { event, data } of messages) {
    const sent = (data as { rankings?: LiveRow[] }).rankings ?? [];
    if (event === 'snapshot') rows = sent;
    if (event !== 'change') continue;
    const named = new Set(sent.map(({ userId }) => userId));
    rows = [...rows.filter(({ userId }) => !named.has(userId)), ...sent.filter(({ rank }) => rank !== null)];
    rows.sort((a, b) => Number(a.rank) - Number(b.rank));
  }
  return rows.map(({ rank, userId, value }) => `${rank} ${userId} ${value}`);
}

/** A client of a live stream: what it has received, and the ranking that it has merged. */
export class LiveClient {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly messages: StreamMessage[] = [];
  comments = 0;
  retryMs: number | undefined;
  isOver = false;
  /** The body of a response that is no stream. */
  text = '';
  private readonly response: IncomingMessage;
  private rest = '';

  private constructor(response: IncomingMessage) {
    this.response = response;
    this.status = response.statusCode ?? 0;
    this.headers = response.headers;
    response.setEncoding('utf8');
    response.on('data', (part: string) => {
      this.take(part);
    });
    response.on('close', () => (this.isOver = true));
    response.on('error', () => undefined);
  }

  /** Connects, and returns once the headers have arrived. */
  static open(address: string, path: string, { key = adminKey, headers = {} }: StreamOptions = {}): Promise<LiveClient> {
    return new Promise((resolve, reject) => {
      const all = { ...(key === null ? {} : { 'x-api-key': key }), ...headers };
      const going = request(address + path, { headers: all, agent: false }, (response) => {
        resolve(new LiveClient(response));
      });
      going.on('error', reject);
      going.end();
    });
  }

  close(): void {
    this.response.destroy();
  }

  /** The id of the last message. */
  get lastId(): string {
    return this.messages.at(-1)?.id ?? '';
  }

  /** The ranking as the messages have it. */
  get ranking(): string[] {
    return merged(this.messages);
  }

  /** Waits for a message. */
  message(what: string, fits: (message: StreamMessage) => boolean): Promise<StreamMessage> {
    return until(`a message: ${what}`, () => this.messages.find(fits));
  }

  /** Waits until the merged ranking is this one. */
  async shows(ranking: readonly string[]): Promise<void> {
    await until(`the ranking ${ranking.join(', ')}`, () => this.ranking.join() === ranking.join()).catch((error: unknown) => {
      throw new Error(`${(error as Error).message}; it is ${this.ranking.join(', ')}`, { cause: error });
    });
  }

  async over(): Promise<void> {
    await until('the stream is over', () => this.isOver);
  }

  private take(part: string): void {
    this.text += part;
    const blocks = (this.rest + part).split('\n\n');
    this.rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const fields = fieldsOf(block);
      if (fields.has('')) this.comments += 1;
      const retry = fields.get('retry');
      if (retry !== undefined) this.retryMs = Number(retry);
      this.messages.push(...messagesOf(fields));
    }
  }
}

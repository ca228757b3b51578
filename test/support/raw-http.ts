import { once } from 'node:events';
import { connect } from 'node:net';
import { adminKey } from './world.js';

/** A response as it came over the wire. */
export interface RawReply {
  readonly status: number;
  readonly contentType: string | undefined;
  /** The parsed body. */
  readonly body: unknown;
}

/**
 * Sends bytes over a new connection, and reads until the other side closes it. With `half`, this side closes its end right after sending, like
 * a client that gives up.
 */
export async function sendBytes(address: string, bytes: Buffer | string, { half = false } = {}): Promise<RawReply> {
  const { hostname, port } = new URL(address);
  const socket = connect(Number(port), hostname);
  const chunks: Buffer[] = [];
  socket.on('data', (chunk) => chunks.push(chunk));
  socket.write(bytes);
  if (half) socket.end();
  await once(socket, 'close');
  const text = Buffer.concat(chunks).toString('utf8');
  const end = text.indexOf('\r\n\r\n');
  const head = text.slice(0, end);
  const body = text.slice(end + 4);
  return {
    status: Number(/^HTTP\/1\.1 (\d{3}) /.exec(head)?.[1]),
    contentType: /^content-type: *(.*)$/im.exec(head)?.[1]?.trim(),
    body: body === '' ? undefined : (JSON.parse(body) as unknown),
  };
}

export interface RawRequest {
  readonly method: string;
  /** As it stands in the request line. */
  readonly path: string;
  /** Values are sent as UTF-8, without the checks of a client library. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer | string;
}

/** Sends a request that client libraries would refuse to send, or would change on its way. */
export function sendRaw(address: string, { method, path, headers = {}, body = '' }: RawRequest): Promise<RawReply> {
  const payload = Buffer.from(body);
  const all = { Host: 'test', 'X-API-KEY': adminKey, Connection: 'close', 'Content-Length': String(payload.length), ...headers };
  const lines = [`${method} ${path} HTTP/1.1`, ...Object.entries(all).map(([name, value]) => `${name}: ${value}`), '', ''];
  return sendBytes(address, Buffer.concat([Buffer.from(lines.join('\r\n')), payload]));
}

import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { promisify } from 'node:util';
import { brotliDecompress, unzip } from 'node:zlib';
import type Koa from 'koa';
import bodyParser from 'koa-bodyparser';
import { parse } from '@hapi/bourne';
import { LaurelError } from '../shared/errors.js';
import { limits } from '../shared/limits.js';
import { own } from '../shared/own.js';
import { parseLarge } from './large-json.js';

/** What a body has in place of bytes that are not UTF-8. It may also have been sent. */
const replacement = '\ufffd';
const byteOrderMark = '\ufeff';

const notUtf8 = (): LaurelError => new LaurelError('invalid_json', 'The body is not valid UTF-8.');

const nothing = (): Promise<void> => Promise.resolve();

const unpack: Readonly<Record<string, (packed: Buffer) => Promise<Buffer>>> = {
  gzip: promisify<Buffer, Buffer>(unzip),
  deflate: promisify<Buffer, Buffer>(unzip),
  br: promisify<Buffer, Buffer>(brotliDecompress),
};

/**
 * Reads a body with a parser, and throws a 400 if it is not valid UTF-8. The parser decodes such bytes as U+FFFD, so that different texts, ids among
 * them, would become equal. Only a body with that character is looked at again.
 */
async function readUtf8(context: Koa.Context, parse: Koa.Middleware): Promise<void> {
  const { req } = context;
  const chunks: Buffer[] = [];
  const keep = (chunk: Buffer): void => void chunks.push(chunk);
  const parsing: unknown = parse(context, nothing);
  // A parser that refuses the length reads nothing, and neither may this: Node discards the body of a request that no listener reads.
  if (req.listenerCount('data') > 0) req.on('data', keep);
  try {
    await parsing;
  } finally {
    req.off('data', keep);
  }
  const rawBody: unknown = context.request.rawBody;
  if (typeof rawBody !== 'string' || !rawBody.includes(replacement)) return;
  const sent = Buffer.concat(chunks);
  const unpacked = await (own(unpack, req.headers['content-encoding'] ?? '')?.(sent) ?? sent);
  if (!isUtf8(unpacked)) throw notUtf8();
}

/** Whether a body is sent as it is, with a length that is allowed. Almost all are. */
function isPlain({ headers, readable }: IncomingMessage, maxBytes: number): boolean {
  return readable && headers['content-encoding'] === undefined && Number(headers['content-length'] ?? Infinity) <= maxBytes;
}

/** Reads the body of a request that is plain. Throws a 400 if the client disconnects before its end. */
function readPlain(req: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    req.on('data', (chunk: Buffer) => chunks.push(chunk));
    req.on('end', () => {
      resolve(Buffer.concat(chunks));
    });
    req.on('error', (cause) => {
      reject(new LaurelError('invalid_json', 'The body is not valid JSON.', { cause }));
    });
  });
}

/** Decodes a body like the body parser, without a byte order mark. Throws a 400 if it is not valid UTF-8. */
function decode(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw notUtf8();
  const text = bytes.toString();
  return text.startsWith(byteOrderMark) ? text.slice(byteOrderMark.length) : text;
}

/**
 * Parses the body as JSON whatever its Content-Type, since no route accepts anything else. The route's schema requires an object. A large field with
 * the name `deferred` becomes a JsonText (large-json.ts). The body parser, which looks at types and codings anew for each request, reads only what is
 * not plain: without it, Koa and this reader take 30.5 µs of CPU for a small event instead of 40.9.
 */
export function bodyReader(maxBytes: number, deferred?: string): (context: Koa.Context) => Promise<void> {
  const readText = bodyParser({ enableTypes: ['text'], textLimit: String(maxBytes) });
  return async (context) => {
    const { req, request } = context;
    const { headers } = req;
    if (headers['content-length'] === undefined && headers['transfer-encoding'] === undefined) return;
    if (isPlain(req, maxBytes)) {
      request.rawBody = decode(await readPlain(req));
      request.body = request.rawBody;
    } else {
      headers['content-type'] = 'text/plain';
      // Names of codings have no letter case (RFC 9110, section 8.4.1).
      if (headers['content-encoding'] !== undefined) headers['content-encoding'] = headers['content-encoding'].toLowerCase();
      await readUtf8(context, readText);
    }
    const rawBody: unknown = request.rawBody;
    if (typeof rawBody !== 'string' || rawBody === '') return;
    request.body = rawBody.length > limits.parsedAtOnceChars ? await parseLarge(rawBody, deferred) : (parse(rawBody) as unknown);
  };
}

/** Reads the body of a form, and any other text, whatever its bytes. */
export function textReader(maxBytes: number): Koa.Middleware {
  const limit = String(maxBytes);
  return bodyParser({ enableTypes: ['form', 'text'], extendTypes: { text: ['*/*'] }, formLimit: limit, textLimit: limit });
}

/** Reads the body of a form. Throws a 400 unless it is UTF-8. */
export function formReader(maxBytes: number): Koa.Middleware {
  const parse = textReader(maxBytes);
  return async (context, next) => {
    await readUtf8(context, parse);
    await next();
  };
}

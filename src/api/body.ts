import { isUtf8 } from 'node:buffer';
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
  if (!isUtf8(unpacked)) throw new LaurelError('invalid_json', 'The body is not valid UTF-8.');
}

/**
 * Parses the body as JSON whatever its Content-Type, since no route accepts anything else. The route's schema requires an object. A large field with
 * the name `deferred` becomes a JsonText (large-json.ts).
 */
export function bodyReader(maxBytes: number, deferred?: string): (context: Koa.Context) => Promise<void> {
  const readText = bodyParser({ enableTypes: ['text'], textLimit: String(maxBytes) });
  return async (context) => {
    const { headers } = context.req;
    if (headers['content-length'] === undefined && headers['transfer-encoding'] === undefined) return;
    headers['content-type'] = 'text/plain';
    // Names of codings have no letter case (RFC 9110, section 8.4.1).
    if (headers['content-encoding'] !== undefined) headers['content-encoding'] = headers['content-encoding'].toLowerCase();
    await readUtf8(context, readText);
    const { request } = context;
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

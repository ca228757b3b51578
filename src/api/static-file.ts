/** Sends the files of pages: those of the dashboard, and of the reference. */
import type Koa from 'koa';

/** The variants that a file can have, the smallest first. */
const encodings = ['br', 'gzip', 'identity'] as const;

/** A file in memory. */
export interface StaticFile {
  /** Its name decides its type. */
  readonly name: string;
  /** Changes with the contents. */
  readonly etag: string;
  /** By their encodings. A file without compressed variants is sent as it is. */
  readonly contents: { readonly identity: Buffer; readonly br?: Buffer; readonly gzip?: Buffer };
}

/** Sends a file in the smallest variant that the client accepts, or a 304 if it has that already. */
export function sendFile(context: Koa.Context, { name, etag, contents }: StaticFile): void {
  const variants = encodings.filter((encoding) => contents[encoding] !== undefined);
  const encoding = (context.acceptsEncodings([...variants]) || 'identity') as (typeof encodings)[number];
  context.status = 200;
  const isVaried = variants.length > 1;
  if (isVaried) context.vary('Accept-Encoding');
  context.etag = isVaried ? `${etag}-${encoding}` : etag;
  if (context.fresh) {
    context.status = 304;
    return;
  }
  context.type = name.slice(name.lastIndexOf('.'));
  if (encoding !== 'identity') context.set('Content-Encoding', encoding);
  context.body = contents[encoding];
}

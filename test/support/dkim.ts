import { createHash, verify } from 'node:crypto';

const headerPattern = (name: string): RegExp => new RegExp(`^${name}:((?:.*\\r\\n[ \\t])*.*)\\r\\n`, 'im');

/** A header in relaxed canonicalization (RFC 6376, 3.4.2). */
const relaxed = (name: string, value: string): string =>
  `${name.toLowerCase()}:${value
    .replaceAll(/\r\n(?=[ \t])/g, '')
    .replaceAll(/[ \t]+/g, ' ')
    .trim()}`;

function relaxedBody(body: string): string {
  const lines = body.split('\r\n').map((line) => line.replaceAll(/[ \t]+/g, ' ').replace(/ $/, ''));
  const text = lines.join('\r\n').replace(/(\r\n)*$/, '');
  return text === '' ? '' : `${text}\r\n`;
}

export interface Signature {
  readonly tags: Readonly<Record<string, string>>;
  /** The signed headers, in lower case. */
  readonly headers: readonly string[];
  readonly isValid: boolean;
}

/** The DKIM signature of a raw message, checked with a public key in PEM; undefined without one. Relaxed canonicalization and RSA only. */
export function dkimOf(raw: string, publicKey: string): Signature | undefined {
  const split = raw.indexOf('\r\n\r\n');
  const head = raw.slice(0, split + 2);
  const value = headerPattern('dkim-signature').exec(head)?.[1];
  if (value === undefined) return undefined;
  const tags = Object.fromEntries(
    value.split(';').map((tag) => {
      const [name = '', ...rest] = tag.split('=');
      return [name.trim(), rest.join('=').replaceAll(/\s/g, '')];
    }),
  );
  const headers = (tags['h'] ?? '').toLowerCase().split(':');
  const signed = headers.flatMap((name) => {
    const found = headerPattern(name).exec(head)?.[1];
    return found === undefined ? [] : [`${relaxed(name, found)}\r\n`];
  });
  const data = signed.join('') + relaxed('dkim-signature', value.replace(/([;\s]b=)[^;]*/, '$1'));
  const bodyHash = createHash('sha256')
    .update(relaxedBody(raw.slice(split + 4)))
    .digest('base64');
  const isSigned = verify('sha256', Buffer.from(data), publicKey, Buffer.from(tags['b'] ?? '', 'base64'));
  return { tags, headers, isValid: tags['c'] === 'relaxed/relaxed' && bodyHash === tags['bh'] && isSigned };
}

import { createHash, timingSafeEqual } from 'node:crypto';
import { LaurelError } from '../errors.js';

/** An API key as it is stored: never the key itself. */
export interface StoredKey {
  readonly id: string;
  readonly prefix: string;
  /** SHA-256 of the whole key. */
  readonly hash: Buffer;
}

/** Whom a request comes from. */
export interface Principal {
  readonly keyId: string;
}

/** SHA-256 of a whole key: keys are random, so a slow hash would protect nothing. */
export function hashKey(key: string): Buffer {
  return createHash('sha256').update(key).digest();
}

/** The part of a key before its dot, by which it is found; empty when it has none. */
export function keyPrefix(key: string): string {
  return key.slice(0, Math.max(key.indexOf('.'), 0));
}

const missing = 'Send your API key in the X-API-KEY header.';
const wrong = 'This API key is not valid: check the X-API-KEY header.';

/** A stored key, and the key itself once it has been seen: comparing with it costs an event a tenth of hashing. */
interface RingKey extends StoredKey {
  seen: Buffer | undefined;
}

/** Compares in a time that does not tell where two keys of one length differ. */
function same(a: Buffer, b: Buffer): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}

/** The keys that may call, by prefix. */
export class KeyRing {
  private keys: ReadonlyMap<string, RingKey> = new Map();

  /** Replaces all keys by those that are valid now. */
  replace(keys: readonly StoredKey[]): void {
    this.keys = new Map(keys.map((key) => [key.prefix, { ...key, seen: undefined }]));
  }

  /** Who sent this header. Throws a 401. */
  authenticate(header: string | undefined): Principal {
    if (header === undefined || header === '') throw new LaurelError('unauthorized', missing);
    const key = this.keys.get(keyPrefix(header));
    if (!key) throw new LaurelError('unauthorized', wrong);
    const sent = Buffer.from(header);
    if (key.seen && same(key.seen, sent)) return { keyId: key.id };
    if (!timingSafeEqual(key.hash, hashKey(header))) throw new LaurelError('unauthorized', wrong);
    key.seen = sent;
    return { keyId: key.id };
  }
}

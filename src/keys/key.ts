import { createHash } from 'node:crypto';

/** An API key as it is stored: never the key itself. */
export interface StoredKey {
  readonly id: string;
  /** `admin`: for the whole account. `application`: for one user of one tenant. */
  readonly kind: 'admin' | 'application';
  /** Of an application key: `tenants.no`, and the user. */
  readonly tenant: number | null;
  readonly userId: string | null;
  readonly prefix: string;
  /** SHA-256 of the whole key. */
  readonly hash: Buffer;
}

/** SHA-256 of a whole key: keys are random, so a slow hash would protect nothing. */
export function hashKey(key: string): Buffer {
  return createHash('sha256').update(key).digest();
}

/** The part of a key before its dot, by which it is found; empty when it has none. */
export function keyPrefix(key: string): string {
  return key.slice(0, Math.max(key.indexOf('.'), 0));
}

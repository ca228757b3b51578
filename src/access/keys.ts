import { createHash, randomBytes } from 'node:crypto';

/** Of an admin key: `read` may change nothing. */
export const keyAccesses = ['full', 'read'] as const;
export type KeyAccess = (typeof keyAccesses)[number];

/** Groups of routes that a limited application key may call. A route that is in none of them is closed to it. */
export const keyPermissions = ['read', 'events', 'identify'] as const;
export type KeyPermission = (typeof keyPermissions)[number];

/** What a limited application key may write of its user. */
export const keyFields = ['name', 'email', 'tz', 'signUpDate', 'subscribeToEmails', 'deviceTokens', 'attributes', 'preferences'] as const;
type KeyField = (typeof keyFields)[number];

/** The limits of an application key; null: none (docs/keys.md). */
export interface KeyLimits {
  readonly permissions: readonly KeyPermission[] | null;
  readonly fields: readonly KeyField[] | null;
  /** Events have a value from 0 to this. */
  readonly maxEventValue: number | null;
  readonly expires: Date | null;
}

/** An API key as it is stored: never the key itself. */
export interface StoredKey extends KeyLimits {
  readonly id: string;
  /** `admin`: for the whole account or, when bound, for one tenant. `application`: for one user of one tenant. */
  readonly kind: 'admin' | 'application';
  /** `tenants.no` of an application key and of a bound admin key; null for the whole account. */
  readonly tenant: number | null;
  /** The user of an application key. */
  readonly userId: string | null;
  readonly access: KeyAccess;
  readonly prefix: string;
  /** SHA-256 of the whole key. */
  readonly hash: Buffer;
}

const prefixBytes = 6;
const bodyBytes = 24;
/** The prefixes of `makeKey`. Only ADMIN_API_KEY can have another one. */
const madePrefix = /^[0-9a-f]{12}$/;

/** A new key, `prefix.body`. */
export function makeKey(): string {
  return `${randomBytes(prefixBytes).toString('hex')}.${randomBytes(bodyBytes).toString('base64url')}`;
}

/** Whether Laurel may have generated a key with this prefix. */
export const isMadePrefix = (prefix: string): boolean => madePrefix.test(prefix);

/** SHA-256 of a whole key: keys are random, so a slow hash would protect nothing. */
export function hashKey(key: string): Buffer {
  return createHash('sha256').update(key).digest();
}

/** The part of a key before its dot, by which it is found; empty when it has none. */
export function keyPrefix(key: string): string {
  return key.slice(0, Math.max(key.indexOf('.'), 0));
}

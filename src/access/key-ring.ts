import { timingSafeEqual } from 'node:crypto';
import { LaurelError } from '../shared/errors.js';
import { limits } from '../shared/limits.js';
import { hashKey, keyPrefix, type StoredKey } from './key.js';
import type { KeyLookup } from './lookup.js';

/** Whom a request comes from. `kind`, `tenant` and `userId` are those of the stored key. */
export interface Principal extends Pick<StoredKey, 'kind' | 'tenant' | 'userId'> {
  readonly keyId: string;
  /** False as soon as the key may have been revoked: authenticate again. */
  readonly isLive: boolean;
}

const missing = 'Send your API key in the X-API-KEY header.';
export const wrongKey = 'This API key is not valid: check the X-API-KEY header.';
/** The prefixes of keys that Laurel has made; only the first admin key can have another one, and that is always in memory. */
const madePrefix = /^[0-9a-f]{12}$/;

/** A stored key, and the key itself once it has been seen: comparing with it costs an event a tenth of hashing. */
interface RingKey extends Principal {
  readonly prefix: string;
  readonly hash: Buffer;
  seen: Buffer | undefined;
  isLive: boolean;
}

/** Compares in a time that does not tell where two keys of one length differ. */
function same(a: Buffer, b: Buffer): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}

function matches(key: RingKey, header: string): boolean {
  const sent = Buffer.from(header);
  if (key.seen && same(key.seen, sent)) return true;
  if (!timingSafeEqual(key.hash, hashKey(header))) return false;
  key.seen = sent;
  return true;
}

/**
 * The keys that may call, by prefix: all admin keys of the account, and the keys of tenants that were used last; the others are looked up. It is
 * as current as its owner keeps it (access/account.ts).
 */
export class KeyRing {
  private readonly lookup: KeyLookup;
  private readonly ofAccount = new Map<string, RingKey>();
  private readonly ofTenants = new Map<string, RingKey>();
  /** Counts the changes: what has been looked up meanwhile may be of before. */
  private changes = 0;

  constructor(lookup: KeyLookup) {
    this.lookup = lookup;
  }

  /** Forgets everything. */
  clear(): void {
    this.drop([...this.ofAccount.keys(), ...this.ofTenants.keys()]);
  }

  /** Keys that have been revoked, or may have been changed. */
  drop(prefixes: readonly string[]): void {
    this.changes += 1;
    for (const prefix of prefixes) this.forget(prefix);
  }

  private forget(prefix: string): void {
    const key = this.ofAccount.get(prefix) ?? this.ofTenants.get(prefix);
    if (key) key.isLive = false;
    this.ofAccount.delete(prefix);
    this.ofTenants.delete(prefix);
  }

  /** Takes a key that is valid now. */
  take(stored: StoredKey): Principal {
    return this.keep(stored);
  }

  /** Who sent this header; at once when the key is in memory. Throws a 401. */
  authenticate(header: string | undefined): Principal | Promise<Principal> {
    if (header === undefined || header === '') throw new LaurelError('unauthorized', missing);
    const prefix = keyPrefix(header);
    const key = this.ofAccount.get(prefix) ?? this.recent(prefix);
    if (key) return checked(key, header);
    if (!madePrefix.test(prefix)) throw new LaurelError('unauthorized', wrongKey);
    return this.find(prefix, header);
  }

  /** A tenant's key that is in memory; it moves to the end, away from those that are forgotten next. */
  private recent(prefix: string): RingKey | undefined {
    const key = this.ofTenants.get(prefix);
    if (!key) return undefined;
    this.ofTenants.delete(prefix);
    this.ofTenants.set(prefix, key);
    return key;
  }

  private async find(prefix: string, header: string): Promise<Principal> {
    for (;;) {
      const { changes } = this;
      const stored = await this.lookup.find(prefix);
      // It may have been revoked after it was read, and dropped before it was there.
      if (changes !== this.changes) continue;
      if (!stored) throw new LaurelError('unauthorized', wrongKey);
      return checked(this.keep(stored), header);
    }
  }

  private keep({ id, ...stored }: StoredKey): RingKey {
    const key = { ...stored, keyId: id, seen: undefined, isLive: true };
    const keys = key.tenant === null ? this.ofAccount : this.ofTenants;
    keys.set(key.prefix, key);
    const [oldest] = this.ofTenants.keys();
    if (this.ofTenants.size > limits.maxCachedKeys && oldest !== undefined) this.forget(oldest);
    return key;
  }
}

function checked(key: RingKey, header: string): Principal {
  if (!matches(key, header)) throw new LaurelError('unauthorized', wrongKey);
  return key;
}

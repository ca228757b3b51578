import { timingSafeEqual } from 'node:crypto';
import type { TenantMoment } from '../redis/partition.js';
import { LaurelError } from '../shared/errors.js';
import { limits } from '../shared/limits.js';
import { hashKey, isMadePrefix, type KeyLimits, keyPrefix, type StoredKey } from './keys.js';
import { Lookup } from './lookup.js';

/** The caller of a request, from its key. */
export interface Principal extends Pick<StoredKey, 'kind' | 'tenant' | 'userId' | 'access'>, Partial<KeyLimits> {
  readonly keyId: string;
  /** The prefix of a key that the request has sent, or that its live token was created with. */
  readonly prefix?: string;
  /** Of a request of the dashboard, whose caller is the key that the operator signed in with. */
  readonly sessionId?: string;
  /** Of a request with a live token: what the token allows besides what its key allows (access/live-tokens.ts). */
  readonly live?: LiveScope;
}

/** What a live token allows. */
export interface LiveScope {
  /** Who is limited with it: the application key that it was made with; of an admin key's, its user, or the token if it has none. */
  readonly holder: string;
  /** The keys of the leaderboards that may be watched. */
  readonly leaderboards: readonly string[];
  /** The user whose stream may be watched. */
  readonly userId: string | undefined;
  /** When it was made: of that time is its user. */
  readonly asOf: TenantMoment;
  readonly expires: Date;
}

const missing = 'Send your API key in the X-API-KEY header.';
export const expiredKey = 'This API key has expired: create another one.';
export const wrongKey = 'This API key is not valid: check the X-API-KEY header.';

/** A valid key, and the key itself once a request has sent it: comparing with it costs an event a tenth of hashing. */
interface RingKey extends Principal {
  readonly prefix: string;
  readonly hash: Buffer;
  seen: Buffer | undefined;
}

/** Compares in a time that does not depend on where two keys of one length differ. */
function same(a: Buffer, b: Buffer): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}

/** Throws a 401 unless the header is the key itself. */
function checked(key: RingKey, header: string): Principal {
  const sent = Buffer.from(header);
  if (!(key.seen && same(key.seen, sent))) {
    if (!timingSafeEqual(key.hash, hashKey(header))) throw new LaurelError('unauthorized', wrongKey);
    key.seen = sent;
  }
  return key;
}

/**
 * The valid keys in memory, by prefix: all admin keys of the account, and the most recently used keys of tenants (at most limits.maxCachedKeys).
 * Others are looked up in Postgres. access/account.ts drops keys that have changed.
 */
export class KeyRing {
  private readonly lookup: Lookup<StoredKey>;
  private readonly ofAccount = new Map<string, RingKey>();
  private readonly ofTenants = new Map<string, RingKey>();
  /** Counts calls of `drop`: a look-up that one of them overlaps may have read a key before its revocation. */
  private drops = 0;

  /** `load` returns those of the prefixes that are valid keys. */
  constructor(load: (prefixes: readonly string[]) => Promise<readonly StoredKey[]>) {
    this.lookup = new Lookup(async (prefixes) => new Map((await load(prefixes)).map((key) => [key.prefix, key])));
  }

  clear(): void {
    this.drop([...this.ofAccount.keys(), ...this.ofTenants.keys()]);
  }

  /** Removes keys that are revoked, or may have changed. */
  drop(prefixes: readonly string[]): void {
    this.drops += 1;
    for (const prefix of prefixes) {
      this.ofAccount.delete(prefix);
      this.ofTenants.delete(prefix);
    }
  }

  /** Adds a key that is valid now. */
  add({ id, ...stored }: StoredKey): RingKey {
    const key = { ...stored, keyId: id, seen: undefined };
    (key.tenant === null ? this.ofAccount : this.ofTenants).set(key.prefix, key);
    const [oldest] = this.ofTenants.keys();
    if (this.ofTenants.size > limits.maxCachedKeys && oldest !== undefined) this.ofTenants.delete(oldest);
    return key;
  }

  /** The caller that sent this header, without a promise when the key is in memory. Throws a 401. */
  authenticate(header: string | undefined): Principal | Promise<Principal> {
    if (header === undefined || header === '') throw new LaurelError('unauthorized', missing);
    const prefix = keyPrefix(header);
    const key = this.ofAccount.get(prefix) ?? this.recent(prefix);
    if (key) return checked(key, header);
    if (!isMadePrefix(prefix)) throw new LaurelError('unauthorized', wrongKey);
    return this.findFor(prefix, header);
  }

  /** The caller of a valid key that an earlier request has sent, which is known by its prefix and id. Throws a 401. */
  async recheck(prefix: string, keyId: string): Promise<Principal> {
    const key = this.ofAccount.get(prefix) ?? this.recent(prefix) ?? (await this.find(prefix));
    if (key?.keyId !== keyId) throw new LaurelError('unauthorized', wrongKey);
    return key;
  }

  /** A tenant's key that is in memory. It moves to the end of the map, whose start is evicted first. */
  private recent(prefix: string): RingKey | undefined {
    const key = this.ofTenants.get(prefix);
    if (!key) return undefined;
    this.ofTenants.delete(prefix);
    this.ofTenants.set(prefix, key);
    return key;
  }

  private async findFor(prefix: string, header: string): Promise<Principal> {
    const key = await this.find(prefix);
    if (!key) throw new LaurelError('unauthorized', wrongKey);
    return checked(key, header);
  }

  /** The valid key with this prefix in Postgres. */
  private async find(prefix: string): Promise<RingKey | undefined> {
    while (true) {
      const { drops } = this;
      const stored = await this.lookup.find(prefix);
      if (drops === this.drops) return stored && this.add(stored);
    }
  }
}

import { randomUUID } from 'node:crypto';
import { SignJWT, errors, jwtVerify } from 'jose';
import type pg from 'pg';
import { z } from 'zod';
import type { TenantMoment } from '../redis/partition.js';
import { LaurelError } from '../shared/errors.js';
import type { Account } from './account.js';
import type { Principal } from './key-ring.js';
import { Secret } from './secret.js';

/** What a new token is bound to. */
export interface NewLiveToken {
  /** The caller who asks for it. */
  readonly principal: Principal;
  /** `tenants.no`. */
  readonly tenant: number;
  /** Keys of leaderboards. */
  readonly leaderboards: readonly string[];
  readonly userId: string | undefined;
  readonly asOf: TenantMoment;
  readonly expiresInS: number;
}

const algorithm = 'HS256';
/** No other token of Laurel has it. */
const audience = 'live';
const msPerS = 1_000;

/** Claims are short, since the token is part of a URL: the key's prefix and id, the tenant, the leaderboards, the user, and the moment. */
const claimsSchema = z.object({
  p: z.string(),
  k: z.string(),
  t: z.number(),
  l: z.array(z.string()),
  u: z.string().optional(),
  n: z.number(),
  d: z.string(),
  exp: z.number(),
  jti: z.string(),
});

const invalid = 'This live token is not valid, or has expired: get another one with POST /v1/live-tokens.';

/**
 * Tokens for browsers, whose EventSource can send no header: JSON Web Tokens that allow their bearer to watch some leaderboards, or a user, of one
 * tenant, for an hour at most. A token acts for the key that it was made with, so it ends when that key is revoked, its user is deleted, or its
 * tenant is archived.
 */
export class LiveTokens {
  private readonly account: Account;
  private readonly secret: Secret;

  constructor(pool: pg.Pool, account: Account) {
    this.account = account;
    this.secret = new Secret(pool, 'live-tokens');
  }

  async create({
    principal,
    tenant,
    leaderboards,
    userId,
    asOf: { atMs, deleted },
    expiresInS,
  }: NewLiveToken): Promise<{ readonly token: string; readonly expires: Date }> {
    const { keyId, prefix = '' } = principal;
    const inS = Math.floor(this.account.now() / msPerS) + expiresInS;
    const exp = principal.expires ? Math.min(inS, Math.floor(principal.expires.getTime() / msPerS)) : inS;
    const claims = { p: prefix, k: keyId, t: tenant, l: leaderboards, u: userId, n: atMs, d: deleted, jti: randomUUID() };
    const token = await new SignJWT(claims)
      .setProtectedHeader({ alg: algorithm })
      .setAudience(audience)
      .setExpirationTime(exp)
      .sign(await this.secret.read());
    return { token, expires: new Date(exp * msPerS) };
  }

  /** The caller with a token. Throws a 401. */
  async authenticate(token: string): Promise<Principal> {
    const { p: prefix, k: keyId, t: tenant, l: leaderboards, u: userId, n: atMs, d: deleted, exp, jti } = await this.verify(token);
    const principal = await this.account.recheck({ prefix, keyId, tenant });
    // A caller that can make one token can make many.
    const ofAdmin = userId === undefined ? jti : `${tenant} ${userId}`;
    const holder = principal.kind === 'application' ? keyId : ofAdmin;
    return { ...principal, live: { holder, leaderboards, userId, asOf: { atMs, deleted }, expires: new Date(exp * msPerS) } };
  }

  private async verify(token: string): Promise<z.infer<typeof claimsSchema>> {
    const key = await this.secret.read();
    try {
      const options = { algorithms: [algorithm], audience, currentDate: new Date(this.account.now()) };
      return claimsSchema.parse((await jwtVerify(token, key, options)).payload);
    } catch (error) {
      if (error instanceof errors.JOSEError || error instanceof z.ZodError)
        throw new LaurelError('unauthorized', invalid, { cause: error });
      throw error;
    }
  }
}

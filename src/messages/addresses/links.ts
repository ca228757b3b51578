import { createHmac } from 'node:crypto';
import { type JWTPayload, SignJWT, errors, jwtVerify } from 'jose';
import type pg from 'pg';
import { z } from 'zod';
import { withPostgresErrors } from '../../postgres/failure.js';
import { canonicalAddress } from './address.js';
import { Secret } from '../../access/secret.js';

/** What a link of a message belongs to. */
export interface LinkTarget {
  /** `tenants.no`. */
  readonly tenant: number;
  readonly user: string;
  /** When the user was created, in milliseconds since 1970: another user may get the id later. Null in links that were signed without it. */
  readonly created: number | null;
  /** `deliveries.id`, a UUID. */
  readonly delivery: string;
}

/** A link whose clicks are counted. */
export interface ClickTarget extends Omit<LinkTarget, 'user' | 'created'> {
  readonly url: string;
}

/** A link that confirms the address of a user. */
export interface ConfirmTarget {
  readonly tenant: number;
  readonly user: string;
  /** As in LinkTarget. */
  readonly created: number;
  readonly address: string;
}

/** The audience of each kind of token, so that one kind is never accepted as another. */
const audiences = { unsubscribe: 'u', click: 'c', confirm: 'k' } as const;
type Purpose = keyof typeof audiences;

/** Claims are short, since List-Unsubscribe holds the token in one line of at most 998 bytes. */
const unsubscribeClaims = z.object({ t: z.number(), sub: z.string(), b: z.number().optional(), jti: z.string() });
const confirmClaims = z.object({ t: z.number(), sub: z.string(), b: z.number(), a: z.string() });
const clickClaims = z.object({ t: z.number(), jti: z.string(), l: z.string() });

const algorithm = 'HS256';

/**
 * The signed links of messages, below PUBLIC_URL: JSON Web Tokens that never expire, since an email may be read years later. A token holds the URL
 * that a click leads to, so a redirect to any other URL can't be forged.
 */
export class Links {
  private readonly pool: pg.Pool;
  private readonly secret: Secret;
  private readonly base: string | null;

  /** `publicUrl` is PUBLIC_URL. Null: there are no links to pages, and clicks are not counted. */
  constructor(pool: pg.Pool, publicUrl: string | null) {
    this.pool = pool;
    this.secret = new Secret(pool, 'message-links');
    this.base = publicUrl?.replace(/\/*$/, '') ?? null;
  }

  /** Makes all links invalid that were signed so far. */
  rotate(): Promise<void> {
    return this.secret.rotate();
  }

  /** The link of List-Unsubscribe, which is also the one to the page of preferences; null without PUBLIC_URL. */
  async unsubscribeUrl({ tenant, user, created, delivery }: LinkTarget & { readonly created: number }): Promise<string | null> {
    if (this.base === null) return null;
    return `${this.base}/m/u/${await this.sign('unsubscribe', { t: tenant, sub: user, b: created, jti: delivery })}`;
  }

  /** A link that counts the click and redirects to `url`; `url` itself without PUBLIC_URL. */
  async clickUrl({ tenant, delivery, url }: ClickTarget): Promise<string> {
    if (this.base === null) return url;
    return `${this.base}/m/c/${await this.sign('click', { t: tenant, jti: delivery, l: url })}`;
  }

  /** The link that confirms an address; null without PUBLIC_URL. The token has the hash of the address. */
  async confirmationUrl({ tenant, user, created, address }: ConfirmTarget): Promise<string | null> {
    if (this.base === null) return null;
    return `${this.base}/m/k/${await this.sign('confirm', { t: tenant, sub: user, b: created, a: await this.hash(address) })}`;
  }

  /** What a link that confirms an address belongs to. */
  async readConfirmation(token: string): Promise<(Omit<ConfirmTarget, 'address'> & { readonly addressHash: string }) | undefined> {
    const claims = confirmClaims.safeParse(await this.verify('confirm', token));
    if (!claims.success) return undefined;
    const { t: tenant, sub: user, b: created, a: addressHash } = claims.data;
    return { tenant, user, created, addressHash };
  }

  /** The hash of an address in the links that confirm it. */
  async hash(address: string): Promise<string> {
    return createHmac('sha256', await this.secret.read())
      .update(canonicalAddress(address))
      .digest('base64url');
  }

  /** What an unsubscribe link belongs to; undefined for a token that Laurel has not signed for this. */
  async readUnsubscribe(token: string): Promise<LinkTarget | undefined> {
    const claims = unsubscribeClaims.safeParse(await this.verify('unsubscribe', token));
    if (!claims.success) return undefined;
    const { t: tenant, sub: user, b: created = null, jti: delivery } = claims.data;
    return { tenant, user, created, delivery };
  }

  /** Whether the message of a link is stored. It is then the current user's, since deleting a user deletes the messages. */
  async isStored({ tenant, user, delivery }: LinkTarget): Promise<boolean> {
    const sql = 'select 1 from deliveries where id = $1 and tenant = $2 and user_id = $3';
    return (await withPostgresErrors(this.pool.query(sql, [delivery, tenant, user]))).rowCount === 1;
  }

  /** The same for a link whose clicks are counted. */
  async readClick(token: string): Promise<ClickTarget | undefined> {
    const claims = clickClaims.safeParse(await this.verify('click', token));
    return claims.success ? { tenant: claims.data.t, delivery: claims.data.jti, url: claims.data.l } : undefined;
  }

  private async sign(purpose: Purpose, claims: JWTPayload): Promise<string> {
    return new SignJWT(claims)
      .setProtectedHeader({ alg: algorithm })
      .setAudience(audiences[purpose])
      .sign(await this.secret.read());
  }

  private async verify(purpose: Purpose, token: string): Promise<JWTPayload | undefined> {
    const key = await this.secret.read();
    try {
      return (await jwtVerify(token, key, { algorithms: [algorithm], audience: audiences[purpose] })).payload;
    } catch (error) {
      if (error instanceof errors.JOSEError) return undefined;
      throw error;
    }
  }
}

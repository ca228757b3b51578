import { type JWTPayload, SignJWT, errors, jwtVerify } from 'jose';
import type pg from 'pg';
import { z } from 'zod';
import { Secret } from './secret.js';

/** What a link of a message belongs to. */
export interface LinkTarget {
  /** `tenants.no`. */
  readonly tenant: number;
  readonly user: string;
  /** `deliveries.id`, a UUID. */
  readonly delivery: string;
}

/** A link whose clicks are counted. */
export interface ClickTarget extends Omit<LinkTarget, 'user'> {
  readonly url: string;
}

/** The audience of each kind of token, so that one kind is never accepted as another. */
const audiences = { unsubscribe: 'u', click: 'c' } as const;
type Purpose = keyof typeof audiences;

/** Claims are short, since List-Unsubscribe holds the token in one line of at most 998 bytes. */
const unsubscribeClaims = z.object({ t: z.number(), sub: z.string(), jti: z.string() });
const clickClaims = z.object({ t: z.number(), jti: z.string(), l: z.string() });

const algorithm = 'HS256';

/**
 * The signed links of messages, below PUBLIC_URL: JSON Web Tokens that never expire, since an email may be read years later. A token holds the URL
 * that a click leads to, so a redirect to any other URL can't be forged.
 */
export class Links {
  private readonly secret: Secret;
  private readonly base: string | null;

  /** `publicUrl` is PUBLIC_URL. Null: there are no links to pages, and clicks are not counted. */
  constructor(pool: pg.Pool, publicUrl: string | null) {
    this.secret = new Secret(pool, 'message-links');
    this.base = publicUrl?.replace(/\/*$/, '') ?? null;
  }

  /** The link of List-Unsubscribe, which is also the one to the page of preferences; null without PUBLIC_URL. */
  async unsubscribeUrl({ tenant, user, delivery }: LinkTarget): Promise<string | null> {
    if (this.base === null) return null;
    return `${this.base}/m/u/${await this.sign('unsubscribe', { t: tenant, sub: user, jti: delivery })}`;
  }

  /** A link that counts the click and redirects to `url`; `url` itself without PUBLIC_URL. */
  async clickUrl({ tenant, delivery, url }: ClickTarget): Promise<string> {
    if (this.base === null) return url;
    return `${this.base}/m/c/${await this.sign('click', { t: tenant, jti: delivery, l: url })}`;
  }

  /** What an unsubscribe link belongs to; undefined for a token that Laurel has not signed for this. */
  async readUnsubscribe(token: string): Promise<LinkTarget | undefined> {
    const claims = unsubscribeClaims.safeParse(await this.verify('unsubscribe', token));
    return claims.success ? { tenant: claims.data.t, user: claims.data.sub, delivery: claims.data.jti } : undefined;
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

import type Koa from 'koa';
import { limits } from '../shared/limits.js';

const plainName = 'laurel_session';
/** Browsers accept this name only with Secure, Path=/ and no Domain, so no other host and no plain HTTP can set it. */
const secureName = `__Host-${plainName}`;

/** The token of the session; undefined without a cookie. */
export const tokenOf = ({ cookies }: Koa.Context): string | undefined => cookies.get(secureName) ?? cookies.get(plainName);

/**
 * Whether the browser reached the service by HTTPS: its Origin says so, or the proxy that holds the certificate. A forged header only makes the
 * forger's own browser keep the cookie from plain HTTP.
 */
function isSecure({ headers }: Koa.Context): boolean {
  const forwarded = headers['x-forwarded-proto'];
  return headers.origin?.startsWith('https://') === true || (typeof forwarded === 'string' && /^https(?:,|$)/i.test(forwarded));
}

function write(context: Koa.Context, name: string, value: { readonly token: string; readonly maxAgeMs: number } | null): void {
  const secure = name === secureName;
  // The library refuses a Secure cookie on the plain connection from a proxy.
  context.cookies.secure = secure;
  context.cookies.set(name, value?.token ?? null, {
    httpOnly: true,
    sameSite: 'strict',
    path: '/',
    secure,
    signed: false,
    overwrite: true,
    ...(value ? { maxAge: value.maxAgeMs } : {}),
  });
}

/** Gives the browser the token of a session. */
export function setToken(context: Koa.Context, token: string): void {
  write(context, isSecure(context) ? secureName : plainName, { token, maxAgeMs: limits.sessionMs });
}

/** Removes the token from the browser. */
export function clearToken(context: Koa.Context): void {
  for (const name of [secureName, plainName]) if (context.cookies.get(name) !== undefined) write(context, name, null);
}

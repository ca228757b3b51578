import type Router from '@koa/router';
import type Koa from 'koa';
import { z } from 'zod';
import { getAdminKey } from '../access/admin-keys.js';
import type { Session } from '../access/sessions.js';
import { parsePart } from '../api/errors.js';
import type { Services } from '../api/route.js';
import { bodyReader } from '../api/body.js';
import type { Authenticate } from '../api/serve.js';
import { LaurelError } from '../shared/errors.js';
import { limits } from '../shared/limits.js';
import { version } from '../shared/version.js';
import { clearToken, setToken, tokenOf } from './cookie.js';
import { checkSender } from './guard.js';
import { SignIn, type SignInOptions } from './sign-in.js';

const address = '/dashboard/session';
const credentials = z.object({
  key: z.string().min(1, 'must not be empty').max(limits.maxTextChars, `must have at most ${limits.maxTextChars} characters`),
});
const readBody = bodyReader(limits.maxBodyBytes);

/** Authenticates a request of the page by its cookie. An X-API-KEY header is ignored. */
export const callerOf =
  ({ sessions }: Pick<Services, 'sessions'>): Authenticate =>
  async (context) => {
    checkSender(context);
    return (await sessions.find(tokenOf(context))).caller;
  };

/** The response to a read of the session. */
async function showSession({ account, clock }: Services, { caller, expires }: Session): Promise<object> {
  const key = await account.store((pool) => getAdminKey(pool, caller.keyId));
  if (!key) throw new LaurelError('unauthorized', 'The key that you signed in with was deleted: sign in with another admin key.');
  const { id, name, prefix, access, tenantId } = key;
  return { key: { id, name, prefix, access, tenantId }, expires: expires.toISOString(), version, testClock: clock.settable };
}

/** Sends data of a session, which no cache may store. */
function send(context: Koa.Context, status: number, body: object | null): void {
  context.status = status;
  context.set('Cache-Control', 'no-store');
  context.body = body;
}

/** Signing in, the current session, and signing out. */
export function sessionRoutes(router: Router, services: Services, options: SignInOptions): void {
  const { sessions } = services;
  const signIn = new SignIn(services.account, options);
  const endCurrent = async (context: Koa.Context): Promise<void> => {
    const token = tokenOf(context);
    if (token !== undefined) await sessions.end(token);
  };

  router.post(address, async (context) => {
    checkSender(context);
    await readBody(context);
    const { key } = parsePart(credentials, context.request.body, 'The body');
    const caller = await signIn.check(context, key);
    await endCurrent(context);
    const { token, session } = await sessions.open(caller);
    clearToken(context);
    setToken(context, token);
    send(context, 201, await showSession(services, session));
  });

  router.get(address, async (context) => {
    checkSender(context);
    send(context, 200, await showSession(services, await sessions.find(tokenOf(context))));
  });

  router.delete(address, async (context) => {
    checkSender(context);
    await endCurrent(context);
    clearToken(context);
    send(context, 204, null);
  });
}

import type Router from '@koa/router';
import type Koa from 'koa';
import { z } from 'zod';
import { tenantFor } from '../api/auth.js';
import { parsePart } from '../api/errors.js';
import type { Route, Services } from '../api/route.js';
import { oneOf } from '../config/fields.js';
import { canonicalLocale } from '../config/message-fields.js';
import { notificationTypes } from '../config/message-types.js';
import { idSchema } from '../engine/user-properties.js';
import { previewMessage } from '../messages/preview.js';
import { LaurelError } from '../shared/errors.js';
import { tokenOf } from './cookie.js';
import { checkSite } from './guard.js';

/** An email may load images and has inline styles. It runs no script and is a document of no origin, in a frame of the dashboard. */
const policy = [
  'sandbox',
  "default-src 'none'",
  "style-src 'unsafe-inline'",
  'img-src https: http: data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'self'",
].join('; ');

const paramsSchema = z.object({ type: oneOf(notificationTypes) });
const locale = z
  .string()
  .refine((text) => canonicalLocale(text) !== null, 'must be a language tag such as pt-BR')
  .transform((text) => canonicalLocale(text) ?? undefined);
const querySchema = z.object({ user: idSchema, locale: locale.optional(), tenant: idSchema.optional() });

/** The rules of the tenant are those of a route without exceptions. */
const anyRoute = {} as Route;

async function htmlOf(context: Koa.Context & { params: unknown }, { account, sessions, ...stores }: Services): Promise<string> {
  checkSite(context);
  const { caller } = await sessions.find(tokenOf(context));
  const { type } = parsePart(paramsSchema, context.params, 'The path');
  const { tenant: named, ...about } = parsePart(querySchema, { ...context.query }, 'The query');
  if (named !== undefined && caller.tenant === null) await account.learnTenant(named);
  const tenant = tenantFor(caller, named, account, anyRoute);
  return (await previewMessage(stores, { tenant }, { type, ...about })).email.html;
}

/**
 * `GET /dashboard/preview/{type}?user=&locale=&tenant=`: the HTML of an email to a user, for a frame of the page. A frame can send no header, so the
 * tenant is in the query, and the header of the page's other requests is not required; nothing is changed. An error is a sentence in the frame.
 */
export function previewRoute(router: Router, services: Services): void {
  router.get('/dashboard/preview/:type', async (context) => {
    context.set({ 'Content-Security-Policy': policy, 'Cache-Control': 'no-store' });
    try {
      context.body = await htmlOf(context, services);
      context.type = 'html';
    } catch (error) {
      if (!(error instanceof LaurelError)) throw error;
      context.status = error.status;
      context.type = 'text/plain';
      context.body = error.message;
    }
  });
}

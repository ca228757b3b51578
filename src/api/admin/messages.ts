import { z } from 'zod';
import { oneOf } from '../../config/schema/fields.js';
import { templateFields } from '../../config/schema/message-fields.js';
import { channels, notificationTypes } from '../../config/schema/message-types.js';
import { deliveryStatuses } from '../../deliveries/queue.js';
import { idSchema, textSchema } from '../../engine/user-properties.js';
import { limits } from '../../shared/limits.js';
import type { MessageDelivery } from '../../messages/admin/message-admin.js';
import { type TextField, textFields } from '../../messages/render/defaults.js';
import { countRecipients } from '../../messages/admin/dry-run.js';
import { LaurelError } from '../../shared/errors.js';
import { instantShape } from '../../shared/shapes.js';
import { countOf } from '../audit.js';
import { type Route, defineRoute } from '../route.js';
import { attemptSchema, pageQuery, resendBody, resendDescription, resendResponse, uuid } from './requests.js';

const type = oneOf(notificationTypes);
const channel = oneOf(channels);

export const messageSchema = z
  .object({
    id: z.uuid().meta({ description: 'Also the left side of an email’s Message-ID.' }),
    type: z.enum(notificationTypes),
    channel: z.enum(channels),
    status: z.enum(deliveryStatuses),
    userId: z.string(),
    due: instantShape.meta({ description: 'When it became due.' }),
    created: instantShape.meta({ description: 'When it was queued.' }),
    finished: instantShape.nullable().meta({ description: 'When it was sent, skipped or abandoned.' }),
    attempts: z.number().int(),
    nextAttempt: instantShape.nullable().meta({ description: 'The earliest time of the next attempt; null if there is none.' }),
    clicks: z.number().int().meta({ description: 'On the links of an email.' }),
    about: z
      .record(z.string(), z.unknown())
      .meta({ description: 'What it is about: the achievements, the period, the days of inactivity.' }),
    tries: z.array(attemptSchema).meta({ description: 'The latest attempts, the newest last.' }),
  })
  .meta({ id: 'Message' });

export const showMessage = ({
  user,
  due,
  created,
  finished,
  nextAttempt,
  about,
  ...message
}: MessageDelivery): z.infer<typeof messageSchema> => ({
  id: message.id,
  type: message.type,
  channel: message.channel,
  status: message.status,
  userId: user,
  due: due.toISOString(),
  created: created.toISOString(),
  finished: finished?.toISOString() ?? null,
  attempts: message.attempts,
  nextAttempt: message.status === 'pending' ? nextAttempt.toISOString() : null,
  clicks: message.clicks,
  about: Object.fromEntries(Object.entries(about).filter(([field]) => field !== 'type')),
  tries: message.tries.map(({ at, durationMs, status, answer, error }) => ({ at, durationMs, status, answer, error })),
});

/** Texts of a template that is not stored. */
const textSchemas = Object.fromEntries(
  textFields.map((field) => [field, templateFields[field].schema.nullable().default(null)]),
) as unknown as Record<TextField, z.ZodType<string | null>>;
const draftSchema = z.object(textSchemas).meta({
  id: 'TemplateTexts',
  description: 'In place of the stored template of the type and the locale. A text that is left out falls back.',
});

const rendered = {
  type,
  userId: idSchema,
  locale: (templateFields.locale.schema as z.ZodType<string>)
    .optional()
    .meta({ description: 'A BCP 47 locale, such as `pt-BR`; that of the user without it, or with `template` the default locale.' }),
  template: draftSchema.optional(),
};

/** Messages to users: what was sent, what would be, and tests (docs/messages.md). */
export const messageRoutes: readonly Route[] = [
  defineRoute({
    method: 'get',
    path: '/messages',
    operation: 'admin_messages_list',
    summary: 'List messages to users, the newest first',
    responses: { 200: z.array(messageSchema) },
    query: pageQuery.extend({
      type: type.optional(),
      channel: channel.optional(),
      status: oneOf(deliveryStatuses).optional(),
      userId: idSchema.optional(),
    }),
    handle: async ({ services, tenant, query }) => ({ status: 200, body: (await services.messages.list(tenant, query)).map(showMessage) }),
  }),
  defineRoute({
    method: 'get',
    path: '/messages/totals',
    operation: 'admin_messages_totals',
    description: 'Of the messages that are still stored, which is for a week.',
    summary: 'Count messages to users by type, channel and status',
    responses: {
      200: z.array(
        z.object({
          type: z.enum(notificationTypes),
          channel: z.enum(channels),
          status: z.enum(deliveryStatuses),
          count: z.number().int(),
        }),
      ),
    },
    handle: async ({ services, tenant }) => ({ status: 200, body: await services.messages.totals(tenant) }),
  }),
  defineRoute({
    method: 'get',
    path: '/messages/recipients',
    operation: 'admin_messages_recipients',
    costly: true,
    description:
      'Nothing is queued or sent. Reads all users in pages: with a million users it takes about a minute. Users who are active or extend their streak ' +
      'later in the day change the numbers. Of achievements, it counts the users whose message waits for its time.',
    summary: 'Count the users whom messages of a type would reach on their current local day, by channel',
    responses: { 200: z.object({ type: z.enum(notificationTypes), email: z.number().int(), push: z.number().int() }) },
    query: z.object({ type }),
    handle: async ({ services, tenant, query }) => {
      const config = await services.engine.config(tenant);
      const now = await services.clock.now(tenant);
      const counts = await countRecipients(services.dryRun, config, query.type, now);
      return { status: 200, body: { type: query.type, ...counts } };
    },
  }),
  defineRoute({
    method: 'post',
    path: '/messages/preview',
    operation: 'admin_messages_preview',
    costly: true,
    reads: true,
    description:
      "Nothing is sent or stored. The message is about the user's newest achievement (without one, the first of the configuration), the last " +
      'period that is over, or the first reactivation. Its link to unsubscribe leads nowhere.',
    summary: 'Render a message as a user would receive it now',
    responses: {
      200: z.object({
        subject: z.string(),
        html: z.string().meta({ description: 'The email.' }),
        text: z.string().meta({ description: 'Its plain-text part.' }),
        push: z.object({
          title: z.string(),
          body: z.string(),
          url: z.string().nullable().meta({ description: 'What the app opens; null for its start.' }),
        }),
        warnings: z.array(z.string()).meta({ description: 'Why something that the template has was left out.' }),
      }),
    },
    body: z.object(rendered),
    handle: async ({ services, tenant, body: { userId, ...draft } }) => {
      const { email, push } = await services.testMessages.preview(tenant, { ...draft, user: userId });
      const { subject, html, text } = email;
      const warnings = [...new Set([...email.warnings, ...push.warnings])];
      return { status: 200, body: { subject, html, text, push: { title: push.title, body: push.body, url: push.url }, warnings } };
    },
  }),
  defineRoute({
    method: 'post',
    path: '/messages/test',
    operation: 'admin_messages_test',
    costly: true,
    description:
      'The email is rendered for the user and sent to `email`, whatever MESSAGES says, once and without storing it. Its link to unsubscribe leads ' +
      'nowhere. A key that is bound to a tenant sends only to the address of the user and to those of TEST_EMAIL_ADDRESSES, and only with ' +
      `MESSAGES=on. Suppressed addresses receive nothing. A tenant may send ${limits.maxTestEmails} tests in an hour.`,
    summary: 'Send an email to one address, as a user would receive it now',
    responses: {
      200: z.object({
        id: z.uuid(),
        subject: z.string(),
        sent: z.boolean(),
        status: z.number().int().nullable().meta({ description: 'The reply code of the SMTP server; null without a reply.' }),
        detail: z.string().nullable().meta({ description: 'What the server replied, or why the email was not sent.' }),
      }),
    },
    body: z.object({ ...rendered, email: textSchema(1, limits.maxEmailChars) }),
    handle: async ({ services, principal, tenant, body: { userId, email, ...draft } }) => {
      const isBound = principal.tenant !== null;
      const outcome = await services.testMessages.send(tenant, { ...draft, user: userId, to: email }, { isBound });
      const hash = (await services.suppressions.hash(email)).toString('hex').slice(0, limits.auditHashChars);
      const summary = `Test email ${outcome.sent ? 'sent' : 'not sent'} to an address with the hash ${hash}`;
      return { status: 200, body: outcome, summary };
    },
  }),
  defineRoute({
    method: 'post',
    path: '/messages/resend',
    operation: 'admin_messages_resend_failed',
    description: `${resendDescription} A message is skipped if the user must not receive it any more.`,
    summary: 'Send failed messages again',
    responses: { 200: resendResponse },
    audit: ({ response }) => countOf((response as z.infer<typeof resendResponse>).resent, 'failed message', 'sent again'),
    body: resendBody.extend({ type: type.optional(), channel: channel.optional() }),
    bodyOptional: true,
    handle: async ({ services, tenant, body: { from: fromMs, until: untilMs, cursor: after, ...filters } }) => {
      const query = { ...filters, span: { fromMs, untilMs }, after };
      return { status: 200, body: await services.messages.resendFailed(tenant, query, await services.clock.now(tenant)) };
    },
  }),
  defineRoute({
    method: 'post',
    path: '/messages/{id}/resend',
    operation: 'admin_messages_resend',
    description: 'With all of its attempts, whatever its status and age. It is skipped if the user must not receive it any more.',
    summary: 'Send a message again',
    responses: { 200: messageSchema },
    params: z.object({ id: uuid }),
    handle: async ({ services, tenant, params: { id } }) => {
      const message = await services.messages.resend(tenant, id, await services.clock.now(tenant));
      if (!message) throw new LaurelError('not_found', `There is no message with the id ${id}.`);
      return { status: 200, body: showMessage(message) };
    },
  }),
];

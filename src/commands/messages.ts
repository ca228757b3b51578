import { writeFileSync } from 'node:fs';
import { type NotificationType, notificationTypes } from '../config/schema/message-types.js';
import { Confirmations } from '../messages/addresses/confirmations.js';
import { countRecipients } from '../messages/admin/dry-run.js';
import { isNotificationType, previewMessage } from '../messages/admin/preview.js';
import { Links } from '../messages/addresses/links.js';
import { Suppressions } from '../messages/addresses/suppressions.js';
import { messageOf } from '../redis/connection.js';
import { OperatorError } from '../shared/errors.js';
import { tenantNamed } from '../app/apply.js';
import type { Context } from '../app/context.js';
import type { Print } from '../app/output.js';

export interface PreviewOptions {
  readonly user: string;
  /** The file that the HTML is written to. */
  readonly html: string;
  /** The id or customerId of a tenant; the default tenant without it. */
  readonly tenant?: string | undefined;
}

function writeHtml(file: string, html: string): void {
  try {
    writeFileSync(file, html);
  } catch (error) {
    throw new OperatorError(`The preview can't be written to ${file}: ${messageOf(error)}.`, { cause: error });
  }
}

function typeNamed(type: string): NotificationType {
  if (isNotificationType(type)) return type;
  throw new OperatorError(`There is no message of the type ${JSON.stringify(type)}: the types are ${notificationTypes.join(', ')}.`);
}

/**
 * `laurel messages preview`: renders a message to a user, writes the HTML to a file, and prints the rest. Sends nothing. Throws an OperatorError for
 * an unknown type or tenant and for a file that can't be written, a LaurelError for an unknown user.
 */
export async function preview(context: Context, print: Print, type: string, { user, html, tenant }: PreviewOptions): Promise<void> {
  const known = typeNamed(type);
  const no = await tenantNamed(context.pool, tenant);
  await context.engine.loadLibrary();
  const { email, push } = await previewMessage(context, { tenant: no }, { type: known, user });
  writeHtml(html, email.html);
  print(`Subject: ${email.subject}`);
  print('');
  print(email.text);
  print(`Push: ${push.title}`);
  print(`      ${push.body}`);
  print(`      ${push.url ?? 'without a link'}`);
  for (const warning of new Set([...email.warnings, ...push.warnings])) print(`Left out: ${warning}`);
  print(`The HTML is in ${html}. Nothing was sent.`);
}

export interface CountOptions {
  /** The id or customerId of a tenant; the default tenant without it. */
  readonly tenant?: string | undefined;
}

/**
 * `laurel messages count`: prints how many users a message of a type would reach today, by channel. Sends nothing. Throws an OperatorError for an
 * unknown type or tenant, a LaurelError `not_ready` while no worker writes to Postgres.
 */
export async function countMessages(context: Context, print: Print, type: string, { tenant }: CountOptions): Promise<void> {
  const known = typeNamed(type);
  const { pool, engine, clock } = context;
  const no = await tenantNamed(pool, tenant);
  await engine.loadLibrary();
  const suppressions = new Suppressions(pool);
  const confirmations = context.settings.confirmAddresses ? new Confirmations(pool, suppressions) : undefined;
  const tools = { stores: context, pool, suppressions, confirmations };
  const { email, push } = await countRecipients(tools, await engine.config(no), known, await clock.now(no));
  print(`email  ${email.toLocaleString('en')}`);
  print(`push   ${push.toLocaleString('en')}`);
  print('These users would receive it today, as far as is known now. Nothing was sent.');
}

/** `laurel messages rotate-links`: replaces the key that signs the links of emails, so that no link of an email that was sent works any more. */
export async function rotateLinks({ pool, audit, settings }: Context, print: Print): Promise<void> {
  await new Links(pool, settings.publicUrl).rotate();
  const summary = 'the key of the links of emails replaced';
  await audit.note({ tenant: null, keyId: null, via: 'command', operation: 'messages rotate-links', summary });
  print(
    'The links of emails that were sent so far no longer work: to unsubscribe, to the preferences, of clicks, and to confirm an address.',
  );
  print('New emails have links that work. Every process uses the new key within a second.');
}

import { writeFileSync } from 'node:fs';
import { notificationTypes } from '../../config/message-types.js';
import { isNotificationType, previewMessage } from '../../messages/preview.js';
import { messageOf } from '../../redis/connection.js';
import { OperatorError } from '../../shared/errors.js';
import { tenantNamed } from '../apply.js';
import type { Context } from '../context.js';
import type { Print } from './keys.js';

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

/**
 * `laurel messages preview`: renders a message to a user, writes the HTML to a file, and prints the rest. Sends nothing. Throws an OperatorError for
 * an unknown type or tenant and for a file that can't be written, a LaurelError for an unknown user.
 */
export async function preview(context: Context, print: Print, type: string, { user, html, tenant }: PreviewOptions): Promise<void> {
  if (!isNotificationType(type)) {
    throw new OperatorError(`There is no message of the type ${JSON.stringify(type)}: the types are ${notificationTypes.join(', ')}.`);
  }
  const no = await tenantNamed(context.pool, tenant);
  await context.engine.loadLibrary();
  const { email, push } = await previewMessage(context, { tenant: no }, { type, user });
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

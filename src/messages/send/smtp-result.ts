import type { NodemailerError } from 'nodemailer';
import { type SendResult, detailOf } from './provider.js';

/** Replies that refuse the login, or require one, at any stage (RFC 4954). */
const loginCodes = new Set([530, 534, 535, 538]);
/** Replies to RCPT TO that mean the address: a syntax error, no such mailbox, not local, not allowed, no mail for the domain (RFC 5321, RFC 7504). */
const addressCodes = new Set([501, 550, 551, 553, 556]);
/** Enhanced codes that mean the address at any stage: those of addresses, and a disabled mailbox (RFC 3463). */
const addressStatus = /^5\.(?:1\.\d{1,3}|2\.1)$/;
/** Enhanced codes without a meaning: the basic code counts. */
const otherStatus = /^5\.0\.\d{1,3}$/;

const enhancedStatus = (response: string): string | undefined => /^\d{3}[ -](\d\.\d{1,3}\.\d{1,3})\b/.exec(response)?.[1];

/**
 * Whether a permanent refusal means that the address is no longer valid. Not so with a policy (5.7.x) or a full mailbox (5.2.2), also at RCPT TO: a server
 * that Laurel may no longer send through would otherwise suppress every user's address.
 */
function isGone({ command, responseCode = 0, response = '' }: NodemailerError): boolean {
  const status = enhancedStatus(response);
  if (status !== undefined && addressStatus.test(status)) return true;
  const isBasic = status === undefined || otherStatus.test(status);
  return command === 'RCPT TO' && isBasic && addressCodes.has(responseCode);
}

/** nodemailer's error in words, for an error without a reply. */
function reasonOf({ code, message }: NodemailerError): string {
  return code === 'EABORT' ? 'no reply in time' : message || 'the connection failed';
}

/** The result of an email that was not accepted. The server's reply counts by its stage: only MAIL, RCPT and DATA are about this email. */
export function smtpResult(error: NodemailerError, personal: readonly string[]): SendResult {
  const { code, command, responseCode, response } = error;
  const result = { status: responseCode ?? null, detail: detailOf(response ?? reasonOf(error), personal) };
  // The server ends the connection in the middle of an email, as some do to slow a sender down.
  if (responseCode === 421 && code === 'ECONNECTION') return { kind: 'temporary', ...result };
  const isTooLarge = code === 'EMESSAGE' && responseCode === undefined;
  if (isTooLarge) return { kind: 'permanent', isGone: false, ...result };
  const isAboutEmail = (code === 'EENVELOPE' || code === 'EMESSAGE') && responseCode !== undefined && !loginCodes.has(responseCode);
  if (!isAboutEmail) return { kind: 'unavailable', ...result };
  if (responseCode < 500 || responseCode === 503) return { kind: 'temporary', ...result };
  return command === 'MAIL FROM' ? { kind: 'unavailable', ...result } : { kind: 'permanent', isGone: isGone(error), ...result };
}

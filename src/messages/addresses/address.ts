import { domainToASCII } from 'node:url';
import addressparser from 'nodemailer/lib/addressparser';
import { z } from 'zod';
import { limits } from '../../shared/limits.js';

/** The sender of emails. */
export interface Sender {
  /** The display name; empty without one. */
  readonly name: string;
  readonly address: string;
}

/** Characters that an address contains only in quotes, or not at all. */
const specials = /[\p{Cc}<>()[\]\\,;:"]/u;
const hostName = /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/i;

/** The domain of an address, in ASCII; the empty string for an invalid one. */
export const domainOf = (address: string): string => domainToASCII(address.slice(address.lastIndexOf('@') + 1));

/**
 * An address in the form that is compared: in lower case, since no usual provider tells mailboxes apart by letter case (RFC 5321 allows it), and with
 * the domain in ASCII, as providers report it.
 */
export function canonicalAddress(address: string): string {
  const text = address.trim().toLowerCase();
  const at = text.lastIndexOf('@') + 1;
  return text.slice(0, at) + (domainToASCII(text.slice(at)) || text.slice(at));
}

/** The mailbox of an address, as most providers have it: the canonical address without what is between a `+` and the `@`. */
export const mailboxOf = (address: string): string => canonicalAddress(address).replace(/(?<=.)\+[^@]*(?=@[^@]*$)/, '');

/** Whether SMTP can carry an address as it is. Local parts in quotes and addresses at IP addresses in brackets are refused. */
export function isSmtpAddress(address: string): boolean {
  if (!z.regexes.unicodeEmail.test(address) || specials.test(address)) return false;
  const localPart = address.slice(0, address.lastIndexOf('@'));
  const bytes = Buffer.byteLength(address);
  return (
    bytes <= limits.maxSmtpAddressBytes && Buffer.byteLength(localPart) <= limits.maxLocalPartBytes && hostName.test(domainOf(address))
  );
}

/** Parses `address` or `Name <address>`; undefined for anything else, such as two addresses. */
export function parseSender(text: string): Sender | undefined {
  if (/\p{Cc}/u.test(text)) return undefined;
  const [first, ...others] = addressparser(text, { flatten: true });
  if (!first || others.length > 0 || !isSmtpAddress(first.address)) return undefined;
  // The parser also finds an address among other words: `a b@example.com`.
  if (text.trim() !== first.address && !text.trim().endsWith(`<${first.address}>`)) return undefined;
  return { name: first.name, address: first.address };
}

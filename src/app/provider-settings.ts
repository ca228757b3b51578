/** The settings of messages to users (docs/messages-providers.md). */
import { z } from 'zod';
import { isSmtpAddress, parseSender } from '../messages/addresses/address.js';
import { limits } from '../shared/limits.js';
import { onOrOff, wholeNumber } from './setting-types.js';

/** Whether a value is a URL of an SMTP server: without a path and options, and with a login that can be decoded. */
function isSmtpUrl(value: string): boolean {
  if (!URL.canParse(value) || !/^smtps?:\/\/[^/]/.test(value)) return false;
  const { hostname, pathname, search, hash, username, password } = new URL(value);
  const hasLogin = username !== '' || password !== '';
  try {
    decodeURIComponent(username + password);
  } catch {
    return false;
  }
  return (
    hostname !== '' && ['', '/'].includes(pathname) && search === '' && hash === '' && (!hasLogin || (username !== '' && password !== ''))
  );
}

/** Whether a value is a URL that links can begin with. */
function isPublicUrl(value: string): boolean {
  if (!URL.canParse(value) || !/^https?:\/\/[^/]/.test(value)) return false;
  const { search, hash, username, password } = new URL(value);
  return search === '' && hash === '' && username === '' && password === '' && !/[?#]/.test(value);
}

/** The address of a provider: requests have paths of their own. */
const origin = (value: string) =>
  z
    .string()
    .refine((given) => URL.canParse(given) && /^https?:\/\/[^/?#@]+\/?$/.test(given), {
      error: `must be http:// or https:// and a host, like ${value}`,
    })
    .default(value);

const text = () => z.string().nullable().default(null);

// A variable that others depend on ends the check at once (`abort`), so that it is the only one that is named.

/** A part of a name that is published in DNS: letters, digits, hyphens, underscores and dots. */
const dnsName = () =>
  z
    .string()
    .regex(/^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$/, {
      error: 'must be a name of letters, digits, hyphens, underscores and dots',
      abort: true,
    })
    .nullable()
    .default(null);

/** Apple's ids of keys and teams. */
const appleId = () =>
  z
    .string()
    .regex(/^[A-Z0-9]{10}$/, { error: 'must be 10 capital letters and digits', abort: true })
    .nullable()
    .default(null);

export const providerVariables = {
  /** Whether messages to users are sent; with `log`, the log shows what would be sent. */
  MESSAGES: z.enum(['off', 'log', 'on'], { error: 'must be off, log or on' }).default('log'),
  /** The service as users reach it, without a slash at the end. Null: emails have no links to Laurel. */
  PUBLIC_URL: z
    .string()
    .refine(isPublicUrl, { error: 'must be the address of the API for users, like https://laurel.example.com, without a query or a login' })
    .transform((value) => value.replace(/\/+$/, ''))
    .nullable()
    .default(null),
  /** Null: no emails. */
  SMTP_URL: z
    .string()
    .refine(isSmtpUrl, {
      error:
        'must be smtp://user:password@host:587 or smtps://user:password@host:465, the login optional, ' +
        'with special characters of the login percent-encoded, and nothing after the port',
      abort: true,
    })
    .nullable()
    .default(null),
  /** A PEM file with the CA of the SMTP server's certificate. */
  SMTP_CA_FILE: text(),
  /** `address` or `Name <address>`. */
  EMAIL_FROM: z
    .string()
    .refine((value) => parseSender(value) !== undefined, {
      error: 'must be one email address, with or without a name: laurel@example.com or Laurel <laurel@example.com>',
    })
    .nullable()
    .default(null),
  /** Emails that a worker sends in a second. */
  EMAIL_RATE_LIMIT: wholeNumber(1, limits.maxEmailsPerS).default(limits.emailsPerS),
  /** Whether users confirm their email address before the first email. */
  CONFIRM_ADDRESSES: onOrOff('0'),
  /** Where keys that are bound to a tenant may send test emails, besides the user's own address: addresses, and domains after an `@`. */
  TEST_EMAIL_ADDRESSES: z
    .string()
    .transform((value) => value.split(',').map((entry) => entry.trim()))
    .refine((entries) => entries.every((entry) => isSmtpAddress(entry.startsWith('@') ? `any${entry}` : entry)), {
      error: 'must be email addresses, or domains after an @, separated by commas, like ada@example.com,@staff.example.com',
    })
    .default([]),
  DKIM_DOMAIN: dnsName(),
  DKIM_SELECTOR: dnsName(),
  DKIM_KEY_FILE: text(),
  /** The token in the URL of Postmark's webhook. Null: no intake. */
  POSTMARK_WEBHOOK_TOKEN: z
    .string()
    .regex(/^[\x21-\x7e]{16,256}$/, { error: 'must be 16 to 256 visible ASCII characters' })
    .nullable()
    .default(null),
  /** The SNS topic whose notifications of Amazon SES are accepted. Null: no intake. */
  SES_TOPIC_ARN: z
    .string()
    .regex(/^arn:aws[a-z-]*:sns:[a-z0-9-]+:\d{12}:[A-Za-z0-9_-]{1,256}$/, {
      error: 'must be the ARN of an SNS topic, like arn:aws:sns:eu-west-1:123456789012:bounces',
    })
    .nullable()
    .default(null),
  /** Whether Expo's push tokens are served. */
  PUSH_EXPO: onOrOff('1'),
  EXPO_ACCESS_TOKEN: z
    .string()
    .regex(/^[\x21-\x7e]{1,4096}$/, { error: 'must be up to 4096 visible ASCII characters' })
    .nullable()
    .default(null),
  EXPO_URL: origin('https://exp.host'),
  /** The JSON key of a service account of Firebase. */
  FCM_CREDENTIALS_FILE: text(),
  FCM_URL: origin('https://fcm.googleapis.com'),
  APNS_KEY_FILE: text(),
  APNS_KEY_ID: appleId(),
  APNS_TEAM_ID: appleId(),
  APNS_TOPIC: dnsName(),
  /** With a port, if it is not 443. */
  APNS_HOST: z
    .string()
    .regex(/^[A-Za-z0-9.-]+(:\d{1,5})?$/, { error: 'must be a host, like api.push.apple.com or api.sandbox.push.apple.com' })
    .default('api.push.apple.com'),
};

type Values = z.output<z.ZodObject<typeof providerVariables>>;

/** Variables that are set together. */
const groups = [
  ['DKIM_DOMAIN', 'DKIM_SELECTOR', 'DKIM_KEY_FILE'],
  ['APNS_KEY_FILE', 'APNS_KEY_ID', 'APNS_TEAM_ID', 'APNS_TOPIC'],
] as const;

/** The variables that are missing beside others. */
export function refusedTogether(values: Values): { variable: string; error: string }[] {
  const missing: { variable: string; error: string }[] = groups.flatMap((group) => {
    const unset = group.filter((name) => values[name] === null);
    if (unset.length === group.length) return [];
    return unset.map((variable) => ({ variable, error: `must be set when ${group.find((name) => values[name] !== null)} is set` }));
  });
  if (values.SMTP_URL !== null && values.EMAIL_FROM === null) {
    missing.push({ variable: 'EMAIL_FROM', error: 'must be set when SMTP_URL is set: the address that emails come from' });
  }
  if (values.SMTP_URL !== null && values.MESSAGES === 'on' && values.PUBLIC_URL === null) {
    missing.push({ variable: 'PUBLIC_URL', error: 'must be set when SMTP_URL is set and MESSAGES is on: links to unsubscribe lead there' });
  }
  if (values.CONFIRM_ADDRESSES && values.PUBLIC_URL === null && values.MESSAGES === 'on') {
    missing.push({
      variable: 'PUBLIC_URL',
      error: 'must be set when CONFIRM_ADDRESSES is 1 and MESSAGES is on: links that confirm lead there',
    });
  }
  return missing;
}

/** The URLs of messages to users: those of the brand, and the hosts that links may lead to. */
import { limits } from '../../shared/limits.js';

const ownHosts: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

/** A URL without what its parser would silently drop or rewrite: spaces, control characters, backslashes. Null for anything else. */
function urlOf(text: string): URL | null {
  if (text.length > limits.maxLinkChars || /[\s\p{Cc}\\]/u.test(text) || !text.isWellFormed() || !URL.canParse(text)) return null;
  const url = new URL(text);
  return ['https:', 'http:'].includes(url.protocol) && url.username === '' && url.password === '' ? url : null;
}

/** What is wrong with a URL of the brand, as the rest of a sentence that starts with its field; null if nothing is. */
export function brandUrlFault(text: string): string | null {
  if (text.length > limits.maxLinkChars) return `is longer than ${limits.maxLinkChars.toLocaleString('en-US')} characters`;
  const url = urlOf(text);
  if (url === null) return 'must be a URL like https://example.com, without spaces, a user name or a password';
  return url.protocol === 'https:' || ownHosts.has(url.hostname) ? null : 'must start with https:// (http:// is for localhost only)';
}

/** The host of a list of hosts in lower case, with its port unless that is the default; null for a text that is not a host. */
export function canonicalHost(text: string): string | null {
  const url = urlOf(`https://${text}`);
  return url !== null && url.href === `https://${url.host}/` && !text.includes('/') ? url.host : null;
}

/** The settings of messages that say where links may lead. */
interface LinkSettings {
  readonly brandUrl: string | null;
  readonly linkHosts: readonly string[];
}

const allowedHosts = ({ brandUrl, linkHosts }: LinkSettings): readonly string[] =>
  brandUrl === null ? linkHosts : [new URL(brandUrl).host, ...linkHosts];

/** Whether a message may link to a URL: http or https, and to a host of `linkHosts` or to that of `brandUrl`. */
export function isAllowedLink(messages: LinkSettings, text: string): boolean {
  const url = urlOf(text);
  return url !== null && allowedHosts(messages).includes(url.host);
}

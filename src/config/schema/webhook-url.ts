/** Checks of webhook URLs before their names are resolved, and of the addresses that they resolve to. */
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { limits } from '../../shared/limits.js';

/** Where webhooks may be sent: over https to public addresses, anywhere, or only to these origins, whatever their addresses are. */
export type WebhookReceivers = 'public' | 'any' | readonly string[];

/** The global IPv6 addresses, and the ranges among them that stand for others: tunnels to IPv4, examples. */
const openV6 = ipaddr.IPv6.parseCIDR('2000::/3');
const closedV6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'].map((range) => ipaddr.IPv6.parseCIDR(range));

/** Azure's metadata and DNS server answers every virtual machine at this address, which no registry reserves. */
const azureServer = '168.63.129.16';

/**
 * Whether an IP address is a public one: not private, loopback, link-local, carrier-grade NAT, multicast, unspecified, reserved, Azure's own
 * server, nor an IPv6 address that stands for an IPv4 one. A text that is not an address is not public.
 */
export function isPublicAddress(address: string): boolean {
  if (isIP(address) === 0 || address === azureServer) return false;
  const parsed = ipaddr.parse(address);
  if (parsed.range() !== 'unicast') return false;
  return parsed instanceof ipaddr.IPv4 || (parsed.match(openV6) && !closedV6.some((range) => parsed.match(range)));
}

/** Names of the machine itself or of its network, whatever a resolver returns. */
const closedName = /(^|\.)(localhost|local|internal|localdomain|home\.arpa)\.?$/i;

/** The host of a URL for a connection: an IPv6 address without its brackets. */
const hostOf = (url: URL): string => url.hostname.replace(/^\[(.*)\]$/, '$1');

/**
 * What is wrong with the URL of an endpoint in any installation, as the rest of a sentence that starts with its field; null if nothing is.
 * The operator may choose any port, path and query.
 */
export function urlFault(text: string): string | null {
  if (text.length > limits.maxWebhookUrlChars) return `is longer than ${limits.maxWebhookUrlChars.toLocaleString('en-US')} characters`;
  // The URL parser would silently drop or rewrite characters that a URL cannot contain.
  if (/[\s\p{Cc}]/u.test(text) || !text.isWellFormed() || !URL.canParse(text)) return 'must be a URL like https://example.com/webhooks';
  const url = new URL(text);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'must be a URL that starts with https://';
  if (url.username !== '' || url.password !== '')
    return 'must not contain a user name or a password: the signature authenticates the sender';
  return null;
}

/**
 * Why webhooks may not be sent to a URL, as the rest of a sentence; null if they may. A name that resolves to a private address is refused at
 * delivery.
 */
export function receiverFault(text: string, receivers: WebhookReceivers): string | null {
  const url = new URL(text);
  if (receivers === 'any') return null;
  if (receivers !== 'public') return receivers.includes(url.origin) ? null : 'must be at an origin that WEBHOOK_ORIGINS lists';
  if (url.protocol !== 'https:') return 'must start with https:// (WEBHOOK_ALLOW_PRIVATE=1 allows http)';
  const host = hostOf(url);
  const isPrivate = isIP(host) !== 0 ? !isPublicAddress(host) : closedName.test(host);
  return isPrivate ? 'must not lead to a private address or to this machine (WEBHOOK_ALLOW_PRIVATE=1 allows it)' : null;
}

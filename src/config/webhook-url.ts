/** Where webhooks may go: what can be said of a URL before anybody looks its name up, and of the addresses that a name leads to. */
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { limits } from '../shared/limits.js';

/** All addresses of the open Internet in IPv6, and those among them that stand for others: tunnels to IPv4, examples. */
const openV6 = ipaddr.IPv6.parseCIDR('2000::/3');
const closedV6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'].map((range) => ipaddr.IPv6.parseCIDR(range));

/** Azure's metadata and DNS server answers every virtual machine at this address, which no registry reserves. */
const azureServer = '168.63.129.16';

/**
 * Whether an IP address is one of the open Internet, where anybody's receiver can be: not private, loopback, link-local, shared by a
 * carrier, multicast, unspecified, reserved, Azure's own server, nor an IPv6 address that stands for an IPv4 one. What is no address is not public.
 */
export function isPublicAddress(address: string): boolean {
  if (isIP(address) === 0 || address === azureServer) return false;
  const parsed = ipaddr.parse(address);
  if (parsed.range() !== 'unicast') return false;
  return parsed instanceof ipaddr.IPv4 || (parsed.match(openV6) && !closedV6.some((range) => parsed.match(range)));
}

/** Names that are of the machine itself or of its network, whatever a resolver says of them. */
const closedName = /(^|\.)(localhost|local|internal|localdomain|home\.arpa)\.?$/i;

/** The host of a URL as a connection takes it: an IPv6 address without its brackets. */
export const hostOf = (url: URL): string => url.hostname.replace(/^\[(.*)\]$/, '$1');

/**
 * What is wrong with the URL of an endpoint wherever it is, as the rest of a sentence that starts with its field; null if nothing is.
 * The port, the path and the query are the operator's.
 */
export function urlFault(text: string): string | null {
  if (text.length > limits.maxWebhookUrlChars) return `is longer than ${limits.maxWebhookUrlChars.toLocaleString('en-US')} characters`;
  // What a URL can't hold would be taken out of it or written in another way in silence.
  if (/[\s\p{Cc}]/u.test(text) || !text.isWellFormed() || !URL.canParse(text)) return 'must be a URL like https://example.com/webhooks';
  const url = new URL(text);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'must be a URL that starts with https://';
  if (url.username !== '' || url.password !== '') return 'must not hold a user name or a password: the signature tells who sends';
  return null;
}

/**
 * What is wrong with the URL where endpoints are on the open Internet, which is everywhere but with WEBHOOK_ALLOW_PRIVATE=1, as the rest of
 * a sentence; null if nothing is. A name that leads to a private address is found out when it is looked up for a delivery.
 */
export function privateUrlFault(text: string): string | null {
  const url = new URL(text);
  if (url.protocol !== 'https:') return 'must start with https:// (WEBHOOK_ALLOW_PRIVATE=1 allows http)';
  const host = hostOf(url);
  const isPrivate = isIP(host) !== 0 ? !isPublicAddress(host) : closedName.test(host);
  return isPrivate ? 'must not lead to a private address or to this machine (WEBHOOK_ALLOW_PRIVATE=1 allows it)' : null;
}

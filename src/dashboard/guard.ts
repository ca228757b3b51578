import type Koa from 'koa';
import { LaurelError } from '../shared/errors.js';

/** The header that the page sends with each request. Pages of other origins can't, since the dashboard allows them no headers (CORS). */
const pageHeader = 'x-laurel-dashboard';

const foreign = (sentence: string): LaurelError => new LaurelError('forbidden', sentence);

/**
 * Throws a 403 for a request that the page of the dashboard has not sent: one without the header, or one that the browser sends on behalf of another
 * site, as it says in Sec-Fetch-Site. Older browsers don't send that.
 */
export function checkSender({ headers }: Koa.Context): void {
  if (headers[pageHeader] !== '1') throw foreign('Requests of the dashboard need the header X-Laurel-Dashboard: 1.');
  const site = headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin')
    throw foreign('Only the page of the dashboard may send this request, and another page did.');
}

import { LaurelError } from '../errors.js';
import type { Principal } from '../keys/key-ring.js';
import type { Api, Route } from '../routing/route.js';

const forbidden = (sentence: string): LaurelError => new LaurelError('forbidden', sentence);

/** Whether a route is open to application keys at all: never one of the Admin API, and no route that does not say so. */
export function isOpen(api: Api, { access = 'admin' }: Pick<Route, 'access'>): boolean {
  return api === 'application' && access !== 'admin';
}

/** What can be said before the request is read. Throws a 403 for an application key of another tenant, or on a route for admin keys. */
export function checkCaller(principal: Principal, tenant: number, api: Api, route: Route): void {
  if (principal.kind === 'admin') return;
  if (principal.tenant !== tenant) throw forbidden('This key belongs to another tenant: send that one’s id in the Tenant-ID header.');
  if (!isOpen(api, route)) {
    throw forbidden(
      api === 'admin'
        ? 'An application key can’t call the Admin API: use an admin key.'
        : 'This call needs an admin key: an application key can’t make it.',
    );
  }
}

/** Whom the request is about. Throws a 403 when that is somebody else than the user whose key it is. */
export function checkUsers(principal: Principal, { access }: Route, parts: { params: unknown; query: unknown; body: unknown }): void {
  if (principal.kind === 'admin' || typeof access !== 'function') return;
  if (access(parts).some((user) => user !== principal.userId)) {
    throw forbidden(`This key is for the data of user ${JSON.stringify(principal.userId)} only: use an admin key for others.`);
  }
}

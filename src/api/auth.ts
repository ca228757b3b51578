import type { Account } from '../access/account.js';
import { defaultTenant } from '../access/tenants.js';
import { LaurelError } from '../shared/errors.js';
import type { Principal } from '../access/key-ring.js';
import type { Api, Route } from './route.js';

const forbidden = (sentence: string): LaurelError => new LaurelError('forbidden', sentence);

/** Whether a route is open to application keys at all: never one of the Admin API, and no route that does not say so. */
export function isOpen(api: Api, { access = 'admin' }: Pick<Route, 'access'>): boolean {
  return api === 'application' && access !== 'admin';
}

/** Whether a route is open to admin keys that are bound to a tenant: the Application API, and the routes of the Admin API that say so. */
export function isOpenToBound(api: Api, { scope = 'account' }: Pick<Route, 'scope'>): boolean {
  return api === 'application' || scope === 'tenant';
}

/**
 * The tenant of a call, by its no. `named` is the Tenant-ID header; without it a bound admin key means its own tenant, and other keys mean the
 * default one. Throws a 404 for an unknown tenant. For a key of one tenant it throws the same 403 for every other tenant, known or not: such a
 * key must not find out which tenants exist.
 */
export function tenantFor(principal: Principal, named: string | undefined, account: Account, route: Route): number {
  const implied = (principal.kind === 'admin' ? principal.tenant : null) ?? defaultTenant;
  const tenant =
    named === undefined ? implied : (account.findTenant(named) ?? (route.archivedTenants ? account.findArchivedTenant(named) : undefined));
  if (principal.tenant !== null && tenant !== principal.tenant) {
    throw forbidden('This key is for one tenant, and the Tenant-ID header does not name it: send the id of that tenant.');
  }
  if (tenant === undefined) {
    throw new LaurelError('not_found', `There is no tenant ${JSON.stringify(named)}: check the Tenant-ID header, or leave it out.`);
  }
  return tenant;
}

/** What can be said before the request is read. Throws a 403 on a route that is not for keys of this kind. */
export function checkCaller(principal: Principal, api: Api, route: Route): void {
  if (principal.kind === 'admin') {
    if (principal.tenant === null || isOpenToBound(api, route)) return;
    throw forbidden('This call is about the whole account, and this key is bound to a tenant: use an admin key of the account.');
  }
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

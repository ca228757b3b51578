import type { Account } from '../access/account.js';
import { defaultTenant } from '../access/tenants.js';
import { LaurelError } from '../shared/errors.js';
import type { Principal } from '../access/key-ring.js';
import type { Api, Route } from './route.js';

const forbidden = (sentence: string): LaurelError => new LaurelError('forbidden', sentence);

/** Whether application keys may call a route: only routes of the Application API that declare `access`. */
export function isOpen(api: Api, { access = 'admin' }: Pick<Route, 'access'>): boolean {
  return api === 'application' && access !== 'admin';
}

/** Whether admin keys bound to a tenant may call a route: the Application API, and routes of the Admin API with `scope: 'tenant'`. */
export function isOpenToBound(api: Api, { scope = 'account' }: Pick<Route, 'scope'>): boolean {
  return api === 'application' || scope === 'tenant';
}

/**
 * Returns the `no` of a request's tenant. `named` is the Tenant-ID header; without it, a key bound to a tenant and a live token mean that
 * one, and other keys mean the default tenant. Throws a 404 for an unknown tenant. A key bound to a tenant gets the same 403 for every other tenant, whether it
 * exists or not, so that it can't discover tenants.
 */
export function tenantFor(principal: Principal, named: string | undefined, account: Account, route: Route): number {
  const implied = (principal.kind === 'admin' || principal.live ? principal.tenant : null) ?? defaultTenant;
  const tenant =
    named === undefined ? implied : (account.findTenant(named) ?? (route.archivedTenants ? account.findArchivedTenant(named) : undefined));
  if (principal.tenant !== null && tenant !== principal.tenant) {
    throw forbidden(
      principal.kind === 'admin' || principal.tenant === defaultTenant
        ? 'This key is bound to one tenant, and the Tenant-ID header names another: send the id of the key’s tenant, or leave the header out.'
        : 'This key belongs to a user of another tenant: send the id of that tenant in the Tenant-ID header.',
    );
  }
  if (tenant === undefined) {
    throw new LaurelError('not_found', `There is no tenant ${JSON.stringify(named)}: check the Tenant-ID header, or leave it out.`);
  }
  return tenant;
}

/** Whether a route changes nothing, so that read-only keys may call it: every GET, and what declares `reads`. */
export function isRead({ method, reads }: Pick<Route, 'method' | 'reads'>): boolean {
  return method === 'get' || reads === true;
}

/** Throws a 403 if keys of this kind may not call the route. Needs nothing of the request. */
export function checkCaller(principal: Principal, api: Api, route: Route): void {
  if (principal.kind === 'admin') {
    if (principal.access === 'read' && !isRead(route)) {
      throw forbidden('This key is read-only, and this operation changes something: use an admin key with full access.');
    }
    if (principal.tenant === null || isOpenToBound(api, route)) return;
    throw forbidden('This operation concerns the whole account, and this key is bound to a tenant: use an admin key of the account.');
  }
  if (!isOpen(api, route)) {
    throw forbidden(
      api === 'admin'
        ? 'An application key can’t call the Admin API: use an admin key.'
        : 'This operation needs an admin key: an application key can’t call it.',
    );
  }
  const permission = isRead(route) ? 'read' : route.permission;
  if (principal.permissions && !(permission && principal.permissions.includes(permission))) {
    throw forbidden(
      permission
        ? `This key is limited, and lacks the permission \`${permission}\`: use a key that has it.`
        : 'This key is limited, and no permission allows this operation: use an application key without limits, or an admin key.',
    );
  }
}

/** Throws a 403 if a request with an application key writes what its limits don't allow. */
export function checkWrites(principal: Principal, { writes }: Route, parts: Parameters<NonNullable<Route['writes']>>[0]): void {
  const { fields, maxEventValue } = principal;
  if (!writes || (!fields && typeof maxEventValue !== 'number')) return;
  const written = writes(parts);
  const others = fields ? written.fields.filter((field) => !fields.some((own) => own === field)) : [];
  if (others.length > 0) {
    throw forbidden(`This key is limited, and may not write ${others.map((field) => `\`${field}\``).join(', ')}: use a key that may.`);
  }
  const { eventValue } = written;
  if (typeof maxEventValue === 'number' && eventValue !== undefined && !(eventValue >= 0 && eventValue <= maxEventValue)) {
    throw forbidden(`This key is limited to events with a \`value\` from 0 to ${maxEventValue}: use a key that may send others.`);
  }
}

/** Throws a 403 if a request with a limited application key chooses whom the response counts. */
export function checkFilters({ permissions, fields, maxEventValue, expires }: Principal, { filters }: Route, sent: () => object): void {
  const isLimited = permissions || fields || typeof maxEventValue === 'number' || expires;
  const filter = isLimited ? filters?.find((name) => Object.hasOwn(sent(), name)) : undefined;
  if (filter !== undefined) throw forbidden(`This key is limited, and may not filter by \`${filter}\`: use a key that may.`);
}

/** Throws a 403 if a request with an application key concerns another user than the key's. */
export function checkUsers(principal: Principal, { access }: Route, parts: { params: unknown; query: unknown; body: unknown }): void {
  if (principal.kind === 'admin' || typeof access !== 'function') return;
  if (access(parts).some((user) => user !== principal.userId)) {
    throw forbidden(`This key is for the data of user ${JSON.stringify(principal.userId)} only: use an admin key for others.`);
  }
}

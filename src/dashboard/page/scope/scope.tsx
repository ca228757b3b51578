import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import { createApi, type Api } from '../api/client.js';
import type { Session } from '../api/session.js';

/** What the screens of one tenant share. */
export interface Scope {
  readonly session: Session;
  /** The tenant in the address; undefined for that of the key, or the default tenant. */
  readonly tenant: string | undefined;
  readonly api: Api;
  /** The address of a screen: `href('/users')`. */
  readonly href: (path: string) => string;
  /** Whether the key may change anything. Controls that change are disabled otherwise. */
  readonly canChange: boolean;
}

/** The part of an address before the path of a screen. */
export const baseOf = (tenant: string | undefined): string =>
  tenant === undefined ? '/dashboard' : `/dashboard/tenants/${encodeURIComponent(tenant)}/in`;

/** The tenant of the address of a screen. */
export function tenantOf(path: string): string | undefined {
  const [, tenant] = /^\/dashboard\/tenants\/([^/]+)\/in(?:\/|$)/.exec(path) ?? [];
  return tenant === undefined ? undefined : decodeURIComponent(tenant);
}

/** `onSignedOut` is called when the service no longer accepts the session. */
export function createScope({ session, tenant }: Pick<Scope, 'session' | 'tenant'>, onSignedOut: () => void): Scope {
  const base = baseOf(tenant);
  const api = createApi({ key: session.key.id, tenant }, onSignedOut);
  return { session, tenant, api, href: (path) => base + path, canChange: session.key.access === 'full' };
}

export const ScopeContext = createContext<Scope | undefined>(undefined);

export function useScope(): Scope {
  const scope = useContext(ScopeContext);
  if (!scope) throw new Error('a screen outside the shell');
  return scope;
}

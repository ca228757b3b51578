import createClient, { type Middleware } from 'openapi-fetch';
import { ApiError } from './errors.js';
import type { paths as AdminPaths } from './schema/admin.js';
import type { paths as ApplicationPaths } from './schema/application.js';

/** The header that pages of other origins can't send: every request of the dashboard has it. */
export const pageHeaders = { 'X-Laurel-Dashboard': '1' } as const;

/** Called when the service no longer accepts the session. */
let onSignedOut: () => void = () => undefined;
export function whenSignedOut(handler: () => void): void {
  onSignedOut = handler;
}

/** Throws an ApiError with the sentence of a response that is not a success. */
export async function checkResponse(response: Response): Promise<void> {
  if (response.ok) return;
  const body: unknown = await response
    .clone()
    .json()
    .catch(() => undefined);
  const said = typeof body === 'object' && body !== null && 'error' in body && typeof body.error === 'string' ? body.error : undefined;
  throw new ApiError(response.status, said ?? `The service responded with status ${response.status}.`);
}

const middleware: Middleware = {
  onResponse: async ({ response }) => {
    if (response.status === 401) onSignedOut();
    await checkResponse(response);
    return undefined;
  },
  onError: () => new ApiError(0, 'The service does not respond: check your connection and try again.'),
};

/** The Admin API and the Application API of one tenant, typed by their references. */
export interface Api {
  readonly admin: ReturnType<typeof createClient<AdminPaths>>;
  readonly application: ReturnType<typeof createClient<ApplicationPaths>>;
}

/** `tenant` is the id of a tenant; without it, the calls are about the tenant of the key, or the default one. */
export function createApi(tenant: string | undefined): Api {
  const headers = { ...pageHeaders, ...(tenant === undefined ? {} : { 'Tenant-ID': tenant }) };
  const admin = createClient<AdminPaths>({ baseUrl: '/dashboard/api/admin/v1', headers });
  const application = createClient<ApplicationPaths>({ baseUrl: '/dashboard/api/v1', headers });
  admin.use(middleware);
  application.use(middleware);
  return { admin, application };
}

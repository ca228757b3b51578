import createClient, {
  type Client,
  type ClientPathsWithMethod,
  type MaybeOptionalInit,
  type MethodResponse,
  type Middleware,
} from 'openapi-fetch';
import { ApiError, dataOf, noResponse } from './errors.js';
import type { paths as AdminPaths } from './schema/admin.js';
import type { paths as ApplicationPaths } from './schema/application.js';

/** The header that pages of other origins can't send: every request of the dashboard has it. */
export const pageHeaders = { 'X-Laurel-Dashboard': '1' } as const;

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

const errorsOf = (onSignedOut: () => void): Middleware => ({
  onResponse: async ({ response }) => {
    if (response.status === 401) onSignedOut();
    await checkResponse(response);
    return undefined;
  },
  onError: noResponse,
});

/** What `useQuery` takes. Queries with equal keys share their data. */
interface Query<T> {
  readonly queryKey: readonly unknown[];
  readonly queryFn: (context: { readonly signal: AbortSignal }) => Promise<T>;
}

type OptionalInit<Init> = undefined extends Init ? [init?: Init] : [init: Init];

/** A client of an API. `query` makes a query of a GET request, whose key is the request. */
type ApiClient<Paths extends object> = Client<Paths> & {
  readonly query: <Path extends ClientPathsWithMethod<Client<Paths>, 'get'>>(
    path: Path,
    ...init: OptionalInit<MaybeOptionalInit<Paths[Path], 'get' & keyof Paths[Path]>>
  ) => Query<MethodResponse<Client<Paths>, 'get', Path>>;
};

/** The Admin API and the Application API of one tenant, typed by their references. */
export interface Api {
  readonly admin: ApiClient<AdminPaths>;
  readonly application: ApiClient<ApplicationPaths>;
  /** The key of a query, within the session and the tenant. */
  readonly keyOf: (parts: readonly unknown[]) => readonly unknown[];
  /** A query of several requests, or of another method. */
  readonly query: <T>(parts: readonly unknown[], queryFn: Query<T>['queryFn']) => Query<T>;
}

/** Whose data the queries read. */
interface ApiOwner {
  /** The id of the key that the operator signed in with. */
  readonly key: string;
  /** The id of a tenant; without it, the calls are about the tenant of the key, or the default one. */
  readonly tenant: string | undefined;
}

/** The keys of all queries of the APIs start with it. */
export const apiQueries = ['api'] as const;

/** `onSignedOut` is called when the service no longer accepts the session. */
export function createApi({ key, tenant }: ApiOwner, onSignedOut: () => void): Api {
  const headers = { ...pageHeaders, ...(tenant === undefined ? {} : { 'Tenant-ID': tenant }) };
  const keyOf: Api['keyOf'] = (parts) => [...apiQueries, key, tenant ?? null, ...parts];
  const query: Api['query'] = (parts, queryFn) => ({ queryKey: keyOf(parts), queryFn });
  const clientOf = <Paths extends object>(baseUrl: string): ApiClient<Paths> => {
    const client = createClient<Paths>({ baseUrl, headers });
    client.use(errorsOf(onSignedOut));
    // The type of `query` holds its callers to the reference; here, a path is a text.
    const get = client.GET as unknown as (path: string, init: object) => Promise<{ data?: unknown }>;
    const queryOf = (path: string, init?: object) =>
      query([baseUrl, path, init], async ({ signal }) => dataOf(await get(path, { ...init, signal })));
    return Object.assign(client, { query: queryOf }) as unknown as ApiClient<Paths>;
  };
  return { admin: clientOf('/dashboard/api/admin/v1'), application: clientOf('/dashboard/api/v1'), keyOf, query };
}

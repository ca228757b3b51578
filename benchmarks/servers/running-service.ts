import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import type { Subject } from './subject.js';

/** The customerId of the tenant that a running service is measured in. */
const customerId = 'laurel-benchmark';
const pageTenants = 100;
const removalMs = 30_000;
const drainMs = 120_000;
const drainPollMs = 100;
const deletionsAtOnce = 8;

const tenants = z.array(z.object({ id: z.string(), customerId: z.string() }));
const creation = z.object({ created: tenants, issues: z.array(z.object({ message: z.string() })) });

/** A service of the operator's, and an admin key of its account. */
export interface RunningService {
  readonly url: string;
  readonly apiKey: string;
}

interface Call {
  readonly signal: AbortSignal;
  readonly tenant?: string;
  readonly body?: object;
}

interface Answer {
  readonly isOk: boolean;
  readonly status: number;
  readonly text: string;
}

/** Makes a request to the Admin API. */
async function request({ url, apiKey }: RunningService, method: string, path: string, { signal, tenant, body }: Call): Promise<Answer> {
  const response = await fetch(`${url}/admin/v1${path}`, {
    method,
    signal,
    headers: {
      ...{ 'content-type': 'application/json', 'x-api-key': apiKey },
      ...(tenant !== undefined && { 'tenant-id': tenant }),
    },
    ...(body && { body: JSON.stringify(body) }),
  });
  return { isOk: response.ok, status: response.status, text: await response.text() };
}

/** Makes a request, and returns the body of its response. Throws when it gets another status than a 2xx. */
async function call(service: RunningService, method: string, path: string, options: Call): Promise<unknown> {
  const { isOk, status, text } = await request(service, method, path, options);
  if (!isOk) throw new Error(`${method} ${service.url}/admin/v1${path} got the status ${status}: ${text}`);
  return JSON.parse(text);
}

const archive = (service: RunningService, id: string, signal: AbortSignal): Promise<unknown> =>
  call(service, 'DELETE', `/tenants?ids=${id}`, { signal });

async function findTenant(service: RunningService, signal: AbortSignal): Promise<string | undefined> {
  for (let skip = 0; ; skip += pageTenants) {
    const page = tenants.parse(await call(service, 'GET', `/tenants?limit=${pageTenants}&skip=${skip}`, { signal }));
    const found = page.find((tenant) => tenant.customerId === customerId);
    if (found || page.length < pageTenants) return found?.id;
  }
}

/** Creates the tenant. Replaces one that an interrupted run has left, unless it has users. */
async function createTenant(service: RunningService, signal: AbortSignal): Promise<string> {
  const left = await findTenant(service, signal);
  if (left !== undefined) {
    const users = await call(service, 'GET', '/users?limit=1', { signal, tenant: left });
    if (Array.isArray(users) && users.length > 0) {
      throw new Error(`The tenant ${customerId} of ${service.url} has users: archive it, if no other benchmark is measuring in it.`);
    }
    await archive(service, left, signal);
  }
  const body = [{ customerId, name: 'Benchmark' }];
  const { created, issues } = creation.parse(await call(service, 'POST', '/tenants', { signal, body }));
  const [tenant] = created;
  if (!tenant) throw new Error(`The tenant ${customerId} could not be created: ${issues.map(({ message }) => message).join(' ')}`);
  return tenant.id;
}

/** Waits until Postgres has what was written: a list of users is read when it does. */
async function untilWritten(service: RunningService, tenant: string, signal: AbortSignal): Promise<void> {
  const startedMs = performance.now();
  while (!(await request(service, 'GET', '/users?limit=1', { signal, tenant })).isOk) {
    if (performance.now() - startedMs > drainMs) throw new Error(`The write-behind did not drain within ${drainMs / 1_000} s.`);
    await delay(drainPollMs, undefined, { signal });
  }
}

/** Deletes users of an archived tenant. One that is not there is not missed. */
async function deleteUsers(service: RunningService, tenant: string, ids: readonly string[], signal: AbortSignal): Promise<void> {
  const left = [...ids];
  const next = async (): Promise<void> => {
    for (let id = left.pop(); id !== undefined; id = left.pop()) {
      const { status } = await request(service, 'DELETE', `/users/${encodeURIComponent(id)}`, { signal, tenant });
      if (status !== 200 && status !== 404) throw new Error(`The user ${id} could not be deleted: the status is ${status}.`);
    }
  };
  await Promise.all(Array.from({ length: deletionsAtOnce }, next));
}

export interface TenantOptions {
  /** The text of the configuration file of the tenant. */
  readonly config: string;
  /** The ids of all users that there may be at the end. */
  readonly users: readonly string[];
  readonly signal: AbortSignal;
  readonly print: (line: string) => void;
}

/**
 * Runs work in a new tenant of a running service. However the work ends, the tenant is archived, and then its users are deleted, unless the run is
 * interrupted. Throws when there is such a tenant already and it has users.
 */
export async function inOwnTenant(
  service: RunningService,
  { config, users, signal, print }: TenantOptions,
  work: (subject: Subject) => Promise<void>,
): Promise<void> {
  const tenant = await createTenant(service, signal);
  try {
    await call(service, 'POST', '/configuration/apply', { signal, tenant, body: { file: config } });
    await work({
      ...{ side: 'ours', url: service.url, apiKey: service.apiKey, tenant },
      settle: () => untilWritten(service, tenant, signal),
      cpu: () => Promise.resolve({}),
    });
  } finally {
    await archive(service, tenant, AbortSignal.timeout(removalMs));
    if (signal.aborted) {
      print(`The users of tenant ${tenant}, which is archived, are still in the stores.`);
    } else {
      print(`deleting ${users.length} users of tenant ${tenant}`);
      await deleteUsers(service, tenant, users, signal);
    }
  }
}

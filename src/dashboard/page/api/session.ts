import { checkResponse, pageHeaders } from './client.js';
import { ApiError, noResponse } from './errors.js';

/** The key that the operator signed in with, and until when the session lasts. */
export interface Session {
  readonly key: {
    readonly id: string;
    readonly name: string;
    readonly prefix: string;
    readonly access: 'full' | 'read';
    /** The tenant that the key is bound to; null for a key of the account. */
    readonly tenantId: string | null;
  };
  readonly expires: string;
  readonly version: string;
  /** Whether the service runs on the test clock. */
  readonly testClock: boolean;
}

async function call(method: string, body?: object): Promise<Response> {
  const response = await fetch('/dashboard/session', {
    method,
    headers: { ...pageHeaders, ...(body ? { 'Content-Type': 'application/json' } : {}) },
    ...(body ? { body: JSON.stringify(body) } : {}),
  }).catch(() => {
    throw noResponse();
  });
  await checkResponse(response);
  return response;
}

const isSignedOut = (error: unknown): boolean => error instanceof ApiError && error.status === 401;

/** The current session; undefined when there is none. */
export async function readSession(): Promise<Session | undefined> {
  try {
    return (await (await call('GET')).json()) as Session;
  } catch (error) {
    if (isSignedOut(error)) return undefined;
    throw error;
  }
}

/** Throws an ApiError with the reason when the key is refused. */
export async function signIn(key: string): Promise<void> {
  await call('POST', { key });
}

/** Ends the session. Throws an ApiError while the service does not respond: the session lives on. */
export async function signOut(): Promise<void> {
  try {
    await call('DELETE');
  } catch (error) {
    if (!isSignedOut(error)) throw error;
  }
}

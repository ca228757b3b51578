import type { z } from 'zod';
import type { Account } from '../access/account.js';
import type { Engine } from '../engine/engine.js';
import type { Principal } from '../access/key-ring.js';
import type { Clock } from '../engine/clock.js';
import type { AggregateReader } from '../ledger/aggregates.js';
import type { ConfigEditor } from '../engine/configuration.js';
import type { DeadLetters } from '../ledger/dead-letters.js';
import type { HistoryReader } from '../ledger/reader.js';
import type { UserDirectory } from '../ledger/user-directory.js';
import type { WebhookAdmin } from '../webhooks/admin.js';

/** What handlers work with. */
export interface Services {
  readonly engine: Engine;
  readonly clock: Clock;
  readonly history: HistoryReader;
  readonly aggregates: AggregateReader;
  /** What operators configure: reads it, and changes it for all processes at once. */
  readonly configuration: ConfigEditor;
  /** The tenants and keys of the account. */
  readonly account: Account;
  /** Moves the test clock of all tenants, and returns when everything that is due by then has been done, and what the moment is. */
  readonly advance: (toMs: number) => Promise<number>;
  /** The list of users. */
  readonly directory: UserDirectory;
  /** The entries of ledgers that Postgres refused. */
  readonly deadLetters: DeadLetters;
  /** What is known of webhook endpoints and their deliveries. */
  readonly webhooks: WebhookAdmin;
  /** Deletes a user for good, and returns when nothing is left of the user. Throws a 404 for an unknown one. */
  readonly forget: (tenant: number, user: string) => Promise<void>;
}

export interface Answer {
  readonly status: number;
  readonly body: unknown;
}

export interface RouteRequest<P, Q, B> {
  readonly services: Services;
  readonly principal: Principal;
  /** `tenants.no`. */
  readonly tenant: number;
  readonly params: P;
  readonly query: Q;
  readonly body: B;
  /** The `Idempotency-Key` header, decoded and checked, of a route that is `idempotent`. */
  readonly idempotencyKey: string | undefined;
}

/** The Application API is for admin keys and application keys, the Admin API for admin keys only. */
export type Api = 'application' | 'admin';

/**
 * Who may call a route of the Application API (docs/keys.md): `admin` only admin keys; `anyone` application keys too, because what it
 * answers concerns no single user; a function names the users whom a request is about, and an application key may only be about its own.
 */
export type Access<P, Q, B> =
  'admin' | 'anyone' | ((parts: { readonly params: P; readonly query: Q; readonly body: B }) => readonly string[]);

/**
 * One operation of the HTTP API, declared: the router, the checks and the reference (api/reference.ts) are made from it. `path` is
 * below the API's base and names its parameters in braces, as the contract does.
 */
export interface Route<P = unknown, Q = unknown, B = unknown> {
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete';
  readonly path: string;
  readonly summary: string;
  /** The operation's name in the reference: the contract's `operationId` where it has one. */
  readonly operation: string;
  /** The body of each answer that is not an error, by status. */
  readonly answers: Readonly<Record<number, z.ZodType>>;
  /** The media type of answers that are texts; without it, answers are JSON. */
  readonly produces?: string;
  /** Whether an `Idempotency-Key` header means something here; elsewhere it is not looked at. */
  readonly idempotent?: true;
  /** A route that does not say it is closed to application keys. Those of the Admin API always are. */
  readonly access?: Access<P, Q, B>;
  /** Of the Admin API: `tenant` for what is one tenant's own. A route that does not say it is closed to admin keys that are bound to a tenant. */
  readonly scope?: 'tenant' | 'account';
  readonly params: z.ZodType<P>;
  readonly query: z.ZodType<Q>;
  /** Null for an operation without a body. */
  readonly body: z.ZodType<B> | null;
  /** Whether the Tenant-ID header may be the id of an archived tenant. */
  readonly archivedTenants?: true;
  /** Whether a request without a body is as good as one with `{}`. */
  readonly bodyOptional?: true;
  /** Bytes that the body may have; limits.maxBodyBytes without it. */
  readonly maxBodyBytes?: number;
  readonly handle: (request: RouteRequest<P, Q, B>) => Promise<Answer>;
}

/** Keeps a route's types together while it is written, and lets lists hold routes of all types. */
export function defineRoute<P, Q, B>(route: Route<P, Q, B>): Route {
  return route as unknown as Route;
}

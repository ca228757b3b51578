import { z } from 'zod';
import type { Account } from '../access/account.js';
import type { AuditExport, AuditLog } from '../access/audit.js';
import type { Engine } from '../engine/engine.js';
import type { Principal } from '../access/key-ring.js';
import type { KeyPermission } from '../access/keys.js';
import type { LiveTokens } from '../access/live-tokens.js';
import type { Sessions } from '../access/sessions.js';
import type { Author } from '../config/store/author.js';
import type { Clock } from '../engine/clock.js';
import type { AggregateReader } from '../history/aggregates.js';
import type { AnalyticsReader } from '../history/analytics.js';
import type { ConfigEditor } from '../engine/configuration.js';
import type { Counts } from '../history/counts.js';
import type { HistoryExports } from '../history/exports.js';
import type { DeadLetters } from '../ledger/dead-letters.js';
import type { HistoryReader } from '../history/reader.js';
import type { BoardReader } from '../history/boards.js';
import type { TimelineReader } from '../history/timeline.js';
import type { UserDirectory } from '../history/user-directory.js';
import type { ConfirmationAdmin } from '../messages/admin/confirmation-admin.js';
import type { MessageAdmin, MessageExport } from '../messages/admin/message-admin.js';
import type { DryRunTools } from '../messages/admin/dry-run.js';
import type { TestMessages } from '../messages/admin/test-messages.js';
import type { FeedbackIntake } from '../messages/feedback/intake.js';
import type { Suppressions } from '../messages/addresses/suppressions.js';
import type { AccountStatus } from '../observe/account-status.js';
import type { Live } from '../live/live.js';
import type { WebhookAdmin } from '../webhooks/admin.js';

/** What handlers use. */
export interface Services {
  readonly engine: Engine;
  readonly clock: Clock;
  readonly history: HistoryReader;
  readonly aggregates: AggregateReader;
  readonly analytics: AnalyticsReader;
  /** Reads the configuration, and changes it in all processes at once. */
  readonly configuration: ConfigEditor;
  /** The tenants and keys of the account. */
  readonly account: Account;
  /** The sessions of the dashboard. */
  readonly sessions: Sessions;
  readonly live: Live;
  /** The tokens of live streams. */
  readonly liveTokens: LiveTokens;
  /** Who changed what, and when. */
  readonly audit: AuditLog;
  /** Advances the test clock of all tenants. Resolves with the new time once everything that is due by then is done. */
  readonly advance: (toMs: number) => Promise<number>;
  /** Counts users for the effects of a change of the configuration. */
  readonly counts: Counts;
  /** The list of users, and what happened to each. */
  readonly directory: UserDirectory;
  readonly timeline: TimelineReader;
  /** Runs of leaderboards, and groups of them. */
  readonly boards: BoardReader;
  /** Everything that there is of a kind, in parts. */
  readonly exports: { readonly history: HistoryExports; readonly messages: MessageExport; readonly audit: AuditExport };
  /** The entries of ledgers that Postgres refused. */
  readonly deadLetters: DeadLetters;
  /** The state and the deliveries of webhook endpoints. */
  readonly webhooks: WebhookAdmin;
  /** The messages to users, tests of them, and what counts their recipients. */
  readonly messages: MessageAdmin;
  readonly testMessages: TestMessages;
  readonly dryRun: DryRunTools;
  /** Addresses that receive no emails, and what providers report on addresses. */
  readonly suppressions: Suppressions;
  readonly feedback: FeedbackIntake;
  /** The addresses that users have confirmed. */
  readonly confirmations: ConfirmationAdmin;
  /** The state of the installation. */
  readonly status: () => Promise<AccountStatus>;
  /** Deletes a user for good, from both stores, on behalf of `author`. Throws a 404 for an unknown user. */
  readonly forget: (tenant: number, user: string, author: Author) => Promise<void>;
}

export interface RouteResponse {
  readonly status: number;
  /** Sent as JSON; a `JsonText` as it is, and an `EventStream` for as long as it lasts. */
  readonly body: unknown;
  /** What the audit log says, where it is more than the request and the response tell. */
  readonly summary?: string;
  /** The media type and the name of a file to save. */
  readonly download?: { readonly type: string; readonly name: string };
}

interface RouteRequest<P, Q, B> {
  readonly services: Services;
  readonly principal: Principal;
  /** `tenants.no`. */
  readonly tenant: number;
  readonly params: P;
  readonly query: Q;
  readonly body: B;
  /** The `Idempotency-Key` header, decoded and checked, of a route that is `idempotent`. */
  readonly idempotencyKey: string | undefined;
  /** The fields of the body that the Admin API doesn't know, for the audit log. */
  readonly ignoredFields: readonly string[];
}

/** Who changes what: the part of a request that changes of the configuration need. */
export type Caller = Pick<RouteRequest<unknown, unknown, unknown>, 'services' | 'principal' | 'tenant'>;

/** The Application API accepts admin keys and application keys, the Admin API only admin keys. */
export type Api = 'application' | 'admin';

/**
 * The keys that may call a route of the Application API (docs/keys.md). `admin`: only admin keys. `anyone`: application keys too, because the
 * response concerns no single user. A function: application keys too, if it returns only the key's own user.
 */
type Access<P, Q, B> = 'admin' | 'anyone' | ((parts: { readonly params: P; readonly query: Q; readonly body: B }) => readonly string[]);

/** What a request writes that limited application keys may not all write (docs/keys.md). */
interface Written {
  /** Names of keyFields. */
  readonly fields: readonly string[];
  readonly eventValue?: number;
}

/** A request that succeeded, and the body of its response. */
export interface Exchange<P, Q, B> {
  readonly params: P;
  readonly query: Q;
  readonly body: B;
  readonly response: unknown;
}

/** What the audit log says about a change. */
export interface Audited {
  /** A short text that names no user. */
  readonly summary: string;
  /** The users that the change is about; those that the request names without it. */
  readonly users?: readonly string[];
}

/**
 * One operation of the HTTP API. The router, the validation and the reference (api/reference.ts) are generated from it. `path` is relative to
 * the API's base, with parameters in braces, as in the contract.
 */
export interface Route<P = unknown, Q = unknown, B = unknown> {
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete';
  readonly path: string;
  readonly summary: string;
  /** The rules of this operation alone, for the reference. What holds for a domain is in docs/rules. */
  readonly description?: string;
  /** The operation's name in the reference: the contract's `operationId` where it has one. */
  readonly operation: string;
  /** The body of each successful response, by status. */
  readonly responses: Readonly<Record<number, z.ZodType>>;
  /** The media type of a text response, or those that the caller can choose from, with a schema for each; JSON without it. */
  readonly produces?: string | Readonly<Record<string, z.ZodType>>;
  /** Whether the route honours an `Idempotency-Key` header; other routes ignore it. */
  readonly idempotent?: true;
  /** `admin` without it. Application keys can never call the Admin API. */
  readonly access?: Access<P, Q, B>;
  /** The permission of limited application keys that a route that changes something belongs to; without it, they can't call it. Reads are `read`. */
  readonly permission?: KeyPermission;
  /** What a request writes of its user, and the value of its event: what limited application keys are checked for. */
  readonly writes?: (parts: { readonly params: P; readonly query: Q; readonly body: B }) => Written;
  /** The query parameters that choose the users whom the response counts. Limited application keys may not send them: one user can be chosen. */
  readonly filters?: readonly string[];
  /** Whether a route with another method than GET changes nothing, so that read-only keys may call it. */
  readonly reads?: true;
  /** Whether the route saves a version of the configuration: its entry in the audit log names the version. */
  readonly changesConfiguration?: true;
  /** Whether a request may take a thread of the process for a second: RATE_LIMIT_COSTLY bounds those of a key, and they run one at a time. */
  readonly costly?: true;
  /** Whether back ends call a route of the Admin API all the time: its calls are in the audit log only if they come from the dashboard. */
  readonly isTraffic?: true;
  /**
   * What the audit log says about a success; undefined if nothing was changed. Without it, api/audit.ts derives it from the request and the response,
   * and reads are not in the log.
   */
  readonly audit?: (exchange: Exchange<P, Q, B>) => Audited | undefined;
  /** Of a route of the Admin API: `tenant` if it concerns one tenant. Admin keys bound to a tenant can't call a route without it. */
  readonly scope?: 'tenant' | 'account';
  /** `stream`: a live stream, which also accepts a live token. `token`: creates one. The dashboard has neither: a session may end before they do. */
  readonly live?: 'stream' | 'token';
  readonly params: z.ZodType<P>;
  readonly query: z.ZodType<Q>;
  /** Null for an operation without a body. */
  readonly body: z.ZodType<B> | null;
  /** Whether the Tenant-ID header may be the id of an archived tenant. */
  readonly archivedTenants?: true;
  /** Whether the route responds with 409 when what the request is based on has changed. */
  readonly conflicts?: true;
  /** Whether a missing body means `{}`. */
  readonly bodyOptional?: true;
  /** Maximum size of the body; limits.maxBodyBytes without it. */
  readonly maxBodyBytes?: number;
  /** The field of the body that may be a JsonText instead of an object, for a thread to parse. */
  readonly deferredField?: string;
  readonly handle: (request: RouteRequest<P, Q, B>) => Promise<RouteResponse>;
}

/** The schema of a part that a route does not have. */
export const none = z.object({});

/** A route as it is declared: one without `params`, `query` or `body` has none. */
type RouteDeclaration<P, Q, B> = Omit<Route<P, Q, B>, 'params' | 'query' | 'body'> &
  Partial<Pick<Route<P, Q, B>, 'params' | 'query' | 'body'>>;

/** Checks a route's types against each other, then erases them, so that a list can hold all routes. */
export function defineRoute<P, Q, B>(route: RouteDeclaration<P, Q, B>): Route {
  return { params: none, query: none, body: null, ...route } as unknown as Route;
}

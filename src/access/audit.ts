import type pg from 'pg';
import type { Logger } from 'pino';
import { textArray } from '../postgres/arrays.js';
import { boundsOf, type LongReads } from '../postgres/long-reads.js';
import { limits } from '../shared/limits.js';
import type { OpenRows, Span } from '../shared/open-rows.js';
import type { Account } from './account.js';

/** How a change reached the service. */
export const auditWays = ['api', 'dashboard', 'command'] as const;
type AuditWay = (typeof auditWays)[number];

/** A change by an operator. */
export interface AuditEntry {
  /** `tenants.no`; null for a change of the account. */
  readonly tenant: number | null;
  /** Null for a command. */
  readonly keyId: string | null;
  readonly via: AuditWay;
  readonly operation: string;
  /** What was changed, in a short text that names no user. */
  readonly summary: string;
  /** The users that it is about, whose deletion removes them from the entry. */
  readonly users?: readonly string[];
  /** The fields of the request that were ignored, because the API doesn't know them. */
  readonly ignoredFields?: readonly string[];
  /** The version of the configuration that it saved. */
  readonly configurationVersion?: number | null;
}

/** An entry as operators see it. */
export interface ListedAuditEntry {
  readonly id: string;
  readonly at: Date;
  readonly tenantId: string | null;
  readonly key: { readonly id: string; readonly name: string; readonly prefix: string } | null;
  readonly via: AuditWay;
  readonly operation: string;
  readonly summary: string;
  readonly users: readonly string[];
  readonly ignoredFields: readonly string[];
  readonly configurationVersion: number | null;
}

export interface AuditQuery {
  readonly limit: number;
  /** The id of the entry before the page. */
  readonly cursor?: string | undefined;
  /** Only entries about this user. */
  readonly user?: string | undefined;
}

const shorten = (text: string): string =>
  text.length > limits.maxAuditSummaryChars ? `${text.slice(0, limits.maxAuditSummaryChars - 1)}…` : text;

async function writeAudit(pool: pg.Pool, entry: AuditEntry, at: Date): Promise<void> {
  const { tenant, keyId, via, operation, summary, users = [], ignoredFields = [], configurationVersion = null } = entry;
  await pool.query(
    `insert into audit_log (at, tenant, key_id, via, operation, summary, users, configuration_version, ignored_fields)
     values ($1, $2, $3, $4, $5, $6, $7::text[], $8, $9::text[])`,
    [at, tenant, keyId, via, operation, shorten(summary), textArray([...new Set(users)]), configurationVersion, textArray(ignoredFields)],
  );
}

const listed = `
  select entry.id::text, entry.at, tenants.id as "tenantId", entry.via, entry.operation, entry.summary, entry.users, entry.ignored_fields as "ignoredFields",
         entry.configuration_version as "configurationVersion",
         case when key.id is not null then json_build_object('id', key.id, 'name', key.name, 'prefix', key.prefix) end as key
    from audit_log as entry left join tenants on tenants.no = entry.tenant left join api_keys as key on key.id = entry.key_id
   where ($1::integer is null or entry.tenant = $1)`;

async function listAudit(pool: pg.Pool, tenant: number | null, { limit, cursor, user }: AuditQuery): Promise<ListedAuditEntry[]> {
  const { rows } = await pool.query<ListedAuditEntry>(
    `${listed} and ($2::bigint is null or entry.id < $2)
        and ($3::text is null or (entry.users @> array[$3] and entry.users <> '{}'))
      order by entry.id desc limit $4`,
    [tenant, cursor ?? null, user ?? null, limit],
  );
  return rows;
}

const exportQuery = `${listed} and entry.at >= $2::timestamptz and entry.at < $3::timestamptz order by entry.id`;

/** The entries of a span, the oldest first. */
export class AuditExport {
  private readonly reads: LongReads;

  constructor(reads: LongReads) {
    this.reads = reads;
  }

  /** Of one tenant, or all if `of` is null. The export counts as one of `tenant`. Throws as LongReads.open does. */
  entries(tenant: number, of: number | null, span: Span): Promise<OpenRows<ListedAuditEntry>> {
    const query = { text: exportQuery, values: [of, ...boundsOf(span)] };
    return this.reads.open(tenant, query, (row: ListedAuditEntry) => row);
  }
}

/** The time of the service in milliseconds since 1970: that of the test clock, if it runs on one. */
export type ServiceClock = () => Promise<number>;

/** Who changed what, and when. */
export class AuditLog {
  private readonly account: Account;
  private readonly log: Logger;
  private readonly now: ServiceClock;

  constructor(account: Account, log: Logger, now: ServiceClock) {
    this.account = account;
    this.log = log;
    this.now = now;
  }

  /** Saves an entry of a change that has happened. A failure is only logged: the change can't be taken back. */
  async note(entry: AuditEntry): Promise<void> {
    try {
      const at = new Date(await this.now());
      await this.account.store((pool) => writeAudit(pool, entry, at));
    } catch (error) {
      const { operation, via, keyId, tenant } = entry;
      this.log.error({ err: error, operation, via, keyId, tenant }, 'audit log entry not saved');
    }
  }

  /** The newest entries first: of one tenant, or all if `tenant` is null. */
  list(tenant: number | null, query: AuditQuery): Promise<ListedAuditEntry[]> {
    return this.account.store((pool) => listAudit(pool, tenant, query));
  }
}

/** Deletes at most limits.accessPruneRows entries from before a time, the oldest first. Returns how many. */
export async function pruneAudit(pool: pg.Pool, before: Date): Promise<number> {
  const { rowCount } = await pool.query(
    `delete from audit_log where id in (
       select id from (select id, at from audit_log order by id limit ${limits.accessPruneRows}) as oldest where at < $1)`,
    [before],
  );
  return rowCount ?? 0;
}

import { createHash, randomBytes } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type pg from 'pg';
import { textArray } from '../postgres/arrays.js';
import { LaurelError } from '../shared/errors.js';
import { limits } from '../shared/limits.js';
import type { Account } from './account.js';
import type { Problem } from './account-row.js';
import type { Principal } from './key-ring.js';
import { Lookup } from './lookup.js';

/** A session of the dashboard, and the key that it acts for. */
export interface Session {
  readonly id: string;
  readonly expires: Date;
  readonly caller: Principal & { readonly sessionId: string };
}

/** A new session. The token is not stored. */
export interface OpenedSession {
  readonly token: string;
  readonly session: Session;
}

/** A session as operators see it. */
export interface ListedSession {
  readonly id: string;
  readonly keyId: string;
  readonly keyName: string;
  readonly created: Date;
  readonly expires: Date;
  readonly lastUsed: Date;
}

export interface Page {
  readonly limit: number;
  readonly skip: number;
}

export interface SessionsOptions {
  readonly account: Account;
  /** How far the clock of the sessions is ahead of the process' clock. */
  readonly aheadMs?: (() => number) | undefined;
}

const tokenBytes = 32;
const hashOf = (token: string): Buffer => createHash('sha256').update(token).digest();
const signedOut = 'You are not signed in, or your session has ended: sign in with an admin key.';
const unknown: Problem = { problem: 'There is no session with this id.' };

interface SessionRow {
  readonly id: string;
  readonly hash: string;
  readonly expires: Date;
  readonly lastUsed: Date;
  readonly keyId: string;
  readonly tenant: number | null;
  readonly access: Principal['access'];
}

/** The sessions that are not over at a time, with a key that is valid and a tenant that is active. */
const open = `
  from dashboard_sessions as session join api_keys as key on key.id = session.key_id left join tenants on tenants.no = key.tenant
  where session.ended is null and session.expires > $1 and key.revoked is null and (key.tenant is null or tenants.status = 'active')`;

/** What a process remembers of a session for limits.sessionCacheMs. */
interface Remembered {
  readonly session: Session;
  readonly readMs: number;
}

/**
 * The sessions of the dashboard. Each request reads its session and its key from Postgres, or from a memory of limits.sessionCacheMs that a change
 * of keys or tenants empties: a revocation takes effect as fast as for the key itself (access/account.ts).
 */
export class Sessions {
  private readonly account: Account;
  private readonly aheadMs: () => number;
  private readonly lookup: Lookup<SessionRow>;
  private readonly remembered = new LRUCache<string, Remembered>({ max: limits.maxCachedSessions });
  /** Counts what empties the memory: a read that one of them overlaps may be outdated. */
  private changes = 0;

  constructor({ account, aheadMs = () => 0 }: SessionsOptions) {
    this.account = account;
    this.aheadMs = aheadMs;
    this.lookup = new Lookup((hashes) => account.store((pool) => this.readRows(pool, hashes)));
    account.onChange(() => {
      this.forget();
    });
  }

  /** Opens a session for a key, and ends the oldest ones above limits.maxSessionsPerKey. */
  async open(key: Principal): Promise<OpenedSession> {
    const token = randomBytes(tokenBytes).toString('base64url');
    const now = this.now();
    const expires = new Date(now.getTime() + limits.sessionMs);
    const id = await this.account.store(async (pool) => {
      const { rows } = await pool.query<{ id: string }>(
        `insert into dashboard_sessions (hash, key_id, created, expires, last_used) values ($1, $2, $3, $4, $3) returning id`,
        [hashOf(token), key.keyId, now, expires],
      );
      const { rowCount } = await pool.query(
        `update dashboard_sessions set ended = $2 where id in (
           select id from dashboard_sessions where key_id = $1 and ended is null and expires > $2
            order by created desc, id offset ${limits.maxSessionsPerKey})`,
        [key.keyId, now],
      );
      if (rowCount !== 0) this.forget();
      return rows[0]?.id ?? '';
    });
    const { kind, keyId, tenant, userId, access } = key;
    return { token, session: { id, expires, caller: { kind, keyId, tenant, userId, access, sessionId: id } } };
  }

  /** The session with a token. Throws a 401 without one, and a 503 while Postgres is away. */
  async find(token: string | undefined): Promise<Session> {
    if (token === undefined || token === '') throw new LaurelError('unauthorized', signedOut);
    await this.account.upToDate();
    const hash = hashOf(token);
    const known = this.remembered.get(hash.toString('base64'));
    const session = known && this.isRecent(known) ? known.session : await this.read(hash);
    if (!session || session.expires <= this.now()) throw new LaurelError('unauthorized', signedOut);
    this.account.noteKey(session.caller.keyId);
    return session;
  }

  /** Ends the session with a token, if there is one. */
  async end(token: string): Promise<void> {
    const hash = hashOf(token);
    // Invented tokens must neither write nor empty the memory.
    if (!(await this.lookup.find(hash.toString('hex')))) return;
    await this.account.store((pool) =>
      pool.query('update dashboard_sessions set ended = $2 where hash = $1 and ended is null', [hash, this.now()]),
    );
    this.forget();
  }

  /** Ends sessions, of the keys of one tenant unless `tenant` is null. Returns for each id what was ended, or why nothing was. */
  async endAll(ids: readonly string[], tenant: number | null): Promise<({ readonly id: string } | Problem)[]> {
    const { rows } = await this.account.store((pool) =>
      pool.query<{ id: string }>(
        `update dashboard_sessions set ended = $1 where id = any($2::uuid[]) and id in (
           select session.id ${open} and ($3::integer is null or key.tenant = $3)) returning id`,
        [this.now(), textArray(ids), tenant],
      ),
    );
    this.forget();
    const ended = new Set(rows.map(({ id }) => id));
    // An id that is named twice is found once.
    return ids.map((id) => (ended.delete(id.toLowerCase()) ? { id: id.toLowerCase() } : unknown));
  }

  /** The sessions that are not over, the newest first, of the keys of one tenant unless `tenant` is null. */
  async list(tenant: number | null, { limit, skip }: Page): Promise<ListedSession[]> {
    const { rows } = await this.account.store((pool) =>
      pool.query<ListedSession>(
        `select session.id, key.id as "keyId", key.name as "keyName", session.created, session.expires, session.last_used as "lastUsed"
           ${open} and ($2::integer is null or key.tenant = $2) order by session.created desc, session.id limit $3 offset $4`,
        [this.now(), tenant, limit, skip],
      ),
    );
    return rows;
  }

  private now(): Date {
    return new Date(Date.now() + this.aheadMs());
  }

  private isRecent({ readMs }: Remembered): boolean {
    return performance.now() - readMs < limits.sessionCacheMs;
  }

  private forget(): void {
    this.changes += 1;
    this.remembered.clear();
  }

  private async read(hash: Buffer): Promise<Session | undefined> {
    while (true) {
      const { changes } = this;
      const readMs = performance.now();
      const row = await this.lookup.find(hash.toString('hex'));
      if (changes !== this.changes) continue;
      if (!row) return undefined;
      const { id, expires, keyId, tenant, access } = row;
      const session: Session = { id, expires, caller: { kind: 'admin', keyId, tenant, userId: null, access, sessionId: id } };
      this.remembered.set(hash.toString('base64'), { session, readMs });
      return session;
    }
  }

  /** The open sessions with these hashes, in hexadecimal. */
  private async readRows(pool: pg.Pool, hashes: readonly string[]): Promise<ReadonlyMap<string, SessionRow>> {
    const now = this.now();
    const { rows } = await pool.query<SessionRow>(
      `select session.id, encode(session.hash, 'hex') as hash, session.expires, session.last_used as "lastUsed",
              key.id as "keyId", key.tenant, key.access
         ${open} and session.hash = any($2::bytea[])`,
      [now, hashes.map((hash) => Buffer.from(hash, 'hex'))],
    );
    const stale = rows.filter(({ lastUsed }) => now.getTime() - lastUsed.getTime() >= limits.keyUseMs);
    if (stale.length > 0)
      await pool.query('update dashboard_sessions set last_used = $2 where id = any($1::uuid[])', [
        textArray(stale.map(({ id }) => id)),
        now,
      ]);
    return new Map(rows.map((row) => [row.hash, row]));
  }
}

/** Deletes sessions that expired before `now`, ended ones too, at most limits.accessPruneRows. Returns how many. */
export async function pruneSessions(pool: pg.Pool, now: Date): Promise<number> {
  const { rowCount } = await pool.query(
    `delete from dashboard_sessions where id in (select id from dashboard_sessions where expires < $1 limit ${limits.accessPruneRows})`,
    [now],
  );
  return rowCount ?? 0;
}

/** The stored versions of a tenant's configuration, with who saved them and when. */
import { setImmediate } from 'node:timers/promises';
import { type Pool } from 'pg';
import { limits } from '../../shared/limits.js';
import { type Author } from './author.js';
import { describeChanges } from '../change/changes.js';
import { compareConfigs } from '../change/compare.js';
import { type ConfigDocument, type ConfigVersion, emptyConfig } from '../schema/model.js';

export interface StoredVersion extends ConfigVersion {
  /** Null for version 0, the empty configuration before the first. */
  readonly created: Date | null;
  readonly author: Author | null;
}

export interface VersionPage {
  readonly limit: number;
  readonly skip: number;
}

/** A version, and what it has changed of the one before it. */
export interface VersionSummary extends Pick<StoredVersion, 'version' | 'created' | 'author'> {
  /** How many objects differ. */
  readonly changes: number;
  /** A line for each change, as describeChanges writes them: the first limits.maxVersionLines. */
  readonly lines: readonly string[];
}

/** What a version has changed of the one before it. */
export type Difference = Pick<VersionSummary, 'changes' | 'lines'>;

/** Compares two documents, which takes up to 100 ms for the largest. */
export function differenceOf(from: ConfigDocument, to: ConfigDocument): Difference {
  const changes = compareConfigs(from, to);
  return { changes: changes.length, lines: describeChanges(changes.slice(0, limits.maxVersionLines)) };
}

type Row = Pick<StoredVersion, 'version' | 'document' | 'created' | 'author'>;

const empty = (tenant: number): StoredVersion => ({ tenant, version: 0, document: emptyConfig, created: null, author: null });

/** A version, the newest without a number; undefined if the tenant has never had it. */
export async function loadStored(pool: Pool, tenant: number, version?: number): Promise<StoredVersion | undefined> {
  if (version === 0) return empty(tenant);
  const { rows } = await pool.query<Row>(
    `select version, document, created, author from config_versions
      where tenant = $1 and ($2::integer is null or version = $2) order by version desc limit 1`,
    [tenant, version ?? null],
  );
  const [row] = rows;
  return row ? { tenant, ...row } : version === undefined ? empty(tenant) : undefined;
}

/**
 * A page of versions, the newest first. Compares documents instead of storing the lines of each change: a line can name a user, whom a deletion
 * removes from documents. Numbers have no gaps. Loads one document after the other and yields between them, since each may be large; `compare` is
 * differenceOf, elsewhere than on the event loop for large documents.
 */
export async function summarizeVersions(
  pool: Pool,
  tenant: number,
  { limit, skip }: VersionPage,
  compare: (from: ConfigDocument, to: ConfigDocument) => Promise<Difference>,
): Promise<VersionSummary[]> {
  const newest = await loadStored(pool, tenant);
  const first = (newest?.version ?? 0) - skip;
  const summaries: VersionSummary[] = [];
  let stored = first > 0 ? await loadStored(pool, tenant, first) : undefined;
  while (stored && stored.version > 0 && summaries.length < limit) {
    const before = await loadStored(pool, tenant, stored.version - 1);
    if (!before) break;
    const { version, created, author } = stored;
    summaries.push({ version, created, author, ...(await compare(before.document, stored.document)) });
    stored = before;
    await setImmediate();
  }
  return summaries;
}

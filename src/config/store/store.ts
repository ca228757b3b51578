/** The versions of a tenant's configuration in Postgres (table config_versions), and applying a file to the latest of them. */
import { randomUUID } from 'node:crypto';
import { type Pool, type PoolClient } from 'pg';
import { OperatorError } from '../../shared/errors.js';
import { limits } from '../../shared/limits.js';
import { numberArray } from '../../postgres/arrays.js';
import { planApply } from '../change/apply.js';
import { type Author, commandAuthor } from './author.js';
import { type Change } from '../change/changes.js';
import { parseConfigFile } from '../file/file.js';
import { type ConfigDocument, type ConfigVersion, emptyConfig, type Leaderboard } from '../schema/model.js';
import type { WebhookReceivers } from '../schema/webhook-url.js';

/** Another writer saved a version since this change started: load it, plan the change again, save again. */
export class ConfigConflict extends Error {
  readonly tenant: number;
  readonly expectedVersion: number;

  constructor(tenant: number, expectedVersion: number) {
    super(`the configuration of tenant ${tenant} is no longer at version ${expectedVersion}`);
    this.name = 'ConfigConflict';
    this.tenant = tenant;
    this.expectedVersion = expectedVersion;
  }
}

interface Row {
  readonly version: number;
  readonly document: ConfigDocument;
}

/** The latest version of a tenant's configuration (`tenants.no`), or version 0, the empty configuration, before the first. */
export async function loadConfig(pool: Pool | PoolClient, tenant: number): Promise<ConfigVersion> {
  const { rows } = await pool.query<Row>('select version, document from config_versions where tenant = $1 order by version desc limit 1', [
    tenant,
  ]);
  const [row] = rows;
  return row ? { tenant, version: row.version, document: row.document } : { tenant, version: 0, document: emptyConfig };
}

/** The newest versions of these tenants' configurations, without tenants that have none. */
export async function newestVersions(pool: Pool, tenants: readonly number[]): Promise<ReadonlyMap<number, number>> {
  const { rows } = await pool.query<Pick<Row, 'version'> & { readonly tenant: number }>(
    'select tenant, max(version) as version from config_versions where tenant = any($1::integer[]) group by tenant',
    [numberArray(tenants)],
  );
  return new Map(rows.map(({ tenant, version }) => [tenant, version]));
}

/** One version, or null if the tenant has never had it. Version 0 is the empty configuration. */
export async function loadConfigVersion(pool: Pool | PoolClient, tenant: number, version: number): Promise<ConfigVersion | null> {
  if (version === 0) return { tenant, version, document: emptyConfig };
  const { rows } = await pool.query<Row>('select version, document from config_versions where tenant = $1 and version = $2', [
    tenant,
    version,
  ]);
  const [row] = rows;
  return row ? { tenant, version, document: row.document } : null;
}

/** A leaderboard's limit of participants in the configuration of a moment, in milliseconds since 1970; its own for a moment before it. */
export async function participantLimitAt(pool: Pool, tenant: number, { no, maxParticipants }: Leaderboard, atMs: number): Promise<number> {
  const { rows } = await pool.query<{ limit: number }>(
    `select (board ->> 'maxParticipants')::integer as limit
       from (select document from config_versions where tenant = $1 and created <= to_timestamp($2::float8 / 1000)
              order by version desc limit 1) as earlier,
            jsonb_array_elements(document -> 'leaderboards') as board
      where board -> 'no' = to_jsonb($3::integer)`,
    [tenant, atMs, no],
  );
  return rows[0]?.limit ?? maxParticipants;
}

/** A version that the tenant has had. Throws where it has not. */
export async function mustLoadVersion(pool: Pool, tenant: number, version: number): Promise<ConfigVersion> {
  const found = await loadConfigVersion(pool, tenant, version);
  if (!found) throw new Error(`tenant ${tenant} has no version ${version} of its configuration`);
  return found;
}

/** A document to save as the version after `expectedVersion`. */
export interface NextConfig {
  readonly tenant: number;
  readonly expectedVersion: number;
  readonly document: ConfigDocument;
  readonly author: Author;
  /** ISO 8601 instant of the tenant's clock. */
  readonly now: string;
}

/**
 * Saves a document as the version after `expectedVersion`, which must be the latest, and returns it. Throws ConfigConflict if it is not;
 * a transaction of `client` can continue after that. The caller has validated the document: it comes from planApply, or has passed
 * validateConfig.
 */
export async function saveConfig(
  client: Pool | PoolClient,
  { tenant, expectedVersion, document, author, now }: NextConfig,
): Promise<ConfigVersion> {
  // The condition refuses a number that would leave a gap; the primary key, one that a concurrent writer takes.
  const { rows } = await client.query<{ version: number }>(
    `insert into config_versions (tenant, version, document, author, created)
     select $1::integer, $2::integer + 1, $3::jsonb, $4::jsonb, $5::timestamptz
     where $2::integer = (select coalesce(max(version), 0) from config_versions where tenant = $1::integer)
     on conflict do nothing
     returning version`,
    [tenant, expectedVersion, JSON.stringify(document), JSON.stringify(author), now],
  );
  const [row] = rows;
  if (!row) throw new ConfigConflict(tenant, expectedVersion);
  return { tenant, version: row.version, document };
}

export interface ApplyTextOptions {
  readonly pool: Pool;
  readonly tenant: number;
  /** The whole file. */
  readonly text: string;
  /** The file's name in messages. */
  readonly fileName: string;
  /** ISO 8601 instant. */
  readonly now: string;
  readonly prune: boolean;
  /** As of PlanOptions. */
  readonly webhookReceivers?: WebhookReceivers;
  /** Plan and report, but save nothing. */
  readonly dryRun: boolean;
  /** `laurel apply` without it. */
  readonly author?: Author;
  /** Called before a version is saved; throws where there can't be another one now. */
  readonly checkCanSave?: () => Promise<void>;
  /** How often to plan again after a conflict. */
  readonly attempts?: number;
}

export interface AppliedConfig {
  /** The active version after the call: the new one, or the one found if nothing changed or it was a dry run. */
  readonly config: ConfigVersion;
  readonly saved: boolean;
  readonly changes: readonly Change[];
  readonly kept: readonly string[];
}

/**
 * Applies a configuration file to a tenant's latest configuration. It never loses what other writers save in between: it plans the change again
 * on top of that. Nothing is saved if nothing changes. Throws an OperatorError with every problem
 * of the file (planApply), or after `attempts` conflicts.
 */
export async function applyConfigText(options: ApplyTextOptions): Promise<AppliedConfig> {
  const { pool, tenant, text, fileName, now, prune, dryRun, webhookReceivers } = options;
  const { author = commandAuthor, attempts = limits.maxApplyAttempts } = options;
  const file = parseConfigFile(text, fileName);
  for (let attempt = 1; attempt <= attempts; attempt += 1) {
    const current = await loadConfig(pool, tenant);
    const { document, changes, kept } = planApply(current.document, file, { now, prune, webhookReceivers, newId: randomUUID });
    if (dryRun || changes.length === 0) return { config: current, saved: false, changes, kept };
    await options.checkCanSave?.();
    try {
      const config = await saveConfig(pool, { tenant, expectedVersion: current.version, document, author, now });
      return { config, saved: true, changes, kept };
    } catch (error) {
      if (!(error instanceof ConfigConflict)) throw error;
    }
  }
  throw new OperatorError(
    `${fileName}: other writers changed the configuration ${attempts} times while this file was being applied: apply it again`,
  );
}

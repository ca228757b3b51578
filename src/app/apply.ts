import { isUtf8 } from 'node:buffer';
import { readFileSync } from 'node:fs';
import type pg from 'pg';
import { defaultTenant, findTenant } from '../access/tenants.js';
import type { Author } from '../config/store/author.js';
import { describeChanges, nameChanges } from '../config/change/changes.js';
import { applyConfigText, type AppliedConfig } from '../config/store/store.js';
import { messageOf } from '../redis/connection.js';
import { OperatorError } from '../shared/errors.js';
import type { Context } from './context.js';
import { webhookReceivers } from './settings.js';

export interface ApplyOptions {
  /** Archives what the file does not mention. */
  readonly prune: boolean;
  /** Reports what would change, and changes nothing. */
  readonly dryRun: boolean;
  /** The id or customerId of a tenant; the default tenant without it. */
  readonly tenant?: string | undefined;
  /** `laurel apply` without it. */
  readonly author?: Author;
}

/** The text of a configuration file, and the name that messages use for it. */
export interface ConfigText {
  readonly name: string;
  readonly text: string;
}

/** Throws an OperatorError when the file can't be read, or is not UTF-8. */
export function readConfigText(file: string): ConfigText {
  const bytes = readBytes(file);
  if (!isUtf8(bytes)) throw new OperatorError(`The configuration file ${file} is not UTF-8: save it in that encoding.`);
  return { name: file, text: bytes.toString('utf8') };
}

function readBytes(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw new OperatorError(`The configuration file ${file} can't be read: ${messageOf(error)}.`, { cause: error });
  }
}

/** The `no` of the tenant that an option of a command names; the default tenant without it. Throws an OperatorError for an unknown one. */
export async function tenantNamed(pool: pg.Pool, named: string | undefined): Promise<number> {
  const tenant = named === undefined ? defaultTenant : (await findTenant(pool, named))?.no;
  if (tenant === undefined) {
    throw new OperatorError(`There is no tenant ${JSON.stringify(named)}: name one by its id or its customerId.`);
  }
  return tenant;
}

/**
 * Applies a configuration file to a tenant and activates the newest version, whether or not the file changed anything. Throws an
 * OperatorError that lists every problem of the file, or names the tenant that does not exist.
 */
export async function applyConfig(
  { pool, clock, engine, settings }: Context,
  { name, text }: ConfigText,
  { tenant: named, ...options }: ApplyOptions,
): Promise<AppliedConfig> {
  const tenant = await tenantNamed(pool, named);
  const now = new Date(await clock.now(tenant)).toISOString();
  const allowed = { webhookReceivers: webhookReceivers(settings), checkCanSave: () => engine.checkCanChange(tenant) };
  const applied = await applyConfigText({ pool, tenant, text, fileName: name, now, ...allowed, ...options });
  if (!options.dryRun) await engine.activate(await engine.refreshConfig(tenant));
  return applied;
}

/** Enters in the audit log what `laurel apply` has saved. */
export async function noteApplied({ audit }: Context, { saved, changes, config }: AppliedConfig): Promise<void> {
  if (!saved) return;
  await audit.note({
    tenant: config.tenant,
    keyId: null,
    via: 'command',
    operation: 'apply',
    summary: nameChanges(changes).join('; '),
    configurationVersion: config.version,
  });
}

/** What `applyConfig` changed, in lines for the operator. */
export function describeApplied(file: string, { changes, kept, config, saved }: AppliedConfig): string[] {
  const lines = describeChanges(changes).map((line) => `  ${line}`);
  const summary = lines.length === 0 ? `${file} changes nothing.` : `${file}:`;
  const keeping = kept.map((name) => `  not in the file, kept: ${name}`);
  return [summary, ...lines, ...keeping, ...(saved ? [`  Configuration version ${config.version} is active.`] : [])];
}

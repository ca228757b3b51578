/** Deletes a user from a tenant's configuration: a boost for one user names that user, in old versions too. */
import { type Pool } from 'pg';
import { limits } from '../../shared/limits.js';
import { type ConfigDocument, type ConfigVersion } from '../schema/model.js';
import { ConfigConflict, loadConfig, loadConfigVersion, type NextConfig, saveConfig } from './store.js';

/** By whom a version without the user is saved, and when. */
type SavedBy = Pick<NextConfig, 'author' | 'now'>;

const names = (document: ConfigDocument, user: string): boolean =>
  document.pointsSystems.some(({ boosts }) => boosts.some(({ userId }) => userId === user));

function without(document: ConfigDocument, user: string): ConfigDocument {
  const pointsSystems = document.pointsSystems.map((system) => ({
    ...system,
    boosts: system.boosts.filter(({ userId }) => userId !== user),
  }));
  return { ...document, pointsSystems };
}

/** Saves a version without the user's boosts, if the latest has any. Throws ConfigConflict after limits.maxApplyAttempts conflicts. */
async function saveWithout(pool: Pool, tenant: number, user: string, by: SavedBy): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    const { version, document } = await loadConfig(pool, tenant);
    if (!names(document, user)) return;
    try {
      await saveConfig(pool, { tenant, expectedVersion: version, document: without(document, user), ...by });
      return;
    } catch (error) {
      if (!(error instanceof ConfigConflict) || attempt >= limits.maxApplyAttempts) throw error;
    }
  }
}

const versionsNaming = `
  from config_versions
 where tenant = $1 and jsonb_path_exists(document, '$.pointsSystems[*].boosts[*] ? (@.userId == $user)', jsonb_build_object('user', $2::text))`;

/** Whether any version of a tenant's configuration has a boost for a user. */
export async function isInConfig(pool: Pool, tenant: number, user: string): Promise<boolean> {
  const { rowCount } = await pool.query(`select 1 ${versionsNaming} limit 1`, [tenant, user]);
  return rowCount === 1;
}

/**
 * Removes the boosts of a user from all versions of a tenant's configuration; if the latest version has some, a new version without them
 * by the author follows it. Returns the versions that had some, as they were, so that the caller can forget the plans compiled from them.
 */
export async function forgetInConfig(pool: Pool, tenant: number, user: string, by: SavedBy): Promise<ConfigVersion[]> {
  await saveWithout(pool, tenant, user, by);
  const { rows } = await pool.query<{ version: number }>(`select version ${versionsNaming} order by version`, [tenant, user]);
  const cleaned: ConfigVersion[] = [];
  for (const { version } of rows) {
    const before = await loadConfigVersion(pool, tenant, version);
    if (!before) continue;
    cleaned.push(before);
    await pool.query('update config_versions set document = $3::jsonb where tenant = $1 and version = $2', [
      tenant,
      version,
      JSON.stringify(without(before.document, user)),
    ]);
  }
  return cleaned;
}

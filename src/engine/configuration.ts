import type pg from 'pg';
import type { Author } from '../config/store/author.js';
import type { ConfigDocument, ConfigVersion } from '../config/schema/model.js';
import { requestSentence } from '../config/file/problems.js';
import { ConfigConflict, loadConfig, saveConfig } from '../config/store/store.js';
import {
  type Difference,
  loadStored,
  type StoredVersion,
  summarizeVersions,
  type VersionPage,
  type VersionSummary,
} from '../config/store/versions.js';
import type { WebhookReceivers } from '../config/schema/webhook-url.js';
import { LaurelError } from '../shared/errors.js';
import { limits } from '../shared/limits.js';
import type { PlanContext } from '../threads/config-tasks.js';
import { configWork, objectsIn } from '../threads/threads.js';
import type { Clock } from './clock.js';
import type { Engine } from './engine.js';

/** The outcome of a change: the new document, or the same one, and a result for the caller. */
interface Change<T> {
  readonly document: ConfigDocument;
  readonly result: T;
}

/** Who changes the configuration, and from where. */
export interface EditOptions {
  readonly author: Author;
  /** The version that the change must start from; any without it. */
  readonly expectedVersion?: number | undefined;
}

/** A result, and the version that it is of: the new one, or the one found if nothing changed. */
export interface OfVersion<T> {
  readonly version: number;
  readonly result: T;
}

type ChangeConfig<T> = (document: ConfigDocument, context: PlanContext) => Promise<Change<T>>;

export interface ConfigEditorOptions {
  readonly pool: pg.Pool;
  readonly engine: Engine;
  readonly clock: Clock;
  /** Maps a failure of Postgres to an error of the API. */
  readonly failure: (error: unknown) => unknown;
  readonly webhookReceivers: WebhookReceivers;
}

/** Reads and changes configurations, for the Admin API. Independent of what changes. */
export class ConfigEditor {
  private readonly options: ConfigEditorOptions;
  /** The newest change of each tenant in this process: the next one starts after it, so that they don't conflict. */
  private readonly running = new Map<number, Promise<unknown>>();

  constructor(options: ConfigEditorOptions) {
    this.options = options;
  }

  /** The newest configuration of any process. */
  async read(tenant: number): Promise<ConfigDocument> {
    return (await this.stored(loadConfig(this.options.pool, tenant))).document;
  }

  /** What a change would be planned with now: the newest configuration, and the context of an edit. */
  async preview(tenant: number): Promise<ConfigVersion & { readonly context: PlanContext }> {
    return { ...(await this.stored(loadConfig(this.options.pool, tenant))), context: await this.context(tenant) };
  }

  /** A version with its author, the newest without a number; undefined if the tenant has never had it. */
  version(tenant: number, version?: number): Promise<StoredVersion | undefined> {
    return this.stored(loadStored(this.options.pool, tenant, version));
  }

  /** A page of the versions of a tenant, the newest first, each with its changes. */
  versions(tenant: number, page: VersionPage): Promise<VersionSummary[]> {
    const compare = (from: ConfigDocument, to: ConfigDocument): Promise<Difference> =>
      configWork('summarize', { from, to }, objectsIn(from) + objectsIn(to));
    return this.stored(summarizeVersions(this.options.pool, tenant, page, compare));
  }

  /**
   * Changes the configuration of a tenant. Calls `change` with the newest one, again after a conflict with another writer, so that no change is
   * lost; saves its document as one version, which is active for the next event in every process when this resolves. The document must
   * come from the functions of config/change/edits.ts or plan-contents.ts. Throws what `change` throws, and a LaurelError: `unprocessable` for a
   * configuration that would not fit into a file, `conflict` when the newest version is not the expected one, `not_ready` after too many
   * conflicts or when a store is away.
   */
  async edit<T>(tenant: number, options: EditOptions, change: ChangeConfig<T>): Promise<T> {
    return (await this.editVersion(tenant, options, change)).result;
  }

  /** As `edit`, with the version that is active after it. */
  editVersion<T>(tenant: number, options: EditOptions, change: ChangeConfig<T>): Promise<OfVersion<T>> {
    const before = this.running.get(tenant) ?? Promise.resolve();
    const editing = before.then(() => this.editNow(tenant, options, change));
    const settled = editing.then(
      () => undefined,
      () => undefined,
    );
    this.running.set(tenant, settled);
    void settled.then(() => {
      if (this.running.get(tenant) === settled) this.running.delete(tenant);
    });
    return editing;
  }

  private async context(tenant: number): Promise<PlanContext> {
    const { clock, webhookReceivers } = this.options;
    return { now: new Date(await clock.now(tenant)).toISOString(), webhookReceivers };
  }

  private async editNow<T>(tenant: number, { author, expectedVersion }: EditOptions, change: ChangeConfig<T>): Promise<OfVersion<T>> {
    const { pool, engine } = this.options;
    const context = await this.context(tenant);
    for (let attempt = 1; attempt <= limits.maxApplyAttempts; attempt += 1) {
      const current = await this.stored(loadConfig(pool, tenant));
      checkExpected(current, expectedVersion);
      const { document, result } = await change(current.document, context);
      if (document === current.document) return { version: current.version, result };
      if (!(await configWork('fits', document, objectsIn(document))))
        throw new LaurelError('unprocessable', requestSentence([{ code: 'whole_too_large' }]));
      await engine.checkCanChange(tenant);
      try {
        await this.stored(saveConfig(pool, { tenant, expectedVersion: current.version, document, author, now: context.now }));
      } catch (error) {
        if (error instanceof ConfigConflict) continue;
        throw error;
      }
      await engine.activate(await engine.refreshConfig(tenant));
      return { version: current.version + 1, result };
    }
    throw new LaurelError('not_ready', 'Too many concurrent changes of the configuration. Try again shortly.');
  }

  private async stored<T>(query: Promise<T>): Promise<T> {
    try {
      return await query;
    } catch (error) {
      throw error instanceof ConfigConflict ? error : this.options.failure(error);
    }
  }
}

/** Throws a 409 when the newest version is not the one that a change was made for. */
function checkExpected({ version }: ConfigVersion, expected: number | undefined): void {
  if (expected === undefined || expected === version) return;
  throw new LaurelError(
    'conflict',
    `The configuration is at version ${version}, and the change is based on version ${expected}: read the newest version and change that.`,
  );
}

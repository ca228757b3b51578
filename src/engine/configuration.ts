import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { type EditContext, fitsIntoFile } from '../config/edits.js';
import type { ConfigDocument } from '../config/model.js';
import { ConfigConflict, loadConfig, saveConfig } from '../config/store.js';
import { LaurelError } from '../shared/errors.js';
import { limits } from '../shared/limits.js';
import type { Clock } from './clock.js';
import type { Engine } from './engine.js';

/** The outcome of a change: the new document, or the same one, and a result for the caller. */
export interface Change<T> {
  readonly document: ConfigDocument;
  readonly result: T;
}

export interface ConfigEditorOptions {
  readonly pool: pg.Pool;
  readonly engine: Engine;
  readonly clock: Clock;
  /** Maps a failure of Postgres to an error of the API. */
  readonly failure: (error: unknown) => unknown;
  readonly allowPrivateWebhooks: boolean;
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

  /**
   * Changes the configuration of a tenant. Calls `change` with the newest one, again after a conflict with another writer, so that no change is
   * lost; saves its document as one version, which is active for the next event in every process when this resolves. The document must
   * come from the functions of config/edits.ts. Throws what `change` throws, and a LaurelError: `unprocessable` for a configuration that
   * would not fit into a file, `not_ready` after too many conflicts or when a store is away.
   */
  edit<T>(tenant: number, change: (document: ConfigDocument, context: EditContext) => Promise<Change<T>>): Promise<T> {
    const before = this.running.get(tenant) ?? Promise.resolve();
    const editing = before.then(() => this.editNow(tenant, change));
    const settled = editing.then(
      () => undefined,
      () => undefined,
    );
    this.running.set(tenant, settled);
    void settled.then(() => this.running.get(tenant) === settled && this.running.delete(tenant));
    return editing;
  }

  private async editNow<T>(tenant: number, change: (document: ConfigDocument, context: EditContext) => Promise<Change<T>>): Promise<T> {
    const { pool, engine, clock, allowPrivateWebhooks } = this.options;
    const context = { now: new Date(await clock.now(tenant)).toISOString(), newId: randomUUID, allowPrivateWebhooks };
    for (let attempt = 1; attempt <= limits.maxApplyAttempts; attempt += 1) {
      const current = await this.stored(loadConfig(pool, tenant));
      const { document, result } = await change(current.document, context);
      if (document === current.document) return result;
      if (!fitsIntoFile(document)) {
        throw new LaurelError(
          'unprocessable',
          `The whole configuration would exceed a file of ${limits.maxConfigFileBytes} bytes: delete objects that are no longer needed.`,
        );
      }
      try {
        await this.stored(saveConfig(pool, tenant, current.version, document));
      } catch (error) {
        if (error instanceof ConfigConflict) continue;
        throw error;
      }
      await engine.activate(await engine.refreshConfig(tenant));
      return result;
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

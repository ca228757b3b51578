import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { type EditContext, fitsIntoFile } from '../config/edits.js';
import type { ConfigDocument } from '../config/model.js';
import { ConfigConflict, loadConfig, saveConfig } from '../config/store.js';
import { LaurelError } from '../shared/errors.js';
import { limits } from '../shared/limits.js';
import type { Clock } from './clock.js';
import type { Engine } from './engine.js';

/** What a change makes of a configuration: the new document, or the one it was given, and whatever the caller wants of it. */
export interface Change<T> {
  readonly document: ConfigDocument;
  readonly result: T;
}

export interface ConfigEditorOptions {
  readonly pool: pg.Pool;
  readonly engine: Engine;
  readonly clock: Clock;
  /** What becomes of a failure of Postgres. */
  readonly failure: (error: unknown) => unknown;
  readonly allowPrivateWebhooks: boolean;
}

/** Reads and changes what operators configure, for the Admin API. Knows nothing of what is changed. */
export class ConfigEditor {
  private readonly options: ConfigEditorOptions;
  /** The newest change of each tenant that this process makes: the next one begins after it, so that they don't collide. */
  private readonly running = new Map<number, Promise<unknown>>();

  constructor(options: ConfigEditorOptions) {
    this.options = options;
  }

  /** The newest configuration, whichever process has saved it. */
  async read(tenant: number): Promise<ConfigDocument> {
    return (await this.stored(loadConfig(this.options.pool, tenant))).document;
  }

  /**
   * Changes the configuration of a tenant. `change` is called with the newest one, again if somebody else was faster, so that nobody's
   * change is lost; what it returns is saved as one version and in force, for the next event in every process, when this resolves. The
   * document must come from the functions of config/edits.ts. Throws what `change` throws, and a LaurelError `unprocessable` for a
   * configuration that would not fit into a file, `not_ready` when others are faster time and again or a store is away.
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
          `The whole configuration would be larger than a file of ${limits.maxConfigFileBytes} bytes: delete what is no longer needed.`,
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
    throw new LaurelError('not_ready', 'Others keep changing the configuration. Try again shortly.');
  }

  private async stored<T>(asking: Promise<T>): Promise<T> {
    try {
      return await asking;
    } catch (error) {
      throw error instanceof ConfigConflict ? error : this.options.failure(error);
    }
  }
}

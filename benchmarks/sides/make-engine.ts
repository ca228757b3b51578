import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { planApply } from '../../src/config/change/apply.js';
import type { configFileOf } from '../../src/config/file/file.js';
import type { emptyConfig } from '../../src/config/schema/model.js';
import type { Engine, EngineOptions } from '../../src/engine/engine.js';
import type { bundleLibrary } from '../../src/redis/library.js';

/** What an engine is made with, of this checkout or of another: nothing is imported here but types. */
export interface EngineParts {
  readonly planApply: typeof planApply;
  readonly configFileOf: typeof configFileOf;
  readonly emptyConfig: typeof emptyConfig;
  readonly Engine: typeof Engine;
  readonly bundleLibrary: typeof bundleLibrary;
}

/** REDIS_PREFIX of the engines that are made here. */
export const enginePrefix = 'alone';

/** What Postgres says of the ledger, and options that have defaults. */
export type PartialEngineOptions = Pick<EngineOptions, 'loadOffset' | 'isPastEpoch'> &
  Partial<Pick<EngineOptions, 'testClock' | 'aroundCall'>>;

/** An engine with the same configuration for every tenant: a configuration file as an object. Throws what is wrong with it. */
export function makeEngine(parts: EngineParts, redis: Redis, config: object, options: PartialEngineOptions): Engine {
  const file = parts.configFileOf(config);
  const { document } = parts.planApply(parts.emptyConfig, file, { now: new Date().toISOString(), prune: false, newId: randomUUID });
  return new parts.Engine({
    redis,
    prefix: enginePrefix,
    library: parts.bundleLibrary(),
    testClock: false,
    loadConfig: (tenant) => Promise.resolve({ tenant, version: 1, document }),
    loadVersion: (tenant, version) => Promise.resolve({ tenant, version, document }),
    autoRestore: false,
    ...options,
  });
}

import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import { planApply } from '../src/config/apply.js';
import { configFileOf } from '../src/config/file.js';
import { emptyConfig } from '../src/config/model.js';
import { Engine, type EngineOptions } from '../src/engine/engine.js';
import { bundleLibrary } from '../src/redis/library.js';

/**
 * An engine without Postgres, for what is measured inside Redis: what Postgres would say is always the same here. `config` is a configuration
 * file as an object; every tenant has it. Throws what is wrong with it.
 */
export function engineAlone(
  redis: Redis,
  config: object,
  { testClock = false, aroundCall }: Partial<Pick<EngineOptions, 'testClock' | 'aroundCall'>> = {},
): Engine {
  const file = configFileOf(config);
  const { document } = planApply(emptyConfig, file, { now: new Date().toISOString(), prune: false, newId: randomUUID });
  const epoch = randomUUID();
  return new Engine({
    redis,
    prefix: 'alone',
    library: bundleLibrary(),
    testClock,
    aroundCall,
    loadConfig: (tenant) => Promise.resolve({ tenant, version: 1, document }),
    loadOffset: () => Promise.resolve({ epoch, lastId: '0-0', isRestoring: false }),
    isPastEpoch: () => Promise.resolve(false),
    autoRestore: false,
  });
}

import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import { planApply } from '../../src/config/change/apply.js';
import { configFileOf } from '../../src/config/file/file.js';
import { emptyConfig } from '../../src/config/schema/model.js';
import { Engine } from '../../src/engine/engine.js';
import { bundleLibrary } from '../../src/redis/library.js';
import { makeEngine, type PartialEngineOptions } from './make-engine.js';

/**
 * An engine without Postgres, for what is measured inside Redis: what Postgres would say is always the same here. `config` is a configuration
 * file as an object; every tenant has it. Throws what is wrong with it.
 */
export function engineAlone(redis: Redis, config: object, overrides: Pick<PartialEngineOptions, 'testClock' | 'aroundCall'> = {}): Engine {
  const epoch = randomUUID();
  return makeEngine({ planApply, configFileOf, emptyConfig, Engine, bundleLibrary }, redis, config, {
    loadOffset: () => Promise.resolve({ epoch, lastId: '0-0', isRestoring: false, testClockMs: null }),
    isPastEpoch: () => Promise.resolve(false),
    ...overrides,
  });
}

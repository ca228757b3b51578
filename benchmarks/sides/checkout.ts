import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type * as ioredis from 'ioredis';
import type * as apply from '../../src/config/change/apply.js';
import type * as file from '../../src/config/file/file.js';
import type * as model from '../../src/config/schema/model.js';
import type * as engine from '../../src/engine/engine.js';
import type * as track from '../../src/engine/events.js';
import type * as offsets from '../../src/ledger/offsets.js';
import type * as writeBehind from '../../src/ledger/write-behind.js';
import type * as localPostgres from '../../src/local-stores/local-postgres.js';
import type * as localRedis from '../../src/local-stores/local-redis.js';
import type * as migrate from '../../src/postgres/migrate.js';
import type * as pool from '../../src/postgres/pool.js';
import type * as connection from '../../src/redis/connection.js';
import type * as contract from '../../src/redis/contract.js';
import type * as library from '../../src/redis/library.js';

/** What the paired benchmarks use of a checkout: every path is here, a renamed file with its earlier name. */
export type Checkout = Awaited<ReturnType<typeof loadCheckout>>;

const load = (path: string): Promise<unknown> => import(pathToFileURL(path).href);
/** A file of `src`, by the first of its names that is there. */
const source = (root: string, ...paths: readonly string[]): Promise<unknown> =>
  load(paths.map((path) => join(root, 'src', path)).find(existsSync) ?? root);

/** How connections of a checkout send the commands of one turn together, if that is a step of its own and not an option of ioredis. */
interface Turns {
  readonly sendByTurns?: (redis: ioredis.Redis) => unknown;
}

async function turnsOf(root: string): Promise<Turns> {
  const path = join(root, 'src', 'redis', 'turns.ts');
  return existsSync(path) ? ((await load(path)) as Turns) : {};
}

/** Loads the code of a checkout from its own files, with the dependencies that are installed for it. */
export async function loadCheckout(root: string) {
  return {
    ioredis: (await load(createRequire(join(root, 'package.json')).resolve('ioredis'))) as typeof ioredis,
    ...((await source(root, 'config/change/apply.ts')) as typeof apply),
    ...((await source(root, 'config/file/file.ts')) as typeof file),
    ...((await source(root, 'config/schema/model.ts')) as typeof model),
    ...((await source(root, 'engine/engine.ts')) as typeof engine),
    ...((await source(root, 'engine/events.ts', 'engine/track.ts')) as typeof track),
    ...((await source(root, 'ledger/offsets.ts')) as typeof offsets),
    ...((await source(root, 'ledger/write-behind.ts')) as typeof writeBehind),
    ...((await source(root, 'postgres/migrate.ts', 'postgres/pool.ts')) as typeof migrate),
    ...((await source(root, 'postgres/pool.ts')) as typeof pool),
    ...((await source(root, 'redis/connection.ts')) as typeof connection),
    ...((await source(root, 'redis/contract.ts')) as typeof contract),
    ...((await source(root, 'redis/library.ts')) as typeof library),
    ...(await turnsOf(root)),
  };
}

/** How a checkout starts its built-in stores. */
export async function loadStores(root: string) {
  return {
    ...((await source(root, 'local-stores/local-redis.ts', 'stores/local-redis.ts')) as typeof localRedis),
    ...((await source(root, 'local-stores/local-postgres.ts', 'stores/local-postgres.ts')) as typeof localPostgres),
  };
}

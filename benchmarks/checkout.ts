import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type * as ioredis from 'ioredis';
import type * as apply from '../src/config/apply.js';
import type * as file from '../src/config/file.js';
import type * as model from '../src/config/model.js';
import type * as engine from '../src/engine/engine.js';
import type * as track from '../src/engine/events.js';
import type * as offsets from '../src/ledger/offsets.js';
import type * as writeBehind from '../src/ledger/write-behind.js';
import type * as pool from '../src/postgres/pool.js';
import type * as connection from '../src/redis/connection.js';
import type * as contract from '../src/redis/contract.js';
import type * as library from '../src/redis/library.js';

/** What the paired benchmarks use of a checkout: every path is here, a renamed file with its earlier name. */
export type Checkout = Awaited<ReturnType<typeof loadCheckout>>;

/** Loads the code of a checkout from its own files, with the dependencies that are installed for it. */
export async function loadCheckout(root: string) {
  const load = (path: string): Promise<unknown> => import(pathToFileURL(path).href);
  const source = (...paths: readonly string[]): Promise<unknown> =>
    load(paths.map((path) => join(root, 'src', path)).find(existsSync) ?? root);
  return {
    ioredis: (await load(createRequire(join(root, 'package.json')).resolve('ioredis'))) as typeof ioredis,
    ...((await source('config/apply.ts')) as typeof apply),
    ...((await source('config/file.ts')) as typeof file),
    ...((await source('config/model.ts')) as typeof model),
    ...((await source('engine/engine.ts')) as typeof engine),
    ...((await source('engine/events.ts', 'engine/track.ts')) as typeof track),
    ...((await source('ledger/offsets.ts')) as typeof offsets),
    ...((await source('ledger/write-behind.ts')) as typeof writeBehind),
    ...((await source('postgres/pool.ts')) as typeof pool),
    ...((await source('redis/connection.ts')) as typeof connection),
    ...((await source('redis/contract.ts')) as typeof contract),
    ...((await source('redis/library.ts')) as typeof library),
  };
}

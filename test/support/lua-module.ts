import { readFileSync } from 'node:fs';
import { Redis } from 'ioredis';
import { stores } from './stores.js';

/** One module of lua/ in its own function library, so that a test can call its internals. */
export interface LuaModule {
  /** Calls a function of the test library with texts, and returns its result as a text. */
  call(name: string, args: readonly (string | number)[]): Promise<string>;
  stop(): Promise<void>;
}

let libraries = 0;

/**
 * Loads a module that needs no others. `functions` are the bodies of Lua functions of `args`, a list of texts, by name; the module is there
 * under its own name.
 */
export async function loadLuaModule(module: string, functions: Readonly<Record<string, string>>): Promise<LuaModule> {
  const { redisUrl } = await stores();
  const redis = new Redis(redisUrl, { enableAutoPipelining: true });
  const library = `test_${module}_${process.pid}_${(libraries += 1)}`;
  const source = readFileSync(new URL(`../../lua/modules/${module}.lua`, import.meta.url), 'utf8');
  const registrations = Object.entries(functions).map(
    ([name, body]) => `redis.register_function('${library}_${name}', function(keys, args)\n${body}\nend)`,
  );
  await redis.function('LOAD', [`#!lua name=${library}`, `local ${module} = (function()`, source, 'end)()', ...registrations].join('\n'));
  return {
    call: async (name, args) => String(await redis.fcall(`${library}_${name}`, 0, ...args)),
    stop: async () => {
      await redis.function('DELETE', library);
      redis.disconnect();
    },
  };
}

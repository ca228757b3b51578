import { Redis } from 'ioredis';
import { bundleLibrary } from '../../src/redis/library.js';
import { stores } from './stores.js';

/** Functions of lua/modules, called from a test by themselves. */
export interface LuaFunctions {
  /** Calls a function with texts, and returns the text of its reply. */
  call(name: string, args: readonly (string | number)[]): Promise<string>;
  stop(): Promise<void>;
}

/**
 * Loads the function library with further functions: by name, the bodies of Lua functions of `args`, a list of texts, in which `require` gives
 * any module.
 */
export async function loadLuaFunctions(functions: Readonly<Record<string, string>>): Promise<LuaFunctions> {
  const { redisUrl } = await stores();
  const redis = new Redis(redisUrl, { enableAutoPipelining: true });
  const registrations = Object.entries(functions).map(
    ([name, body]) => `redis.register_function(contract.name .. '_test_${name}', function(keys, args)\n${body}\nend)`,
  );
  const library = bundleLibrary((file, source) => (file === 'event.lua' ? [source, ...registrations].join('\n') : source));
  await redis.function('LOAD', library.source);
  return {
    call: async (name, args) => String(await redis.fcall(`${library.name}_test_${name}`, 0, ...args)),
    stop: async () => {
      await redis.function('DELETE', library.name);
      redis.disconnect();
    },
  };
}

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { limits } from '../shared/limits.js';
import { contractModule, type FunctionName } from './contract.js';

const luaFolder = fileURLToPath(new URL('../../lua/', import.meta.url));
const entryFile = 'event.lua';
/** The limits that Lua enforces as well. */
const luaLimits = {
  ledgerLookEntries: limits.ledgerLookEntries,
  maxAbsoluteTotal: limits.maxAbsoluteTotal,
  maxAwardsRead: limits.maxAwardsRead,
  maxAwardsKept: limits.maxAwardsKept,
  maxOpenBatches: limits.maxOpenBatches,
  maxCachedPlans: limits.maxCachedPlans,
  maxCachedContexts: limits.maxCachedContexts,
  maxCachedZones: limits.maxCachedZones,
  maxFreezes: limits.maxFreezes,
  maxHistoryPeriods: limits.maxHistoryPeriods,
  maxGroupBytes: limits.maxGroupBytes,
  maxPausesPerUser: limits.maxPausesPerUser,
  callWorkUs: limits.callWorkUs,
};

interface Part {
  /** Its path below lua/, for errors. */
  readonly file: string;
  readonly source: string;
}

/** The globals of Lua and Redis that modules use. */
const globals = 'math string table cmsgpack cjson struct tonumber tostring ipairs pairs next select unpack'.split(' ').join(', ');

/**
 * The prelude of the library: the globals that modules use, as locals. Redis looks each global up in two tables and hides it while a library
 * loads, so the first call of a function assigns the locals.
 */
const prelude = [
  'local modules = {}',
  'local function require(name) return modules[name] end',
  `local function read_globals() return redis, ${globals} end`,
  'local at_load = redis',
  'local redis = {}',
  `local ${globals}`,
  'local is_bound = false',
  'local function bind()',
  '  local api',
  `  api, ${globals} = read_globals()`,
  '  redis.call, redis.sha1hex, is_bound = api.call, api.sha1hex, true',
  'end',
  'local function bound(callback)',
  '  return function(keys, args)',
  '    if not is_bound then bind() end',
  '    return callback(keys, args)',
  '  end',
  'end',
  'function redis.register_function(what, callback)',
  '  if callback then return at_load.register_function(what, bound(callback)) end',
  '  what.callback = bound(what.callback)',
  '  return at_load.register_function(what)',
  'end',
];

function requiredModules(source: string): string[] {
  return [...source.matchAll(/\brequire\('([a-z_]+)'\)/g)].flatMap(([, name]) => name ?? []);
}

/** Replaces the source of a part: tests plant faults with it. */
export type SourceChange = (file: string, source: string) => string;

/** The modules of the entry file, each after its own dependencies. */
function collectParts(change: SourceChange): (Part & { readonly module: string })[] {
  const parts = new Map<string, Part & { readonly module: string }>();
  const visit = (module: string, trail: readonly string[]): void => {
    if (parts.has(module)) return;
    if (trail.includes(module)) throw new Error(`circular dependency between Lua modules: ${[...trail, module].join(' → ')}`);
    const file = `modules/${module}.lua`;
    const source = module === 'contract' ? contractModule(luaLimits) : change(file, readFileSync(luaFolder + file, 'utf8'));
    for (const needed of requiredModules(source)) visit(needed, [...trail, module]);
    parts.set(module, { module, file, source });
  };
  const entry = change(entryFile, readFileSync(luaFolder + entryFile, 'utf8'));
  for (const needed of requiredModules(entry)) visit(needed, [entryFile]);
  return [...parts.values(), { module: 'event', file: entryFile, source: entry }];
}

/** The function library as Redis loads it: all of lua/ in one source, named by its hash. */
export interface FunctionLibrary {
  readonly name: string;
  readonly source: string;
  /** The full name of a function of this library. */
  functionName(name: FunctionName): string;
  /** Replaces positions in the bundle (`user_function:123`) by the file and line that an engineer can open. */
  locate(message: string): string;
}

/**
 * Joins the Lua modules. The library is named by the hash of its source, so that two versions of the service can share a Redis, each
 * with its own functions. `change` is for tests.
 */
export function bundleLibrary(change: SourceChange = (_, source) => source): FunctionLibrary {
  const lines: string[] = [...prelude];
  const origins: { readonly file: string; readonly firstLine: number }[] = [];
  for (const part of collectParts(change)) {
    lines.push(`modules['${part.module}'] = (function()`);
    // Plus the line of `#!lua`, which is prepended below, so a part starts two lines after the previous lines.
    origins.push({ file: part.file, firstLine: lines.length + 2 });
    lines.push(...part.source.trimEnd().split('\n'), 'end)()');
    if (part.module === 'contract') lines.push(`modules['contract'].name = 'LIBRARY_NAME'`);
  }
  const body = lines.join('\n');
  const name = `laurel_${createHash('sha256').update(body).digest('hex').slice(0, 12)}`;
  return {
    name,
    source: `#!lua name=${name}\n${body.replace('LIBRARY_NAME', name)}\n`,
    functionName: (fn) => `${name}_${fn}`,
    locate: (message) =>
      message.replace(/user_function:(\d+)/g, (whole, line: string) => {
        const origin = origins.filter(({ firstLine }) => firstLine <= Number(line)).at(-1);
        return origin ? `lua/${origin.file}:${Number(line) - origin.firstLine + 1}` : whole;
      }),
  };
}

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { limits } from '../shared/limits.js';
import { contractModule, type FunctionName } from './contract.js';

const luaFolder = fileURLToPath(new URL('../../lua/', import.meta.url));
const entryFile = 'event.lua';
/** The limits that Lua enforces too. */
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
  maxGroupBytes: limits.maxGroupBytes,
  maxPausesPerUser: limits.maxPausesPerUser,
  callWorkUs: limits.callWorkUs,
};

interface Part {
  /** What errors call it: a path below lua/. */
  readonly file: string;
  readonly source: string;
}

/** What modules use of Lua and Redis. */
const globals = 'math string table cmsgpack cjson struct tonumber tostring ipairs pairs next select unpack'.split(' ').join(', ');

/**
 * What stands before the modules: the globals that they use as locals of the library. Redis looks a global up in two tables, each time, and hides
 * it while a library is loaded, so the locals are filled when a function is called for the first time.
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

/** What a part is bundled with instead of what its file holds: tests plant deliberate faults with it. */
export type SourceChange = (file: string, source: string) => string;

/** The modules that the entry file needs, each after those that it needs itself. */
function collectParts(change: SourceChange): (Part & { readonly module: string })[] {
  const parts = new Map<string, Part & { readonly module: string }>();
  const visit = (module: string, trail: readonly string[]): void => {
    if (parts.has(module)) return;
    if (trail.includes(module)) throw new Error(`Lua modules need each other in a circle: ${[...trail, module].join(' → ')}`);
    const file = `modules/${module}.lua`;
    const source = module === 'contract' ? contractModule(luaLimits) : change(file, readFileSync(luaFolder + file, 'utf8'));
    for (const needed of requiredModules(source)) visit(needed, [...trail, module]);
    parts.set(module, { module, file, source });
  };
  const entry = change(entryFile, readFileSync(luaFolder + entryFile, 'utf8'));
  for (const needed of requiredModules(entry)) visit(needed, [entryFile]);
  return [...parts.values(), { module: 'event', file: entryFile, source: entry }];
}

/** The function library as Redis loads it: all of lua/ in one file, under a name that changes with its source. */
export interface FunctionLibrary {
  readonly name: string;
  readonly source: string;
  /** The name under which Redis knows a function of this library. */
  functionName(name: FunctionName): string;
  /** Replaces positions in the bundle (`user_function:123`) by the file and line that an engineer can open. */
  locate(message: string): string;
}

/**
 * Joins the Lua modules. The library is named by the hash of its source, so that two versions of the service can work on one Redis side
 * by side, each with the functions that it was written for. The service bundles what the files hold; `change` is for tests.
 */
export function bundleLibrary(change: SourceChange = (_, source) => source): FunctionLibrary {
  const lines: string[] = [...prelude];
  const origins: { readonly file: string; readonly firstLine: number }[] = [];
  for (const part of collectParts(change)) {
    lines.push(`modules['${part.module}'] = (function()`);
    // The line that `#!lua` takes is put in front below: the first line of a part is two further on than the lines before it.
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

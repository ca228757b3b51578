import { readFileSync } from 'node:fs';
import { contractModule } from '../redis/contract.js';

/** A script of lua/, with the names of the contract in front of it. Redis keeps it under its hash, compiled. */
export function luaScript(name: string): string {
  const source = readFileSync(new URL(`../../lua/${name}.lua`, import.meta.url), 'utf8');
  return `local function require() ${contractModule({})} end\n${source}`;
}

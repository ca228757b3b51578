/**
 * Lints lua/ with luacheck, which is not on npm. In CI, installs it when missing, so that a clean machine needs no preparation; elsewhere it
 * installs nothing.
 */
import { spawnSync } from 'node:child_process';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const help = 'luacheck is missing: install it with `apt-get install lua-check`, `brew install luacheck` or `luarocks install luacheck`.';

const found = (command) => spawnSync(command, ['--version'], { stdio: 'ignore' }).error === undefined;

function run(command, args, env = {}) {
  return spawnSync(command, args, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'], env: { ...process.env, ...env } }).status === 0;
}

function installInCi() {
  if (process.env.CI !== 'true' || !found('apt-get')) return;
  const quiet = { DEBIAN_FRONTEND: 'noninteractive' };
  console.log('Installing luacheck (Debian package lua-check).');
  if (run('apt-get', ['update', '-qq'], quiet)) run('apt-get', ['install', '-y', '-qq', '--no-install-recommends', 'lua-check'], quiet);
}

if (!found('luacheck')) installInCi();
if (found('luacheck')) {
  process.exitCode = run('luacheck', ['--no-color', '--quiet', 'lua']) ? 0 : 1;
} else {
  console.error(help);
  process.exitCode = 1;
}

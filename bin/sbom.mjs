/**
 * Prints the bill of materials, in CycloneDX, of the packages that Laurel runs with. `npm sbom --omit dev` leaves out every package that a
 * development dependency needs too, so it is given a project that has no development dependencies.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const read = (name) => JSON.parse(readFileSync(join(root, name), 'utf8'));
const withoutDevelopment = (manifest) => ({ ...manifest, devDependencies: undefined });

const lock = read('package-lock.json');
const packages = Object.entries(lock.packages).filter(([, { dev }]) => !dev);
const [[, project], ...used] = packages;
const files = {
  'package.json': withoutDevelopment(read('package.json')),
  'package-lock.json': { ...lock, packages: Object.fromEntries([['', withoutDevelopment(project)], ...used]) },
};

// The project has the name of its folder.
const temporary = mkdtempSync(join(tmpdir(), 'laurel-sbom-'));
const folder = join(temporary, 'laurel');
try {
  mkdirSync(folder);
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), JSON.stringify(content));
  const options = ['--package-lock-only', '--sbom-format', 'cyclonedx', '--sbom-type', 'application'];
  execFileSync('npm', ['sbom', ...options], { cwd: folder, stdio: ['ignore', 'inherit', 'inherit'] });
} finally {
  rmSync(temporary, { recursive: true });
}

/**
 * Makes a clone ready to run: the locked dependencies, and a build of the sources that are there. Both are done only when something has
 * changed, which is told by a hash that is kept with the result. Everything it says goes to standard error, so that the output of a
 * `laurel` command can be piped.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, lstatSync, readdirSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

export const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** The hash of these files: their names within `folder`, and what is in them. */
export function hashFiles(folder, files) {
  const hash = createHash('sha256');
  for (const file of [...files].sort()) {
    const content = readFileSync(file);
    hash.update(`${relative(folder, file)}\0${content.length}\0`).update(content);
  }
  return hash.digest('hex');
}

function readIfThere(file) {
  return existsSync(file) ? readFileSync(file, 'utf8').trim() : null;
}

/** A failure whose message is all that the person who started this needs. */
function stopped(message) {
  return Object.assign(new Error(message), { name: 'OperatorError' });
}

const dependencyRecord = (folder) => join(folder, 'node_modules', '.laurel-lock-hash');

/**
 * Whether node_modules holds what the lock file says. One that somebody has installed by hand has no record: it counts when npm has written
 * it after the lock file, and when the compiler, which `npm ci` leaves out under NODE_ENV=production, is in it.
 */
export function isInstalled(folder) {
  const lockFile = join(folder, 'package-lock.json');
  if (!existsSync(join(folder, 'node_modules', 'typescript', 'package.json'))) return false;
  const recorded = readIfThere(dependencyRecord(folder));
  if (recorded !== null) return recorded === hashFiles(folder, [lockFile]);
  const written = join(folder, 'node_modules', '.package-lock.json');
  return existsSync(written) && statSync(written).mtimeMs >= statSync(lockFile).mtimeMs;
}

/** Whether node_modules only leads to a folder elsewhere, which another checkout may live on. */
const isLink = (folder) => lstatSync(join(folder, 'node_modules'), { throwIfNoEntry: false })?.isSymbolicLink() === true;

/** The npm that runs us, if one does, else the one on the PATH. */
function npm(folder, args) {
  const own = process.env.npm_execpath;
  const [program, first] = own?.endsWith('.js') ? [process.execPath, [own]] : ['npm', []];
  return spawnSync(program, [...first, ...args], { cwd: folder, stdio: ['inherit', 2, 2] });
}

/**
 * Installs the locked dependencies if they are missing or older than package-lock.json. `npm ci` begins with deleting what is in node_modules, so
 * nothing is installed, and nothing written, through a link.
 * @throws an OperatorError when npm fails, or would empty a folder elsewhere.
 */
export function prepare(folder = root) {
  if (isLink(folder)) {
    if (isInstalled(folder)) return;
    throw stopped(
      'node_modules is a symbolic link to a folder that does not hold what package-lock.json says, and npm ci would empty that folder. ' +
        'Bring it up to date where it is, or remove the link and start again.',
    );
  }
  if (!isInstalled(folder)) {
    console.error('Installing the dependencies with npm ci.');
    // The compiler is a development dependency, and NODE_ENV=production or omit=dev would leave it out.
    const { status, error } = npm(folder, ['ci', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error']);
    if (status !== 0)
      throw stopped(`The dependencies could not be installed: npm ci ${error?.message ?? 'failed'}. What it said is above.`);
  }
  const hash = hashFiles(folder, [join(folder, 'package-lock.json')]);
  if (readIfThere(dependencyRecord(folder)) !== hash) writeFileSync(dependencyRecord(folder), `${hash}\n`);
}

/** What the content of dist follows from. The lock file is in it because it decides which compiler. */
function sourcesOf(folder) {
  const sources = readdirSync(join(folder, 'src'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name));
  return [...sources, ...['tsconfig.json', 'tsconfig.build.json', 'package-lock.json'].map((name) => join(folder, name))];
}

const buildRecord = (folder) => join(folder, 'dist', '.laurel-source-hash');

export function isBuilt(folder) {
  return readIfThere(buildRecord(folder)) === hashFiles(folder, sourcesOf(folder));
}

/**
 * Compiles src into dist. The folder is emptied first, so that it never holds the output of a source that is gone, and the record is written
 * last, so that a build that was cut off is done again.
 * @throws an OperatorError when the compiler finds a mistake.
 */
export function build(folder = root) {
  // Taken before the compiler reads them: a source that is saved meanwhile leads to another build and not to a stale one.
  const hash = hashFiles(folder, sourcesOf(folder));
  rmSync(join(folder, 'dist'), { recursive: true, force: true });
  const compiler = join(folder, 'node_modules', 'typescript', 'bin', 'tsc');
  const { status } = spawnSync(process.execPath, [compiler, '-p', 'tsconfig.build.json'], { cwd: folder, stdio: ['inherit', 2, 2] });
  if (status !== 0) throw stopped('The build failed. What the compiler said is above.');
  writeFileSync(buildRecord(folder), `${hash}\n`);
}

/** Makes dist current. A copy without sources (a container image) has nothing to install and nothing to build. */
export function ensureBuilt(folder = root) {
  if (!existsSync(join(folder, 'src'))) return;
  prepare(folder);
  if (isBuilt(folder)) return;
  console.error('Building Laurel.');
  build(folder);
}

/** `node bin/prepare.mjs` installs; with `build` it compiles as well, always. */
function runAsScript() {
  try {
    prepare();
    if (process.argv[2] === 'build') build();
  } catch (error) {
    console.error(error.name === 'OperatorError' ? error.message : error);
    process.exitCode = 1;
  }
}

if (process.argv[1] && import.meta.url === pathToFileURL(realpathSync(process.argv[1])).href) runAsScript();

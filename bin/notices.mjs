/**
 * Prints THIRD_PARTY_NOTICES.md: the licences of all packages that Laurel runs with, and of those that the build bundles into the page of the
 * dashboard. Names, versions and licences come from package-lock.json, the texts from node_modules; the result is the same on every platform.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const read = (...path) => readFileSync(join(root, ...path), 'utf8');
const { packages } = JSON.parse(read('package-lock.json'));

/** What the page of the dashboard imports, with the dependencies of that: development dependencies whose code is in dist. */
function bundledPaths() {
  const page = ['src', 'dashboard', 'page'];
  const sources = readdirSync(join(root, ...page), { recursive: true }).filter((name) => /\.tsx?$/.test(name));
  const imports = sources.flatMap((source) => [...read(...page, source).matchAll(/\b(?:from|import) '((?:@[^/']+\/)?[^./'][^/']*)/g)]);
  const paths = new Set(imports.map(([, name]) => `node_modules/${name}`));
  // A set that grows is iterated to its new end.
  for (const path of paths) {
    const { dependencies, peerDependencies } = packages[path];
    for (const name of Object.keys({ ...dependencies, ...peerDependencies }))
      if (packages[`node_modules/${name}`]) paths.add(`node_modules/${name}`);
  }
  return paths;
}

/** Files that packages have their terms in. Those of swagger-ui-dist end with what its bundles contain. */
const isTerms = (file) => /^(?:un)?licen[cs]e|^copying|^notice|\.LICENSE\.txt$/i.test(file);

/** Splits a text into the copyright lines at its head, which differ by package, and the rest, which many packages share. */
function split(text) {
  const lines = text.trim().split(/\r?\n/);
  const isOwn = (line, index) => index < 12 && /^\W*(?:copyright\b.*(?:\d{4}|\(c\)|©)|all rights reserved).*[^:]$/i.test(line);
  const isTitle = (line, index) =>
    index < 3 && /^[\W_]*(?:the )?(?:mit|isc|bsd[ -]3-clause) licen[cs]e[\W_]*(?:\(mit\))?\W*$|^=+$/i.test(line);
  const rest = lines.filter((line, index) => !isOwn(line, index) && !isTitle(line, index)).map((line) => line.trimEnd());
  return {
    own: lines.filter(isOwn).map((line) => line.trim()),
    rest: rest
      .join('\n')
      .replace(/\n{3,}/g, '\n\n')
      .replace(/^\n+/, ''),
  };
}

/** The terms in a package's folder. A package for one platform has those of the package that depends on it. */
function termsOf({ path, license, os, cpu }) {
  if (os ?? cpu) return [];
  const files = readdirSync(join(root, path)).filter(isTerms).sort();
  return files.map((file) => {
    const text = read(path, file);
    return /^notice|\.LICENSE\.txt$/i.test(file) ? { license, own: [`its ${file}`], rest: text.trim() } : { license, ...split(text) };
  });
}

/** Who wrote a package that has no terms of its own. */
function authorOf({ path, os, cpu }) {
  if (os ?? cpu) return '';
  const { author } = JSON.parse(read(path, 'package.json'));
  return `, by ${author?.name ?? author?.replace(/ *[<(].*/, '') ?? 'its contributors'}`;
}

const ascending = (a, b) => (a < b ? -1 : a > b ? 1 : 0);

/** Each name and version once, in the order of names. */
function used() {
  const bundled = bundledPaths();
  const paths = Object.keys(packages).filter((path) => path !== '' && (!packages[path].dev || bundled.has(path)));
  const all = paths.map((path) => {
    const name = packages[path].name ?? path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
    return { ...packages[path], path, name, title: `\`${name}\` ${packages[path].version}`, isBundled: bundled.has(path) };
  });
  const distinct = [...new Map(all.map((each) => [each.title, each])).values()];
  return distinct.sort((a, b) => ascending(a.name, b.name) || ascending(a.version, b.version));
}

/** Texts that differ by more than spaces, each with the packages that have it. */
function textsOf(all) {
  const texts = new Map();
  for (const each of all) {
    for (const { license, own, rest } of termsOf(each)) {
      const key = `${license} ${rest.replace(/\s+/g, ' ')}`;
      const text = texts.get(key) ?? { license, rest, lines: [] };
      texts.set(key, text);
      text.lines.push(`- ${[each.title, ...own].join('; ')}`);
    }
  }
  return [...texts.values()].sort((a, b) => ascending(a.license, b.license));
}

const all = used();
const listed = all.map((each) => {
  const terms = termsOf(each).length > 0 ? '' : authorOf(each);
  return `- ${each.title}: ${each.license}${each.isBundled ? ', bundled' : ''}${terms}`;
});
const texts = textsOf(all).map(({ license, rest, lines }) => `### ${license}\n\n${lines.join('\n')}\n\n~~~~text\n${rest}\n~~~~\n`);
console.log(`# Third-party notices

Laurel itself has the licence in the file LICENSE. It runs with the packages below. Those that are bundled are part of the page of the dashboard;
npm installs the others beside Laurel. \`npm run notices\` writes this file.

## Packages

${listed.join('\n')}

## Texts

Each follows the packages that have it, with their copyright lines. A package for one platform has the terms of the package that depends on it. A
package that is listed above with its author has no file with its terms: they are those of the licence that it names.

${texts.join('\n').trimEnd()}`);

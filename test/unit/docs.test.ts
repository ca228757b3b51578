import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { limits } from '../../src/shared/limits.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const read = (page: string): string => readFileSync(join(root, page), 'utf8');

const folders = ['.', 'docs', 'docs/architecture', 'docs/operations', 'docs/rules', 'examples', 'benchmarks'];
const pages = folders.flatMap((folder) =>
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(folder, name)),
);

/** What the forges make of a heading. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .trim()
    .replaceAll(' ', '-');

const anchors = (page: string): string[] => [...read(page).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => anchorOf(heading));

/** Links to other pages and to headings that lead nowhere. */
function brokenLinks(page: string): string[] {
  const links = [...read(page).matchAll(/\]\((?!https?:)([^)]+)\)/g)].map(([, link = '']) => link);
  return links.filter((link) => {
    const [path = '', anchor] = link.split('#', 2);
    const target = path === '' ? page : join(dirname(page), path);
    if (!existsSync(join(root, target))) return true;
    return anchor !== undefined && !anchors(target).includes(anchor);
  });
}

/** Files in backticks, with their folder, that are not there: from the root, or as pages name those of src, lua and test. */
function missingFiles(page: string): string[] {
  const named = [...read(page).matchAll(/`([\w.-]+\/[\w./-]*\.(?:ts|lua|mjs|sql|yaml|sh|md))`/g)].map(([, path = '']) => path);
  return named.filter((path) => !['', 'src', 'lua', 'test', 'test/support'].some((folder) => existsSync(join(root, folder, path))));
}

/** What a span of code starts with that is no sentence of Laurel's: programs, statements of SQL and of Redis, requests. */
const codeWords =
  /^(?:laurel|np[mx]|node|du|redis-cli|psql|curl|docker|git|select|update|insert|delete|alter|create|config|info|rate|max|min|sum|GET|PUT|POST|PATCH|DELETE)\b/;

/**
 * What pages quote of Laurel: the message of a log line in JSON, and each span of code of three words or more that is prose. It is a log line, a printed
 * line or an error, verbatim; `…` stands for what differs.
 */
function quotesOf(page: string): string[] {
  const text = read(page).replace(/^( *)```[\s\S]*?^\1```/gm, '');
  const spans = [...text.matchAll(/(?<!`)`([^`]+)`(?!`)/g)].map(([, span = '']) => span.replace(/\s+/g, ' '));
  return spans.flatMap((span) => {
    const message = /"msg":"([^"]+)"/.exec(span)?.[1];
    if (message !== undefined) return [message];
    const isProse = /^[a-z][\w ,.'…:;/-]*$/i.test(span) && (span.match(/[a-z]+ /gi) ?? []).length >= 2;
    return isProse && !codeWords.test(span) ? [span] : [];
  });
}

/** The texts of the sources, without comments; literals that are joined with `+` are one, and `…` stands for what is inserted. */
function sourceTexts(): string {
  const files = ['src', 'lua', 'bin'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.(?:tsx?|lua|mjs)$/.test(name))
      .map((name) => read(join(folder, name))),
  );
  return files
    .join('\n')
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/^\s*(?:\/\/|--).*$/gm, '')
    .replace(/['"`]\s*\+\s*['"`]/g, '')
    .replace(/\$\{[^}]*\}/g, '…')
    .replace(/\\(['`])/g, '$1')
    .replace(/\s+/g, ' ');
}

describe('The documents', () => {
  it('exist', () => {
    expect(pages).to.include.members(['README.md', 'docs/settings.md', 'docs/operations/runbooks.md', 'docs/rules/README.md']);
  });

  for (const page of pages) {
    it(`have no broken links: ${page}`, () => {
      expect(brokenLinks(page)).to.deep.equal([]);
      expect(missingFiles(page)).to.deep.equal([]);
    });
  }

  it('quote Laurel word by word: log lines, printed lines and errors', () => {
    const texts = sourceTexts();
    const manual = pages.filter((page) => /^(?:docs\/|README|SECURITY)/.test(page));
    const quotes = manual.flatMap((page) => quotesOf(page).map((quote) => ({ page, quote })));
    expect(quotes.map(({ quote }) => quote)).to.include.members([
      'write-behind failed, will retry',
      'Postgres is older than Redis: …',
      'message provider unavailable, will retry',
    ]);
    const isSaid = (quote: string): boolean => quote.split('…').every((part) => texts.includes(part.trim()));
    expect(quotes.filter(({ quote }) => !isSaid(quote))).to.deep.equal([]);
  });

  it('exist where the code names them', () => {
    const sources = ['src', 'lua', 'test'].flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
        .filter((name) => /\.(?:ts|lua)$/.test(name))
        .map((name) => join(folder, name)),
    );
    expect(sources).to.include.members(['src/shared/limits.ts', 'lua/event.lua']);
    const named = sources.flatMap((name) => [...read(name).matchAll(/\bdocs\/[\w/.-]+\.md\b/g)].map(([page]) => ({ name, page })));
    expect(named.filter(({ page }) => !existsSync(join(root, page)))).to.deep.equal([]);
  });

  it('list every page of rules in the index, and name the code at the end of each', () => {
    const names = readdirSync(join(root, 'docs/rules')).filter((name) => name !== 'README.md');
    expect(names).to.have.lengthOf.at.least(15);
    const index = read('docs/rules/README.md');
    expect(names.filter((name) => !index.includes(`](${name})`))).to.deep.equal([]);
    const last = (name: string): string => read(join('docs/rules', name)).trim().split('\n\n').at(-1) ?? '';
    expect(names.filter((name) => !/^Code: `[^`]+`/.test(last(name)))).to.deep.equal([]);
  });

  it('state the limits as they are', () => {
    const scales: Readonly<Record<string, number>> = { KiB: 1_024, MiB: 1_024 ** 2, ms: 1_000, s: 1_000_000 };
    /** Bytes, counts or microseconds. */
    const plain = (name: string): number | undefined => (name.endsWith('Ms') ? (values[name] ?? 0) * 1_000 : values[name]);
    const values: Readonly<Record<string, number>> = limits;
    const rows = [...read('docs/rules/limits-and-errors.md').matchAll(/^\| .* \| (.*\d.*) \| (`.*) \|$/gm)];
    expect(rows).to.have.lengthOf.at.least(20);
    for (const [row, stated = '', named = ''] of rows) {
      const numbers = [...stated.matchAll(/(\d[\de,]*)(?: (KiB|MiB|ms|s)\b)?/g)].map(
        ([, number = '', unit = '']) => Number(number.replaceAll(',', '')) * (scales[unit] ?? 1),
      );
      const names = [...named.matchAll(/`(\w+)`/g)].map(([, name = '']) => name);
      expect(numbers, row).to.deep.equal(names.map(plain));
    }
  });

  it('name every script of package.json, and no other', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    // Started by npm itself, before those that they are named after.
    const own = Object.keys(scripts).filter((name) => !name.startsWith('pre'));
    const ofEngineers = read('docs/architecture/tests.md');
    const command = (name: string): string => (['start', 'test'].includes(name) ? `npm ${name}` : `npm run ${name}`);
    expect(own.filter((name) => !ofEngineers.includes(`\`${command(name)}\``))).to.deep.equal([]);
    const named = pages.flatMap((page) => [...read(page).matchAll(/npm run ([a-z:]+)/g)].map(([, name = '']) => name));
    expect(named.filter((name) => !(name in scripts))).to.deep.equal([]);
  });
});

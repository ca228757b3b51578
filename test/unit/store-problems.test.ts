import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { postgresProblems, redisProblems, sentenceOf, type StoreProblem } from '../../src/shared/store-problems.js';

const page = readFileSync(new URL('../../docs/operations/store-problems.md', import.meta.url), 'utf8');

/** The rows of the table of a section, as the page shows them. */
function rowsOf(section: string): string[] {
  const [, text = ''] = page.split(`\n## ${section}\n`);
  const lines = (text.split('\n## ')[0] ?? '').split('\n').filter((line) => line.startsWith('|'));
  // The first two are the head.
  return lines.slice(2).map((line) => line.replace(/ *\| */g, '|'));
}

const shown = ({ cause, cure, reason }: StoreProblem): string => `|${cause}|${cure}|\`${reason}\`|`;

describe('The sentences about stores', () => {
  for (const [section, problems] of Object.entries({ Redis: redisProblems, Postgres: postgresProblems })) {
    const all: readonly StoreProblem[] = Object.values(problems);

    it(`are documented in docs/operations/store-problems.md, in the same order: ${section}`, () => {
      expect(rowsOf(section)).to.deep.equal(all.map(shown));
    });

    it(`end with one full stop, whatever the detail ends with: ${section}`, () => {
      for (const problem of all) {
        expect(problem.cause).to.match(/[^.]$/);
        expect(problem.cure).to.match(/[^.]\.$/);
        for (const detail of [undefined, 'Connection is closed', 'Connection is closed.']) {
          expect(sentenceOf(problem, detail)).not.to.match(/\.\.|\.\)/);
        }
      }
    });
  }
});

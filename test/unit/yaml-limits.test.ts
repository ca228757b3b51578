import { expect } from 'chai';
import { readYaml } from '../../src/config/file/yaml.js';
import { limits } from '../../src/shared/limits.js';

describe('A YAML text', () => {
  it('is refused at the first value beyond the limit', () => {
    // Two lexemes an item: its indicator and its scalar.
    const items = '- 1\n'.repeat(limits.maxYamlNodes / 2);
    const { value, faults } = readYaml(`${items}- 1\n`);
    expect(value).to.equal(undefined);
    expect(faults.map(({ sentence, line }) => [sentence, line])).to.deep.equal([
      ['the file has more than 200,000 values', limits.maxYamlNodes / 2 + 1],
    ]);
  });

  /** The largest texts of their kind, which took 1 to 40 s; and those that end right below the limit of values. */
  const filled = (text: string): string => text.repeat(Math.floor(limits.maxConfigFileBytes / text.length));
  const values = (text: string, each: number): string => text.repeat(limits.maxYamlNodes / each - 1);
  const hostile: readonly string[] = [
    ...[
      '&a ',
      '&a\n',
      '- @\n',
      '"\\x" ',
      '!a ',
      '#\n',
      '\n',
      '[',
      '{a: ',
      'a: b: ',
      '? ',
      '*a ',
      '---\n',
      '...\n',
      '%X\n',
      '"',
      "'a' ",
    ].map(filled),
    ...[']', '}', '- "\\x"\n', '- &a !b @\n', '- *a\n'].map(filled),
    ...[values('- @\n', 2), values('"\\x" ', 1), values("'a' ", 1), `"${'\\x'.repeat(500_000)}"`, `[${values('@,', 2)}]`],
  ];
  for (const text of hostile) {
    it(`that begins with ${JSON.stringify(text.slice(0, 12))} and has ${text.length} characters is refused without reading on`, () => {
      const { value, faults } = readYaml(text);
      expect(value).to.equal(undefined);
      expect(faults.length).to.be.within(1, limits.maxYamlErrors + 1);
      expect(faults.at(-1)?.sentence).to.match(/the file has more than|nested more than|at most 100 aliases/);
    });
  }

  it('may begin its texts in blocks like aliases, tags, comments and what no other text begins with', () => {
    const value = Array.from({ length: 300 }, (_, i) => `${'*&!#@%'[i % 6]!}a\n`);
    expect(readYaml(value.map((text) => `- |\n  ${text}`).join(''))).to.deep.include({ value, faults: [] });
  });

  it('has as many comments and empty lines as values, and 50,000 more', () => {
    const lines = limits.maxYamlIdleLines;
    expect(readYaml(`${'# note\n'.repeat(lines / 2)}a: 1\n${'\n'.repeat(lines / 2)}`)).to.deep.include({ value: { a: 1 }, faults: [] });
    expect(readYaml(`- 1 # note\n# note\n`.repeat(30_000)).faults).to.deep.equal([]);
  });
});

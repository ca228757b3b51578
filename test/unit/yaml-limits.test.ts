import { expect } from 'chai';
import { Lexer, Parser } from 'yaml';
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

  /** What the library does for a text: lexemes that it reads, and those that it parses, which takes several times as long. */
  function workOf(text: string): { lexed: number; parsed: number; sentence: string | undefined } {
    const lex = Reflect.get(Lexer.prototype, 'lex');
    const next = Reflect.get(Parser.prototype, 'next');
    let [lexed, parsed] = [0, 0];
    Lexer.prototype.lex = function* (...source) {
      for (const lexeme of lex.apply(this, source)) {
        lexed += 1;
        yield lexeme;
      }
    };
    Parser.prototype.next = function (lexeme) {
      parsed += 1;
      return next.call(this, lexeme);
    };
    try {
      return { sentence: readYaml(text).faults.at(-1)?.sentence, lexed, parsed };
    } finally {
      Object.assign(Lexer.prototype, { lex });
      Object.assign(Parser.prototype, { next });
    }
  }

  /** A text for each kind of lexeme, in each way that the library reads it, and the lexemes that may be read of 1 MiB of them. */
  const kinds: readonly (readonly [most: number, why: RegExp, ...texts: string[]])[] = [
    [
      1_000,
      /more than 100 YAML errors/,
      ...['- "\\x"\n', '- "\\u12"\n', '- "\\U00110000"\n', '"\\q": 1\n', '- @\n', '- `\n', ']', '}\n', "'a' ", '""'],
    ],
    [10_000, /more than 1,000 anchors or tags|at most 100 aliases/, '&a\n', '- &a a\n', '!a ', '- !a a\n', '*a\n'],
    [1_000, /more than 100 document markers or directives/, '---\n', '...\n', '%a\n'],
    [200_000, /more than 50,000 comments, empty lines and lines inside of texts/, '\n', '\r\n', ' \n', '\t\n', '#\n', ' #\n'],
    [
      limits.maxYamlLexemes + 1,
      /more than 200,000 values|more than 600,000 tokens/,
      ...['- \n', '-\n', '- a\n', '- 1\n', "- ''\n", '- "a"\n', '- |\n', '- >\n', '- |+\n', '- |\n a\n', '- |9x\n', '- a #\n', '-\ta\n'],
      ...[':\n', 'a:\n', 'a: b\n', '"a": 1\n', '? a\n: b\n', '?\n', 'a:\n- b\n', '- a: b\n', '- - a\n', '- ? a\n', '- \ufeff\n', '- %a\n'],
      ...['[]', '{}\n', '[ a ]\n', '- [a\n  ,b]\n', '{a: }\n', '- "\n', "- 'a\n"],
    ],
  ];
  for (const [most, why, ...texts] of kinds) {
    for (const text of texts) {
      it(`of ${JSON.stringify(text)} for 1 MiB is refused before it is parsed`, () => {
        const { lexed, parsed, sentence } = workOf(filled(text));
        expect(sentence).to.match(why);
        expect(lexed).to.be.within(1, most);
        expect(parsed).to.equal(0);
      });
    }
  }

  const inFlow = [',', '[],', '{},', 'a,', '1,', '"",', "'',", 'a: b,', '"a":1,', '? a : b,', '"a" b,', 'a, #\n', '- a,', '|,'];
  for (const text of inFlow) {
    it(`of ${JSON.stringify(text)} in a list for 1 MiB is refused before it is parsed`, () => {
      const { lexed, parsed, sentence } = workOf(`[${filled(text)}`);
      expect(sentence).to.match(/more than 200,000 values/);
      expect([lexed <= limits.maxYamlLexemes + 1, parsed]).to.deep.equal([true, 0]);
    });
  }

  const longTexts = ['|\n a\n', '>\n a\n\n b\n', '"a\n b', "'a\n\n b", 'a\n b\n'];
  for (const text of longTexts) {
    it(`of a single text like ${JSON.stringify(text)} has at most 50,000 lines`, () => {
      const { parsed, sentence } = workOf(text + '\n a\n'.repeat(limits.maxYamlIdleLines));
      expect(sentence).to.equal('the file has more than 50,000 comments, empty lines and lines inside of texts');
      expect(parsed).to.equal(0);
    });
  }

  it('of 1 MiB of objects with short names is within all limits', () => {
    const objects = Array.from({ length: 19_000 }, (_, i) => `  - key: metric-${i}\n    name: Metric number ${i}\n`).join('');
    expect(objects.length).to.be.within(0.9 * limits.maxConfigFileBytes, limits.maxConfigFileBytes);
    expect(workOf(`metrics:\n${objects}`).sentence).to.equal(undefined);
  });

  it('may begin its texts in blocks like aliases, tags, comments and what no other text begins with', () => {
    const value = Array.from({ length: 300 }, (_, i) => `${'*&!#@%'[i % 6]!}a\n`);
    expect(readYaml(value.map((text) => `- |\n  ${text}`).join(''))).to.deep.include({ value, faults: [] });
  });

  it('has as many comments, empty lines and lines inside of texts as values, and 50,000 more', () => {
    const lines = limits.maxYamlIdleLines;
    expect(readYaml(`${'# note\n'.repeat(lines / 2)}a: 1\n${'\n'.repeat(lines / 2)}`)).to.deep.include({ value: { a: 1 }, faults: [] });
    expect(readYaml(`- 1 # note\n# note\n`.repeat(30_000)).faults).to.deep.equal([]);
  });
});

import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import fc from 'fast-check';
import { planApply } from '../../src/config/change/apply.js';
import { parseConfigFile, readConfigFile } from '../../src/config/file/file.js';
import { emptyConfig } from '../../src/config/schema/model.js';
import { OperatorError } from '../../src/shared/errors.js';
import { limits } from '../../src/shared/limits.js';
import { scaleMultiplier } from '../../src/shared/decimal.js';
import { badFiles, macros, system } from './config-file.cases.js';
import { badKinds } from './config-kinds.cases.js';

const example = readFileSync(new URL('../../examples/study-app.yaml', import.meta.url), 'utf8');

/** The message of the OperatorError that applying a text to an empty account leads to; empty if it is fine. */
function messageOf(text: string): string {
  let no = 0;
  try {
    const file = parseConfigFile(text, 'f.yaml');
    planApply(emptyConfig, file, { now: '2026-11-20T23:30:00.000Z', prune: false, newId: () => `id-${(no += 1)}` });
    return '';
  } catch (error) {
    if (error instanceof OperatorError) return error.message;
    throw error;
  }
}

/** A case with its text as it is applied, and the message that is expected, with the positions of the marks. */
function parseCase(block: string): { what: string; text: string; message: string } {
  const [what = '', ...lines] = block.split('\n');
  const isSentence = (line: string): boolean => line.startsWith('= ');
  const marked = lines
    .filter((line) => !isSentence(line))
    .map((line) =>
      line.replace(/^@(\w+) (.*)$/, (_, word: string, rest: string) => macros[word]?.(rest) ?? expect.fail(`no macro ${word}`)),
    )
    .join('\n');
  const positions = Array.from(marked.matchAll(/§/g), ({ index }) => {
    const before = marked.slice(0, index).replaceAll('§', '').split('\n');
    return `f.yaml:${before.length}:${(before.at(-1) ?? '').length + 1}: `;
  });
  const sentences = lines.filter(isSentence).map((line) => line.slice(2));
  expect(positions, `marks and sentences of "${what}"`).to.have.length(sentences.length);
  return {
    what,
    text: marked.replaceAll('§', ''),
    message: sentences.map((sentence, index) => `${positions[index] ?? ''}${sentence}`).join('\n'),
  };
}

describe('A wrong configuration file', () => {
  for (const { what, text, message } of `${badFiles}${badKinds}`
    .split(/^# /m)
    .slice(1)
    .map((block) => parseCase(block.trimEnd()))) {
    it(`is refused with the place and the reason: ${what}`, () => expect(messageOf(text)).to.equal(message));
  }

  const tooLarge = `f.yaml: the file is larger than ${limits.maxConfigFileBytes} bytes`;
  const tooDeep = 'objects and lists are nested more than 32 levels deep';
  const tooLong = (field: string, chars: string): string => `metric "m": ${field} is longer than ${chars} characters`;
  const long: readonly (readonly [what: string, text: string, message: string])[] = [
    ['nothing', '', 'f.yaml: the file is empty'],
    ['only comments', '# nothing\n---\n# more\n', 'f.yaml: the file is empty'],
    ['a tab as indentation', 'metrics:\n\t- a', 'f.yaml:2:1: invalid YAML: Tabs are not allowed as indentation'],
    ['a file too large', `# ${'x'.repeat(limits.maxConfigFileBytes)}`, tooLarge],
    ['a file too large in bytes, not in characters', `# ${'é'.repeat(limits.maxConfigFileBytes / 2)}`, tooLarge],
    ['flow lists nested for ever', '['.repeat(200_000), `f.yaml:1:33: ${tooDeep}`],
    ['block lists nested for ever', '- '.repeat(200_000), `f.yaml:1:64: ${tooDeep}`],
    ['maps nested for ever', Array.from({ length: 500 }, (_, depth) => `${' '.repeat(depth)}a:`).join('\n'), `f.yaml:32:33: ${tooDeep}`],
    ['too many aliases', `metrics: &m []\npoints: [${'*m,'.repeat(101)}]`, 'f.yaml:2:310: a file may use at most 100 aliases'],
    [
      'aliases that multiply',
      `a: &a [x,${'x,'.repeat(8)}]\nb: &b [${'*a,'.repeat(9)}]\nc: &c [${'*b,'.repeat(9)}]\nd: [${'*c,'.repeat(9)}]`,
      'f.yaml:1:1: aliases expand to more than 100 copies of one object',
    ],
    [
      'a key of 256 characters',
      `metrics: [{name: M, key: ${'k'.repeat(256)}}]`,
      `f.yaml:1:26: ${tooLong('key', '255').replace('"m"', `"${'k'.repeat(255)}"`)}`,
    ],
    [
      'a body of 5,001 characters',
      `templates: [{key: t, name: T, type: recap, locale: en, body: ${'🙂'.repeat(5_001)}}]`,
      'f.yaml:1:62: template "t": body is longer than 5,000 characters',
    ],
    ['a name of 1,001 characters', `metrics: [{key: m, name: ${'🙂'.repeat(1_001)}}]`, `f.yaml:1:26: ${tooLong('name', '1,000')}`],
    [
      '1,001 metrics',
      JSON.stringify({ metrics: Array.from({ length: 1_001 }, (_, n) => ({ key: `m${n}`, name: 'M' })) }),
      'f.yaml:1:12: 1001 metrics exceed the limit of 1000',
    ],
  ];
  for (const [what, text, message] of long) {
    it(`is refused with the place and the reason: ${what}`, () => expect(messageOf(text)).to.equal(message));
  }

  it('is refused as fast as it is read, when a map has very many fields, of which 20 are named', () => {
    const fields = Array.from({ length: 30_000 }, (_, no) => `k${no}: 1`).join('\n');
    const message = messageOf(`${fields}\n`);
    expect(message.split('\n')).to.have.length(20);
    expect(message).to.match(/unknown field "k19" \(allowed: [^)]*\) and 29980 more$/);
    expect(messageOf('metrics: []\n'.repeat(5_000)).split('\n')).to.have.length(20);
  });

  it('is refused by readConfigFile, for what it is by itself, under the name it is given', () => {
    const read = (): unknown => readConfigFile('metrics: 5\n', 'conf/my app.yaml');
    expect(read).to.throw(OperatorError, /^conf\/my app\.yaml:1:10: metrics must be a list, not the number 5$/);
  });
});

describe('A valid configuration file', () => {
  const filter = '[{attributeKey: city, attributeValue: x}]';
  const good: readonly (readonly [what: string, text: string])[] = [
    ['the example', example],
    ['an empty map', '{}'],
    ['lists with nothing in them', 'attributes:\nmetrics:\npoints: []\nleaderboards: ~\nsettings:\n'],
    ['Windows line ends and a byte order mark', '\ufeffmetrics:\r\n  - key: m\r\n    name: M\r\n'],
    [
      'an object written once and used twice',
      system(
        `boosts: [{key: a, name: A, start: 2026-01-01, multiplier: 2, userAttributes: &f ${filter}}, {key: b, name: B, start: 2026-01-01, multiplier: 2, userAttributes: *f}]`,
      ),
    ],
    [
      'keys that are names of JavaScript',
      'metrics: [{key: valueOf, name: M}, {key: constructor, name: M}]\nleaderboards: [{key: toString, name: L, rankBy: metric, metricKey: constructor}]',
    ],
    ['a key of 255 characters and a name of 1,000', `metrics: [{key: ${'k'.repeat(255)}, name: ${'🙂'.repeat(1_000)}}]`],
    [
      'empty values of optional fields',
      'metrics: [{key: m, name: M, units: }]\nleaderboards: [{key: l, name: L, rankBy: metric, metricKey: m, description: , maxParticipants: , end: , pointsSystemKey: null}]',
    ],
    [
      'fields of other kinds that say nothing',
      system(
        'triggers: [{key: t, type: streak, streakLength: 7, points: 1, blockIfOutOfPoints: false, eventAttributes: [], metricKey: null}]',
      ) +
        '\nachievements: [{key: c, name: C, trigger: api, eventAttributes: [], achievementKeys: }]\nleaderboards: [{key: l, name: L, rankBy: streak, runUnit: , breakdownAttributes: []}]',
    ],
    [
      'an achievement that needs inactive ones, and one that another needs as well',
      'achievements: [{key: a, name: A, trigger: api}, {key: b, name: B, trigger: achievement, achievementKeys: [a], status: active}, {key: c, name: C, trigger: achievement, achievementKeys: [a, b], status: active}]',
    ],
    ['templates with texts as long as they may be', `templates: [{key: t, name: T, type: recap, locale: en, body: ${'🙂'.repeat(5_000)}}]`],
    ['messages without quiet hours', 'messages: {quietFromHour: null, quietToHour: null, brandUrl: "http://localhost:3000", recap: []}'],
    ['streaks that are not enabled, without conditions', 'streaks: {enabled: false, frequency: monthly}'],
    ['as many days off as there may be', 'streaks: {daysOff: [6, 5, 4, 3, 2, 1]}'],
    ['as many freezes as there may be', 'streaks: {freezes: {initial: 100, earnInterval: 10000, earnAmount: 100}}'],
    [
      'windows over midnight, and of one second',
      'leaderboards: [{key: a, name: A, rankBy: streak, startTime: 22:00, endTime: "06:00"}, {key: b, name: B, rankBy: streak, startTime: 00:00, endTime: 00:00:01}]',
    ],
    [
      'a boost of one day with the least multiplier',
      system('boosts: [{key: b, name: B, start: 2024-02-29, end: "2024-02-29", multiplier: 0.000001}]'),
    ],
  ];
  for (const [what, text] of good) {
    it(`is accepted: ${what}`, () => expect(messageOf(text)).to.equal(''));
  }

  it('keeps days and words as texts, even where the file asks for YAML 1.1', () => {
    const board = '{key: l, name: off, rankBy: metric, metricKey: yes, start: 2026-01-02}';
    const file = readConfigFile(`%YAML 1.1\n---\nmetrics: [{key: yes, name: on}]\nleaderboards: [${board}]`, 'f.yaml');
    expect(file.metrics[0]?.value).to.deep.equal({ key: 'yes', name: 'on' });
    expect(file.leaderboards[0]?.value).to.include({ name: 'off', start: '2026-01-02' });
  });

  it('keeps fields absent that are not written, for planApply to give defaults', () => {
    const { metrics } = readConfigFile('metrics: [{key: m, name: M}]', 'f.yaml');
    expect(metrics).to.deep.equal([{ value: { key: 'm', name: 'M' }, path: ['metrics', 0] }]);
  });

  it('accepts exactly the multipliers with a few decimal places, which become integers over a power of ten', () => {
    const decimals = fc
      .tuple(fc.integer({ min: 0, max: 101_000_000 }), fc.integer({ min: 0, max: 9 }))
      .map(([n, scale]) => n / 10 ** scale);
    fc.assert(
      fc.property(fc.oneof(decimals, fc.double({ min: 0, max: 101, noNaN: true })), (multiplier) => {
        const boosts = [{ key: 'b', name: 'B', start: '2026-01-01', multiplier }];
        const message = messageOf(JSON.stringify({ points: [{ key: 'p', name: 'P', boosts }] }));
        const isFine = multiplier > 0 && multiplier < 100 && Number(multiplier.toFixed(limits.maxMultiplierDecimals)) === multiplier;
        // A multiplier of 1 can be scaled, and multiplies nothing.
        expect(message === '').to.equal(isFine && multiplier !== 1);
        const scaled = scaleMultiplier(multiplier);
        expect(scaled === null ? null : Number(`${scaled.mantissa}e-${scaled.scale}`)).to.equal(isFine ? multiplier : null);
      }),
      { numRuns: 500, examples: [[1], [0], [100]] },
    );
  });
});

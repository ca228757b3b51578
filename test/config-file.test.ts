import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import fc from 'fast-check';
import { planApply } from '../src/config/apply.js';
import { parseConfigFile, readConfigFile } from '../src/config/file.js';
import { emptyConfig } from '../src/config/model.js';
import { OperatorError } from '../src/errors.js';
import { limits } from '../src/limits.js';
import { scaleMultiplier } from '../src/plan/decimal.js';

const example = readFileSync(new URL('../examples/study-app.yaml', import.meta.url), 'utf8');

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

/** A file with a metric and an attribute of each type, and a points system. */
const system = (fields: string): string => `metrics: [{key: m, name: M}]
attributes: [{key: city, name: City, type: user}, {key: device, name: Device, type: event}]
points:
  - {key: p, name: P, ${fields}}`;

/** What a line `@word rest` of a case below stands for. */
const macros: Readonly<Record<string, (rest: string) => string>> = {
  metric: (rest) => `metrics: [{key: m, ${rest}}]`,
  system,
  level: (rest) => system(`levels: [{key: a, name: A, points: 5}, {key: b, name: B, ${rest}}]`),
  trigger: (rest) => system(`triggers: [{key: t, type: metric, ${rest}}]`),
  filter: (rest) => system(`triggers: [{key: t, type: metric, metricKey: m, metricThreshold: 1, points: 1, ${rest}}]`),
  boost: (rest) => system(`boosts: [{key: b, name: B, ${rest}}]`),
  board: (rest) => `metrics: [{key: m, name: M}]\nleaderboards: [{key: l, name: L, ${rest}}]`,
};

/**
 * Files that are wrong, by what is wrong with them. Each § is the place of a problem (twice where two are in one place), each line that
 * starts with `=` its sentence.
 */
const bad = String.raw`
# a list for a file
§- a
= the file must be a map of fields, not a list
# a text for a file
§hello
= the file must be a map of fields, not "hello"
# two documents
metrics: []
§---
metrics: []
= a second YAML document starts here: a configuration file is one document
# a bracket left open
metrics: §[
= this is not YAML: Flow sequence in block collection must be sufficiently indented and end with a ]
# a tag
metrics:
  - §!m {key: a, name: A}
= tags have no meaning here (Unresolved tag: !m)
# an alias of nothing
metrics: §*m
= there is no anchor &m before this alias
# an alias inside its own anchor
metrics: &m
  - §*m
= *m stands for an object that it is part of
# a field given twice, the last of which counts
metrics: []
§"metrics": [§5]
= the field metrics is given twice
= metric number 1 must be a map of fields, not the number 5
# an unknown field
@metric name: A, §unit: x
= metric "m": unknown field "unit" (it has key, name, unitType, units)
# an unknown field named __proto__
@metric name: A, §__proto__: {name: B}
= metric "m": unknown field "__proto__" (it has key, name, unitType, units)
# a merge key
metrics:
  - &a {key: a, name: A}
  - {§<<: *a, key: b, name: B}
= metric "b": unknown field "<<" (it has key, name, unitType, units)
# a list of a later stage
§streaks: []
= unknown field "streaks" (it has settings, attributes, metrics, points, leaderboards)
# a map for a list
metrics: §{}
points: §5
= metrics must be a list, not a map
= points must be a list, not the number 5
# no key and no name
metrics:
  - §§units: u
= metric number 1: key is missing
= metric number 1: name is missing
# an empty key
metrics: [{key: §"", name: A}]
= metric "": key may hold only letters, digits, - and _, and at least one of them, not ""
# a key with a space
metrics: [{key: §a b, name: A}]
= metric "a b": key may hold only letters, digits, - and _, and at least one of them, not "a b"
# a key with a line break at its end
metrics: [{key: §"a\n", name: A}]
= metric "a\n": key may hold only letters, digits, - and _, and at least one of them, not "a\n"
# a number for a key
metrics: [{key: §123, name: A}]
= metric number 1: key must be a text, not the number 123: put it in quotes
# a yes/no value for a name
@metric name: §true
= metric "m": name must be a text, not the yes/no value true: put it in quotes
# nothing for a name
metrics:
  - key: a
    §name:
    units: u
= metric "a": name must be a text, not empty
# spaces for a name
@metric name: §"  "
= metric "m": name must not be empty
# a NUL in a name
@metric name: §"x\0"
= metric "m": name holds a NUL character
# half a surrogate pair in a name
@metric name: §"\ud83dx"
= metric "m": name holds half of a surrogate pair, which is no character
# a word that is none of the choices
@metric name: A, unitType: §euro
= metric "m": unitType must be number or currency, not "euro"
# a key twice
metrics:
  - {key: a, name: A}
  - {key: b, name: B}
  - {key: §a, name: C}
= metric "a": the key is given twice, the first time on line 2
# an attribute twice, while the other type may share its key
attributes:
  - {key: a, name: A, type: user}
  - {key: a, name: A, type: event}
  - {key: §a, name: B, type: user}
= attribute "a": the key is given twice, the first time on line 2
# an attribute without a type
attributes: [§{key: a, name: A}]
= attribute "a": type is missing
# a number for the settings
settings: §5
= settings must be a map of fields, not the number 5
# a control ratio above 1
settings: {controlRatio: §1.5}
= settings: controlRatio must be a number from 0 to 1, not the number 1.5
# badges without a url, and with more
@system badge: §{§alt: y}
= points system "p": badge.url is missing
= points system "p": unknown field "alt" (in badge)
# maxPoints of 0
@system maxPoints: §0
= points system "p": maxPoints must be a whole number from 1 to 1,000,000,000,000,000, not the number 0
# a level at the points of another
@level points: §5
= level "b": level "a" starts at 5 points as well
# a level that can't be reached
@system maxPoints: 10, levels: [{key: a, name: A, points: 10}, {key: b, name: B, points: §11}]
= level "b": 11 points can't be reached, as maxPoints is 10
# a level of negative points
@level points: §-1
= level "b": points must be a whole number from 0 to 1,000,000,000,000,000, not the number -1
# a level key twice
@system levels: [{key: a, name: A, points: 1}, {key: §a, name: B, points: 2}]
= level "a": the key is given twice, the first time on line 4
# a trigger of no points
@trigger metricKey: m, metricThreshold: 1, points: §-0
= trigger "t": points must not be 0: a trigger awards points, or deducts them with a negative number
# half a point
@trigger metricKey: m, metricThreshold: 1, points: §0.5
= trigger "t": points must be a whole number from -1,000,000,000,000,000 to 1,000,000,000,000,000, not the number 0.5
# points beyond what a total may be
@trigger metricKey: m, metricThreshold: 1, points: §1000000000000001
= trigger "t": points must be a whole number from -1,000,000,000,000,000 to 1,000,000,000,000,000, not the number 1000000000000001
# infinite points
@trigger metricKey: m, metricThreshold: 1, points: §-.inf
= trigger "t": points must be a whole number from -1,000,000,000,000,000 to 1,000,000,000,000,000, not the number -Infinity
# points in quotes
@trigger metricKey: m, metricThreshold: 1, points: §"5"
= trigger "t": points must be a whole number from -1,000,000,000,000,000 to 1,000,000,000,000,000, not "5"
# a threshold of 0
@trigger metricKey: m, metricThreshold: §0, points: 1
= trigger "t": metricThreshold must be a whole number from 1 to 1,000,000,000,000,000, not the number 0
# a metric that does not exist
@trigger metricKey: §n, metricThreshold: 1, points: 1
= trigger "t": there is no metric "n"
# an attribute that does not exist
@filter userAttributes: [{attributeKey: §a, attributeValue: x}]
= trigger "t": there is no user attribute "a"
# a user attribute as a filter of events
@filter eventAttributes: [{attributeKey: §city, attributeValue: x}]
= trigger "t": there is no event attribute "city", only the user attribute of that key
# an event attribute as a filter of users
@filter userAttributes: [{attributeKey: §device, attributeValue: x}]
= trigger "t": there is no user attribute "device", only the event attribute of that key
# two filters on one attribute
@filter userAttributes: [{attributeKey: city, attributeValue: x}, {attributeKey: §city, attributeValue: y}]
= trigger "t": user attribute "city" is filtered twice, and all filters must match
# a filter without a value, and one with a number
@filter userAttributes: [§{attributeKey: city}], eventAttributes: [{attributeKey: device, attributeValue: §1}]
= trigger "t": userAttributes.attributeValue is missing
= trigger "t": eventAttributes.attributeValue must be a text, not the number 1: put it in quotes
# a multiplier of 0
@boost start: 2026-01-01, multiplier: §0
= boost "b": multiplier must be a number above 0 and below 100 with at most 6 decimal places, not the number 0
# a multiplier with seven decimals
@boost start: 2026-01-01, multiplier: §1.0000001
= boost "b": multiplier must be a number above 0 and below 100 with at most 6 decimal places, not the number 1.0000001
# a day that does not exist
@boost start: §2026-02-29, multiplier: 2
= boost "b": start must be a day of the calendar written YYYY-MM-DD, not "2026-02-29"
# a day with a time
@boost start: §2026-02-01T00:00:00Z, multiplier: 2
= boost "b": start must be a day of the calendar written YYYY-MM-DD, not "2026-02-01T00:00:00Z"
# a day of the year 0
@boost start: §0000-01-01, multiplier: 2
= boost "b": start must be a day of the calendar written YYYY-MM-DD, not "0000-01-01"
# a day without dashes
@boost start: §20260201, multiplier: 2
= boost "b": start must be a day written YYYY-MM-DD, not the number 20260201
# a boost that ends before it starts
@boost start: 2026-02-02, end: §2026-02-01, multiplier: 2
= boost "b": the end 2026-02-01 is before the start 2026-02-02
# a user id with a control character
@boost start: 2026-01-01, multiplier: 2, userId: §"a\tb"
= boost "b": userId holds a control character
# a boost for a user and for attributes
@boost start: 2026-01-01, multiplier: 2, userId: u, userAttributes: §[{attributeKey: city, attributeValue: x}]
= boost "b": it is for one user (userId), so userAttributes have nothing to choose
# a board that ranks by nothing
leaderboards: [§{key: l, name: L}]
= leaderboard "l": rankBy is missing
# a board by something that does not exist yet
@board rankBy: §streak
= leaderboard "l": rankBy must be metric or points, not "streak"
# a board by a metric with a points system instead
leaderboards: [§{key: l, name: L, rankBy: metric, pointsSystemKey: §p}]
= leaderboard "l": metricKey is missing, which rankBy: metric needs
= leaderboard "l": pointsSystemKey does not go with rankBy: metric
# a board by points with a metric as well
@board rankBy: points, pointsSystemKey: §p, metricKey: §m
= leaderboard "l": there is no points system "p"
= leaderboard "l": metricKey does not go with rankBy: points
# 1,001 participants
@board rankBy: metric, metricKey: m, maxParticipants: §1001
= leaderboard "l": maxParticipants must be a whole number from 1 to 1,000, not the number 1001
# a board that ends before it starts
@board rankBy: metric, metricKey: m, start: 2026-01-02, end: §2026-01-01
= leaderboard "l": the end 2026-01-01 is before the start 2026-01-02
# a board that ends before today, when it starts
@board rankBy: metric, metricKey: m, end: §2026-11-19
= leaderboard "l": the end 2026-11-19 is before the start 2026-11-20
# a status that only time gives
@board rankBy: metric, metricKey: m, status: §scheduled
= leaderboard "l": status must be inactive or active, not "scheduled"
# everything at once, in the order of the file
metrics:
  - {key: m, name: §5}
  - {key: §m, name: M}
points:
  - §key: §p p
    maxPoints: 10
    levels:
      - {key: a, points: 10, name: A, §color: red}
      - §{key: b, points: §10}
      - {key: c, points: §11, name: C}
    triggers:
      - {key: t, type: metric, metricKey: m, metricThreshold: §0, points: 1}
      - {key: u, type: §streak, metricKey: §n, metricThreshold: 1, points: 1}
    boosts: §7
leaderboards:
  - §{key: l, rankBy: points, pointsSystemKey: §q, start: §2026-13-01, end: 2026-01-01}
§unknown: {}
= metric "m": name must be a text, not the number 5: put it in quotes
= metric "m": the key is given twice, the first time on line 2
= points system "p p": name is missing
= points system "p p": key may hold only letters, digits, - and _, and at least one of them, not "p p"
= level "a": unknown field "color" (it has key, name, points, description, badge)
= level "b": name is missing
= level "b": level "a" starts at 10 points as well
= level "c": 11 points can't be reached, as maxPoints is 10
= trigger "t": metricThreshold must be a whole number from 1 to 1,000,000,000,000,000, not the number 0
= trigger "u": type must be metric, not "streak"
= trigger "u": there is no metric "n"
= points system "p p": boosts must be a list, not the number 7
= leaderboard "l": name is missing
= leaderboard "l": there is no points system "q"
= leaderboard "l": start must be a day of the calendar written YYYY-MM-DD, not "2026-13-01"
= unknown field "unknown" (it has settings, attributes, metrics, points, leaderboards)`;

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

describe('A configuration file that is wrong is refused, with the place and the reason:', () => {
  for (const { what, text, message } of bad
    .split(/^# /m)
    .slice(1)
    .map((block) => parseCase(block.trimEnd()))) {
    it(what, () => expect(messageOf(text)).to.equal(message));
  }

  const tooLarge = `f.yaml: the file is larger than ${limits.maxConfigFileBytes} bytes`;
  const tooDeep = 'objects and lists are nested more than 32 deep';
  const tooLong = (field: string, chars: string): string => `metric "m": ${field} is longer than ${chars} characters`;
  const long: readonly (readonly [what: string, text: string, message: string])[] = [
    ['nothing', '', 'f.yaml: the file is empty'],
    ['only comments', '# nothing\n---\n# more\n', 'f.yaml: the file is empty'],
    ['a tab as indentation', 'metrics:\n\t- a', 'f.yaml:2:1: this is not YAML: Tabs are not allowed as indentation'],
    ['a file too large', `# ${'x'.repeat(limits.maxConfigFileBytes)}`, tooLarge],
    ['a file too large in bytes, not in characters', `# ${'é'.repeat(limits.maxConfigFileBytes / 2)}`, tooLarge],
    ['flow lists nested for ever', '['.repeat(200_000), `f.yaml:1:33: ${tooDeep}`],
    ['block lists nested for ever', '- '.repeat(200_000), `f.yaml:1:64: ${tooDeep}`],
    ['maps nested for ever', Array.from({ length: 500 }, (_, depth) => `${' '.repeat(depth)}a:`).join('\n'), `f.yaml:32:33: ${tooDeep}`],
    ['too many aliases', `metrics: &m []\npoints: [${'*m,'.repeat(101)}]`, 'f.yaml:2:310: a file may use at most 100 aliases'],
    [
      'aliases that multiply',
      `a: &a [x,${'x,'.repeat(8)}]\nb: &b [${'*a,'.repeat(9)}]\nc: &c [${'*b,'.repeat(9)}]\nd: [${'*c,'.repeat(9)}]`,
      'f.yaml:1:1: aliases stand for more than 100 copies of one object',
    ],
    [
      'a key of 256 characters',
      `metrics: [{name: M, key: ${'k'.repeat(256)}}]`,
      `f.yaml:1:26: ${tooLong('key', '255').replace('"m"', `"${'k'.repeat(255)}"`)}`,
    ],
    ['a name of 1,001 characters', `metrics: [{key: m, name: ${'🙂'.repeat(1_001)}}]`, `f.yaml:1:26: ${tooLong('name', '1,000')}`],
    [
      '1,001 metrics',
      JSON.stringify({ metrics: Array.from({ length: 1_001 }, (_, n) => ({ key: `m${n}`, name: 'M' })) }),
      'f.yaml:1:12: there would be 1001 metrics: 1000 is the most',
    ],
  ];
  for (const [what, text, message] of long) {
    it(what, () => expect(messageOf(text)).to.equal(message));
  }

  it('by readConfigFile, for what it is by itself, under the name it is given', () => {
    const read = (): unknown => readConfigFile('metrics: 5\n', 'conf/my app.yaml');
    expect(read).to.throw(OperatorError, /^conf\/my app\.yaml:1:10: metrics must be a list, not the number 5$/);
  });
});

describe('A configuration file that is right is taken:', () => {
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
      'metrics: [{key: __proto__, name: M}, {key: constructor, name: M}]\nleaderboards: [{key: toString, name: L, rankBy: metric, metricKey: __proto__}]',
    ],
    ['a key of 255 characters and a name of 1,000', `metrics: [{key: ${'k'.repeat(255)}, name: ${'🙂'.repeat(1_000)}}]`],
    [
      'empty values of optional fields',
      'metrics: [{key: m, name: M, units: }]\nleaderboards: [{key: l, name: L, rankBy: metric, metricKey: m, description: , maxParticipants: , end: , pointsSystemKey: null}]',
    ],
    [
      'a boost of one day with the least multiplier',
      system('boosts: [{key: b, name: B, start: 2024-02-29, end: "2024-02-29", multiplier: 0.000001}]'),
    ],
  ];
  for (const [what, text] of good) {
    it(what, () => expect(messageOf(text)).to.equal(''));
  }

  it('days and words stay texts, even where the file asks for YAML 1.1', () => {
    const board = '{key: l, name: off, rankBy: metric, metricKey: yes, start: 2026-01-02}';
    const file = readConfigFile(`%YAML 1.1\n---\nmetrics: [{key: yes, name: on}]\nleaderboards: [${board}]`, 'f.yaml');
    expect(file.metrics[0]?.value).to.deep.equal({ key: 'yes', name: 'on' });
    expect(file.leaderboards[0]?.value).to.include({ name: 'off', start: '2026-01-02' });
  });

  it('fields that are not written stay absent, for planApply to give defaults', () => {
    const { metrics } = readConfigFile('metrics: [{key: m, name: M}]', 'f.yaml');
    expect(metrics).to.deep.equal([{ value: { key: 'm', name: 'M' }, path: ['metrics', 0] }]);
  });

  it('exactly the multipliers that the compiler can scale', () => {
    const decimals = fc
      .tuple(fc.integer({ min: 0, max: 101_000_000 }), fc.integer({ min: 0, max: 9 }))
      .map(([n, scale]) => n / 10 ** scale);
    fc.assert(
      fc.property(fc.oneof(decimals, fc.double({ min: 0, max: 101, noNaN: true })), (multiplier) => {
        const boosts = [{ key: 'b', name: 'B', start: '2026-01-01', multiplier }];
        const message = messageOf(JSON.stringify({ points: [{ key: 'p', name: 'P', boosts }] }));
        expect(message === '').to.equal(scaleMultiplier(multiplier) !== null);
      }),
      { numRuns: 500 },
    );
  });
});

import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { planApply } from '../../src/config/change/apply.js';
import { describeChanges } from '../../src/config/change/changes.js';
import { parseConfigFile, readConfigFile } from '../../src/config/file/file.js';
import { emptyConfig } from '../../src/config/schema/model.js';
import { configFileSchema, freezesSchema, kinds, singles } from '../../src/config/schema/kinds.js';

const read = (path: string): string => readFileSync(new URL(path, import.meta.url), 'utf8');
const docs = read('../../docs/configuration.md');
const example = read('../../examples/study-app.yaml');

let ids = 0;
const options = { now: '2026-11-20T12:00:00.000Z', prune: false, newId: () => `id-${(ids += 1)}` };

/** The first code blocks after a heading, whole. */
function blocksAfter(heading: string): string[] {
  const section = docs.slice(docs.indexOf(`${heading}\n`));
  return Array.from(section.matchAll(/^```\w*\n(.*?)^```$/gms), ([, block = '']) => block);
}

describe('docs/configuration.md', () => {
  const sections = {
    ...Object.fromEntries(Object.values(kinds).map(({ file, schema }) => [file, schema])),
    settings: singles.settings.schema,
    streaks: singles.streaks.schema,
    messages: singles.messages.schema,
    freezes: freezesSchema,
  };
  for (const [name, schema] of Object.entries(sections)) {
    it(`has every field of ${name}, and no other, in its table`, () => {
      const section = docs.split(/^##/m).find((each) => each.replace(/^#? /, '').startsWith(`\`${name}\`\n`)) ?? '';
      expect(Array.from(section.matchAll(/^\| `(\w+)` +\|/gm), ([, field]) => field)).to.deep.equal(Object.keys(schema.shape));
    });
  }

  it('has every list of a file', () => {
    expect(Object.keys(configFileSchema.shape).filter((list) => !docs.includes(`\n## \`${list}\`\n`))).to.deep.equal([]);
  });

  it('starts with a file that is fine', () => {
    const [file = ''] = blocksAfter('# Configuration');
    expect(planApply(emptyConfig, readConfigFile(file, 'f.yaml'), options).changes).to.have.length(8);
  });

  it('shows mistakes as they are reported', () => {
    const [file = '', answer = ''] = blocksAfter('## When something is wrong');
    const applyIt = (): unknown => planApply(emptyConfig, parseConfigFile(file, 'study-app.yaml'), options);
    expect(applyIt).to.throw().with.property('message', answer.trimEnd());
  });

  it('shows changes as they are described', () => {
    const [shown = ''] = blocksAfter('## What applying does');
    const { document } = planApply(emptyConfig, readConfigFile(example, 'f.yaml'), options);
    const edited = example
      .replace('points: 2000', 'points: 2500')
      .replace('# maxPoints: 100000', 'maxPoints: 100000')
      .replace(/^ {6}- key: master$.*?(?=^ *$)/ms, '')
      .replace(/^ {2}- key: all-time$.*?(?=^ {2}- key)/ms, '');
    const { changes, kept } = planApply(document, readConfigFile(edited, 'f.yaml'), options);
    const lines = [...describeChanges(changes), ...kept.map((name) => `not in the file, kept: ${name}`)];
    expect(shown.split('\n').slice(1, -2)).to.deep.equal(lines.map((line) => `  ${line}`));
  });
});

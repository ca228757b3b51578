import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { expect } from 'chai';
import { parse } from 'yaml';
import { fileContents } from '../../src/config/file/export.js';
import { configFileJsonSchema } from '../../src/config/schema/json-schema.js';
import { kinds } from '../../src/config/schema/kinds.js';
import { emptyConfig } from '../../src/config/schema/model.js';
import { after } from '../support/config.js';
import { richConfig } from '../support/rich-config.js';

describe('The JSON Schema of a configuration file', () => {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  formats.default(ajv);
  const validate = ajv.compile(configFileJsonSchema());
  const problems = (file: unknown): string[] =>
    validate(file) ? [] : (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message ?? ''}`);

  it('accepts the example, and every exported configuration', () => {
    const example = readFileSync(new URL('../../examples/study-app.yaml', import.meta.url), 'utf8');
    expect(problems(parse(example))).to.deep.equal([]);
    for (const document of [emptyConfig, after(example), after(JSON.stringify(richConfig))]) {
      expect(problems(fileContents(document))).to.deep.equal([]);
    }
  });

  const metric = (fields: object): object => ({ metrics: [{ key: 'm', name: 'M', ...fields }] });
  const trigger = (fields: object): object => ({
    points: [{ key: 'p', name: 'P', triggers: [{ key: 't', type: 'metric', points: 1, metricKey: 'm', metricThreshold: 1, ...fields }] }],
  });
  for (const [what, file, problem] of [
    ['an unknown field', metric({ unit: 'cards' }), '/metrics/0 must NOT have additional properties'],
    ['an unknown part', { metric: [] }, ' must NOT have additional properties'],
    ['a missing field', { metrics: [{ key: 'm' }] }, "/metrics/0 must have required property 'name'"],
    ['a field that the variant needs', trigger({ metricKey: undefined }), "/points/0/triggers/0 must have required property 'metricKey'"],
    ['a word that is not one of a field', metric({ unitType: 'money' }), '/metrics/0/unitType must be equal to one of the allowed values'],
    ['a number that is too small', trigger({ metricThreshold: 0 }), '/points/0/triggers/0/metricThreshold must be >= 1'],
    ['a key with other characters', metric({ key: 'a b' }), '/metrics/0/key must match pattern "^[a-zA-Z0-9_-]+$"'],
    ['a text that is too long', metric({ name: 'x'.repeat(1001) }), '/metrics/0/name must NOT have more than 1000 characters'],
  ] as const) {
    it(`refuses ${what}`, () => {
      expect(problems(JSON.parse(JSON.stringify(file)))).to.include(problem);
    });
  }

  it('names what every key refers to, and the fields of every variant', () => {
    const { $defs } = configFileJsonSchema() as { $defs: Record<string, Record<string, unknown>> };
    for (const kind of Object.values(kinds)) {
      const own = $defs[kind.name.replaceAll(' ', '-')] ?? {};
      const text = JSON.stringify(own);
      for (const { refers } of kind.fields) if (refers) expect(text).to.include(`"x-refers-to":"${refers.to}"`);
      expect('x-variants' in own, kind.name).to.equal(kind.by !== undefined);
    }
  });
});

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
});

import { expect } from 'chai';
import { fileNameOf, fileParts, kinds, singles } from '../../src/config/schema/kinds.js';
import type { Field } from '../../src/config/schema/kind.js';
import { innerParts, parts } from '../../src/dashboard/page/editor/forms/parts.js';

/** The fields of the file that forms show, by part or list. */
const fieldsOf: Readonly<Record<string, { readonly fields: readonly Field[] }>> = { ...kinds, ...singles };
const lists = [
  ...fileParts.map((part) => [fileNameOf(part), fieldsOf[part], parts] as const),
  ...Object.values(kinds).flatMap(({ inside }) => inside.map((list) => [fileNameOf(list), kinds[list], innerParts] as const)),
];

describe('The forms of the configuration', () => {
  for (const [name, declared, texts] of lists) {
    it(`have words for each field of ${name}`, () => {
      expect(Object.keys(texts[name]?.fields ?? {})).to.include.members(declared?.fields.map(({ file }) => file) ?? ['?']);
    });
  }
});

import { expect } from 'chai';
import { parseLarge } from '../../src/api/large-json.js';
import { LaurelError } from '../../src/shared/errors.js';
import { JsonText } from '../../src/shared/json.js';
import { limits } from '../../src/shared/limits.js';

/** What a text becomes: its values, or the error. */
async function outcomeOf(text: string, deferred?: string): Promise<unknown> {
  try {
    return await parseLarge(text, deferred);
  } catch (error) {
    if (error instanceof LaurelError) return error.message;
    if (error instanceof SyntaxError) return 'not JSON';
    throw error;
  }
}

const pad = 'x'.repeat(limits.parsedAtOnceChars);
const odd = { text: `a "quoted" \\ ,:[]{} ${pad}`, 'a"key\\': [[], {}, [{ a: null }], -1.5e3, true, 'é😀\u2028'] };
const small = Array.from({ length: 200 }, (_, no) => ({ no, pad: pad.slice(-1_000) }));
const largeItem = `The body has an item of more than ${limits.maxBodyBytes} characters: make it smaller.`;
const largeFields = `The body has fields of more than ${limits.maxBodyBytes} characters: make them smaller.`;
const tooMany = 'The body has more than 200,000 values, where a field counts as two: split it into smaller requests.';

describe('A large JSON body', () => {
  for (const [what, value] of Object.entries({
    odd,
    oddList: [odd, 1, odd],
    small,
    fields: Object.fromEntries(small.slice(0, 100).entries()),
    none: [],
    empty: {},
    text: pad,
  })) {
    it(`is read as any parser reads it: ${what}`, async () => {
      for (const space of [undefined, 2]) {
        const text = ` ${JSON.stringify(value, null, space)}\n`;
        expect(await outcomeOf(text)).to.deep.equal(JSON.parse(text));
      }
    });
  }

  it('is refused where any parser refuses it', async () => {
    const item = `"${pad}"`;
    const broken = [
      ...[
        '',
        '[',
        '{',
        '[}',
        '{]',
        `[${item},]`,
        `[${item},,${item}]`,
        `[,${item}]`,
        `[${item}`,
        `[${item}]]`,
        `[${item}]1`,
        `[${item},[}]]`,
      ],
      ...[`{"a":${item},}`, `{"a":${item},${item}}`, `{"a":${item}]`, `{,"a":${item}}`, `{"a":${item}}{}`, `{a:${item}}`],
      ...[`["${pad}]`, `[${item},"\\"]`, `[${item} ${item}]`, `[${item}:${item}]`, `[${item},01]`, `{"__proto__":${item}}`],
    ];
    for (const text of broken) expect(await outcomeOf(text), text.slice(0, 20)).to.equal('not JSON');
  });

  it('is refused with more values than a legal one has', async () => {
    const listOf = (count: number): string => `[${'1,'.repeat(count - 1)}1]`;
    expect(await outcomeOf(listOf(limits.maxBodyValues))).to.have.length(limits.maxBodyValues);
    expect(await outcomeOf(listOf(limits.maxBodyValues + 2))).to.equal(tooMany);
    expect(await outcomeOf(`{"a":[${'{},'.repeat(limits.maxBodyValues / 2)}1]}`)).to.equal(tooMany);
  });

  it('is refused with an item, or fields, larger than any other body', async () => {
    const large = '1,'.repeat(limits.maxBodyBytes / 2);
    expect(await outcomeOf(`[[${large}1]]`)).to.equal(largeItem);
    expect(await outcomeOf(`{"a":1,"b":[${large}1]}`)).to.equal(largeFields);
    expect(await outcomeOf(`{"b":{"c":[${large}1]}}`, 'file')).to.equal(largeFields);
    const fields = Array.from({ length: 20_000 }, (_, no) => `"k${no}":1`).join();
    expect(await outcomeOf(`{"file":"a",${fields}}`, 'file')).to.equal(largeFields);
    expect(await outcomeOf(`{"file":"${pad}","a":1}`, 'file')).to.deep.equal({ file: pad, a: 1 });
  });

  it('leaves a large object of a field to a thread', async () => {
    const file = { a: { b: pad } };
    const read = await parseLarge(JSON.stringify({ prune: true, file, version: 1 }), 'file');
    expect(read).to.deep.equal({ prune: true, file: new JsonText(JSON.stringify(file)), version: 1 });
    expect(await outcomeOf(JSON.stringify({ file: { a: 1 }, pad }), 'file')).to.deep.equal({ file: { a: 1 }, pad });
    expect(await outcomeOf(JSON.stringify({ file: pad }), 'file')).to.deep.equal({ file: pad });
  });
});

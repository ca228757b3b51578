import { expect } from 'chai';
import { packMessage, unpackMessage } from '../src/redis/message.js';
import { BytesWriter } from '../src/restore/bytes-writer.js';

const id = '01234567-89ab-4cde-8f01-23456789abcd';
const names = ['trigger', 'ordinal', 'awarded', 'total', 'at', 'day'];

describe('The bytes that a restore writes', () => {
  const cases: [name: string, numbers: number[], boosts: number[]][] = [
    ['small numbers', [1, 0, 10, 110, 127, 9], []],
    ['numbers of two and four bytes', [128, 255, 256, 65_536, 4_294_967_295, 14_610], [3, 300]],
    ['the largest numbers', [1, 0, 1e15, 1e15, 2_209_032_000_123, 25_567], []],
    ['numbers below 0', [1, 0, -5, -4_294_967_296, -1e15, -25_567], []],
    ['many boosts', [1, 0, 5, 5, 5, 5], Array.from({ length: 1_000 }, (_, i) => i * 1_000)],
  ];
  for (const [name, numbers, boosts] of cases) {
    it(`tell of an award as packMessage does: ${name}`, () => {
      const award = { ...Object.fromEntries(names.map((field, i) => [field, numbers[i]])), boosts };
      const writer = new BytesWriter();
      const lengths = writer.addAwards([id, ...numbers, ...boosts].join(' '));
      expect(lengths).to.deep.equal([writer.done().length]);
      expect(unpackMessage(writer.done()))
        .to.deep.equal({ id, award })
        .and.to.deep.equal(unpackMessage(packMessage({ id, award })));
    });
  }

  it('stand one after the other, however many', () => {
    const writer = new BytesWriter();
    const before = writer.add(Buffer.from([1, 2, 3]));
    const line = [id, 1, 0, 5, 5, 2_209_032_000_123, 25_567].join(' ');
    const lengths = writer.addAwards(Array<string>(5_000).fill(line).join());
    expect([before, lengths.length, writer.addAwards('').length]).to.deep.equal([3, 5_000, 0]);
    const all = writer.done();
    expect(all.length).to.equal(before + lengths.reduce((sum, length) => sum + length, 0));
    expect(all.subarray(-lengths[0]!)).to.deep.equal(all.subarray(3, 3 + lengths[0]!));
  });
});

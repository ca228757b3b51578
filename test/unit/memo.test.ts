import { expect } from 'chai';
import { Memo } from '../../src/shared/memo.js';

describe('A memo', () => {
  it('makes a value once, and starts anew when it is full', () => {
    const made: number[] = [];
    const memo = new Memo<number, string>(2);
    const get = (key: number): string =>
      memo.get(key, () => {
        made.push(key);
        return `value ${key}`;
      });
    expect([1, 2, 1, 2, 3, 3, 1].map(get)).to.deep.equal([1, 2, 1, 2, 3, 3, 1].map((key) => `value ${key}`));
    expect(made).to.deep.equal([1, 2, 3, 1]);
  });
});

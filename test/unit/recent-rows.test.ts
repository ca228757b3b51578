import { expect } from 'chai';
import { recentRows } from '../../src/history/recent-rows.js';

describe('Rows in memory', () => {
  it('are those of the lists that were used last, and no more than the limit', () => {
    const recent = recentRows(10);
    recent.set('a', [1, 2]);
    recent.set('b', [1, 2]);
    recent.set('c', [1, 2]);
    expect(recent.get('a')).to.deep.equal([1, 2]);
    recent.set('d', []);
    // 3 + 3 + 3 + 1 rows are the limit; `b` was used longest ago.
    recent.set('e', []);
    expect(['a', 'b', 'c', 'd', 'e'].filter((key) => recent.get(key))).to.deep.equal(['a', 'c', 'd', 'e']);
  });

  it('count once when a list is replaced', () => {
    const recent = recentRows(4);
    for (let i = 0; i < 5; i += 1) recent.set('a', [i]);
    recent.set('b', [1]);
    expect([recent.get('a'), recent.get('b')]).to.deep.equal([[4], [1]]);
  });

  it('do not stay where a list alone is longer than the limit', () => {
    const recent = recentRows(2);
    recent.set('a', [1, 2, 3]);
    expect(recent.get('a')).to.equal(undefined);
  });
});

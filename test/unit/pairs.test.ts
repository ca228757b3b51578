import { expect } from 'chai';
import { inTurn, pairReport } from '../../benchmarks/pairs.js';

describe('paired benchmarks', () => {
  it('measure the sides in turn, each of them first in every other round', async () => {
    const order: string[] = [];
    const results = await inTurn(['a', 'b'], 3, (side, round) => {
      order.push(side);
      return Promise.resolve(`${side}${round}`);
    });
    expect(order.join('')).to.equal('abbaab');
    expect(results).to.deep.equal([
      ['a0', 'a1', 'a2'],
      ['b0', 'b1', 'b2'],
    ]);
  });

  const measures = [{ title: 'µs', decimals: 1, of: (us: number) => us }];
  const figures = (report: string): string[] => (report.split('\n').at(-1) ?? '').split(/ {2,}/);

  it('show median and range of both sides, the ratio of the medians, and the median of the ratios of pairs', () => {
    // In the last round something else has had the machine.
    const report = pairReport(
      [
        [12, 10, 40],
        [8, 10, 50],
      ],
      measures,
    );
    expect(figures(report)).to.deep.equal(['µs', '12.0 (10.0 to 40.0)', '10.0 (8.0 to 50.0)', '1.200', '1.000']);
  });

  it('show one side by itself without a ratio', () => {
    expect(figures(pairReport([[3, 1, 2]], measures))).to.deep.equal(['µs', '2.0 (1.0 to 3.0)']);
  });
});

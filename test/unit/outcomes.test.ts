import { expect } from 'chai';
import { outcomes } from '../../src/redis/contract.js';

describe('The outcomes of the function library', () => {
  it('have a number each', () => {
    const numbers = Object.values(outcomes);
    expect(new Set(numbers).size).to.equal(numbers.length);
  });
});

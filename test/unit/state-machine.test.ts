import { expect } from 'chai';
import { StateMachine } from '../../src/shared/state-machine.js';

describe('A state machine', () => {
  const create = () => new StateMachine<'open' | 'closing' | 'closed'>({ open: ['closing'], closing: ['closed'], closed: [] }, 'open');

  it('moves only to modes that may follow, and may stay', () => {
    const state = create();
    state.setMode('open');
    state.setMode('closing');
    expect(() => state.setMode('open')).to.throw('cannot change from closing to open');
    expect(state.mode).to.equal('closing');
  });

  it('throws when a method requires another mode', () => {
    const state = create();
    state.require('open', 'closing');
    expect(() => state.require('closing', 'closed')).to.throw('requires closing or closed, not open');
  });
});

import { readdirSync } from 'node:fs';
import { expect } from 'chai';
import { faults, unseenModules } from '../long/faults/table.js';
import { plant } from '../long/faults/trial.js';

/** Whether a test catches them is for `npm run faults`; a change of a module shows here that its faults have to be adapted. */
describe('The deliberate faults in the function library', () => {
  for (const fault of faults) {
    it(`replace a text that ${fault.module} has once: ${fault.name}`, () => {
      plant(fault);
    });
  }

  it('exist for every module', () => {
    const modules = readdirSync(new URL('../../lua/modules', import.meta.url)).map((file) => file.replace(/\.lua$/, ''));
    expect([...new Set([...faults.map(({ module }) => module), ...unseenModules])].sort()).to.deep.equal(modules.sort());
  });
});

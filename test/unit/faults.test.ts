import { plant } from '../long/faults/trial.js';
import { faults } from '../long/faults/table.js';

describe('Each deliberate fault (npm run faults)', () => {
  for (const fault of faults) it(`can be planted: ${fault.name}`, () => void plant(fault));
});

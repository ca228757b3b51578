import { startArena, type Arena } from '../support/engine-subject.js';
import { playOnModel } from '../support/model-histories.js';

/** The long run is test/long/model.test.ts. */
const histories = 12;
const maxSteps = 60;
const seed = 20_400_102;

describe('The engine, on a few random histories', () => {
  let arena: Arena;
  before(async () => {
    arena = await startArena();
  });
  after(() => arena.stop());

  it(`responds as the model does (${histories} histories from seed ${seed})`, () => playOnModel(arena, { histories, maxSteps, seed }));
});

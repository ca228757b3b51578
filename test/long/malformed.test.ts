import { expect } from 'chai';
import { kindNames } from './malformed/requests.js';
import { sendMalformed } from './malformed/run.js';
import { configText } from '../support/answers.js';
import { progress } from '../support/progress.js';
import { runSeed } from '../support/random.js';
import { everything } from '../support/valid-input.js';
import { startWorld, type World } from '../support/world.js';

/** The long form is `npm run malformed`. */
const requests = 6_000;
const seed = runSeed();

describe(`${requests} malformed requests (SEED=${seed})`, function () {
  this.timeout(600_000);
  let world: World;
  before(async () => {
    world = await startWorld({ config: configText(everything) });
  });
  after(() => world.stop());

  it('get responses other than 5xx, and change nothing', async () => {
    const print = progress(`Malformed requests (SEED=${seed})`, requests);
    const report = await sendMalformed(world, requests, seed, (so) => print(so.requests));
    expect(report.faults).to.deep.equal([]);
    for (const kind of kindNames) expect(report.sent[kind], kind).to.be.greaterThan(0);
    expect(Object.values(report.compared).filter((rounds) => rounds > 0).length).to.be.greaterThan(kindNames.length / 2);
  });
});

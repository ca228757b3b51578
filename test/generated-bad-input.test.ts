import { expect } from 'chai';
import { configText } from './support/answers.js';
import { badInputs } from './support/bad-values.js';
import { operationsOf, type OpenApi } from './support/openapi.js';
import { apis } from './support/reference.js';
import { runBad } from './support/refused.js';
import { callValid, everything, harmless, type Known, validInput } from './support/valid-input.js';
import { startWorld, type World } from './support/world.js';
import { referenceOf } from '../src/http/reference.js';

describe('Bad input made from the reference, for every operation, is refused with a sentence and changes nothing:', () => {
  let world: World;
  const known: Known = {};
  before(async function () {
    this.timeout(60_000);
    world = await startWorld({ config: configText(everything) });
    // What the table of valid input needs: there is something that could be changed, and only one thing is wrong with each bad input.
    const described = apis.flatMap(([api, [base = ''], routes]) =>
      operationsOf(referenceOf(api, routes) as unknown as OpenApi).map((operation) => [base, operation] as const),
    );
    for (const id of harmless) {
      const found = described.find(([, operation]) => operation.id === id);
      if (found) await callValid(world, ...found, known);
    }
    await world.drain();
  });
  after(() => world.stop());

  for (const [api, [base = ''], routes] of apis) {
    const document = referenceOf(api, routes);
    for (const operation of operationsOf(document as unknown as OpenApi)) {
      const count = badInputs(document, operation, {}).length;
      it(`${operation.id}, about ${count} ways`, async function () {
        this.timeout(60_000);
        const inputs = badInputs(document, operation, validInput[operation.id]?.input(known) ?? {});
        const untouched = await world.snapshot();
        expect(
          await runBad(
            world,
            base,
            operation,
            inputs.filter(({ partly }) => partly !== true),
          ),
        ).to.deep.equal([]);
        expect(await world.snapshot()).to.equal(untouched);
        expect(
          await runBad(
            world,
            base,
            operation,
            inputs.filter(({ partly }) => partly === true),
          ),
        ).to.deep.equal([]);
      });
    }
  }
});

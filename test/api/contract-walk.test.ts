import { expect } from 'chai';
import { configText } from '../support/answers.js';
import { badInputs, type BadInput } from '../support/bad-values.js';
import { Contract, contractApis } from '../support/contract.js';
import { operationsOf, type Described } from '../support/openapi.js';
import { apis } from '../support/reference.js';
import { runBad } from '../support/refused.js';
import { callValid, everything, type Known, validInput } from '../support/valid-input.js';
import { defaultNow, startWorld, type World } from '../support/world.js';

const laurels = apis.flatMap(([api, , routes]) => routes.map(({ operation, method, path }) => `${api} ${operation} ${method} ${path}`));

describe('Every operation of the contract', () => {
  const known: Known = {};
  let world: World;
  before(async () => {
    world = await startWorld({ config: configText(everything) });
  });
  after(() => world.stop());

  const contracts = (['application', 'admin'] as const).map((name) => ({ name, base: contractApis[name], contract: new Contract(name) }));
  const operations = contracts.flatMap(({ name, base, contract }) =>
    operationsOf(contract.document).map((operation) => ({ name, base, contract, operation })),
  );
  const ids = operations.map(({ operation }) => operation.id);

  it('has valid input to be called with, and no other has', () => {
    expect(Object.keys(validInput).sort()).to.deep.equal([...ids].sort());
  });

  it('is an operation of Laurel, under its name and at its address', () => {
    const absent = operations.filter(
      ({ name, operation: { id, method, path } }) => !laurels.includes(`${name} ${id} ${method.toLowerCase()} ${path}`),
    );
    expect(absent.map(({ operation }) => operation.id)).to.deep.equal([]);
  });

  /** The ways to call an operation that the contract does not allow. */
  const badOf = (contract: Contract, operation: Described): BadInput[] =>
    badInputs(contract.document, operation, validInput[operation.id]?.input(known) ?? {}).filter(({ partly }) => partly !== true);

  for (const id of Object.keys(validInput)) {
    const found = operations.find(({ operation }) => operation.id === id);
    if (!found) continue;
    const { base, contract, operation } = found;
    it(`${id} refuses bad input, and answers as the contract says`, async () => {
      const untouched = await world.snapshot();
      expect(await runBad(world, base, operation, badOf(contract, operation))).to.deep.equal([]);
      expect(await world.snapshot()).to.equal(untouched);
      const reply = await callValid(world, base, operation, known);
      expect(contract.problems(operation.method, operation.path, reply.status, reply.body)).to.deep.equal([]);
      // What a change of the configuration makes the worker do is done by then.
      await world.setClock(defaultNow);
      await world.drain();
    });
  }
});

import { expect } from 'chai';
import { configText } from '../support/answers.js';
import { badInputs, type BadInput } from '../support/bad-values.js';
import { operationsOf, type Described, type OpenApi } from '../support/openapi.js';
import { apis } from '../support/reference.js';
import { runBad } from '../support/refused.js';
import { callValid, everything, harmless, type Known, validInput } from '../support/valid-input.js';
import { startWorld, type World } from '../support/world.js';
import { referenceOf } from '../../src/api/reference.js';

describe('Bad input generated from the reference', () => {
  let world: World;
  let state = '';
  const known: Known = {};
  before(async () => {
    world = await startWorld({ config: configText(everything) });
    // What the table of valid input needs: there is something that could be changed, and only one thing is wrong with each bad input.
    const described = apis.flatMap(([api, [base = ''], routes]) =>
      operationsOf(referenceOf(api, routes) as unknown as OpenApi).map((operation) => [base, operation] as const),
    );
    for (const id of harmless) {
      const found = described.find(([, operation]) => operation.id === id);
      if (found) await callValid(world, ...found, known);
    }
    // The secret of live tokens is made when it is first needed.
    expect((await world.request('POST', '/v1/live-tokens', { body: { leaderboards: ['l'] } })).status).to.equal(201);
    // What the worker does for the new configuration comes now, and not in the middle of a test.
    await world.setClock('2040-01-02T12:00:01Z');
    await world.drain();
    state = await world.snapshot();
  });
  after(() => world.stop());

  const operations = apis.flatMap(([api, [base = ''], routes]) => {
    const document = referenceOf(api, routes);
    return operationsOf(document as unknown as OpenApi).map((operation) => ({ document, base, operation }));
  });
  const inputsOf = ({ document, operation }: (typeof operations)[number]): BadInput[] =>
    badInputs(document, operation, validInput[operation.id]?.input(known) ?? {});
  for (const described of operations) {
    const { base, operation } = described;
    it(`is refused by ${operation.id} without effect, in about ${badInputs(described.document, operation, {}).length} ways`, async () => {
      const inputs = inputsOf(described).filter(({ partly }) => partly !== true);
      const before = state;
      expect(await runBad(world, base, operation, inputs)).to.deep.equal([]);
      state = await world.snapshot();
      expect(state).to.equal(before);
    });
  }

  it('is refused in every batch that names an item twice, of which the first may be applied', async () => {
    let sent = 0;
    for (const described of operations) {
      const inputs = inputsOf(described).filter(({ partly }) => partly === true);
      expect(await runBad(world, described.base, described.operation, inputs), described.operation.id).to.deep.equal([]);
      sent += inputs.length;
    }
    expect(sent).to.be.greaterThan(0);
  });
});

describe('The bad input that is made from a description', () => {
  const whats = (described: Partial<Described>): string[] =>
    badInputs({}, { id: 'o', method: 'POST', path: '/', parameters: [], body: undefined, ...described }, {}).map(({ what }) => what);

  it('breaks each rule of a body, wherever it is', () => {
    const item = {
      type: 'object',
      properties: { key: { type: 'string', maxLength: 5 }, id: { type: 'string', format: 'uuid' } },
      required: ['key'],
    };
    const made = whats({ body: { type: 'array', minItems: 1, maxItems: 100, items: item } });
    expect(made).to.include.members(['the body: 101 items', 'the body: no items', 'the body: an object', 'the body: one item twice']);
    expect(made).to.include.members(['0.key: missing', '0.key: too long', '0.key: a number', '0.key: a NUL', '0: null']);
    expect(made).to.include.members(['0.id: no UUID', '0.id: an id that nothing has', 'no body', 'half a body']);
    expect(made).to.not.include('0.id: missing');
  });

  it('breaks each rule of a parameter', () => {
    const limit = { name: 'limit', in: 'query', schema: { type: 'integer', minimum: 1, maximum: 9 } } as const;
    const ids = {
      name: 'ids',
      in: 'query',
      required: true,
      schema: { type: 'array', maxItems: 2, items: { type: 'string', format: 'uuid' } },
    } as const;
    const made = whats({ parameters: [limit, ids] });
    expect(made).to.include.members(['limit: no such value', 'limit: too small', 'limit: too large', 'limit: not whole', 'limit: twice']);
    expect(made).to.include.members(['ids: missing', 'ids: 3 items', 'ids: an item that is no UUID', 'ids: unknown']);
    expect(made).to.not.include('limit: missing');
  });
});

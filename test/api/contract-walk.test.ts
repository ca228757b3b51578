import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { configText } from '../support/answers.js';
import { badInputs, type BadInput } from '../support/bad-values.js';
import { Contract, contractApis, fixtureOf, notBuilt } from '../support/contract.js';
import { operationsOf, resolve, type Described, type OpenApi, type Schema } from '../support/openapi.js';
import { apis } from '../support/reference.js';
import { runBad } from '../support/refused.js';
import { callValid, everything, type Known, validInput } from '../support/valid-input.js';
import { referenceOf } from '../../src/api/reference.js';
import { defaultNow, startWorld, type World } from '../support/world.js';
import { changedLines } from '../support/changed-lines.js';
import { unfit } from '../support/shape-fit.js';

/** The bad input that generated-bad-input.test.ts makes from the reference: all but a few of what the contract's schemas forbid. */
const covered = new Set(
  apis.flatMap(([api, , routes]) => {
    const document = referenceOf(api, routes);
    const operations = operationsOf(document as unknown as OpenApi);
    return operations.flatMap((operation) =>
      badInputs(document, operation, validInput[operation.id]?.input({}) ?? {}).map(({ what }) => `${operation.id} ${what}`),
    );
  }),
);
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
  const ids = operations.map(({ operation }) => operation.id).filter((id) => !notBuilt.operations.includes(id));

  it('has valid input in the table, which lists no other operation', () => {
    expect(Object.keys(validInput).sort()).to.deep.equal([...ids].sort());
  });

  it('is implemented under its name and address, or returns 404 and is listed in notBuilt', async () => {
    const absent = operations.filter(
      ({ name, operation: { id, method, path } }) => !laurels.includes(`${name} ${id} ${method.toLowerCase()} ${path}`),
    );
    expect(absent.map(({ operation }) => operation.id).sort()).to.deep.equal([...notBuilt.operations].sort());
    for (const { base, operation } of absent) {
      const reply = await world.request(operation.method, base + operation.path, {});
      expect([operation.id, reply.status, reply.body]).to.deep.equal([
        operation.id,
        404,
        { error: `No route matches ${operation.method} ${base}${operation.path}.` },
      ]);
    }
  });

  it('has no field that Laurel lacks, except those listed in notBuilt', () => {
    const found = new Set<string>();
    const seen = new Set<unknown>();
    /** Collects the names of the fields in a part of a document, and in what it refers to. */
    const collect = (document: object, part: unknown): void => {
      if (typeof part !== 'object' || part === null || seen.has(part)) return;
      seen.add(part);
      if ('$ref' in part) collect(document, resolve(document, part.$ref as string));
      for (const field of Object.keys(('properties' in part && part.properties) || {})) found.add(field);
      for (const inner of Object.values(part)) collect(document, inner);
    };
    for (const [api, , routes] of apis) collect(referenceOf(api, routes), referenceOf(api, routes).paths);
    const ours = new Set(found);
    found.clear();
    for (const { contract, operation } of operations) {
      if (notBuilt.operations.includes(operation.id)) continue;
      collect(contract.document, contract.document.paths[operation.path]?.[operation.method.toLowerCase()]);
    }
    expect([...found].filter((field) => !ours.has(field))).to.deep.equal([]);
    const fixtures = contracts.map(({ name }) => readFileSync(fixtureOf(name), 'utf8')).join('');
    expect(notBuilt.fields.filter((field) => ours.has(field) || !fixtures.includes(`"${field}": {`))).to.deep.equal([]);
  });

  it('answers nothing that a client generated from the contract refuses: types, integers, enumerations, required fields', () => {
    const schemaOf = (document: object, response: unknown): Schema | undefined => {
      const { $ref } = (response ?? {}) as { $ref?: string };
      const { content } = ($ref === undefined ? response : resolve(document, $ref)) as { content?: Record<string, { schema: Schema }> };
      return content?.['application/json']?.schema;
    };
    const problems = operations.flatMap(({ name, contract, operation: { id, method, path } }) => {
      const [api, , routes] = apis.find(([one]) => one === name) ?? expect.fail(`there is no API ${name}`);
      const reference = referenceOf(api, routes) as unknown as OpenApi;
      const ours = reference.paths[path]?.[method.toLowerCase()]?.responses ?? {};
      return Object.entries(contract.document.paths[path]?.[method.toLowerCase()]?.responses ?? {}).flatMap(([status, response]) => {
        const theirs = schemaOf(contract.document, response);
        const schema = ours[status] === undefined ? undefined : schemaOf(reference, ours[status]);
        if (!theirs || !schema) return theirs ? [`${id} never answers ${status}`] : [];
        return unfit({ document: reference, schema }, { document: contract.document, schema: theirs }, `${id} ${status}`);
      });
    });
    // Only an active leaderboard is shown there (docs/rules/leaderboards.md); the shape is that of a year in review, too.
    expect(problems).to.deep.equal(['leaderboards_all 200[].status may be "inactive"', 'leaderboards_get 200.status may be "inactive"']);
  });

  /** What only the contract forbids. */
  const badOf = (contract: Contract, operation: Described): BadInput[] =>
    badInputs(contract.document, operation, validInput[operation.id]?.input(known) ?? {}).filter(
      ({ what, partly }) => partly !== true && !covered.has(`${operation.id} ${what}`),
    );

  for (const id of Object.keys(validInput)) {
    const found = operations.find(({ operation }) => operation.id === id);
    if (!found) continue;
    const { base, contract, operation } = found;
    it(`${id} refuses bad input, and responds as the contract says`, async () => {
      const bad = badOf(contract, operation);
      await world.drain();
      const before = bad.length > 0 ? await world.snapshot() : '';
      expect(await runBad(world, base, operation, bad)).to.deep.equal([]);
      if (bad.length > 0) expect(changedLines(before, await world.snapshot())).to.deep.equal([]);
      const reply = await callValid(world, base, operation, known);
      expect(contract.problems(operation.method, operation.path, reply.status, reply.body)).to.deep.equal([]);
      // What a change of the configuration makes the worker do is done by then.
      await world.setClock(defaultNow);
      await world.drain();
    });
  }
});

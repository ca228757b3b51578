import { expect } from 'chai';
import { configText } from './support/answers.js';
import { badInputs, type BadInput } from './support/bad-values.js';
import { operationsOf, type Described, type OpenApi } from './support/openapi.js';
import { apis } from './support/reference.js';
import { call, callValid, everything, harmless, type Known, validInput } from './support/valid-input.js';
import { startWorld, type Reply, type World } from './support/world.js';
import { referenceOf } from '../src/http/reference.js';

/** What is wrong with the answer to bad input; undefined when it is refused with a sentence, or reported as an issue with one. */
function complaint({ status, body }: Reply, { partly }: BadInput): string | undefined {
  const sentence = /^[A-Z`][^]*\.$/;
  const { error, issues = [], ...done } = body as Record<string, unknown> & { error?: unknown; issues?: { message: string }[] };
  if (status >= 500) return 'a fault of the service';
  if (status >= 400) return typeof error === 'string' && sentence.test(error) ? undefined : `no sentence: ${JSON.stringify(body)}`;
  if (!Array.isArray(issues) || issues.length === 0) return `taken: ${JSON.stringify(body)}`;
  if (!issues.every(({ message }) => sentence.test(message))) return `no sentence: ${JSON.stringify(issues)}`;
  const isDone = Object.values(done).some((list) => Array.isArray(list) && list.length > 0);
  return isDone && partly !== true ? `done: ${JSON.stringify(done)}` : undefined;
}

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

  /** Runs bad inputs, and returns what is wrong with the answers. */
  async function run(base: string, operation: Described, inputs: readonly BadInput[]): Promise<string[]> {
    const complaints: string[] = [];
    for (const bad of inputs) {
      const before = await world.ledgerEnd();
      const wrong = complaint(await call(world, base, operation, bad.input, bad.raw), bad);
      if (wrong !== undefined) complaints.push(`${bad.what}: ${wrong.slice(0, 300)}`);
      if (bad.partly !== true && (await world.ledgerEnd()) !== before) complaints.push(`${bad.what}: it changed something`);
    }
    return complaints;
  }

  for (const [api, [base = ''], routes] of apis) {
    const document = referenceOf(api, routes);
    for (const operation of operationsOf(document as unknown as OpenApi)) {
      const count = badInputs(document, operation, {}).length;
      it(`${operation.id}, about ${count} ways`, async function () {
        this.timeout(60_000);
        const inputs = badInputs(document, operation, validInput[operation.id]?.input(known) ?? {});
        const untouched = await world.snapshot();
        expect(
          await run(
            base,
            operation,
            inputs.filter(({ partly }) => partly !== true),
          ),
        ).to.deep.equal([]);
        expect(await world.snapshot()).to.equal(untouched);
        expect(
          await run(
            base,
            operation,
            inputs.filter(({ partly }) => partly === true),
          ),
        ).to.deep.equal([]);
      });
    }
  }
});

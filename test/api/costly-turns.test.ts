import { expect } from 'chai';
import { Thread } from '../../src/threads/thread.js';
import { batchOf, errorOf, first } from '../support/admin.js';
import { configText } from '../support/answers.js';
import { until } from '../support/stage.js';
import { startWorld, type Reply, type World } from '../support/world.js';

const metrics = (count: number): object[] => Array.from({ length: count }, (_, i) => ({ key: `m${i}`, name: `Metric ${i}` }));
const tenants = ['acme', 'bolt', 'core'];

/** A task of the thread, named after whose file it plans; the list of versions has only the operator's. */
const ownerOf = (name: string, { file }: { file?: unknown }): string | undefined =>
  name === 'summarize' ? 'operator' : name === 'plan' ? /# (\w+)/.exec(JSON.stringify(file))?.[1] : undefined;

type Input = Parameters<typeof ownerOf>[1];
type Run = (this: object, name: string, input: Input) => Promise<unknown>;
type Send = (this: object, order: { readonly name: string; readonly input: Input }) => Promise<unknown>;

describe('Tenants that send dry runs continuously', () => {
  let world: World;
  /** Whose tasks have been asked for, and whose have begun, in order. */
  const asked: string[] = [];
  const begun: string[] = [];
  let open = (): void => undefined;
  const everyoneAsked = new Promise<void>((resolve) => {
    open = resolve;
  });
  const run = Reflect.get(Thread.prototype, 'run') as Run;
  const send = Reflect.get(Thread.prototype, 'send') as Send;

  before(async () => {
    // More objects than the list of versions compares without the thread.
    world = await startWorld({
      config: configText({ metrics: metrics(60) }),
      now: null,
      settings: { rateLimitCostlyS: 1, rateLimitWindowS: 600 },
    });
    // The first task runs no earlier than each key of a tenant, and the operator twice, have asked for one.
    const runNoted: Run = function (name, input) {
      const owner = ownerOf(name, input);
      if (owner !== undefined) asked.push(owner);
      if (asked.length === tenants.length + 2) open();
      return run.call(this, name, input);
    };
    const sendNoted: Send = async function (order) {
      const owner = ownerOf(order.name, order.input);
      if (owner !== undefined) {
        begun.push(owner);
        await everyoneAsked;
      }
      return send.call(this, order);
    };
    Object.assign(Thread.prototype, { run: runNoted, send: sendNoted });
  });
  after(async () => {
    Object.assign(Thread.prototype, { run, send });
    await world.stop();
  });

  const create = async (path: string, item: object): Promise<string> =>
    first(batchOf(await world.request('POST', `/admin/v1/${path}`, { body: [item] })).created).key;

  const dryRun = (owner: string, key: string, count: number): Promise<Reply> =>
    world.request('POST', '/admin/v1/configuration/dry-run', {
      body: { file: `# ${owner}\n${configText({ metrics: metrics(count) })}` },
      key,
    });

  it('yield to the operator, take turns, and are refused once they have used their seconds', async () => {
    const keys = new Map<string, string>();
    for (const tenant of tenants) {
      await create('tenants', { customerId: tenant, name: tenant });
      keys.set(tenant, await create('admin-api-keys', { name: tenant, tenantId: tenant, access: 'read' }));
    }
    const [planning, listing] = [await create('admin-api-keys', { name: 'Plans' }), await create('admin-api-keys', { name: 'Lists' })];
    const ends = tenants.map(async (tenant) => {
      let reply: Reply;
      do reply = await dryRun(tenant, keys.get(tenant) ?? '', 300);
      while (reply.status === 200);
      return [reply.status, errorOf(reply)];
    });
    await until('a task of each key', () => asked.length === tenants.length);
    const versions = world.request('GET', '/admin/v1/configuration/versions?limit=1', { key: listing });
    expect((await Promise.all([dryRun('operator', planning, 1), versions])).map(({ status }) => status)).to.deep.equal([200, 200]);

    expect(await Promise.all(ends)).to.deep.equal(
      tenants.map(() => [429, 'This key may use 1 s of worker thread time in 600 s: retry after the seconds in Retry-After.']),
    );
    expect(begun.slice(1, 3)).to.deep.equal(['operator', 'operator']);
    expect([begun[0], begun[3], begun[4]].sort()).to.deep.equal(tenants);
    // The first task waited for the others, and that time counts.
    for (const tenant of tenants.filter((owner) => owner !== begun[0])) {
      expect(begun.filter((owner) => owner === tenant).length, tenant).to.be.greaterThan(1);
    }
  });
});

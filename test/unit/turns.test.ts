import { AsyncResource } from 'node:async_hooks';
import { expect } from 'chai';
import { emptyConfig } from '../../src/config/schema/model.js';
import { configWork } from '../../src/threads/threads.js';
import { inTurnsOf, noteTaskMs, type TurnOwner } from '../../src/threads/turns.js';

describe('The thread that processes configurations', () => {
  /** Three keys of each of two tenants, and one of a third, ask for tasks; then the operator does. Returns the order in which they end. */
  async function play(): Promise<{ ended: string[]; usedMs: number }> {
    const ended: string[] = [];
    let usedMs = 0;
    const ask = async (name: string, tenant: number | null): Promise<void> => {
      const owner = { tenant, usedMs: 0 };
      await inTurnsOf(owner, () => configWork('exportFile', emptyConfig, Infinity));
      ended.push(name);
      usedMs += owner.usedMs;
    };
    const tasks = ['a1 2', 'a2 2', 'a3 2', 'b1 3', 'b2 3', 'b3 3', 'c1 4'].map((each) => {
      const [name = '', tenant] = each.split(' ');
      return ask(name, Number(tenant));
    });
    await Promise.all([...tasks, ask('operator 1', null), ask('operator 2', null)]);
    return { ended, usedMs };
  }

  it('serves the operator after the task that runs, and tenants in turn, however many keys they have', async () => {
    const { ended, usedMs } = await play();
    expect(ended).to.deep.equal(['a1', 'operator 1', 'operator 2', 'a2', 'b1', 'c1', 'a3', 'b2', 'b3']);
    expect(usedMs).to.be.greaterThan(0);
  });

  it('serves what is next after a task that fails', async () => {
    const failing = inTurnsOf({ tenant: 2, usedMs: 0 }, () => configWork('exportFile', null as never, Infinity));
    const next = inTurnsOf({ tenant: 2, usedMs: 0 }, () => configWork('exportFile', emptyConfig, Infinity));
    expect(await failing.catch(() => 'failed')).to.equal('failed');
    expect(await next).to.be.a('string');
  });

  it('tracks owners only while work of one runs, since tracking makes every promise cost more', async () => {
    const [first, second] = [2, 3].map((tenant) => ({ tenant, usedMs: 0 })) as [TurnOwner, TurnOwner];
    const noteInContext = (): Promise<() => void> => Promise.resolve(AsyncResource.bind(() => noteTaskMs(5)));
    let note!: () => void;
    await inTurnsOf(second, async () => {
      note = await inTurnsOf(first, noteInContext);
      note();
    });
    expect(first.usedMs).to.equal(5);
    note();
    expect(first.usedMs).to.equal(5);
  });
});

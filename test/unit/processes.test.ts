import { expect } from 'chai';
import { GroupMetrics } from '../../src/app/processes/group-metrics.js';
import type { ManagedProcess } from '../../src/app/processes/managed-process.js';
import { watchTerminal } from '../../src/app/signals.js';
import { createLog } from '../../src/logging/log.js';
import type { MetricSamples } from '../../src/observe/observation.js';
import { limits } from '../../src/shared/limits.js';

describe('A log line', () => {
  const written = (log: (logger: ReturnType<typeof createLog>) => void): string => {
    let text = '';
    log(createLog('info', { write: (line) => (text += line) }, 'api-1'));
    return text;
  };

  it('names its process', () => {
    expect(JSON.parse(written((log) => log.info('ready')))).to.include({ process: 'api-1', msg: 'ready' });
  });

  it('loses stack frames when it is longer than what processes can write to one pipe without mixing lines', () => {
    const error = new Error('outer', { cause: new Error('inner') });
    error.stack = `Error: outer\n${Array.from({ length: 200 }, (_, at) => `    at frame ${at} (file.js:1:1)`).join('\n')}`;
    const line = written((log) => log.error({ err: error, tenant: 1 }, 'batch failed'));
    expect(Buffer.byteLength(line)).to.be.at.most(limits.maxLogLineBytes);
    const { err, tenant, msg } = JSON.parse(line) as { err: { stack: string; cause: { message: string } }; tenant: number; msg: string };
    expect([err.stack.split('\n').length, err.cause.message, tenant, msg]).to.deep.equal([3, 'inner', 1, 'batch failed']);
  });

  it('is cut when it is still too long', () => {
    const line = written((log) => log.child({ requestId: 'r1' }).warn({ text: 'ä'.repeat(5_000) }, 'm'.repeat(5_000)));
    expect(Buffer.byteLength(line)).to.be.at.most(limits.maxLogLineBytes);
    expect(line.endsWith('}\n')).to.equal(true);
    expect(JSON.parse(line)).to.include({ process: 'api-1', requestId: 'r1', isCut: true });
  });
});

describe('A terminal', () => {
  for (const [had, has, isClosed] of [
    [true, true, false],
    [true, false, true],
    [false, false, false],
  ] as const) {
    it(`that ${had ? 'was' : 'was not'} there and ${has ? 'is' : 'is not'} now ${isClosed ? 'is' : 'is not'} closed`, () => {
      let isTerminal: boolean = had;
      const watch = watchTerminal(() => isTerminal);
      isTerminal = has;
      expect(watch()).to.equal(isClosed);
    });
  }
});

describe('The metrics of a group of processes', () => {
  const counter = (value: number): MetricSamples => sample('laurel_events_total', 'counter', value, 'sum');
  const sample = (name: string, type: string, value: number, aggregator: string): MetricSamples =>
    ({ name, type, aggregator, help: name, values: [{ value, labels: {} }] }) as unknown as MetricSamples;

  /** A process that replies with these metrics; undefined: it does not reply. */
  interface FakeProcess {
    role: 'api' | 'worker';
    reply: MetricSamples[] | undefined;
    isAskedForStores: boolean;
  }
  const fake = (role: 'api' | 'worker', reply: MetricSamples[]): FakeProcess => ({ role, reply, isAskedForStores: false });
  const asProcess = (one: FakeProcess): ManagedProcess =>
    Object.assign(one, {
      metrics: (shared: boolean) => {
        one.isAskedForStores = shared;
        return Promise.resolve(one.reply);
      },
    }) as unknown as ManagedProcess;
  const valueOf = async (group: GroupMetrics, name: string): Promise<number> =>
    Number(new RegExp(`^${name}(?:{[^}]*})? (\\S+)$`, 'm').exec(await group.read())?.[1]);

  it('are the sums of their counts, and the smallest, largest or only one of their other values', async () => {
    const ready = (value: number): MetricSamples => sample('laurel_ready', 'gauge', value, 'min');
    const group = new GroupMetrics(() => [asProcess(fake('api', [counter(3), ready(1)])), asProcess(fake('api', [counter(4), ready(0)]))]);
    expect(await valueOf(group, 'laurel_events_total')).to.equal(7);
    expect(await valueOf(group, 'laurel_ready')).to.equal(0);
  });

  it('keep what a process had counted that does not reply, or has ended', async () => {
    const [one, other] = [fake('api', [counter(3)]), fake('api', [counter(4)])];
    let processes = [asProcess(one), asProcess(other)];
    const group = new GroupMetrics(() => processes);
    await group.read();
    one.reply = undefined;
    expect(await valueOf(group, 'laurel_events_total')).to.equal(7);
    processes = processes.slice(1);
    group.ended(asProcess(one), true);
    expect(await valueOf(group, 'laurel_events_total')).to.equal(7);
    expect(await valueOf(group, 'laurel_process_failures_total\\{role="api"\\}')).to.equal(1);
  });

  it('have those of the stores from another process when the first one does not reply', async () => {
    const [worker, api] = [fake('worker', []), fake('api', [])];
    const group = new GroupMetrics(() => [asProcess(worker), asProcess(api)]);
    await group.read();
    expect([worker.isAskedForStores, api.isAskedForStores]).to.deep.equal([true, false]);
    worker.reply = undefined;
    await group.read();
    await group.read();
    expect([worker.isAskedForStores, api.isAskedForStores]).to.deep.equal([false, true]);
  });
});

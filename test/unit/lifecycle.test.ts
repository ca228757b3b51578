import { expect } from 'chai';
import pino from 'pino';
import { Lifecycle } from '../../src/app/lifecycle.js';

describe('The steps of a process', () => {
  const lines: string[] = [];
  const stopped: string[] = [];
  let lifecycle: Lifecycle;
  const step = (name: string, fails = false): Promise<string> =>
    lifecycle.start(name, Promise.resolve(name), (started) => {
      stopped.push(started);
      if (fails) throw new Error('stuck');
    });
  beforeEach(() => {
    lines.length = 0;
    stopped.length = 0;
    lifecycle = new Lifecycle(pino({ base: null }, { write: (line) => lines.push(line) }));
  });

  it('stop in reverse order, each once', async () => {
    expect(await step('store')).to.equal('store');
    await step('server');
    await lifecycle.stop();
    await lifecycle.stop();
    expect(stopped).to.deep.equal(['server', 'store']);
    expect(lines).to.deep.equal([]);
  });

  it('all stop when one of them fails, which is logged with its name', async () => {
    await step('store');
    await step('server', true);
    await lifecycle.stop();
    expect(stopped).to.deep.equal(['server', 'store']);
    expect(lines.map((line) => JSON.parse(line) as object)).to.have.lengthOf(1);
    expect(JSON.parse(lines[0] ?? '')).to.include({ step: 'server', msg: 'shutdown step failed' });
  });

  it('leave nothing to stop when they fail to start', async () => {
    const starting = lifecycle.start('store', Promise.reject(new Error('no')), () => void stopped.push('store'));
    expect(await starting.catch((error: unknown) => (error as Error).message)).to.equal('no');
    await lifecycle.stop();
    expect(stopped).to.deep.equal([]);
  });
});

import { expect } from 'chai';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { load, type LoadResult } from '../../benchmarks/load/load.js';
import { Pace } from '../../benchmarks/load/pace.js';
import { inTurn as usersInTurn, sessions, trafficEvents, trafficOf, usersPresent } from '../../benchmarks/load/traffic.js';
import { workloadOf, workloads } from '../../benchmarks/load/workloads.js';
import { Summaries, summarize, type Round } from '../../benchmarks/measure/summary.js';
import { inTurn } from '../../benchmarks/measure/turns.js';
import { reportPage } from '../../benchmarks/report/page.js';
import { problemsOf } from '../../benchmarks/runner/counts.js';
import { readConfigFile } from '../../src/config/file/file.js';
import type { RunFile } from '../../benchmarks/runner/run-file.js';
import { serviceProcesses } from '../../benchmarks/servers/cpu.js';

describe('Benchmarks', () => {
  it('measure the sides in turn, each of them first in every other round', async () => {
    const order: string[] = [];
    const stands = ['a', 'b'].map((side) => ({ case: 'x', side, measure: (round: number) => Promise.resolve(`${side}${round}`) }));
    await inTurn(stands, 3, ({ side }, round, result) => {
      expect(result).to.equal(`${side}${round}`);
      order.push(result);
    });
    expect(order).to.deep.equal(['a0', 'b0', 'b1', 'a1', 'a2', 'b2']);
  });

  const rounds = (side: string, ...values: readonly number[]): Round[] =>
    values.map((us) => ({ case: 'an event', side, figures: { us, ...(side === 'ours' && { own: 1 }) } }));

  it('give median and range of each side, the ratio of the medians, and the median of the ratios of pairs', () => {
    // In the last round something else has had the machine.
    const [summary] = summarize([...rounds('ours', 12, 10, 40), ...rounds('floor', 8, 10, 50)]);
    expect(summary).to.deep.equal({
      case: 'an event',
      rounds: 3,
      sides: {
        ours: { us: { median: 12, min: 10, max: 40 }, own: { median: 1, min: 1, max: 1 } },
        floor: { us: { median: 10, min: 8, max: 50 } },
      },
      ratios: { floor: { us: { ofMedians: 1.2, ofPairs: 1 } } },
    });
  });

  it('give no summary of a figure that is missing in a round, and none of what was not measured', () => {
    const some = [...rounds('ours', 1, 2), { case: 'an event', side: 'ours', figures: { us: 3 } }];
    const summaries = new Summaries(summarize(some));
    expect([
      summaries.median('an event', 'us'),
      summaries.median('an event', 'own'),
      summaries.ratio('an event', 'us', 'theirs'),
    ]).to.deep.equal([2, undefined, undefined]);
  });

  it('send requests at even intervals, whole ones only', () => {
    const pace = new Pace(2_500);
    expect([0, 0.3, 0.4, 1, 10, 1_000].map((ms) => pace.due(ms))).to.deep.equal([0, 0, 1, 2, 25, 2_500]);
  });

  it('find counts that have risen, are new, or are gone', () => {
    expect(problemsOf({ same: 2, fewer: 1, more: 3.01, fresh: 1 }, { same: 2, fewer: 2, more: 3, gone: 1 })).to.deep.equal([
      'more: 3.01, and only 3 when it was recorded.',
      'gone: recorded, but not counted.',
      'fresh: 1, but not recorded.',
    ]);
  });
});

describe('The traffic of a configuration', () => {
  const config = `
settings: { defaultTimeZone: Asia/Dhaka }
attributes:
  - { key: plan, name: Plan, type: user }
  - { key: city, name: City, type: user }
  - { key: device, name: Device, type: event }
metrics:
  - { key: far, name: Far }
  - { key: spent, name: Spent }
  - { key: other, name: Other }
points:
  - key: coins
    name: Coins
    triggers:
      - { key: walk, type: metric, metricKey: far, metricThreshold: 400, points: 1, status: active }
      - key: run
        type: metric
        metricKey: far
        metricThreshold: 900
        points: 1
        eventAttributes: [{ attributeKey: device, attributeValue: watch }]
      - { key: buy, type: metric, metricKey: spent, metricThreshold: 1, points: -1, blockIfOutOfPoints: true }
    boosts:
      - { key: pro, name: Pro, start: 2026-01-01, multiplier: 2, userAttributes: [{ attributeKey: plan, attributeValue: pro }] }
streaks: { enabled: true, metrics: [{ metricKey: far, threshold: 250 }] }
`;
  const traffic = trafficOf(readConfigFile(config, 'test.yaml'));

  it('has its metrics, apart from those that may refuse events, with values up to the lowest threshold', () => {
    expect(traffic.metrics).to.deep.equal([
      { key: 'far', maxValue: 250 },
      { key: 'other', maxValue: 5 },
    ]);
  });

  it('has its attributes with the values that filters name, and its zone', () => {
    expect(traffic.userAttributes.map(({ key, values }) => [key, values[0], values.length])).to.deep.equal([
      ['plan', 'pro', 8],
      ['city', 'city-1', 8],
    ]);
    expect(traffic.eventAttributes.map(({ key, values }) => [key, values[0]])).to.deep.equal([['device', 'watch']]);
    expect(traffic.zones[0]).to.equal('Asia/Dhaka');
  });

  it('has the same profile of a user in each event, and no idempotency key twice', () => {
    const next = trafficEvents(traffic, { name: 'test', seed: 1, senders: usersInTurn(1_000) });
    const events = Array.from({ length: 2_000 }, next);
    for (const [no, { user }] of events.slice(1_000).entries()) expect(user).to.deep.equal(events[no]?.user);
    expect(new Set(events.map(({ idempotencyKey }) => idempotencyKey))).to.have.lengthOf(2_000);
    expect(events[0]?.user).to.deep.equal({
      ...{ id: 'user-1', name: 'User 1', tz: 'Asia/Dhaka' },
      attributes: { plan: 'pro', city: 'city-1' },
    });
    for (const attribute of ['plan', 'city']) expect(new Set(events.map(({ user }) => user.attributes?.[attribute]))).to.have.lengthOf(8);
  });

  it('is refused when every metric may refuse events', () => {
    const only = config
      .replace(/ {2}- \{ key: other.*\n/, '')
      .replace('key: buy, type: metric, metricKey: spent', 'key: buy, type: metric, metricKey: far');
    const file = readConfigFile(only.replace(/ {2}- \{ key: spent.*\n/, ''), 'test.yaml');
    expect(() => trafficOf(file)).to.throw('test.yaml has no metric whose events are always accepted.');
  });

  it('comes in sessions: each user sends 20 events in turn with all who are present, and goes', () => {
    const [users, present] = [2_000, usersPresent(50)];
    expect(present).to.equal(750);
    const sender = sessions(users, present);
    const sent = new Map<number, number[]>();
    for (let no = 0; no < 40_000; no += 1) sent.set(sender(no), [...(sent.get(sender(no)) ?? []), no]);
    expect(sent.size).to.equal(users);
    for (const times of sent.values()) {
      const breaks = times.filter((time, i) => i > 0 && time - (times[i - 1] ?? 0) !== present);
      // A session that had begun before, then whole ones.
      expect(breaks.length).to.be.at.most(2);
      const [first = 0] = breaks;
      const whole = times.filter((time) => time >= first && time < (breaks[1] ?? Infinity));
      if (breaks.length === 2) expect(whole).to.have.lengthOf(20);
    }
  });

  it('of a file has every user send, and no webhooks', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'laurel-test-'));
    try {
      const file = join(folder, 'test.yaml');
      const webhooks = 'webhooks: [{ key: w, name: W, url: https://example.com/w, events: [achievement.completed] }]';
      await writeFile(file, `${config}${webhooks}`);
      const own = workloadOf(file, { users: 20, ratePerS: 1 });
      const sent = readConfigFile(own.config ?? '', 'sent.yaml');
      expect([sent.webhooks, sent.metrics.length, sent.pointsSystems.length]).to.deep.equal([[], 3, 1]);
      const next = own.before?.();
      expect(Array.from({ length: 20 }, () => next?.().user.id)).to.include.members(['user-1', 'user-20']);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('of the wide workload has a zone, a name and two attributes with each event, of 60 % of the users', () => {
    const wide = workloads.wide?.({ users: 100, ratePerS: 1 });
    const next = wide?.requests('test');
    const bodies = Array.from({ length: 1_000 }, () => JSON.parse(next?.().body ?? '') as { user: Record<string, object> });
    expect(new Set(bodies.map(({ user }) => user.id))).to.have.lengthOf(60);
    for (const { user } of bodies) {
      expect(user).to.have.all.keys('id', 'name', 'tz', 'attributes');
      expect(user.attributes).to.have.all.keys('city', 'plan');
    }
  });
});

describe('The load of a benchmark', () => {
  const body = 'x'.repeat(100);
  const sent = 60;

  /** Loads a server that refuses every third request, until it has received so many. */
  async function loaded(options: { readonly rate?: number }): Promise<{ result: LoadResult; received: number }> {
    const end = new AbortController();
    let received = 0;
    const server = createServer((_, response) => {
      received += 1;
      if (received === sent) end.abort();
      response.writeHead(received % 3 === 0 ? 500 : 201).end(body);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    try {
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      const next = () => ({ method: 'GET', path: '/' }) as const;
      const signal = new AbortController().signal;
      const given = { url, apiKey: 'key', connections: 4, seconds: 60, next, signal, end: end.signal, ...options };
      return { result: await load(given), received };
    } finally {
      server.close();
    }
  }

  for (const [what, options] of [
    ['as fast as the server responds', {}],
    ['at a rate', { rate: 500 }],
  ] as const) {
    it(`${what}: counts every response, and those without a 2xx`, async () => {
      const { result, received } = await loaded(options);
      expect(received).to.be.at.least(sent);
      expect(result).to.include({ answered: received, failed: Math.floor(received / 3), answerBytes: body.length });
      expect(result.p50Ms).to.be.above(0).and.at.most(result.p99Ms);
    });
  }

  it('rejects when it is interrupted', async () => {
    const signal = AbortSignal.abort(new Error('Interrupted.'));
    const next = () => ({ method: 'GET', path: '/' }) as const;
    const error: unknown = await load({ url: 'http://127.0.0.1:9', apiKey: 'key', connections: 1, seconds: 1, next, signal }).catch(
      (reason: unknown) => reason,
    );
    expect(String(error)).to.include('Interrupted.');
  });
});

describe('The processes of a service', () => {
  /** A process with a child for each argument. */
  async function started(...children: readonly string[]): Promise<{ pid: number; stop: () => Promise<unknown> }> {
    const child = `spawn(process.execPath, ['-e', 'process.stdin.resume()', '--', 'laurel', name], { stdio: ['pipe', 'ignore', 'ignore'] })`;
    const code = `
      const { spawn } = require('node:child_process');
      const { once } = require('node:events');
      process.stdin.resume();
      Promise.all(${JSON.stringify(children)}.map((name) => once(${child}, 'spawn'))).then(() => console.log('ready'));`;
    const parent = spawn(process.execPath, ['-e', code], { stdio: ['pipe', 'pipe', 'inherit'] });
    await once(parent.stdout, 'data');
    const stop = (): Promise<unknown> => {
      const exited = once(parent, 'exit');
      parent.kill();
      return exited;
    };
    return { pid: parent.pid!, stop };
  }

  it('are told apart by the last argument of each', async () => {
    const { pid, stop } = await started('api-1', 'api-2', 'worker', 'other');
    try {
      const roles = serviceProcesses(pid);
      expect([...roles.values()].sort()).to.deep.equal(['api', 'api', 'supervisor', 'worker']);
      expect(roles.get(pid)).to.equal('supervisor');
    } finally {
      await stop();
    }
  });

  it('are one process that does all when it has no children', async () => {
    const { pid, stop } = await started();
    try {
      expect([...serviceProcesses(pid)]).to.deep.equal([[pid, 'api']]);
    } finally {
      await stop();
    }
  });
});

describe('The report of a benchmark', () => {
  const run = (median: number, name = '<b>'): RunFile => ({
    version: 1,
    startedAt: '2026-11-22T10:00:00.000Z',
    commit: 'abc1234',
    against: null,
    machine: { cpu: 'A & B', cores: 2, memoryBytes: 2 ** 34, system: 'linux', node: 'v20.1.0', redis: '7.2.0', postgres: '18.4' },
    kinds: [
      {
        name: 'track',
        summary: 'events',
        options: { rounds: 2 },
        seconds: 3,
        failures: 0,
        rounds: [],
        figures: [{ key: 'us', title: 'time', unit: 'µs', decimals: 1 }],
        cases: [{ case: name, rounds: 2, sides: { ours: { us: { median, min: 1, max: 2_000 } } }, ratios: {} }],
        targets: [{ title: 'time', unit: 'µs', atMost: 5, value: median, isMet: median <= 5 }],
      },
    ],
  });

  it('shows this run beside the earlier one, with the targets, and needs nothing from elsewhere', () => {
    const page = reportPage(run(4), run(1_234.5));
    for (const text of ['4.0', '1,234.5', 'Earlier run', '≤ 5', '>met<', 'time, µs', '16 GiB']) expect(page).to.include(text);
    expect(page).not.to.match(/<script|https?:|url\(/);
  });

  it('shows names as they are', () => {
    expect(reportPage(run(6, '<b>"&')))
      .to.include('&lt;b&gt;&quot;&amp;')
      .and.include('>missed<')
      .and.not.include('<b>');
  });
});

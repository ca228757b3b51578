import { createHook } from 'node:async_hooks';
import { createServer } from 'node:http';
import { type AddressInfo } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';

import { expect } from 'chai';
import { isPublicAddress } from '../../src/config/schema/webhook-url.js';
import { limits } from '../../src/shared/limits.js';
import { lookupOf, Transport, type Outcome, type Resolver, type Timer } from '../../src/webhooks/transport.js';
import { type Receiver, startReceiver } from '../support/receiver.js';
import { until } from '../support/stage.js';

/** A resolver for which every name leads to some addresses; several lists are what it says one time after another. */
function leadingTo(...answers: readonly (readonly string[])[]): Resolver & { asked: number } {
  const resolver = Object.assign(
    () => {
      const addresses = answers[Math.min(resolver.asked, answers.length - 1)] ?? [];
      resolver.asked += 1;
      return Promise.resolve(addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })));
    },
    { asked: 0 },
  );
  return resolver;
}

/** Ends every lookup at once. */
const atOnce: Timer = (_, end) => {
  setImmediate(end);
  return () => undefined;
};

describe('A webhook', function () {
  let receiver: Receiver;
  before(async () => {
    receiver = await startReceiver();
  });
  after(() => receiver.stop());
  beforeEach(() => {
    receiver.received.length = 0;
  });

  async function post(url: string, options: ConstructorParameters<typeof Transport>[0]): Promise<Outcome> {
    const transport = new Transport({ timer: atOnce, ...options });
    try {
      return await transport.post(url, {}, '{}');
    } finally {
      await transport.stop();
    }
  }
  const port = (): string => new URL(receiver.url).port;

  describe('is not sent to a private address', () => {
    const closed = 'hooks.example.com has no public address: check the name, or set WEBHOOK_ALLOW_PRIVATE=1 to allow private ones';
    it('and fails for a name that does not exist as it does for a private one, so that no caller learns which private names exist', async () => {
      const resolve: Resolver = () => Promise.reject(new Error('getaddrinfo ENOTFOUND'));
      const { error } = await post(`https://hooks.example.com:${port()}/`, { receivers: 'public', resolve });
      expect(error).to.equal(closed);
    });

    const resolvers: readonly (readonly [what: string, resolve: Resolver])[] = [
      ['leads to a private address', leadingTo(['10.0.0.1'])],
      ['leads nowhere', leadingTo([])],
      ['does not exist', () => Promise.reject(new Error('getaddrinfo ENOTFOUND'))],
      ['has a name server that does not respond', () => new Promise(() => undefined)],
    ];
    for (const [what, resolve] of resolvers) {
      it(`and fails, for a name that ${what}, after the same time as for any other`, async () => {
        const events: string[] = [];
        let end = (): void => undefined;
        const timer: Timer = (ms, ending) => {
          events.push(`lookup of ${ms} ms`);
          end = ending;
          return () => events.push('cancelled');
        };
        const transport = new Transport({ receivers: 'public', resolve, timer });
        try {
          const sending = transport.post(`https://hooks.example.com:${port()}/`, {}, '{}').then(({ error }) => {
            events.push(error ?? 'none');
          });
          await until('the lookup', () => events.length > 0);
          for (let turn = 0; turn < 20; turn += 1) await nextTurn();
          events.push('the end');
          end();
          await sending;
          expect(events).to.deep.equal([`lookup of ${limits.webhookLookupMs} ms`, 'the end', closed]);
        } finally {
          await transport.stop();
        }
      });
    }

    const byName = [
      '127.0.0.1',
      '127.9.9.9',
      '10.0.0.1',
      '172.16.5.4',
      '192.168.1.1',
      '169.254.169.254',
      '100.64.0.1',
      '0.0.0.0',
      '224.0.0.1',
    ];
    const byName6 = ['::1', '::', '::ffff:127.0.0.1', '::ffff:7f00:1', 'fe80::1', 'fd12::1', '64:ff9b::7f00:1', '2002:7f00:1::', 'ff02::1'];
    // Where the machines of clouds find their metadata: Azure, Alibaba, Oracle, and AWS over IPv6.
    const metadata = ['168.63.129.16', '::ffff:168.63.129.16', '64:ff9b::a83f:8110', '100.100.100.200', '192.0.0.192', 'fd00:ec2::254'];
    for (const address of [...byName, ...byName6, ...metadata]) {
      it(`to which a name resolves: ${address}`, async () => {
        const outcome = await post(`https://hooks.example.com:${port()}/`, { receivers: 'public', resolve: leadingTo([address]) });
        expect(outcome).to.include({ isAccepted: false, status: null });
        expect(outcome.error).to.equal(closed);
        expect(receiver.received).to.deep.equal([]);
      });
    }

    const literal = [
      '127.0.0.1',
      '2130706433',
      '0x7f000001',
      '0177.0.0.1',
      '127.1',
      '[::1]',
      '[::ffff:127.0.0.1]',
      '[::127.0.0.1]',
      '168.63.129.16',
    ];
    for (const host of [...literal, 'localhost', 'localhost.', 'a.localhost']) {
      it(`in the URL: ${host}`, async () => {
        const resolve = leadingTo(['127.0.0.1']);
        expect((await post(`https://${host}:${port()}/`, { receivers: 'public', resolve })).error).to.include('must not lead to a private');
        expect((await post(`http://${host}:${port()}/`, { receivers: 'public', resolve })).error).to.include('must start with https://');
        expect(receiver.received).to.deep.equal([]);
      });
    }

    it('to which a name resolves the second time', async () => {
      const lookup = lookupOf(leadingTo(['8.8.8.8'], ['127.0.0.1']), isPublicAddress);
      const ask = (): Promise<string> =>
        new Promise((resolve) => {
          lookup('hooks.example.com', { all: true }, (error, found) => {
            resolve(error?.message ?? JSON.stringify(found));
          });
        });
      expect(await ask()).to.equal('[{"address":"8.8.8.8","family":4}]');
      expect(await ask()).to.equal(closed);
    });

    it('to which a name resolves besides public ones', async () => {
      const lookup = lookupOf(leadingTo(['127.0.0.1', '8.8.8.8', '::1']), isPublicAddress);
      const found = await new Promise((resolve) => {
        lookup('hooks.example.com', { all: true }, (_, addresses) => {
          resolve(addresses);
        });
      });
      expect(found).to.deep.equal([{ address: '8.8.8.8', family: 4 }]);
    });

    for (const to of ['http://127.0.0.1', 'https://169.254.169.254/latest/meta-data', 'http://[::1]', 'http://localhost']) {
      for (const status of [301, 302, 303, 307, 308]) {
        it(`to which a response redirects: ${status} ${to}`, async () => {
          const target = to.endsWith('data') ? to : `${to}:${port()}/target`;
          receiver.answers['/redirect'] = (_, response) => response.writeHead(status, { location: target }).end('over there');
          const outcome = await post(`${receiver.url}/redirect`, { receivers: 'any' });
          expect(outcome).to.deep.include({ isAccepted: false, status, answer: 'over there' });
          expect(outcome.error).to.include('redirects are not followed');
          expect(receiver.received.map(({ path }) => path)).to.deep.equal(['/redirect']);
        });
      }
    }
  });

  it('is sent to private addresses, and over http, where that is allowed', async () => {
    expect(await post(`${receiver.url}/a`, { receivers: 'any' })).to.include({ isAccepted: true, status: 204, error: null });
    const resolve = leadingTo(['127.0.0.1']);
    expect(await post(`http://hooks.example.com:${port()}/b`, { receivers: 'any', resolve })).to.include({ isAccepted: true });
    expect(receiver.received.map(({ path }) => path)).to.deep.equal(['/a', '/b']);
  });

  it('bypasses the proxies of the environment', async () => {
    const before = { ...process.env };
    Object.assign(process.env, { http_proxy: 'http://127.0.0.1:9', HTTP_PROXY: 'http://127.0.0.1:9', ALL_PROXY: 'http://127.0.0.1:9' });
    try {
      expect(await post(`${receiver.url}/a`, { receivers: 'any' })).to.include({ isAccepted: true });
    } finally {
      process.env = before;
    }
  });

  for (const [status, isAccepted] of [
    [200, true],
    [202, true],
    [299, true],
    [400, false],
    [404, false],
    [410, false],
    [429, false],
    [503, false],
  ] as const) {
    it(`counts ${status} as a ${isAccepted ? 'success' : 'failure'}`, async () => {
      receiver.answers['/status'] = (_, response) => response.writeHead(status).end('so\0 be it');
      expect(await post(`${receiver.url}/status`, { receivers: 'any' })).to.deep.include({
        isAccepted,
        status,
        answer: 'so\u{fffd} be it',
      });
    });
  }

  it('fails without a response in time', async () => {
    receiver.answers['/hang'] = 'hang';
    const outcome = await post(`${receiver.url}/hang`, { receivers: 'any', responseMs: 60 });
    expect(outcome).to.include({ isAccepted: false, status: null, error: 'no response within 0.06 s' });
  });

  it('fails if there is no server, or the connection breaks', async () => {
    receiver.answers['/break'] = (_, response) => response.destroy();
    expect((await post(`${receiver.url}/break`, { receivers: 'any' })).error).to.not.equal(null);
    const closed = createServer();
    await new Promise<void>((resolve) => closed.listen(0, '127.0.0.1', resolve));
    const { port: free } = closed.address() as AddressInfo;
    await new Promise((resolve) => closed.close(resolve));
    expect((await post(`http://127.0.0.1:${free}/`, { receivers: 'any' })).error).to.include('ECONNREFUSED');
    const resolve: Resolver = () => Promise.reject(new Error('getaddrinfo ENOTFOUND'));
    expect((await post('http://nobody.example.com/', { receivers: 'any', resolve })).error).to.include('ENOTFOUND');
  });

  it('shares one lookup of its name with deliveries that wait for it, and not with later ones', async () => {
    let asked = 0;
    let answer = (): void => undefined;
    const resolve: Resolver = () => {
      asked += 1;
      return new Promise((resolved) => {
        answer = () => {
          resolved([{ address: '127.0.0.1', family: 4 }]);
        };
      });
    };
    const transport = new Transport({ receivers: 'any', resolve });
    const url = `http://hooks.example.com:${port()}/a`;
    try {
      for (const lookups of [1, 2]) {
        receiver.answers['/a'] = (_, response) => response.writeHead(204, { connection: 'close' }).end();
        const sending = Promise.all(Array.from({ length: 10 }, () => transport.post(url, {}, '{}')));
        await until('a look-up', () => asked === lookups);
        await new Promise((resolved) => setImmediate(resolved));
        answer();
        expect((await sending).every(({ isAccepted }) => isAccepted)).to.equal(true);
        expect(asked).to.equal(lookups);
      }
    } finally {
      await transport.stop();
    }
  });

  it('leaves no timer behind', async () => {
    const timers = new Set<number>();
    const hook = createHook({
      init: (id, type) => {
        if (type === 'Timeout') timers.add(id);
      },
      destroy: (id) => void timers.delete(id),
    });
    const transport = new Transport({ receivers: 'any' });
    hook.enable();
    try {
      for (let i = 0; i < 50; i += 1) await transport.post(`${receiver.url}/a`, {}, '{}');
      // What has been cleared is told of a little later.
      await new Promise((resolve) => setImmediate(resolve));
      expect(timers.size).to.be.below(25);
    } finally {
      hook.disable();
      await transport.stop();
    }
  });

  it('is aborted when the worker stops', async () => {
    receiver.answers['/hang'] = 'hang';
    const transport = new Transport({ receivers: 'any' });
    const sending = transport.post(`${receiver.url}/hang`, {}, '{}');
    await until('the message', () => receiver.received.length === 1);
    await transport.stop();
    expect(await sending).to.include({ isAccepted: false, status: null });
    expect(await transport.post(`${receiver.url}/a`, {}, '{}')).to.include({ isAccepted: false, status: null });
    expect(receiver.received.length).to.equal(1);
  });

  it('reads no more of a response than it stores', async () => {
    let sent = 0;
    receiver.answers['/long'] = (_, response) => {
      response.writeHead(200);
      const chunk = Buffer.alloc(64 * 1024, 'x');
      const more = (): void => {
        if (sent > 64 * 1024 * 1024) response.end();
        else {
          sent += chunk.length;
          response.write(chunk, (error) => {
            if (!error) more();
          });
        }
      };
      more();
    };
    const outcome = await post(`${receiver.url}/long`, { receivers: 'any' });
    expect(outcome).to.include({ isAccepted: true, status: 200 });
    expect(outcome.answer).to.equal('x'.repeat(4096));
    expect(sent).to.be.below(32 * 1024 * 1024);
  });
});

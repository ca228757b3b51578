import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { expect } from 'chai';
import { startServer, type ClientLimits, type HttpServer } from '../../src/api/server.js';
import { configText } from '../support/answers.js';
import { startWorld, type World } from '../support/world.js';

const post = 'POST / HTTP/1.1\r\nHost: test\r\n';
const tooLong = 'The request took too long to arrive: send it again.';
/** More than the buffers between a server and a client who does not read can hold. */
const longAnswer = Buffer.alloc(64 * 1024 * 1024);
/** What a test is not about does not end it. */
const patient: ClientLimits = {
  requestHeadersMs: 60_000,
  requestMs: 60_000,
  requestCheckMs: 20,
  connectionIdleMs: 60_000,
  maxConnections: 9,
};

/** Everything that the other side says until it closes the connection. */
async function untilClosed(socket: Socket): Promise<string> {
  let text = '';
  socket.setEncoding('latin1').on('data', (chunk: string) => (text += chunk));
  socket.on('error', () => undefined);
  await once(socket, 'close');
  return text;
}

describe('A client', () => {
  let server: HttpServer;
  const sockets: Socket[] = [];
  let handled: Promise<ServerResponse>;
  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy();
    await server.stop(0);
  });

  const connectTo = async (): Promise<Socket> => {
    const { hostname, port } = new URL(server.address);
    const socket = connect(Number(port), hostname);
    sockets.push(socket);
    await once(socket, 'connect');
    return socket;
  };
  const serve = async (changed: Partial<ClientLimits>): Promise<void> => {
    let begun: (response: ServerResponse) => void;
    handled = new Promise((resolve) => (begun = resolve));
    const handle = (...[request, response]: Parameters<Parameters<typeof startServer>[0]>): void => {
      begun(response);
      request.resume().on('end', () => response.end(longAnswer));
    };
    server = await startServer(handle, { host: '127.0.0.1', port: 0, variable: 'PORT' }, { ...patient, ...changed });
  };

  it('is disconnected when it does not end the headers', async () => {
    await serve({ requestHeadersMs: 50 });
    const socket = await connectTo();
    socket.write(post);
    expect(await untilClosed(socket))
      .to.match(/^HTTP\/1\.1 408 /)
      .and.contain(tooLong);
  });

  it('is disconnected when it does not end the body', async () => {
    await serve({ requestHeadersMs: 50, requestMs: 50 });
    const socket = await connectTo();
    socket.write(`${post}Content-Length: 10\r\n\r\n123`);
    expect(await untilClosed(socket))
      .to.match(/^HTTP\/1\.1 408 /)
      .and.contain(tooLong);
  });

  it('is disconnected when it does not read the response', async () => {
    await serve({ connectionIdleMs: 100 });
    const socket = await connectTo();
    socket.pause().write(`${post}Content-Length: 1\r\n\r\n1`);
    await once(await handled, 'close');
    expect((await untilClosed(socket.resume())).length).to.be.lessThan(longAnswer.length);
  });

  it('is refused when the limit of connections is reached', async () => {
    await serve({ maxConnections: 1 });
    await connectTo();
    expect(await untilClosed(await connectTo())).to.equal('');
  });
});

describe('Every response', () => {
  let world: World;
  before(async () => {
    world = await startWorld({ config: configText({ metrics: [{ key: 'm', name: 'M' }] }) });
  });
  after(() => world.stop());

  const answers: readonly (readonly [what: string, method: string, path: string, status: number])[] = [
    ['to a request', 'GET', '/v1/leaderboards', 200],
    ['to a bad request', 'GET', '/v1/users/nobody', 404],
    ['for an unknown path', 'GET', '/nothing', 404],
    ['to a method that the path lacks', 'DELETE', '/v1/leaderboards', 405],
    ['with the page of the reference', 'GET', '/docs', 200],
  ];
  for (const [what, method, path, expected] of answers) {
    it(`has security headers: ${what}`, async () => {
      const { status, headers } = await world.request(method, path);
      expect(status).to.equal(expected);
      expect(headers.get('content-security-policy')).to.contain("default-src 'none'").and.contain("frame-ancestors 'none'");
      const said = ['x-content-type-options', 'x-frame-options', 'referrer-policy', 'x-powered-by'].map((name) => headers.get(name));
      expect(said).to.deep.equal(['nosniff', 'SAMEORIGIN', 'no-referrer', null]);
    });
  }

  it('forbids caches to store personal data', async () => {
    await world.event('m', { user: { id: 'ana' }, value: 1 });
    const { headers } = await world.get('/v1/users/ana');
    expect(headers.get('cache-control')).to.equal('no-store');
  });
});

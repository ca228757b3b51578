import { once } from 'node:events';
import { connect } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { expect } from 'chai';
import { startServer, type HttpServer } from '../../src/api/server.js';
import { limits } from '../../src/shared/limits.js';
import { until } from '../support/stage.js';
import { startWorld, type World } from '../support/world.js';

const where = { host: '127.0.0.1', port: 0, variable: 'PORT' };

describe('Pipelined requests', () => {
  let server: HttpServer | undefined;
  let world: World | undefined;
  afterEach(async () => {
    await server?.stop(0);
    await world?.stop();
    server = world = undefined;
  });

  it('are worked on a few at a time, all answered in their order, and those of others come in between', async () => {
    const count = 3_000;
    let [underWay, most, handled] = [0, 0, 0];
    const between: number[] = [];
    server = await startServer((request, response) => {
      if (request.url === '/other') between.push(handled);
      underWay += 1;
      most = Math.max(most, underWay);
      handled += 1;
      void turn().then(() => {
        underWay -= 1;
        response.end(request.url);
      });
    }, where);
    const { hostname, port } = new URL(server.address);
    const socket = connect(Number(port), hostname);
    let text = '';
    socket.on('data', (chunk) => (text += chunk.toString()));
    socket.write(Array.from({ length: count }, (_, i) => `GET /${i} HTTP/1.1\r\nHost: a\r\n\r\n`).join(''));
    await until('the first', () => handled > 0);
    const { status: others } = await fetch(`${server.address}/other`);
    await until('all answers', () => text.includes(`/${count - 1}`));
    socket.destroy();
    expect(most).to.be.at.most(limits.maxPipelinedRequests + 1);
    const answers = [...text.matchAll(/\r\n\r\n\/(\d+)/g)].map(([, i]) => Number(i));
    expect(answers).to.deep.equal(Array.from({ length: count }, (_, i) => i));
    expect(others).to.equal(200);
    expect(between[0]).to.be.below(count);
  });

  it('may have bodies', async () => {
    server = await startServer((request, response) => {
      let body = '';
      request.on('data', (chunk: Buffer) => (body += chunk.toString()));
      request.on('end', () => response.end(body));
    }, where);
    const { hostname, port } = new URL(server.address);
    const socket = connect(Number(port), hostname);
    let text = '';
    socket.on('data', (chunk) => (text += chunk.toString()));
    const body = (i: number): string => `<${i}>`.padEnd(5_000, '.');
    for (let i = 0; i < 200; i += 1) socket.write(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5000\r\n\r\n${body(i)}`);
    await until('all answers', () => text.includes('<199>'));
    socket.destroy();
    expect([...text.matchAll(/<(\d+)>/g)].map(([, i]) => Number(i))).to.deep.equal(Array.from({ length: 200 }, (_, i) => i));
  });

  it('do not hold a copy of a file of the reference each while the client reads nothing', async () => {
    world = await startWorld();
    const { hostname, port } = new URL(world.address);
    await fetch(`${world.address}/docs/swagger-ui-bundle.js`).then((answer) => answer.arrayBuffer());
    const before = process.memoryUsage().rss;
    const socket = connect(Number(port), hostname);
    socket.pause();
    socket.write('GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(300));
    await once(socket, 'connect');
    for (let asked = 0; asked < 50; asked += 1) expect((await world.get('/health/live')).status).to.equal(200);
    const grown = process.memoryUsage().rss - before;
    socket.destroy();
    // 300 copies are 450 MB.
    expect(grown).to.be.below(60e6);
  });

  it('are refused with the methods that an address has', async () => {
    world = await startWorld();
    const allowed = async (method: string, path: string): Promise<[number, string | null]> => {
      const { status, headers } = await world!.request(method, path);
      return [status, headers.get('allow')?.split(', ').sort().join(', ') ?? null];
    };
    expect(await allowed('DELETE', '/v1/users')).to.deep.equal([405, 'POST']);
    expect(await allowed('POST', '/v1/users/ana')).to.deep.equal([405, 'GET, HEAD, PATCH, PUT']);
    expect(await allowed('POST', '/health/live')).to.deep.equal([405, 'GET, HEAD']);
  });
});

describe('CORS', () => {
  const origin = 'https://app.example.com';
  let world: World;
  before(async () => {
    world = await startWorld({ settings: { corsOrigins: [origin] } });
  });
  after(() => world.stop());

  const ask = (method: string, path: string, from: string, more: Record<string, string> = {}): Promise<Response> =>
    fetch(world.address + path, { method, headers: { origin: from, ...more } });
  const preflight = (path: string, from = origin): Promise<Response> =>
    ask('OPTIONS', path, from, { 'access-control-request-method': 'POST', 'access-control-request-headers': 'x-api-key,content-type' });

  it('answers preflights for the Application API', async () => {
    for (const path of ['/v1/metrics/flashcards-viewed/event', '/api/users']) {
      const { status, headers } = await preflight(path);
      expect([status, headers.get('access-control-allow-origin')]).to.deep.equal([204, origin]);
      expect(headers.get('access-control-allow-headers')).to.contain('X-API-KEY');
      expect(headers.get('access-control-allow-methods')).to.contain('POST');
      expect(headers.get('vary')).to.contain('Origin');
    }
  });

  it('lets the page read answers, refusals included', async () => {
    const answer = await ask('GET', '/v1/users/nobody', origin);
    expect([answer.status, answer.headers.get('access-control-allow-origin')]).to.deep.equal([401, origin]);
    expect(answer.headers.get('access-control-expose-headers')).to.contain('Retry-After');
  });

  it('is closed to other origins, the Admin API, the reference and the health checks', async () => {
    const answers = await Promise.all([
      preflight('/v1/users', 'https://evil.example'),
      ask('GET', '/v1/users/x', 'https://evil.example'),
      ...['/admin/v1/metrics', '/docs', '/health/ready', '/v1x'].flatMap((path) => [preflight(path), ask('GET', path, origin)]),
    ]);
    for (const { headers, url } of answers) expect(headers.get('access-control-allow-origin'), url).to.equal(null);
  });

  it('is off unless it is set', async () => {
    const closed = await startWorld();
    try {
      const { headers } = await fetch(`${closed.address}/v1/users/x`, { headers: { origin } });
      expect([headers.get('access-control-allow-origin'), headers.get('vary')]).to.deep.equal([null, null]);
    } finally {
      await closed.stop();
    }
  });
});

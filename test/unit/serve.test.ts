import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import Koa from 'koa';
import { CostlyRequests } from '../../src/api/costly.js';
import { type Services, defineRoute } from '../../src/api/route.js';
import { serveEndpoint } from '../../src/api/serve.js';

describe('A response that can’t be serialized', () => {
  it('is an error that the application responds to, and leaves no request without a response', async () => {
    const route = defineRoute({
      method: 'get',
      path: '/broken',
      summary: 'Broken',
      operation: 'broken',
      responses: {},
      handle: () => Promise.resolve({ status: 200, body: { value: 1n } }),
    });
    const account = { authenticate: () => ({ kind: 'admin', keyId: 'key', tenant: null }) };
    const serve = serveEndpoint(
      { api: 'application', route, pattern: '/broken' },
      { services: { account } as unknown as Services, rateLimit: undefined, costly: new CostlyRequests(undefined) },
    );
    const app = new Koa();
    app.use(async (context) => {
      await serve(context, {}).catch((error: unknown) => {
        context.status = 500;
        context.body = String(error);
      });
    });
    const server = app.listen(0, '127.0.0.1');
    try {
      await once(server, 'listening');
      const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/broken`;
      const response = await fetch(address, { signal: AbortSignal.timeout(10_000) });
      expect([response.status, await response.text()]).to.deep.equal([500, 'TypeError: Do not know how to serialize a BigInt']);
    } finally {
      server.close();
      server.closeAllConnections();
    }
  });
});

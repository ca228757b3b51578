import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { configText } from '../support/answers.js';
import { sendRaw } from '../support/raw-http.js';
import { adminKey, startWorld, type World } from '../support/world.js';

const config = configText({ metrics: [{ key: 'm', name: 'M' }] });
const eventPath = '/v1/metrics/m/event';

describe('A request body', () => {
  let world: World;
  before(async () => {
    world = await startWorld({ config });
  });
  after(() => world.stop());

  describe('is read as JSON', () => {
    const types: readonly string[] = [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data',
      'application/json; charset=x',
      '',
    ];
    for (const type of types) {
      it(type || 'without a Content-Type', async () => {
        const body = JSON.stringify({ user: { id: `type ${type}` }, value: 1 });
        const reply = await sendRaw(world.address, {
          method: 'POST',
          path: eventPath,
          body,
          ...(type ? { headers: { 'Content-Type': type } } : {}),
        });
        expect(reply.status).to.equal(201);
      });
    }

    it('when compressed, if it is not too large afterwards', async () => {
      const send = (id: string, pad: number): ReturnType<typeof sendRaw> =>
        sendRaw(world.address, {
          method: 'POST',
          path: eventPath,
          headers: { 'Content-Encoding': 'gzip' },
          body: gzipSync(JSON.stringify({ user: { id }, value: 1, pad: 'x'.repeat(pad) })),
        });
      expect((await send('gzip', 1_000)).status).to.equal(201);
      expect((await send('bomb', 10_000_000)).status).to.equal(413);
      expect((await world.get('/v1/users/bomb')).status).to.equal(404);
    });

    it('after a byte order mark, which is not part of it', async () => {
      const body = `\ufeff${JSON.stringify({ user: { id: 'marked' }, value: 1 })}`;
      expect((await sendRaw(world.address, { method: 'POST', path: eventPath, body })).status).to.equal(201);
    });

    /** Writes each part when the one before has left. */
    async function statusOfParts(
      parts: readonly Buffer[],
      headers: Readonly<Record<string, string | number>>,
    ): Promise<number | undefined> {
      const sending = request(world.address + eventPath, { method: 'POST', headers: { 'X-API-KEY': adminKey, ...headers } });
      const replied = once(sending, 'response') as Promise<[IncomingMessage]>;
      for (const part of parts) await new Promise((resolve) => sending.write(part, resolve));
      sending.end();
      const [reply] = await replied;
      reply.resume();
      return reply.statusCode;
    }

    it('in parts that end within a character, with a length and without', async () => {
      const bytes = Buffer.from(JSON.stringify({ user: { id: 'part by part \u00e9' }, value: 1 }));
      const middle = bytes.indexOf('\u00e9') + 1;
      const parts = [bytes.subarray(0, middle), bytes.subarray(middle)];
      expect(await statusOfParts(parts, { 'Content-Length': bytes.length })).to.equal(201);
      expect(await statusOfParts(parts, {})).to.equal(201);
      const metric = await world.get(`/v1/users/${encodeURIComponent('part by part \u00e9')}/metrics/m`);
      expect((metric.body as { current: number }).current).to.equal(2);
    });

    it('up to the last byte that is allowed', async () => {
      const body = JSON.stringify({ user: { id: 'large' }, value: 1 }).padEnd(131_072);
      expect((await world.request('POST', eventPath, { raw: body })).status).to.equal(201);
    });
  });
});

describe('A small body with many errors', () => {
  let world: World;
  before(async () => {
    world = await startWorld({ config });
  });
  after(() => world.stop());

  const zeros = (count: number): number[] => Array.from({ length: count }, () => 0);
  const errorOf = async (method: string, path: string, body: unknown, status = 422): Promise<string> => {
    const reply = await world.request(method, path, { body });
    expect(reply.status).to.equal(status);
    return (reply.body as { error: string }).error;
  };

  it('has the lengths of its lists checked before their items', async () => {
    expect(await errorOf('PATCH', '/v1/users/ana/preferences', { notifications: { recap: zeros(60_000) } })).to.equal(
      '`notifications.recap` must have at most 2 items.',
    );
    const metrics = zeros(60_000);
    expect(await errorOf('PATCH', '/v1/users/ana/preferences', { streak: { metrics } })).to.match(
      /^`streak.metrics` must have at most 20 items\.$/,
    );
    expect(await errorOf('PUT', '/v1/users/ana', { deviceTokens: zeros(60_000) })).to.equal('`deviceTokens` must have at most 100 items.');
    expect(await errorOf('POST', '/admin/v1/streaks/freezes', { freezes: zeros(60_000) })).to.equal(
      '`freezes` must have at most 100 items.',
    );
    expect(await errorOf('POST', '/admin/v1/metrics/events', zeros(150_000))).to.match(/must have at most 1000 items\.$/);
  });

  it('has the number of its attributes checked before their values', async () => {
    const attributes = Object.fromEntries(zeros(10_000).map((zero, no) => [`a${no}`, zero]));
    expect(await errorOf('PUT', '/v1/users/ana', { attributes })).to.equal('`attributes` must have at most 1000 keys.');
  });

  it('is answered with 20 complaints and how many more there are, in a batch of 2 MiB too', async () => {
    const attributes = Object.fromEntries(zeros(100).map((zero, no) => [`a${no}`, zero]));
    const events = zeros(900).map(() => ({ key: 'm', user: { id: 'ana' }, value: 1, attributes }));
    const error = await errorOf('POST', '/admin/v1/metrics/events', events);
    expect(error.split('; ')).to.have.length(20);
    expect(error).to.match(/`0\.attributes\.a0` must be a string; .* and 17980 more\.$/);
  });

  it('names 20 unknown attributes and how many more there are', async () => {
    const attributes = Object.fromEntries(zeros(500).map((_, no) => [`a${no}`, 'x']));
    expect(await errorOf('PUT', '/v1/users/ana', { attributes })).to.match(/^Invalid attribute keys: a0, .*, a19 and 480 more\. /);
  });

  it('names 20 unknown fields of an object and how many more there are', async () => {
    const fields = Object.fromEntries(zeros(5_000).map((zero, no) => [`f${no}`, zero]));
    const reply = await world.request('POST', '/admin/v1/attributes', { body: [{ key: 'k', name: 'K', type: 'user', ...fields }] });
    expect(JSON.stringify(reply.body).length).to.be.lessThan(5_000);
  });
});

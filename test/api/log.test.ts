import { expect } from 'chai';
import { eachSecond } from '../../src/jobs/job.js';
import { logLines } from '../support/log-lines.js';
import { until } from '../support/stage.js';
import { adminKey, startWorld, type World } from '../support/world.js';

const metric = 'flashcards-viewed';

/** One text for each place in which a caller can send personal data. */
const secrets = {
  id: 'private-id-of-ana',
  name: 'Private Name Of Ana',
  email: 'ana@private.example',
  device: 'private-device-token',
  attribute: 'private-user-attribute',
  eventAttribute: 'private-event-attribute',
  idempotencyKey: 'private-idempotency-key',
  query: 'private-query',
  header: 'private-header',
  broken: 'private-broken-json',
  tenant: 'private-tenant',
  wrongKey: 'private.0123456789abcdef',
  key: adminKey,
};

describe('The log', () => {
  const { log, lines, text } = logLines('trace');
  let world: World;
  before(async () => {
    world = await startWorld({ log, settings: { accessLog: 'info' } });
  });
  after(() => world.stop());

  const linesOf = (requestId: string): Record<string, unknown>[] => lines().filter((line) => line['requestId'] === requestId);

  const person = {
    id: secrets.id,
    name: secrets.name,
    email: secrets.email,
    deviceTokens: [secrets.device],
    attributes: { city: secrets.attribute },
  };
  const send = (headers: Record<string, string> = {}): ReturnType<World['event']> =>
    world.event(metric, { user: person, value: 1, attributes: { device: secrets.eventAttribute } }, headers);

  it('has a line for each request, with its id, its route and its answer', async () => {
    const { headers } = await send({ 'x-request-id': 'trace.me-1' });
    expect(headers.get('x-request-id')).to.equal('trace.me-1');
    const [line, ...more] = linesOf('trace.me-1');
    expect(more).to.deep.equal([]);
    expect(line).to.include({ level: 30, method: 'POST', route: '/v1/metrics/:key/event', status: 201 });
    expect(line?.['ms']).to.be.a('number');
  });

  for (const [what, sent] of [
    ['none', undefined],
    ['one that is too long', 'a'.repeat(129)],
    ['one with odd characters', 'a b'],
    ['an e-mail address', secrets.email],
    ['a key', adminKey],
  ] as const) {
    it(`assigns an id to a request that has ${what}`, async () => {
      const { headers } = await world.request('GET', '/v1/users/nobody', sent === undefined ? {} : { headers: { 'x-request-id': sent } });
      const id = headers.get('x-request-id') ?? '';
      expect(id).to.match(/^[0-9a-f]{8}-[0-9a-f-]{27}$/);
      expect(linesOf(id)).to.have.lengthOf(1);
    });
  }

  it('records an internal error with the id of the request, and not its content', async () => {
    // ioredis adds the command with its arguments to what Redis answers.
    await send();
    await world.drain();
    const key = `${world.partition}u:${secrets.id}`;
    await world.redis.del(key);
    await world.redis.set(key, 'not a hash');
    // Not through the world, for which an answer that the reference does not have is a failure.
    const { status, headers } = await fetch(`${world.address}/v1/metrics/${metric}/event`, {
      method: 'POST',
      headers: { 'x-api-key': adminKey, 'x-request-id': 'ours-1' },
      body: JSON.stringify({ user: person, value: 1 }),
    });
    await world.redis.del(key);
    expect(status).to.equal(500);
    expect(headers.get('x-request-id')).to.equal('ours-1');
    const [fault] = linesOf('ours-1').filter(({ level }) => level === 50);
    expect(fault).to.include({ method: 'POST', route: '/v1/metrics/:key/event' });
    const told = fault?.['err'] as { message: string; stack: string };
    expect(told.message).to.contain('WRONGTYPE');
    expect(told.stack).to.match(/^\s+at /);
  });

  it('records an entry that Postgres refuses without the row', async () => {
    await world.pool.query(`alter table users add constraint no_ana check (name is distinct from '${secrets.name}') not valid`);
    await send();
    await world.drain();
    await world.pool.query('alter table users drop constraint no_ana');
    const [letter] = lines().filter(({ msg }) => String(msg).includes('dead letter'));
    expect(letter).to.include({ level: 50, sqlstate: '23514' });
  });

  it('has no secret and nothing of a person, whatever was sent', async () => {
    await send({
      'idempotency-key': secrets.idempotencyKey,
      'x-private': secrets.header,
      authorization: secrets.header,
      cookie: secrets.header,
    });
    await world.request('PUT', `/v1/users/${secrets.id}`, { body: { name: secrets.name, email: 7 } });
    await world.get(`/v1/users/${secrets.id}?x=${secrets.query}`);
    await world.get(`/v1/${secrets.id}/${secrets.email}?${secrets.query}`);
    await world.request('POST', `/v1/metrics/${metric}/event`, { raw: `{"user": {"id": ${secrets.broken}` });
    await world.request('POST', `/v1/metrics/${secrets.query}/event`, { body: { user: person, value: secrets.attribute } });
    await world.request('GET', '/v1/users/x', { key: secrets.wrongKey });
    await world.request('GET', '/v1/users/x', { headers: { 'tenant-id': secrets.tenant } });
    await world.request('DELETE', `/admin/v1/users/${secrets.id}`);
    await world.drain();
    const logged = text();
    expect(lines().length).to.be.above(15);
    for (const [what, secret] of Object.entries(secrets)) expect(logged, what).not.to.contain(secret);
  });
});

describe('Errors in the log', () => {
  const told = (error: unknown): Record<string, unknown> => {
    const { log, lines } = logLines('info');
    log.error({ err: error }, 'it failed');
    return lines()[0]?.['err'] as Record<string, unknown>;
  };

  it('have their causes, and their fields only if they are known to be plain', () => {
    const cause = Object.assign(new Error('lost'), { code: 'ECONNRESET', command: { args: ['secret'] }, detail: 'secret' });
    const error = told(new Error('it broke', { cause }));
    expect(error).to.include({ type: 'Error', message: 'it broke' });
    expect(error['cause']).to.include({ message: 'lost', code: 'ECONNRESET' });
    expect(JSON.stringify(error)).not.to.contain('secret');
  });

  for (const [what, error] of [
    ['values that Postgres quotes', new Error('invalid input syntax for type bigint: "secret"')],
    ['the arguments of a command that Redis refuses', new Error("ERR unknown command 'x', with args beginning with: 'secret' 'more'")],
    ['what a parser could not read', new SyntaxError('Unexpected token s in JSON: secret')],
    ['a number that could not be read', new SyntaxError('Cannot convert secret to a BigInt')],
    ['addresses with a password', new Error('connect postgres://u:secret@db failed')],
    ['e-mail addresses', new Error('no such user secret@b.example')],
    ['a text that was thrown', 'no such user secret@b.example'],
  ] as const) {
    it(`do not contain ${what}`, () => {
      expect(JSON.stringify(told(error))).not.to.contain('secret');
    });
  }
});

describe('The one-second timer', () => {
  for (const [what, level, told] of [
    ['logs, and does not print, the seconds that a busy process has missed', 'debug', true],
    ['logs nothing of them at the default level', 'info', false],
  ] as const) {
    it(what, async () => {
      const { log, lines } = logLines(level);
      const past: unknown[] = [];
      const { warn } = console;
      console.warn = (...said: unknown[]) => past.push(said);
      let rounds = 0;
      const seconds = eachSecond(() => (rounds += 1), log);
      try {
        // A process that is busy for so long that it misses some.
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3_500);
        await until('a second that is not missed', () => Promise.resolve(rounds > 0));
      } finally {
        await seconds.stop();
        console.warn = warn;
      }
      expect(past).to.deep.equal([]);
      expect(JSON.stringify(lines()).includes('missed execution')).to.equal(told);
    });
  }
});

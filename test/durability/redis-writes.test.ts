import { expect } from 'chai';
import fc from 'fast-check';
import { Command, type Redis } from 'ioredis';
import { isStoreTrouble } from '../../src/logging/failure-log.js';
import { callFunction, connectRedis } from '../../src/redis/connection.js';
import { FunctionCommand } from '../../src/redis/function-command.js';
import { limits } from '../../src/shared/limits.js';
import { stores } from '../support/stores.js';

const library = `#!lua name=laurel_writes
redis.register_function('laurel_writes_echo', function(_, args) return args end)`;

describe('Commands to Redis', () => {
  const counter = 'laurel-writes:count';
  let redis: Redis;
  let other: Redis;

  before(async () => {
    const { redisUrl } = await stores();
    const connect = async (): Promise<Redis> => (await connectRedis({ url: redisUrl }, () => undefined)) as Redis;
    [redis, other] = [await connect(), await connect()];
    await redis.function('LOAD', 'REPLACE', library);
  });
  after(async () => {
    await redis.function('DELETE', 'laurel_writes');
    for (const each of [redis, other]) each.disconnect();
  });

  const turn = (): Promise<void> =>
    new Promise((resolve) => {
      setImmediate(resolve);
    });

  it('of one turn of the event loop leave in one write at its end', async () => {
    const { bytesWritten: before } = redis.stream;
    const { _writableState: state } = redis.stream as unknown as { readonly _writableState: { readonly corked: number } };
    const pongs = Promise.all(Array.from({ length: 3 }, () => redis.ping()));
    expect(state.corked).to.equal(1);
    await turn();
    expect([state.corked, redis.stream.bytesWritten - before]).to.deep.equal([0, 3 * '*1\r\n$4\r\nping\r\n'.length]);
    expect(await pongs).to.deep.equal(['PONG', 'PONG', 'PONG']);
  });

  it(`leave while fewer than ${limits.maxWritesInFlight} earlier writes wait for replies, and are gathered otherwise`, async () => {
    const bytes = `*2\r\n$4\r\nincr\r\n$${counter.length}\r\n${counter}\r\n`.length;
    const { bytesWritten: before } = redis.stream;
    // Redis replies to no command that writes until then.
    await other.client('PAUSE', 60_000, 'WRITE');
    const counts: Promise<number>[] = [];
    for (let write = 0; write < limits.maxWritesInFlight + 2; write += 1) {
      counts.push(redis.incr(counter));
      await turn();
      await turn();
    }
    const { writableLength: gathered } = redis.stream;
    await other.client('UNPAUSE');
    expect(await Promise.all(counts)).to.deep.equal(counts.map((_, i) => i + 1));
    await other.del(counter);
    expect([gathered, redis.stream.bytesWritten - before]).to.deep.equal([2 * bytes, (limits.maxWritesInFlight + 2) * bytes]);
  });

  it('fail when the connection breaks before their replies, and are not sent again', async () => {
    await other.client('PAUSE', 60_000, 'WRITE');
    const replies = Promise.allSettled(Array.from({ length: limits.maxWritesInFlight + 2 }, () => redis.incr(counter)));
    redis.stream.destroy();
    const settled = await replies;
    await other.client('UNPAUSE');
    expect(new Set(settled.map(({ status }) => status))).to.deep.equal(new Set(['rejected']));
    const errors = settled.map((outcome) => (outcome.status === 'rejected' ? (outcome.reason as Error) : undefined));
    expect(errors.filter((error) => !isStoreTrouble(error)).map(String)).to.deep.equal([]);
    await new Promise((resolve) => redis.once('ready', resolve));
    expect(await redis.ping()).to.equal('PONG');
    expect(Number(await other.get(counter))).to.be.at.most(limits.maxWritesInFlight + 2);
    await other.del(counter);
  });

  it('of the function library are encoded as ioredis encodes them', () => {
    const argument = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.integer(),
      fc.double(),
      fc.uint8Array().map((bytes) => Buffer.from(bytes)),
    );
    fc.assert(
      fc.property(fc.string(), fc.array(argument, { maxLength: 20 }), (key, args) => {
        const theirs = new Command('fcall', ['f', 1, key, ...args]).toWritable({});
        expect(new FunctionCommand('f', key, args).toWritable()).to.deep.equal(Buffer.from(theirs));
      }),
      { numRuns: 500 },
    );
  });

  it('of the function library keep every text and byte', async () => {
    const args = ['', 'Zoë 😀 \u2028', '\u0000\r\n$5', Buffer.from([0, 255, 13, 10, 128]), 1.5];
    const echoed = (await callFunction(redis, 'laurel_writes_echo', { key: '{laurel-writes}', args })) as Buffer[];
    expect(echoed).to.deep.equal(args.map((value) => (Buffer.isBuffer(value) ? value : Buffer.from(String(value)))));
  });
});

/**
 * The floor: the same framework, router, body parser and Redis client, one function call, and a response of as many bytes. An event calls a
 * function that does nothing; a read calls one that returns a string that is stored in Redis, which is the response. What Laurel takes
 * longer is Laurel's own work.
 *
 * Started by bare.ts, which sends the size of the responses. It ends when that channel closes, so it can't outlive the benchmark. The options of
 * its Redis client are those of ioredis with automatic pipelining, whatever Laurel's are, so that the floor stays the same.
 */
import type { AddressInfo } from 'node:net';
import Router from '@koa/router';
import { Redis } from 'ioredis';
import Koa from 'koa';
import bodyParser from 'koa-bodyparser';

export interface BareMessage {
  /** Length of a response's body. */
  readonly answerBytes: number;
}

const key = '{laurel_bench}:stored';
const library = `#!lua name=laurel_bench
redis.register_function('laurel_bench_nothing', function() return 0 end)
redis.register_function{
  function_name = 'laurel_bench_stored',
  callback = function(keys) return redis.call('GET', keys[1]) end,
  flags = { 'no-writes' },
}`;

const [, , redisUrl] = process.argv;
if (redisUrl === undefined) throw new Error('Usage: bare-server.ts <redis URL>');

const redis = new Redis(redisUrl.replace(/^unix:\/\//, ''), { enableAutoPipelining: true });
await redis.function('LOAD', 'REPLACE', library);

const empty = { answer: '' };
let answer = empty;

async function setAnswer({ answerBytes }: BareMessage): Promise<void> {
  answer = { answer: 'x'.repeat(Math.max(0, answerBytes - JSON.stringify(empty).length)) };
  await redis.set(key, JSON.stringify(answer));
  process.send?.({ answerBytes });
}
process.on('message', (message: BareMessage) => void setAnswer(message));
process.on('disconnect', () => process.exit());

const router = new Router();
router.post('/v1/metrics/:key/event', async (ctx) => {
  await redis.fcall('laurel_bench_nothing', 1, key);
  ctx.status = 201;
  ctx.body = answer;
});
router.get('/stored', async (ctx) => {
  ctx.body = await redis.fcall('laurel_bench_stored', 1, key);
  ctx.type = 'json';
});

const app = new Koa();
app.use(bodyParser());
app.use(router.routes());
const server = app.listen(0, '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});

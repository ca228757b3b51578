/**
 * What Laurel is compared with: the same framework, router, body parser and Redis client, one call of a function that does nothing, and
 * an answer of as many bytes. What Laurel takes longer than this is Laurel's own work.
 *
 * Started by track.ts, which says by message how large the answers are to be. It ends when that channel closes, so it can't outlive it.
 */
import type { Redis } from 'ioredis';
import { type AddressInfo } from 'node:net';
import Router from '@koa/router';
import Koa from 'koa';
import bodyParser from 'koa-bodyparser';
import { connectRedis } from '../src/redis/connection.js';

const library = `#!lua name=laurel_bench
redis.register_function('laurel_bench_nothing', function() return 0 end)`;

const [, , redisUrl] = process.argv;
if (redisUrl === undefined) throw new Error('Usage: bare-server.ts <redis URL>');

const redis = (await connectRedis({ url: redisUrl }, (error) => console.error(error.message))) as Redis;
await redis.function('LOAD', 'REPLACE', library);

const empty = { answer: '' };
let answer = empty;
process.on('message', (message: { readonly answerBytes: number }) => {
  answer = { answer: 'x'.repeat(Math.max(0, message.answerBytes - JSON.stringify(empty).length)) };
  process.send?.({ answerBytes: JSON.stringify(answer).length });
});
process.on('disconnect', () => process.exit());

const router = new Router();
router.post('/v1/metrics/:key/event', async (ctx) => {
  await redis.fcall('laurel_bench_nothing', 1, '{laurel_bench}');
  ctx.status = 201;
  ctx.body = answer;
});

const app = new Koa();
app.use(bodyParser());
app.use(router.routes());
const server = app.listen(0, '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});

/**
 * A back end that counts events in plain SQL (plain-postgres.ts), with the framework, router and body parser of Laurel. Started by servers/plain.ts
 * with the address of an empty database. It ends when the channel closes, so it can't outlive the benchmark.
 */
import type { AddressInfo } from 'node:net';
import Router from '@koa/router';
import Koa from 'koa';
import bodyParser from 'koa-bodyparser';
import pg from 'pg';
import { z } from 'zod';
import { limits } from '../../src/shared/limits.js';
import { PlainPostgres, plainSchema } from './plain-postgres.js';

/** More connections than that only wait for each other. */
const connections = 16;
const metric = 'flashcards-viewed';

const event = z.object({
  user: z.object({
    id: z.string().min(1).max(limits.maxIdChars),
    name: z.string().optional(),
    tz: z.string().optional(),
    attributes: z.object({ plan: z.string().optional(), city: z.string().optional() }).optional(),
  }),
  value: z.number().min(0),
});
const batch = z.array(event.extend({ key: z.literal(metric), idempotencyKey: z.string() }));

const [, , url] = process.argv;
if (url === undefined) throw new Error('Usage: plain-server.ts <URL of an empty database>');
const pool = new pg.Pool({ connectionString: url, max: connections });
pool.on('error', () => undefined);
await pool.query(plainSchema());
const plain = new PlainPostgres(pool);
process.on('disconnect', () => process.exit());

const router = new Router();
router.post(`/v1/metrics/${metric}/event`, async (ctx) => {
  const body = event.parse(ctx.request.body);
  const { status, body: answer } = await plain.track({ ...body, metric, idempotencyKey: ctx.get('idempotency-key') || null });
  ctx.status = status;
  ctx.body = answer;
});
/** Users who exist before come in batches, one event each. */
router.post('/admin/v1/metrics/events', async (ctx) => {
  const events = batch.parse(ctx.request.body);
  await Promise.all(events.map(({ key, ...one }) => plain.track({ ...one, metric: key })));
  ctx.status = 201;
  ctx.body = { counted: events.length };
});

const app = new Koa();
app.use(async (ctx, next) => {
  try {
    await next();
  } catch (error) {
    if (!(error instanceof z.ZodError)) throw error;
    ctx.status = 422;
    ctx.body = { error: z.prettifyError(error) };
  }
});
app.use(bodyParser({ jsonLimit: '10mb' }));
app.use(router.routes());
const server = app.listen(0, '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});

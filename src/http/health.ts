import type Router from '@koa/router';
import type { LaurelError } from '../errors.js';

/** Whether the service can do its work; the sentence says why not. */
export interface Health {
  /** Undefined when ready. */
  problem(): Promise<LaurelError | undefined>;
}

/**
 * `GET /health/live`: the process answers. `GET /health/ready`: Redis accepts writes and is in sync with Postgres, the ledger has room, and the
 * service is not stopping; 503 with the cause otherwise. Postgres being away alone does not count, since events go on until the ledger is full.
 * Neither needs a key.
 */
export function healthRoutes(router: Router, health: Health): void {
  router.get('/health/live', (context) => {
    context.body = { status: 'live' };
  });
  router.get('/health/ready', async (context) => {
    const problem = await health.problem();
    if (problem === undefined) {
      context.body = { status: 'ready' };
      return;
    }
    context.status = 503;
    context.set('Retry-After', '1');
    context.body = { status: 'not ready', error: problem.message };
  });
}

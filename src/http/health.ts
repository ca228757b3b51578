import type Router from '@koa/router';

/** Whether the service can do its work; the sentence says why not. */
export interface Health {
  /** Undefined when ready. */
  problem(): Promise<string | undefined>;
}

/**
 * `GET /health/live`: the process answers. `GET /health/ready`: Redis answers and is level with Postgres, and the service is not
 * stopping; 503 otherwise. Postgres being away does not count, since events go on without it. Neither needs a key.
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
    context.body = { status: 'not ready', error: problem };
  });
}

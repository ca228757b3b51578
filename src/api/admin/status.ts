import { z } from 'zod';
import { instantShape } from '../../shared/shapes.js';
import { defineRoute, type Route } from '../route.js';

const count = z.number().int();

const redisShape = z.object({ version: z.string(), memoryBytes: count, replicas: count, appendOnlyFile: z.boolean() });

const postgresShape = z.object({
  version: z.string(),
  schema: z.string().meta({ description: 'The newest migration.' }),
  databaseBytes: count,
  deadLetters: count.meta({ description: 'Ledger entries that Postgres refused, of all tenants; counted up to 1,000.' }),
  discarded: z.object({ lost: count, givenUp: count }).meta({
    description:
      'Ledger entries that restores saved as dead letters: `lost` because another Redis took over, `givenUp` by an operator with `laurel restore --discard`.',
  }),
  leases: z
    .array(z.object({ holder: z.string(), tenants: count }))
    .meta({ description: 'The workers and restores that may write ledgers now, and to how many tenants they belong.' }),
});

const processShape = z.object({
  host: z.string(),
  pid: count,
  role: z.string(),
  redis: z.string(),
  prefix: z.string(),
  confirmed: z.boolean().meta({
    description:
      'Whether it has confirmed in the last seconds that its Redis holds the current epoch. Without, it runs and serves no tenant.',
  }),
});

const tenantShape = z.object({
  id: z.string().meta({ description: '`default` for the default tenant.' }),
  name: z.string(),
  epoch: z.string(),
  redisEpoch: z.string().nullable(),
  committed: z.string().meta({ description: 'The newest ledger entry in Postgres.' }),
  newest: z.string().meta({ description: 'The newest ledger entry in Redis.' }),
  state: z.enum(['in sync', 'out of sync', 'restoring']),
  postgresIsOlder: z.boolean().meta({ description: 'Whether Postgres lacks ledger entries that it had committed.' }),
  restored: count.nullable().meta({ description: 'Users restored so far; null without a restore.' }),
  lagEntries: count,
  lagSeconds: z.number(),
});

const statusShape = z
  .object({
    version: z.string(),
    now: instantShape.nullable().meta({ description: 'The time of the default tenant; null while its Redis is away.' }),
    configurationVersion: count.nullable().meta({ description: 'Of the default tenant; 0 before the first.' }),
    redis: redisShape.nullable().meta({ description: 'Null while Redis is away.' }),
    postgres: postgresShape.nullable().meta({ description: 'Null while Postgres is away.' }),
    processes: z.array(processShape).nullable().meta({ description: 'Those that have reached Postgres in the last seconds.' }),
    tenants: count.nullable(),
    lagEntries: count.nullable().meta({
      description: 'Ledger entries that wait for Postgres, of all tenants; while Postgres is away, of those that this process knows.',
    }),
    lagSeconds: z.number().nullable().meta({ description: 'The age of the oldest of them.' }),
    listed: z
      .array(tenantShape)
      .nullable()
      .meta({ description: 'The default tenant, and others that are out of sync or more than a minute behind.' }),
    webhooks: z
      .object({ pending: count, failed: count, failingEndpoints: count })
      .nullable()
      .meta({ description: 'Deliveries of all tenants that are still stored, and endpoints that fail now.' }),
    messages: z.object({ pending: count, failed: count }).nullable().meta({ description: 'To users of all tenants.' }),
    restores: z
      .array(z.object({ tenantId: z.string(), ended: instantShape }))
      .nullable()
      .meta({ description: 'The 10 newest restores: when each ended the epoch before it.' }),
    problems: z.array(z.string()).meta({ description: 'A sentence for each; empty when everything is in order.' }),
  })
  .meta({ id: 'Status' });

export const statusRoutes: readonly Route[] = [
  defineRoute({
    method: 'get',
    path: '/status',
    operation: 'admin_status',
    description:
      'What `laurel status --json` prints, and more. Responds with 200 also when there are problems. Null is what is unknown now: `problems` says why.',
    summary: 'Read the state of the installation and its problems',
    responses: { 200: statusShape },
    handle: async ({ services }) => {
      const { now, restores, ...status } = await services.status();
      const body = {
        ...status,
        now: now === null ? null : new Date(now).toISOString(),
        restores: restores && restores.map(({ tenantId, ended }) => ({ tenantId, ended: ended.toISOString() })),
      };
      return { status: 200, body };
    },
  }),
];

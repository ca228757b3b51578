import type pg from 'pg';
import { defaultTenant } from '../access/tenants.js';
import { countDeliveries, type DeliveryCounts } from '../deliveries/counts.js';
import type { Clock } from '../engine/clock.js';
import type { Engine } from '../engine/engine.js';
import { messageOf } from '../redis/connection.js';
import { redisSentence } from '../redis/failure.js';
import { limits } from '../shared/limits.js';
import { version } from '../shared/version.js';
import { readerOf, readStatus, type Status, type StatusStores } from './status.js';

/** A restore that began a new epoch, and thereby ended the one before. */
interface EndedEpoch {
  /** `default` for the default tenant. */
  readonly tenantId: string;
  readonly ended: Date;
}

/** The status of the installation and of its default tenant. Null is what could not be read; `problems` says why. */
export interface AccountStatus extends Status {
  readonly version: string;
  /** The time of the default tenant, in milliseconds since 1970. */
  readonly now: number | null;
  /** Of the default tenant; 0 before the first. */
  readonly configurationVersion: number | null;
  readonly webhooks: DeliveryCounts['webhooks'] | null;
  readonly messages: DeliveryCounts['messages'] | null;
  /** The latest restores of all tenants, the newest first. */
  readonly restores: readonly EndedEpoch[] | null;
}

export interface AccountStatusOptions extends Omit<StatusStores, 'problems'> {
  readonly engine: Engine;
  readonly clock: Clock;
}

async function latestRestores(pool: pg.Pool): Promise<EndedEpoch[]> {
  const { rows } = await pool.query<EndedEpoch>(
    `select case when past.tenant = $1 then 'default' else tenants.id::text end as "tenantId", past.ended
       from past_epochs as past join tenants on tenants.no = past.tenant
      order by past.ended desc, past.tenant limit $2`,
    [defaultTenant, limits.statusRestores],
  );
  return rows;
}

/** Reads the status of `laurel status`, and what operators watch besides. Changes nothing. A store that does not respond is a problem in the result. */
export async function readAccountStatus({ engine, clock, ...stores }: AccountStatusOptions): Promise<AccountStatus> {
  const { pool } = stores;
  const status = await readStatus({ ...stores, problems: [] });
  const problems = [...status.problems];
  const orProblem = readerOf(problems);
  const hasPostgres = status.postgres !== null;
  const deliveries = hasPostgres ? await orProblem(countDeliveries(pool), 'Reading the deliveries failed') : null;
  const config = await orProblem(engine.config(defaultTenant), 'Reading the configuration failed');
  return {
    ...status,
    version,
    now:
      status.redis &&
      (await orProblem(clock.now(defaultTenant), (error) => (stores.redis && redisSentence(error, stores.redis)) ?? messageOf(error))),
    configurationVersion: config?.version ?? null,
    webhooks: deliveries?.webhooks ?? null,
    messages: deliveries?.messages ?? null,
    restores: hasPostgres ? await orProblem(latestRestores(pool), 'Reading the restores failed') : null,
    problems,
  };
}

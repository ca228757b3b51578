/** Past events, stored as by the write-behind: more than a test could send. */
import { randomUUID } from 'node:crypto';
import { collectBatch } from '../../src/ledger/batch.js';
import type { EventEntry } from '../../src/ledger/entry.js';
import { monthsOf, MonthlyPartitions } from '../../src/ledger/partitions.js';
import { writeBatch } from '../../src/ledger/write-batch.js';
import { limits } from '../../src/shared/limits.js';
import { inTransaction } from '../../src/postgres/pool.js';
import { tenant, type World } from './world.js';

const dayMs = 86_400_000;

export interface PastEvent {
  readonly user: string;
  /** `no` of a metric. */
  readonly metric: number;
  readonly value: number;
  /** Days since 1970-01-01. */
  readonly day: number;
  /** Pairs of event attribute no, as text, and value. */
  readonly attributes?: readonly (readonly [string, string])[];
}

/** Writes events, oldest first, with the users' totals. */
export async function writePast(world: World, events: readonly PastEvent[]): Promise<void> {
  const totals = new Map<string, number>();
  const revs = new Map<string, number>();
  const entries = events.map(({ user, metric, value, day, attributes = [] }, index): EventEntry => {
    const total = (totals.get(`${metric}:${user}`) ?? 0) + value;
    const rev = (revs.get(user) ?? 0) + 1;
    totals.set(`${metric}:${user}`, total);
    revs.set(user, rev);
    const at = day * dayMs + (index % dayMs);
    return { kind: 'event', id: randomUUID(), user, at, day, rev, points: [], boards: [], metric, value, total, attributes, state: [] };
  });
  const partitions = new MonthlyPartitions(world.pool);
  await partitions.ensure(monthsOf(entries.map(({ at }) => at)));
  for (let first = 0; first < entries.length; first += limits.writeBehindBatchEntries) {
    const chunk = entries.slice(first, first + limits.writeBehindBatchEntries);
    const batch = collectBatch(chunk.map((entry, i) => ({ id: `1-${first + i}`, entry })));
    await inTransaction(world.pool, (client) => writeBatch(client, tenant, batch));
  }
}

/** The `no` of an object of the active configuration. */
export async function numberOf(world: World, list: string, key: string): Promise<number> {
  const { rows } = await world.pool.query<{ no: number }>(
    `select (item ->> 'no')::integer as no from config_versions, jsonb_array_elements(document -> $1) as item
      where item ->> 'key' = $2 order by version desc limit 1`,
    [list, key],
  );
  if (!rows[0]) throw new Error(`there is no ${key} in ${list}`);
  return rows[0].no;
}

import { Counter, Histogram, type Registry } from 'prom-client';
import type { LedgerProgress, WriteBehindProgress } from '../ledger/lag.js';
import type { Refresh } from './observation.js';

const sizeBuckets = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000];
/** Seconds. */
const timeBuckets = [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5];

/** The batches of this process' write-behind: how many entries, how long, and how often one failed, of all tenants together. */
export function writeBehindMetrics(registry: Registry, progress: WriteBehindProgress): Refresh {
  const registers = [registry];
  const sizes = new Histogram({
    ...{ name: 'laurel_write_behind_batch_entries', help: 'Ledger entries that one transaction of the write-behind committed.' },
    ...{ buckets: sizeBuckets, registers },
  });
  const durations = new Histogram({
    name: 'laurel_write_behind_batch_duration_seconds',
    help: 'Time of a batch of the write-behind: reading it from Redis, committing it and trimming the stream.',
    ...{ buckets: timeBuckets, registers },
  });
  const failures = new Counter({
    ...{ name: 'laurel_write_behind_failures_total', help: 'Batches of the write-behind that failed; each is tried again.', registers },
  });
  const deadLetters = new Counter({
    ...{ name: 'laurel_write_behind_dead_letters_total', help: 'Ledger entries that this process put among the dead letters.', registers },
  });
  progress.onBatch = (_tenant, entries, ms) => {
    sizes.observe(entries);
    durations.observe(ms / 1000);
  };
  return () => {
    sum(failures, progress, (of) => of.failures);
    sum(deadLetters, progress, (of) => of.deadLetters);
    return Promise.resolve();
  };
}

/** A counter that is kept elsewhere, by tenant. */
function sum(counter: Counter, progress: WriteBehindProgress, count: (of: LedgerProgress) => number): void {
  let total = 0;
  for (const of of progress.all.values()) total += count(of);
  counter.reset();
  counter.inc(total);
}

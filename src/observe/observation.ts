import type { Logger } from 'pino';
import { Gauge, Registry, collectDefaultMetrics } from 'prom-client';
import { limits } from '../shared/limits.js';

/** A gauge without labels that has no value until it is set, and after `remove()`: a failed read is a missing sample, and not 0 or an old value. */
export function absentGauge(registry: Registry, name: string, help: string): Gauge {
  const gauge = new Gauge({ name, help, registers: [registry] });
  gauge.remove();
  return gauge;
}

let registry: Registry | undefined;

/**
 * Node's default metrics: CPU, memory, event loop, garbage collection. A process may run several services, and event loop monitoring can't be stopped,
 * so they are registered once, on first use.
 */
export function processMetrics(): Registry {
  if (registry) return registry;
  registry = new Registry();
  collectDefaultMetrics({ register: registry });
  return registry;
}

/** Updates the metrics of one concern before they are read; metrics that it can't read are left out. */
export type Refresh = () => Promise<void>;

/**
 * The Prometheus metrics of this process. Each concern registers its own metrics, those counted as things happen and those read on a scrape, with `add`.
 *
 * Labels are bounded: routes by pattern, functions, statuses. Tenants and users are not labels, since there may be 100,000 of one and millions of the
 * other: their metrics are sums, maxima, or the worst few.
 */
export class Observation {
  private readonly registry = new Registry();
  private readonly log: Logger;
  private readonly refreshes: (() => Promise<void>)[] = [];
  private reading: Promise<string> | undefined;

  constructor(log: Logger) {
    this.log = log;
  }

  /** Registers a concern. `register` creates its metrics and returns a function that updates them, if needed. */
  add(register: (registry: Registry) => Refresh | undefined): void {
    const refresh = register(this.registry);
    if (refresh) this.refreshes.push(this.bounded(refresh));
  }

  readonly contentType = Registry.PROMETHEUS_CONTENT_TYPE;

  /**
   * All metrics in the Prometheus text format. Always resolves, within little more than limits.metricsWaitMs: an unavailable store sets
   * `laurel_redis_up` or `laurel_postgres_up` to 0, and its other metrics are left out. Concurrent readers share a result.
   */
  read(): Promise<string> {
    this.reading ??= this.readAll().finally(() => (this.reading = undefined));
    return this.reading;
  }

  private async readAll(): Promise<string> {
    await Promise.all(this.refreshes.map((refresh) => refresh()));
    return `${await this.registry.metrics()}\n${await processMetrics().metrics()}`;
  }

  /** Runs one refresh at a time, and waits at most limits.metricsWaitMs for it. */
  private bounded(refresh: Refresh): () => Promise<void> {
    let running: Promise<void> | undefined;
    return async () => {
      running ??= refresh()
        .catch((error: unknown) => {
          this.log.debug({ err: error }, 'metrics refresh failed');
        })
        .finally(() => (running = undefined));
      await waitAtMost(running, limits.metricsWaitMs);
    };
  }
}

async function waitAtMost(work: Promise<void>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work, over]).finally(() => clearTimeout(timer));
}

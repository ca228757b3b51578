import type { Logger } from 'pino';
import { Gauge, Registry, collectDefaultMetrics } from 'prom-client';
import { limits } from '../shared/limits.js';

/**
 * A gauge without labels that has no value until it is set, and none again after `remove()`: what could not be looked up is missing from
 * the answer, and not 0 or what it was before.
 */
export function absentGauge(registry: Registry, name: string, help: string): Gauge {
  const gauge = new Gauge({ name, help, registers: [registry] });
  gauge.remove();
  return gauge;
}

let registry: Registry | undefined;

/**
 * Node's and the system's figures of this process: CPU, memory, event loop, garbage collection. There is one process, however many
 * services run in it, and what watches the event loop can't be taken away again, so they are registered once, when first asked for.
 */
export function processMetrics(): Registry {
  if (registry) return registry;
  registry = new Registry();
  collectDefaultMetrics({ register: registry });
  return registry;
}

/** Brings the figures of one concern up to date before they are read. What it can't find out it leaves out of the answer. */
export type Refresh = () => Promise<void>;

/**
 * What this process tells Prometheus. Each concern (requests.ts, functions.ts, …) registers its own metrics, those that are counted while
 * something happens as well as those that are looked up when somebody reads them; to add a concern, give `add` a function that does it.
 *
 * Labels are of bounded variety: routes as they are declared, functions, statuses. Tenants and users are no labels, since there may be
 * 100,000 of the one and millions of the other: what is theirs is given as a sum, a maximum, or of the worst few.
 */
export class Observation {
  private readonly registry = new Registry();
  private readonly log: Logger;
  private readonly refreshes: (() => Promise<void>)[] = [];
  private reading: Promise<string> | undefined;

  constructor(log: Logger) {
    this.log = log;
  }

  /** Registers a concern. `register` makes its metrics in the registry, and returns how they are brought up to date if that takes looking. */
  add(register: (registry: Registry) => Refresh | undefined): void {
    const refresh = register(this.registry);
    if (refresh) this.refreshes.push(this.bounded(refresh));
  }

  readonly contentType = Registry.PROMETHEUS_CONTENT_TYPE;

  /**
   * All metrics in the text format of Prometheus. It always answers, and within limits.metricsWaitMs or little more: a store that is away
   * makes `laurel_redis_up` or `laurel_postgres_up` 0, and what was to be read from it is left out. Those who read at the same time share an answer.
   */
  read(): Promise<string> {
    this.reading ??= this.readAll().finally(() => (this.reading = undefined));
    return this.reading;
  }

  private async readAll(): Promise<string> {
    await Promise.all(this.refreshes.map((refresh) => refresh()));
    return `${await this.registry.metrics()}\n${await processMetrics().metrics()}`;
  }

  /** One look at a time, which nobody waits for longer than allowed. */
  private bounded(refresh: Refresh): () => Promise<void> {
    let running: Promise<void> | undefined;
    return async () => {
      running ??= refresh()
        .catch((error: unknown) => {
          this.log.debug({ err: error }, 'some metrics could not be looked up');
        })
        .finally(() => (running = undefined));
      await waitAtMost(running, limits.metricsWaitMs);
    };
  }
}

/** Waits for some work, but not longer than `ms`. */
async function waitAtMost(work: Promise<void>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work, over]).finally(() => clearTimeout(timer));
}

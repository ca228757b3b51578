import type { Logger } from 'pino';
import { Gauge, Registry, collectDefaultMetrics, type MetricObjectWithValues, type MetricValue } from 'prom-client';
import { limits } from '../shared/limits.js';

/** A metric and its samples, as processes send it to each other. */
export type MetricSamples = MetricObjectWithValues<MetricValue<string>>;

/** Metrics in the text format of Prometheus. */
export interface MetricsSource {
  readonly contentType: string;
  read(): Promise<string>;
}

/**
 * A gauge about the stores, without labels, that has no value until it is set, and after `remove()`: a failed read is a missing sample, and not 0 or an
 * old value. Of several processes that read it, the largest value counts.
 */
export function absentGauge(registry: Registry, name: string, help: string): Gauge {
  const gauge = new Gauge({ name, help, registers: [registry], aggregator: 'max' });
  gauge.remove();
  return gauge;
}

let registry: Registry | undefined;

/**
 * Node's default metrics: CPU, memory, event loop, garbage collection. A process may run several services, and event loop monitoring can't be stopped,
 * so they are registered once, on first use.
 */
function processMetrics(name?: string): Registry {
  if (registry) return registry;
  registry = new Registry();
  collectDefaultMetrics({ register: registry, ...(name === undefined ? {} : { labels: { process: name } }) });
  return registry;
}

/** The same for a supervisor. prom-client leaves some out of a sum over processes; the label `process` keeps all of them apart. */
export async function processSamples(name: string): Promise<MetricSamples[]> {
  const samples = await samplesOf(processMetrics(name));
  return samples.map((metric) => ({ ...metric, aggregator: 'first' }));
}

/** JSON has no NaN, which a metric without an observation has. */
async function samplesOf(of: Registry): Promise<MetricSamples[]> {
  const metrics = (await of.getMetricsAsJSON()) as MetricSamples[];
  return metrics.map((metric) => ({ ...metric, values: metric.values.filter(({ value }) => Number.isFinite(value)) }));
}

/** Updates the metrics of one concern before they are read; metrics that it can't read are left out. */
export type Refresh = () => Promise<void>;

/**
 * The Prometheus metrics of this process. Each concern registers its own metrics, those counted as things happen and those read on a scrape, with `add`.
 *
 * Labels are bounded: routes by pattern, functions, statuses. Tenants and users are not labels, since there may be 100,000 of one and millions of the
 * other: their metrics are sums, maxima, or the worst few.
 */
export class Observation implements MetricsSource {
  private readonly own = new Concerns();
  /** Metrics that are equal in all processes, so that one of them reads them for all. */
  private readonly shared = new Concerns();
  private readonly log: Logger;
  private reading: Promise<string> | undefined;

  constructor(log: Logger) {
    this.log = log;
  }

  /** Registers a concern. `register` creates its metrics and returns a function that updates them, if needed. */
  add(register: (registry: Registry) => Refresh | undefined): void {
    this.register(this.own, register);
  }

  /** Registers a concern whose metrics are equal in all processes: those of the stores. */
  addShared(register: (registry: Registry) => Refresh | undefined): void {
    this.register(this.shared, register);
  }

  private register({ registry, refreshes }: Concerns, register: (registry: Registry) => Refresh | undefined): void {
    const refresh = register(registry);
    if (refresh) refreshes.push(this.bounded(refresh));
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
    await refreshAll([this.own, this.shared]);
    const registries = [this.own.registry, this.shared.registry, processMetrics()];
    return (await Promise.all(registries.map((of) => of.metrics()))).join('\n');
  }

  /** The samples of this process for its supervisor; with `shared`, also those that are equal in all processes. */
  async samples(name: string, shared: boolean): Promise<MetricSamples[]> {
    const read = shared ? [this.own, this.shared] : [this.own];
    await refreshAll(read);
    return (await Promise.all([...read.map(({ registry: of }) => samplesOf(of)), processSamples(name)])).flat();
  }

  /** What this process has counted, without a look at the stores. */
  counts(): Promise<MetricSamples[]> {
    return samplesOf(this.own.registry);
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

class Concerns {
  readonly registry = new Registry();
  readonly refreshes: (() => Promise<void>)[] = [];
}

async function refreshAll(all: readonly Concerns[]): Promise<void> {
  await Promise.all(all.flatMap(({ refreshes }) => refreshes.map((refresh) => refresh())));
}

async function waitAtMost(work: Promise<void>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work, over]).finally(() => clearTimeout(timer));
}

import { AggregatorRegistry, Counter, Registry } from 'prom-client';
import { processSamples, type MetricSamples, type MetricsSource } from '../../observe/observation.js';
import type { ManagedProcess } from './managed-process.js';

/** What adds up over time and must not fall when a process ends. The metrics of Node have the process as a label. */
const isCount = ({ name, type }: MetricSamples): boolean =>
  ['counter', 'histogram'].includes(String(type)) && !/^(nodejs|process)_/.test(name);

const aggregate = (all: readonly (readonly MetricSamples[])[]): Registry => AggregatorRegistry.aggregate(all as MetricSamples[][]);

/**
 * The metrics of all processes of a supervisor. One process reads those of the stores for all. What processes that are gone had counted stays in the
 * sums, so that no counter falls.
 */
export class GroupMetrics implements MetricsSource {
  readonly contentType = Registry.PROMETHEUS_CONTENT_TYPE;
  private readonly processes: () => readonly ManagedProcess[];
  /** The counts of processes that are gone. */
  private retired: readonly MetricSamples[] = [];
  /** The last counts of living processes. */
  private readonly counts = new Map<ManagedProcess, readonly MetricSamples[]>();
  /** Processes that did not respond to the last scrape. */
  private readonly silent = new Set<ManagedProcess>();
  private readonly gone = new WeakSet<ManagedProcess>();
  private readonly registry = new Registry();
  private readonly failures = new Counter({
    name: 'laurel_process_failures_total',
    help: 'Processes that ended by themselves or were killed, and were replaced, by role.',
    labelNames: ['role'] as const,
    registers: [this.registry],
  });
  private reading: Promise<string> | undefined;

  /** `processes` returns those that are up, in the order of preference for reading the stores. */
  constructor(processes: () => readonly ManagedProcess[]) {
    this.processes = processes;
    for (const role of ['api', 'worker'] as const) this.failures.inc({ role }, 0);
  }

  /** Concurrent readers share a result. */
  read(): Promise<string> {
    this.reading ??= this.readAll().finally(() => (this.reading = undefined));
    return this.reading;
  }

  /** The metrics that a process has counted until its end. */
  counted(process: ManagedProcess, metrics: readonly MetricSamples[]): void {
    this.counts.set(process, metrics.filter(isCount));
  }

  /** Keeps the counts of a process that is gone. `isFailure`: it had no order to end. */
  ended(process: ManagedProcess, isFailure: boolean): void {
    if (isFailure) this.failures.inc({ role: process.role });
    this.gone.add(process);
    const counts = this.counts.get(process) ?? [];
    this.counts.delete(process);
    this.silent.delete(process);
    this.retired = aggregate([this.retired, counts]).getMetricsAsArray() as unknown as MetricSamples[];
  }

  private async readAll(): Promise<string> {
    const processes = this.processes();
    const reader = processes.find((one) => !this.silent.has(one)) ?? processes[0];
    const replies = await Promise.all(
      processes.map(async (process) => ({ process, samples: await this.samplesOf(process, process === reader) })),
    );
    const own = [await processSamples('supervisor'), (await this.registry.getMetricsAsJSON()) as MetricSamples[]];
    // What a process had counted that has ended since is among the retired counts.
    const living = replies.filter(({ process }) => !this.gone.has(process)).map(({ samples }) => samples);
    return aggregate([...own, this.retired, ...living]).metrics();
  }

  private async samplesOf(process: ManagedProcess, shared: boolean): Promise<readonly MetricSamples[]> {
    const samples = await process.metrics(shared);
    if (!samples) {
      this.silent.add(process);
      return this.counts.get(process) ?? [];
    }
    this.silent.delete(process);
    if (!this.gone.has(process)) this.counted(process, samples);
    return samples;
  }
}

import type { MetricSamples } from '../../observe/observation.js';

/** The role of a process that a supervisor runs. */
export type SupervisedRole = 'api' | 'worker';

/** What a supervisor passes to a process when it starts it. */
export interface ProcessPlan {
  /** `api-1`, `worker`: a field of its log lines, a label of its metrics, and its last argument, which `ps` shows. */
  readonly name: string;
  readonly role: SupervisedRole;
  /** Whether this process applies the configuration of the start: the supervisor found Redis out of sync. */
  readonly appliesConfig: boolean;
}

/** The environment variable that holds the plan, as JSON. */
export const planVariable = 'LAUREL_PROCESS';

/**
 * From the supervisor to a process. `stop`: stop in order, after serving for another `delayMs` while not ready. `retire`: leave the port to the
 * process that replaces this one, and stop. `metrics`: send them, with those of the stores if `shared`.
 */
export type Order =
  | { readonly order: 'stop'; readonly delayMs: number }
  | { readonly order: 'retire' }
  | { readonly order: 'metrics'; readonly shared: boolean };

export type EndOrder = Exclude<Order, { readonly order: 'metrics' }>;

/**
 * From a process to its supervisor. `started`: it serves; `address` is that of the API. `failed`: it can't start, and why. `counted`: its last metrics,
 * before it ends.
 */
export type Report =
  | { readonly report: 'started'; readonly address: string | undefined }
  | { readonly report: 'failed'; readonly message: string }
  | { readonly report: 'config applied' }
  | { readonly report: 'metrics' | 'counted'; readonly metrics: readonly MetricSamples[] };

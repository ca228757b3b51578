import { collectDefaultMetrics, Registry } from 'prom-client';

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

import { Counter, Histogram, type Registry } from 'prom-client';
import type { AroundCall } from '../engine/engine.js';

/** Seconds: a call takes some 50 µs in Redis, and what is in front of it in the pipeline. */
const buckets = [0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2.5];

/** Times the calls of the function library, as this process sees them: with the way to Redis and back. */
export function timeFunctions(registry: Registry): AroundCall {
  const durations = new Histogram({
    name: 'laurel_function_duration_seconds',
    help: 'Round trip of a call of the function library in Redis, by function.',
    labelNames: ['function'],
    buckets,
    registers: [registry],
  });
  const failures = new Counter({
    name: 'laurel_function_failures_total',
    help: 'Calls of the function library that Redis did not answer or answered with an error, by function.',
    labelNames: ['function'],
    registers: [registry],
  });
  return async (name, call) => {
    const begun = performance.now();
    try {
      return await call();
    } catch (error) {
      failures.inc({ function: name });
      throw error;
    } finally {
      durations.observe({ function: name }, (performance.now() - begun) / 1000);
    }
  };
}

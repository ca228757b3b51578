import { Gauge, type Registry } from 'prom-client';

/**
 * A gauge without labels that has no value until it is set, and none again after `remove()`: what could not be looked up is missing from
 * the answer, and not 0 or what it was before.
 */
export function absentGauge(registry: Registry, name: string, help: string): Gauge {
  const gauge = new Gauge({ name, help, registers: [registry] });
  gauge.remove();
  return gauge;
}

import { setTimeout as delay } from 'node:timers/promises';
import { apiKey } from '../servers/laurel.js';
import type { ProbeEvent } from './watching.js';

/** The time between two events of probes. */
const probeMs = 50;

export interface ProbesOptions {
  readonly url: string;
  readonly metricKey: string;
  /** Users, each with the value of the attribute `city`, if it has one. */
  readonly users: readonly { readonly id: string; readonly city?: string }[];
  readonly signal: AbortSignal;
}

/** Users who send events in turn at a slow rate. Each event adds 1, so a total tells which events a row includes. */
export class Probes {
  /** The events since `clear`. */
  events: ProbeEvent[] = [];
  private readonly options: ProbesOptions;
  private turn = 0;

  constructor(options: ProbesOptions) {
    this.options = options;
  }

  /** Lets each have a first event. */
  async create(value = 1): Promise<void> {
    for (const user of this.options.users) await this.send(user, value);
  }

  clear(): void {
    this.events = [];
  }

  /** Sends events until `end`. */
  async run(end: AbortSignal): Promise<void> {
    while (!end.aborted) {
      const user = this.options.users[this.turn % this.options.users.length];
      this.turn += 1;
      if (user) await this.send(user, 1);
      await delay(probeMs, undefined, { signal: this.options.signal });
    }
  }

  private async send({ id, city }: ProbesOptions['users'][number], value: number): Promise<void> {
    const { url, metricKey, signal } = this.options;
    const user = { id, ...(city !== undefined && { attributes: { city } }) };
    const headers = { 'content-type': 'application/json', 'x-api-key': apiKey };
    const body = JSON.stringify({ user, value });
    const response = await fetch(`${url}/v1/metrics/${metricKey}/event`, { method: 'POST', headers, body, signal });
    if (!response.ok) throw new Error(`An event got the status ${response.status}: ${await response.text()}`);
    const { total } = (await response.json()) as { total: number };
    this.events.push([id, total, performance.timeOrigin + performance.now()]);
  }
}

import type { Engine } from './engine.js';
import { text } from './function-calls.js';
import { clockBackward } from './refusals.js';
import { outcomes } from '../redis/contract.js';

/** The one clock: Redis' own, or the test clock that is stored there (docs/rules/time.md). Moments in milliseconds since 1970. */
export class Clock {
  private readonly engine: Engine;
  /** Whether the service runs on the test clock. */
  readonly settable: boolean;

  constructor(engine: Engine, settable: boolean) {
    this.engine = engine;
    this.settable = settable;
  }

  async now(tenant: number): Promise<number> {
    return this.call(tenant, '');
  }

  /** Moves the test clock forward. Throws a 422 when it would go backward from a time that was set. */
  async set(tenant: number, toMs: number): Promise<number> {
    return this.call(tenant, String(toMs));
  }

  /** The newest id of the ledger: what Postgres must have committed to be in sync with now. */
  async ledgerId(tenant: number): Promise<{ ledgerId: string }> {
    const { values } = await this.engine.call(tenant, 'ledgerId', () => ({ args: {} }));
    return { ledgerId: text(values[0]) };
  }

  private async call(tenant: number, to: string): Promise<number> {
    const { outcome, values } = await this.engine.call(tenant, 'clock', () => ({ args: { to } }));
    const now = Number(text(values[0]));
    if (outcome === outcomes.clockBackward) throw clockBackward(now);
    return now;
  }
}

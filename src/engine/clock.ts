import type { Engine } from './engine.js';
import { text } from './function-calls.js';
import { LaurelError } from '../shared/errors.js';
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

  /** Moves the test clock forward. Throws a 422 when it would go backward. */
  async set(tenant: number, toMs: number): Promise<number> {
    return this.call(tenant, String(toMs));
  }

  /** Gives a tenant that is new the time of another, if that one's has been set. */
  async copy(from: number, to: number): Promise<void> {
    const { values } = await this.engine.call(from, 'clock', () => ({ args: { to: '' } }));
    if (Number(values[1]) === 1) await this.set(to, Number(text(values[0])));
  }

  /** The newest id of the ledger: what Postgres must have committed to be in sync with now. */
  async ledgerId(tenant: number): Promise<{ ledgerId: string }> {
    const { values } = await this.engine.call(tenant, 'ledgerId', () => ({ args: {} }));
    return { ledgerId: text(values[0]) };
  }

  private async call(tenant: number, to: string): Promise<number> {
    const { outcome, values } = await this.engine.call(tenant, 'clock', () => ({ args: { to } }));
    const now = Number(text(values[0]));
    if (outcome === outcomes.clockBackward) {
      throw new LaurelError('unprocessable', `The test clock only goes forward: it is ${new Date(now).toISOString()} already.`);
    }
    return now;
  }
}

import { setTimeout as delay } from 'node:timers/promises';

const tickMs = 1;

/** When requests are due that come at even intervals. Node's timers have a resolution of a millisecond, so those of one tick are due together. */
export class Pace {
  private readonly ratePerMs: number;

  /** @param rate requests a second */
  constructor(rate: number) {
    this.ratePerMs = rate / 1_000;
  }

  /** How many requests are due within the first `elapsedMs`. */
  due(elapsedMs: number): number {
    return Math.floor(elapsedMs * this.ratePerMs);
  }

  /** Calls `send` for each request, with the moment of the tick in which it is due (performance.now()), until it is over. */
  async run(isOver: () => boolean, send: (dueMs: number) => void): Promise<void> {
    const startedMs = performance.now();
    for (let sent = 0; !isOver();) {
      const nowMs = performance.now();
      for (const due = this.due(nowMs - startedMs); sent < due; sent += 1) send(nowMs);
      await delay(tickMs);
    }
  }
}

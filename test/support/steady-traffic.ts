/** Clients that keep sending events whatever happens to the service, as callers do, and record the responses. */
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { Client, inParallel, NoAnswer, type Answer } from './client.js';
import { Random } from './random.js';
import { until } from './stage.js';
import { draw, said, sendDrawn, type Drawn, type EventRow, type Said, type TrafficModel } from './traffic.js';
import { adminKey } from './world.js';

/** Pause before an unacknowledged event is sent again. */
const retryMs = 20;
/** Replays pick from this many of the newest acknowledged events. */
const remembered = 2_000;

/** An acknowledged event; maps have it by idempotency key. */
export interface Acknowledged {
  readonly drawn: Drawn;
  readonly eventId: string;
  /** The response of the event itself, in the model's terms; undefined when only a replay got one. */
  readonly said: Said | undefined;
}

export interface SteadyTrafficOptions {
  readonly seed: number;
  readonly clients: number;
  /** The current target of a client, by its number. */
  readonly address: (client: number) => Promise<string> | string;
  /** The longest pause of a client between two events; it takes a random part of it. */
  readonly pauseMs?: number;
  /** The share of requests that send an acknowledged event once more, which must be answered as a replay. */
  readonly replayChance?: number;
  /** Timeout of a request. */
  readonly timeoutMs?: number;
}

/** What has happened so far. */
export interface Tally {
  /** Responses that acknowledged an event, replays included. */
  answers: number;
  /** Requests sent without a response. */
  lost: number;
  /** 503 responses. */
  refused: number;
  /** Events acknowledged only by a replay: they were counted, and their response was lost. */
  found: number;
  /** Acknowledged events that were sent again. */
  replays: number;
  /** The slowest response. */
  slowestMs: number;
}

const nothing = (): Tally => ({ answers: 0, lost: 0, refused: 0, found: 0, replays: 0, slowestMs: 0 });

/** Every event has an idempotency key and is sent until it is acknowledged. Anything but 201, 202 and 503 ends the load with a failure. */
export class SteadyTraffic {
  /** Since the last `take`. */
  acknowledged = new Map<string, Acknowledged>();
  tally = nothing();
  private readonly options: SteadyTrafficOptions;
  private readonly client: Client;
  private readonly recent: (readonly [drawn: Drawn, eventId: string])[] = [];
  private next = 0;
  private lastRecent = -1;
  private sending = true;
  private held = false;
  private busy = 0;
  private running: Promise<void> | undefined;
  private hasEnded = false;

  constructor(options: SteadyTrafficOptions) {
    this.options = options;
    this.client = new Client(adminKey, options.clients);
  }

  start(): void {
    this.running = inParallel(this.options.clients, (client) => this.send(client));
    // `during` and `stop` throw its failure; until then it must not end the process as an unhandled rejection.
    const ended = (): void => {
      this.hasEnded = true;
    };
    this.running.then(ended, ended);
  }

  /** Waits for a condition. Throws a failure of the load at once. */
  async during(what: string, look: () => boolean, boundMs?: number): Promise<void> {
    await until(what, () => this.hasEnded || look(), boundMs);
    if (this.hasEnded) await this.running;
  }

  /** Waits for the events in flight, and starts none until `resume`. */
  async hold(boundMs: number): Promise<void> {
    this.held = true;
    await this.during('every event to be acknowledged', () => this.busy === 0, boundMs);
  }

  resume(): void {
    this.held = false;
  }

  /** The acknowledged events and the tally since the last call. */
  take(): { readonly acknowledged: ReadonlyMap<string, Acknowledged>; readonly tally: Tally } {
    const { acknowledged, tally } = this;
    this.acknowledged = new Map();
    this.tally = nothing();
    return { acknowledged, tally };
  }

  /** Ends the load once every event in flight is acknowledged. Throws the failure of the load, if any. */
  async stop(): Promise<void> {
    this.sending = false;
    await this.running;
  }

  close(): void {
    this.sending = false;
    this.client.close();
  }

  private async send(client: number): Promise<void> {
    const { seed, pauseMs = 0, replayChance = 0 } = this.options;
    // A client's events depend on its number alone, so that runs of one seed are as similar as possible.
    const own = new Random(seed + client);
    while (this.sending) {
      if (pauseMs > 0) await delay(own.below(pauseMs));
      if (this.held) {
        await delay(retryMs);
        continue;
      }
      this.busy += 1;
      try {
        const again = own.chance(replayChance) ? this.recent[own.below(this.recent.length)] : undefined;
        if (again) await this.replay(client, ...again);
        else {
          this.next += 1;
          await this.sendNew(client, draw(new Random(seed + this.next), this.next, 1));
        }
      } finally {
        this.busy -= 1;
      }
    }
  }

  private async sendNew(client: number, one: Drawn): Promise<void> {
    const { answer, attempts } = await this.sendUntilAcknowledged(client, one);
    const { eventId } = answer.body as { eventId: string };
    const isFirst = answer.status === 201;
    if (!isFirst) {
      expect(attempts, `${one.key!} was taken for a replay the first time it was sent`).to.be.greaterThan(1);
      this.tally.found += 1;
    }
    this.acknowledged.set(one.key!, { drawn: one, eventId, said: isFirst ? said(answer) : undefined });
    this.lastRecent += 1;
    this.recent[this.lastRecent % remembered] = [one, eventId];
  }

  /** A replay of an acknowledged event returns its id, however old it is. */
  private async replay(client: number, one: Drawn, eventId: string): Promise<void> {
    const { answer } = await this.sendUntilAcknowledged(client, one);
    this.tally.replays += 1;
    expect([answer.status, (answer.body as { eventId: string }).eventId], `a replay of ${one.key!}`).to.deep.equal([202, eventId]);
  }

  private async sendUntilAcknowledged(client: number, one: Drawn): Promise<{ answer: Answer; attempts: number }> {
    for (let attempts = 1; ; attempts += 1) {
      const answer = await this.attempt(client, one);
      if (answer) return { answer, attempts };
      await delay(retryMs);
    }
  }

  /** Undefined when the event was not acknowledged. */
  private async attempt(client: number, one: Drawn): Promise<Answer | undefined> {
    const { address, timeoutMs } = this.options;
    const where = await address(client);
    const from = performance.now();
    try {
      const answer = await sendDrawn(this.client, where, one, undefined, timeoutMs);
      this.tally.slowestMs = Math.max(this.tally.slowestMs, performance.now() - from);
      if (answer.status === 503) {
        this.tally.refused += 1;
        return undefined;
      }
      expect(answer.status, JSON.stringify(answer.body)).to.be.oneOf([201, 202]);
      this.tally.answers += 1;
      return answer;
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error;
      if (!error.refused) this.tally.lost += 1;
      return undefined;
    }
  }
}

/** Every acknowledged event must be in the ledger exactly once, and no other. */
export function expectExactlyOnce(ledger: readonly EventRow[], acknowledged: ReadonlyMap<string, Acknowledged>): void {
  const stored = ledger.map(({ id, key }) => `${key ?? 'no key'} ${id}`).sort();
  const sent = [...acknowledged].map(([key, { eventId }]) => `${key} ${eventId}`).sort();
  if (stored.length === sent.length && stored.every((line, i) => line === sent[i])) return;
  const [inLedger, inAnswers] = [new Set(stored), new Set(sent)];
  const lost = sent.filter((line) => !inLedger.has(line));
  const strange = stored.filter((line) => !inAnswers.has(line));
  const twice = stored.filter((line, i) => line === stored[i - 1]);
  throw new Error(
    `acknowledged and not in Postgres: ${lost.length} (${lost.slice(0, 5).join('; ')}); ` +
      `in Postgres and never acknowledged: ${strange.length} (${strange.slice(0, 5).join('; ')}); ` +
      `there twice: ${twice.length} (${twice.slice(0, 5).join('; ')})`,
  );
}

/** Plays the ledger on the model, which must explain every response. */
export function expectExplained(model: TrafficModel, ledger: readonly EventRow[], acknowledged: ReadonlyMap<string, Acknowledged>): void {
  for (const { id, key, at } of ledger) {
    const { drawn, said: answer } = acknowledged.get(key!)!;
    const expected = model.track(drawn, at);
    if (answer) expect(answer, `event ${id}: ${JSON.stringify(drawn)}`).to.deep.equal(expected);
  }
}

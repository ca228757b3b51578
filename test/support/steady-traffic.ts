/** Clients who go on sending events whatever happens to the service, as callers do, and what they were told. */
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { Client, inParallel, NoAnswer, type Answer } from './client.js';
import type { Model } from './model.js';
import { Random } from './random.js';
import { until } from './stage.js';
import { draw, modelEvent, said, sendDrawn, type Drawn, type EventRow } from './traffic.js';
import { adminKey } from './world.js';

/** Before an event that was not acknowledged is sent again. */
const retryMs = 20;
/** Acknowledged events of which some are sent again: as many of the newest as this. */
const remembered = 2_000;

/** What was acknowledged, by idempotency key. */
export interface Acknowledged {
  readonly drawn: Drawn;
  readonly eventId: string;
  /** The answer of the event itself, in the terms of the model; undefined when only a replay was answered. */
  readonly said: ReturnType<typeof said> | undefined;
}

export interface SteadyTrafficOptions {
  readonly seed: number;
  readonly clients: number;
  /** Where a client (by its number) is to send to now. */
  readonly address: (client: number) => Promise<string> | string;
  /** The longest pause of a client between two events; it takes a random part of it. */
  readonly pauseMs?: number;
  /** The share of requests that send an acknowledged event once more, which must be answered as a replay. */
  readonly replayChance?: number;
  /** How long an answer may take before the client gives up waiting for it. */
  readonly timeoutMs?: number;
}

/** What has happened so far. */
export interface Tally {
  /** Answers that acknowledged something, replays included. */
  answers: number;
  /** Requests that were sent and not answered. */
  lost: number;
  /** Answers with a 503. */
  refused: number;
  /** Events that only a replay acknowledged: they had been counted, and their answer was lost. */
  found: number;
  /** Acknowledged events that were sent again. */
  replays: number;
  /** The longest that an answer took. */
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
  private told = -1;
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
    // Whoever waits for it hears of a failure; until somebody does, it must not end the process.
    const ended = (): void => {
      this.hasEnded = true;
    };
    this.running.then(ended, ended);
  }

  /** Waits until something is so; a failure of the load is thrown at once. */
  async during(what: string, look: () => boolean, boundMs?: number): Promise<void> {
    await until(what, () => this.hasEnded || look(), boundMs);
    if (this.hasEnded) await this.running;
  }

  /** Lets clients finish what they have begun, and begin nothing more until `resume`. */
  async hold(boundMs: number): Promise<void> {
    this.held = true;
    await this.during('every event to be acknowledged', () => this.busy === 0, boundMs);
  }

  resume(): void {
    this.held = false;
  }

  /** What was acknowledged, and what happened, since the last time. */
  take(): { readonly acknowledged: ReadonlyMap<string, Acknowledged>; readonly tally: Tally } {
    const { acknowledged, tally } = this;
    this.acknowledged = new Map();
    this.tally = nothing();
    return { acknowledged, tally };
  }

  /** Ends the load: every event that was begun is acknowledged first. Throws what went wrong meanwhile. */
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
    // What a client does depends on its number alone, so that runs of a seed are alike as far as they can be.
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
        else await this.sendNew(client, draw(new Random(seed + (this.next += 1)), this.next, 1));
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
    this.recent[(this.told += 1) % remembered] = [one, eventId];
  }

  /** What was acknowledged once is known for ever. */
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
  const told = [...acknowledged].map(([key, { eventId }]) => `${key} ${eventId}`).sort();
  if (stored.length === told.length && stored.every((line, i) => line === told[i])) return;
  const [inLedger, inAnswers] = [new Set(stored), new Set(told)];
  const lost = told.filter((line) => !inLedger.has(line));
  const strange = stored.filter((line) => !inAnswers.has(line));
  const twice = stored.filter((line, i) => line === stored[i - 1]);
  throw new Error(
    `acknowledged and not in Postgres: ${lost.length} (${lost.slice(0, 5).join('; ')}); ` +
      `in Postgres and never acknowledged: ${strange.length} (${strange.slice(0, 5).join('; ')}); ` +
      `there twice: ${twice.length} (${twice.slice(0, 5).join('; ')})`,
  );
}

/** Counts the events on the model in the order of the ledger, which must explain every answer. */
export function expectExplained(model: Model, ledger: readonly EventRow[], acknowledged: ReadonlyMap<string, Acknowledged>): void {
  for (const { id, key, day } of ledger) {
    const { drawn, said: answer } = acknowledged.get(key!)!;
    const expected = model.track(modelEvent(drawn, day));
    if (answer) expect(answer, `event ${id}: ${JSON.stringify(drawn)}`).to.deep.equal(expected);
  }
}

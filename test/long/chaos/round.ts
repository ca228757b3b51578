import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import type { Client } from '../../support/client.js';
import { runLaurel } from '../../support/process.js';
import { Random } from '../../support/random.js';
import { until } from '../../support/stage.js';
import { expectExactlyOnce, expectExplained, type Tally } from '../../support/steady-traffic.js';
import { expectRanks, expectTotals, readEvents, TrafficModel } from '../../support/traffic.js';
import { openArena, type Arena } from './arena.js';
import { chaosFaults, stopPostgres, type ChaosFault, type Scene } from './faults.js';

export interface ChaosOptions {
  readonly seed: number;
  readonly rounds: number;
  /** How many times something happens in a round; each time up to three faults at once. */
  readonly phases: number;
  readonly clients: number;
  readonly pauseMs: number;
  /** How long a frozen process stays frozen, and a stopped store stopped, at the most. */
  readonly maxPauseMs: number;
  /** How long Postgres is stopped in every 25th round and in the last. */
  readonly outageMs: number;
  /** Only faults whose names contain this. */
  readonly only?: string;
  readonly print: (line: string) => void;
}

/** What happened in one round. */
export interface RoundReport {
  readonly faults: readonly string[];
  readonly events: number;
  readonly tally: Tally;
  readonly drainedMs: number;
  readonly seconds: number;
}

const drainMs = 180_000;
const upMs = 180_000;
/** Load with nothing else, before each phase. */
const calmMs = 500;
/** The share of phases in which a second, and then a third, fault happens at the same time. */
const companyChance = 0.5;
const roundsOfOutage = 25;

/** Draws all faults in random order before any comes again, so that a few rounds have seen each. */
class Deck {
  private readonly random: Random;
  private readonly all: readonly ChaosFault[];
  private cards: ChaosFault[] = [];

  constructor(random: Random, all: readonly ChaosFault[]) {
    this.random = random;
    this.all = all;
  }

  /** The faults of one phase: one that needs everything else to be well by itself, else up to three, each to another victim. */
  draw(): ChaosFault[] {
    const first = this.take(() => true);
    const drawn = first ? [first] : [];
    while (first?.victim !== 'all' && drawn.length < 3 && this.random.chance(companyChance)) {
      const another = this.take(({ victim }) => victim !== 'all' && drawn.every((one) => one.victim !== victim));
      if (!another) break;
      drawn.push(another);
    }
    return drawn;
  }

  private take(fits: (fault: ChaosFault) => boolean): ChaosFault | undefined {
    if (this.cards.length === 0) this.cards = [...this.all];
    const fitting = this.cards.filter(fits);
    const taken = fitting[this.random.below(fitting.length)];
    this.cards = this.cards.filter((card) => card !== taken);
    return taken;
  }
}

/** Plays the rounds; stops everything that it started, and throws what was found. */
export async function playChaos(options: ChaosOptions, signal?: AbortSignal): Promise<RoundReport[]> {
  const arena = await openArena({ ...options, drainMs });
  try {
    return await new Play(options, arena).rounds(signal);
  } finally {
    await arena.stop();
  }
}

class Play {
  private readonly options: ChaosOptions;
  private readonly arena: Arena;
  private readonly random: Random;
  private readonly deck: Deck;
  private readonly scene: Scene;
  private readonly model = new TrafficModel();
  private ordinal = 0;
  private events = 0;

  constructor(options: ChaosOptions, arena: Arena) {
    this.options = options;
    this.arena = arena;
    this.random = new Random(options.seed);
    const { only = '' } = options;
    this.deck = new Deck(
      this.random,
      chaosFaults.filter(({ name }) => name.includes(only)),
    );
    this.scene = { arena, random: this.random, copies: [], maxPauseMs: options.maxPauseMs, drainMs };
  }

  async rounds(signal: AbortSignal | undefined): Promise<RoundReport[]> {
    const reports: RoundReport[] = [];
    this.arena.traffic.start();
    for (let round = 1; round <= this.options.rounds; round += 1) {
      const faults: string[] = [];
      try {
        const report = await this.round(round, faults, signal);
        reports.push(report);
        this.options.print(describe(round, report));
      } catch (error) {
        throw new Error(this.failure(round, faults, error), { cause: error });
      }
    }
    await this.arena.traffic.stop();
    return reports;
  }

  private failure(round: number, faults: readonly string[], error: unknown): string {
    const logs = this.arena.services.map((service) => `--- ${service.name}, the end of its log\n${service.log}`);
    const why = error instanceof Error ? error.message : String(error);
    return `SEED=${this.options.seed}, round ${round} (${faults.join('; ')}): ${why}\n${logs.join('\n')}`;
  }

  private async round(round: number, faults: string[], signal: AbortSignal | undefined): Promise<RoundReport> {
    const started = performance.now();
    const { rounds, phases, outageMs } = this.options;
    if (round % roundsOfOutage === 0 || round === rounds) {
      faults.push(`stop Postgres for ${outageMs / 1_000} s`);
      await stopPostgres(this.scene, outageMs);
    }
    for (let phase = 0; phase < phases; phase += 1) {
      signal?.throwIfAborted();
      await delay(calmMs);
      const drawn = this.deck.draw();
      faults.push(drawn.map(({ name }) => name).join(' + '));
      await allOf(drawn.map(({ run }) => run(this.scene)));
    }
    const checked = await this.check();
    return { faults, ...checked, seconds: (performance.now() - started) / 1_000 };
  }

  /** With everything up again, every acknowledged event must be stored, and both stores must agree. */
  private async check(): Promise<Pick<RoundReport, 'events' | 'tally' | 'drainedMs'>> {
    const { arena, model } = this;
    const { traffic, stage, services, addresses, client } = arena;
    await traffic.during('every process to be up', allUp(services), upMs);
    // A supervisor replaces a killed process while it stays up itself.
    for (const address of addresses) await until(`${address} to be ready`, isReady(client, address), upMs);
    await traffic.hold(drainMs);
    const ended = performance.now();
    await stage.drain();
    const drainedMs = performance.now() - ended;
    expect(services.flatMap(({ faults }) => faults)).to.deep.equal([]);
    const { acknowledged, tally } = traffic.take();
    const ledger = await readEvents(stage.pool, this.ordinal);
    expectExactlyOnce(ledger, acknowledged);
    expectExplained(model, ledger, acknowledged);
    this.ordinal = ledger.at(-1)?.ordinal ?? this.ordinal;
    this.events += ledger.length;
    await this.expectNoMore();
    await expectTotals(model, client, addresses[0]);
    await expectRanks(model, client, addresses[1]);
    const verified = await runLaurel(['verify'], stage.env);
    expect([verified.code, verified.output], verified.log).to.satisfy(([code, output]: [number, string]) => {
      return code === 0 && / 0 differences/.test(output);
    });
    traffic.resume();
    return { events: ledger.length, tally, drainedMs };
  }

  /** No event of an earlier round may be counted twice. */
  private async expectNoMore(): Promise<void> {
    const { rows } = await this.arena.stage.pool.query<{ events: number; keys: number }>(
      'select count(*)::integer as events, count(distinct idempotency_key)::integer as keys from events',
    );
    expect(rows[0]).to.deep.equal({ events: this.events, keys: this.events });
  }
}

/** Waits for all, also when one has failed: none may restart a process after the end. */
async function allOf(runs: readonly Promise<void>[]): Promise<void> {
  for (const result of await Promise.allSettled(runs)) if (result.status === 'rejected') throw result.reason;
}

/** Returns a check whether an API accepts requests, for polling. */
const isReady = (client: Client, address: string) => (): Promise<boolean> =>
  client.send(address, 'GET', '/health/ready').then(
    ({ status }) => status === 200,
    () => false,
  );

/** Returns a check whether all are up, for polling. */
function allUp(services: readonly { whenUp(): Promise<void> }[]): () => boolean {
  let isUp = false;
  void Promise.all(services.map((service) => service.whenUp())).then(() => (isUp = true));
  return () => isUp;
}

function describe(round: number, { faults, events, tally, drainedMs, seconds }: RoundReport): string {
  return (
    `round ${round}: ${events} events, each once (${tally.found} found by a replay; ${tally.lost} responses lost, ${tally.refused} refused, ` +
    `${tally.replays} replays, slowest response ${(tally.slowestMs / 1_000).toFixed(1)} s), drained in ${(drainedMs / 1_000).toFixed(1)} s, ` +
    `0 differences; ${seconds.toFixed(0)} s: ${faults.join('; ')}`
  );
}

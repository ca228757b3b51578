import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type EventEntry, streakFact, unpackFacts } from '../ledger/entry.js';
import type { Metric } from '../config/schema/model.js';
import { type ActiveConfig, requireMetric } from '../plan/active-config.js';
import { orderArguments, outcomes } from '../redis/contract.js';
import { bytesOfUuid, storedKey, unpackMessage, uuidOfBytes } from '../redis/encoding.js';
import { eventJson, replayJson } from '../responses/events.js';
import { LaurelError } from '../shared/errors.js';
import type { JsonText } from '../shared/json.js';
import { limits } from '../shared/limits.js';
import type { Call, Engine } from './engine.js';
import { type Reply, text } from './function-calls.js';
import { refusal } from './refusals.js';
import { type AttributeValues, type UserProperties, attributePairs, checkAttributeKeys, userPatch } from './user-properties.js';

/** One event as a caller sends it, checked but for what only the configuration knows. */
export interface EventRequest {
  readonly metricKey: string;
  readonly user: UserProperties & { readonly id: string };
  readonly value: number;
  readonly attributes: AttributeValues | undefined;
  readonly idempotencyKey: string | undefined;
}

export interface EventAnswer {
  /** Whether the idempotency key had been used before, so that nothing was counted. */
  readonly replayed: boolean;
  /** The contract's `EventResponse`. */
  readonly body: JsonText;
}

/** Why the configuration refuses an event: its metric or its attributes are not in use. */
function refusedBy(config: ActiveConfig, request: EventRequest): LaurelError | undefined {
  try {
    requireMetric(config, request.metricKey);
    checkAttributeKeys([request.user.attributes, config.userAttributes], [request.attributes, config.eventAttributes]);
    return undefined;
  } catch (error) {
    if (error instanceof LaurelError) return error;
    throw error;
  }
}

/** The metric of an event, which may be a replay: archived metrics have keys that were used. Throws a 404. */
function metricOf(config: ActiveConfig, { metricKey, idempotencyKey }: EventRequest): Metric {
  const known = config.metrics.get(metricKey);
  if (known || idempotencyKey === undefined) return known ?? requireMetric(config, metricKey);
  return config.document.metrics.find(({ key }) => key === metricKey) ?? requireMetric(config, metricKey);
}

/**
 * An event as a call of `track`. One that the configuration refuses may be a replay (docs/rules/idempotency.md): with a key, it is a call that
 * only looks for this. Without one, throws a LaurelError for an unknown metric and for unknown attributes.
 */
export function trackCall(config: ActiveConfig, request: EventRequest, eventId: string): Call<'track'> {
  const metric = metricOf(config, request);
  const refused = refusedBy(config, request);
  if (refused && request.idempotencyKey === undefined) throw refused;
  const patch = refused ? [] : userPatch(config, request.user);
  return {
    args: {
      user: request.user.id,
      metric: metric.no,
      value: refused ? '' : request.value,
      eventId,
      idempotencyKey: request.idempotencyKey === undefined ? '' : storedKey(request.idempotencyKey),
      idBytes: bytesOfUuid(eventId),
      patchPairs: patch.length / 2,
    },
    pairs: refused ? [] : patch.concat(attributePairs(request.attributes, config.eventAttributes)),
  };
}

/**
 * Counts one event: one call of the function library, in which everything happens or nothing does (docs/rules/events.md). Throws a
 * LaurelError for what the configuration or the user's state refuses.
 */
export async function trackEvent(engine: Engine, tenant: number, request: EventRequest): Promise<EventAnswer> {
  const eventId = randomUUID();
  const { outcome, values, config } = await engine.call(tenant, 'track', (active) => trackCall(active, request, eventId));
  const { id: metricId } = metricOf(config, request);
  const { idempotencyKey } = request;
  switch (outcome) {
    case outcomes.ok: {
      const entry = unpackFacts(values[0]) as EventEntry;
      return { replayed: false, body: eventJson(config, { eventId, metricId, idempotencyKey }, entry) };
    }
    case outcomes.replay: {
      const now = { total: Number(text(values[1])), streak: streakFact(unpackMessage(values[2])) };
      const frame = { eventId: uuidOfBytes(values[0] as Buffer), metricId, idempotencyKey };
      return { replayed: true, body: replayJson(config, frame, now) };
    }
    case outcomes.refused:
      throw refusedBy(config, request) ?? refusal(outcome, request.user.id);
    default:
      throw refusal(outcome, request.user.id);
  }
}

/** Why one event of a batch was not counted. */
export interface EventIssue {
  /** Its place in the batch, from 0. */
  readonly index: number;
  readonly userId: string;
  readonly message: string;
}

export interface BatchResult {
  /** Events that have been counted, now or before under the same idempotency key. */
  readonly accepted: number;
  readonly issues: readonly EventIssue[];
}

/** An event of the batch, with its place there. */
interface Item {
  readonly index: number;
  readonly request: EventRequest;
  readonly eventId: string;
}

/** Events that one call counts, each with its arguments. */
type Part = { readonly item: Item; readonly args: readonly (string | Buffer)[] }[];

/** The arguments of an event inside a call of `trackBatch`: those of `track`, with how many they are in the place of the context. */
function itemArguments(config: ActiveConfig, { request, eventId }: Item): (string | Buffer)[] {
  const { args, pairs } = trackCall(config, request, eventId);
  const [, ...ordered] = orderArguments('track', { ...args, context: '' }, pairs);
  return [String(ordered.length + 1), ...ordered.map((argument) => (typeof argument === 'number' ? String(argument) : argument))];
}

/** One batch on its way. */
class BatchRun {
  private readonly engine: Engine;
  private readonly tenant: number;
  private readonly items: readonly Item[];
  /** By the place in the batch: why an event was not counted. Up to `next` it is settled; after it, it may still change. */
  private readonly problems = new Map<number, string>();
  /** The place of the first event of which it is not known what has become of it. */
  private next = 0;

  constructor(engine: Engine, tenant: number, requests: readonly EventRequest[]) {
    this.engine = engine;
    this.tenant = tenant;
    this.items = requests.map((request, index) => ({ index, request, eventId: randomUUID() }));
  }

  async run(): Promise<BatchResult> {
    let standstills = 0;
    while (this.next < this.items.length) {
      const before = this.next;
      const settles = await this.round();
      // Each event may need a zone of its own, and its user may be settled in many steps: only what leads nowhere is counted.
      standstills = this.next > before || settles ? 0 : standstills + 1;
      if (standstills >= limits.maxEngineAttempts) {
        throw new LaurelError('not_ready', 'The service is switching its configuration. Send the batch again shortly, with the same keys.');
      }
    }
    const issues = this.items.flatMap(({ index, request }) => {
      const message = this.problems.get(index);
      return message === undefined ? [] : [{ index, userId: request.user.id, message }];
    });
    return { accepted: this.items.length - issues.length, issues };
  }

  /** One round trip, and what has to be done after it. Returns whether it stopped at a user who is still being settled. */
  private async round(): Promise<boolean> {
    const config = await this.engine.config(this.tenant);
    const { parts, end } = await this.partsOf(config);
    const replies = await this.send(config, parts);
    for (const [number, part] of parts.entries()) {
      const stop = this.take(part, replies[number]);
      if (stop === undefined) continue;
      await this.engine.remedy(this.tenant, config, stop);
      return stop.outcome === outcomes.again;
    }
    this.next = end;
    return false;
  }

  /**
   * The next events in parts of bounded work, and the place of the first one after them. Of those that the configuration refuses, the parts have
   * the ones that may be replays.
   */
  private async partsOf(config: ActiveConfig): Promise<{ parts: Part[]; end: number }> {
    const parts: Part[] = [];
    let partUs = Infinity;
    let allUs = 0;
    let end = this.next;
    while (end < this.items.length && allUs < limits.batchRoundTripWorkUs) {
      if ((end - this.next) % limits.batchTurnEvents === 0) await nextTurn();
      const item = this.items[end] as Item;
      try {
        const one = { item, args: itemArguments(config, item) };
        const us = config.eventWorkUs(item.request.metricKey);
        if (partUs + us > limits.batchPartWorkUs) {
          parts.push([]);
          partUs = 0;
        }
        parts.at(-1)?.push(one);
        partUs += us;
        allUs += us;
        const refused = refusedBy(config, item.request);
        if (refused) this.problems.set(item.index, refused.message);
        else this.problems.delete(item.index);
      } catch (error) {
        if (!(error instanceof LaurelError)) throw error;
        this.problems.set(item.index, error.message);
      }
      end += 1;
    }
    return { parts, end };
  }

  private send(config: ActiveConfig, parts: readonly Part[]): Promise<Reply[]> {
    const batch = randomUUID();
    const calls = parts.map((part, number): Call<'trackBatch'> => ({
      args: { batch, number, isLast: number === parts.length - 1 ? 1 : 0 },
      pairs: part.flatMap(({ args }) => args),
    }));
    return this.engine.pipeline(config, 'trackBatch', calls);
  }

  /** Stores the outcomes of a part. Returns the reply that has to be remedied before the event that stopped the part is sent again. */
  private take(part: Part, reply: Reply | undefined): Reply | undefined {
    const [first] = part;
    if (!first || !reply) return undefined;
    if (reply.outcome !== outcomes.ok) {
      this.next = first.item.index;
      return reply;
    }
    const [counted, stop] = reply.values as [counted: readonly number[], stop?: readonly unknown[]];
    for (const [i, outcome] of counted.entries()) {
      const item = part[i]?.item;
      // Why the configuration refuses it is known already.
      if (!item || outcome === outcomes.refused) continue;
      if (outcome === outcomes.ok || outcome === outcomes.replay) this.problems.delete(item.index);
      else this.problems.set(item.index, refusal(outcome, item.request.user.id).message);
    }
    const stoppedAt = part[counted.length];
    if (!stop || !stoppedAt) return undefined;
    this.next = stoppedAt.item.index;
    const [outcome, ...values] = stop;
    return { outcome: Number(outcome), values };
  }
}

/**
 * Counts the events of a batch, in order; each is atomic and idempotent on its own key, as if it had been sent by itself. They go out in
 * parts of bounded work (limits.batchPartWorkUs), several in one round trip. The function library stops at an event that it can't count yet,
 * and then does no later part of that round trip; what it lacks is given to it, and the events from that one on are sent again. So no
 * event overtakes an earlier one, whatever has to be done in between. Throws a LaurelError `not_ready` when Redis is away: some of the events may
 * have been counted by then.
 */
export function trackBatch(engine: Engine, tenant: number, requests: readonly EventRequest[]): Promise<BatchResult> {
  return new BatchRun(engine, tenant, requests).run();
}

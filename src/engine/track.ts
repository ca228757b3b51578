import { randomUUID } from 'node:crypto';
import { streakFact, unpackFacts, type EventEntry } from '../ledger/entry.js';
import { bytesOfUuid, storedKey, uuidOfBytes } from '../redis/idempotency.js';
import { requireMetric, type ActiveConfig } from '../plan/active-config.js';
import { outcomes } from '../redis/contract.js';
import { unpackMessage } from '../redis/message.js';
import { eventStreak } from '../streaks/response.js';
import type { EventResponse } from './shapes.js';
import { attributePairs, checkAttributeKeys, type AttributeValues } from '../users/attributes.js';
import { userPatch } from '../users/patch.js';
import type { UserProperties } from '../users/schema.js';
import { text, type Call, type Engine } from './engine.js';
import { completedBlock, leaderboardsBlock, pointsBlock } from './blocks.js';
import { refusal } from './refusals.js';

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
  readonly body: EventResponse;
}

/** An event as a call of `track`. Throws a LaurelError for an unknown metric and for unknown attributes. */
export function trackCall(config: ActiveConfig, request: EventRequest, eventId: string): Call<'track'> {
  const metric = requireMetric(config, request.metricKey);
  checkAttributeKeys([request.user.attributes, config.userAttributes], [request.attributes, config.eventAttributes]);
  const patch = userPatch(config, request.user);
  return {
    args: {
      user: request.user.id,
      metric: metric.no,
      value: request.value,
      eventId,
      idempotencyKey: request.idempotencyKey === undefined ? '' : storedKey(request.idempotencyKey),
      idBytes: bytesOfUuid(eventId),
      patchPairs: patch.length / 2,
    },
    pairs: patch.concat(attributePairs(request.attributes, config.eventAttributes)),
  };
}

function eventBody(config: ActiveConfig, metricId: string, entry: EventEntry): EventResponse {
  return {
    eventId: entry.id,
    metricId,
    total: entry.total,
    achievements: completedBlock(config, entry),
    currentStreak: eventStreak(config, entry.streak),
    points: pointsBlock(config, entry),
    leaderboards: leaderboardsBlock(config, entry),
  };
}

function idempotency(request: EventRequest, replayed: boolean): Partial<EventResponse> {
  return request.idempotencyKey === undefined ? {} : { idempotencyKey: request.idempotencyKey, idempotentReplayed: replayed };
}

/**
 * Counts one event: one call of the function library, in which everything happens or nothing does (semantics.md, "Events"). Throws a
 * LaurelError for what the configuration or the user's state refuses.
 */
export async function trackEvent(engine: Engine, tenant: number, request: EventRequest): Promise<EventAnswer> {
  const eventId = randomUUID();
  const { outcome, values, config } = await engine.call(tenant, 'track', (active) => trackCall(active, request, eventId));
  const metricId = requireMetric(config, request.metricKey).id;
  switch (outcome) {
    case outcomes.ok:
      return {
        replayed: false,
        body: { ...eventBody(config, metricId, unpackFacts(values[0]) as EventEntry), ...idempotency(request, false) },
      };
    case outcomes.replay:
      return {
        replayed: true,
        body: {
          eventId: uuidOfBytes(values[0] as Buffer),
          metricId,
          total: Number(text(values[1])),
          achievements: [],
          currentStreak: eventStreak(config, streakFact(unpackMessage(values[2]))),
          points: {},
          leaderboards: {},
          ...idempotency(request, true),
        },
      };
    default:
      throw refusal(outcome, request.user.id);
  }
}

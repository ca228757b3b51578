import { randomUUID } from 'node:crypto';
import type { HistoryReader, StoredEvent } from '../history/reader.js';
import { type ActiveConfig, mustGet, requireMetric } from '../plan/active-config.js';
import { outcomes } from '../redis/contract.js';
import { correctedEvent, correctionKey, uuidOfBytes } from '../redis/encoding.js';
import { LaurelError } from '../shared/errors.js';
import type { Clock } from './clock.js';
import type { Engine } from './engine.js';
import { type EventRequest, trackCall } from './events.js';
import { Refusal, refusal } from './refusals.js';

interface Stores {
  readonly engine: Engine;
  readonly clock: Clock;
  readonly history: HistoryReader;
}

/** An event that takes back another one. */
export interface Correction {
  readonly eventId: string;
  readonly corrects: string;
  readonly value: number;
  /** Whether the event was corrected before, so that nothing was counted. */
  readonly idempotentReplayed: boolean;
}

/** Event attributes that have been archived since are left out: they would be refused. */
function attributesOf(config: ActiveConfig, { attributes }: StoredEvent): Record<string, string> {
  const pairs = Object.entries(attributes ?? {}).flatMap(([no, value]): [string, string][] => {
    const key = config.attributeByNo.get(Number(no))?.key;
    return key !== undefined && config.eventAttributes.has(key) ? [[key, value]] : [];
  });
  return Object.fromEntries(pairs);
}

/**
 * Counts the negative value of a user's event, once (docs/rules/events.md). Throws a 404 for an unknown event, an archived metric and a user who has
 * been deleted meanwhile, and a 422 for an event that can't be corrected or whose correction is refused.
 */
export async function correctEvent({ engine, clock, history }: Stores, tenant: number, user: string, sentId: string): Promise<Correction> {
  // As Postgres writes it: the key of the correction contains it.
  const id = sentId.toLowerCase();
  const { ledgerId } = await clock.ledgerId(tenant);
  await history.waitFor(tenant, ledgerId);
  const event = await history.event(tenant, user, id);
  if (!event) throw new LaurelError('not_found', `The user has no event with the id ${id}.`);
  if (correctedEvent(event.idempotencyKey) !== undefined) {
    throw new Refusal('A correction cannot be corrected: send an event with the value that is missing.');
  }
  if (event.value === 0) throw new Refusal('The value of the event is 0: there is nothing to correct.');
  const made = (eventId: string, idempotentReplayed: boolean): Correction => ({
    eventId,
    corrects: id,
    value: -event.value,
    idempotentReplayed,
  });
  // Its key may have expired.
  if (event.correctedBy !== null) return made(event.correctedBy, true);
  const eventId = randomUUID();
  const metricKeyIn = (config: ActiveConfig): string => mustGet(config.metricByNo, event.metric, 'metric').key;
  const requestOf = (config: ActiveConfig): EventRequest => ({
    metricKey: metricKeyIn(config),
    user: { id: user },
    value: -event.value,
    attributes: attributesOf(config, event),
    idempotencyKey: correctionKey(id),
  });
  const { outcome, values, config } = await engine.call(tenant, 'track', (active) => trackCall(active, requestOf(active), eventId));
  switch (outcome) {
    case outcomes.ok:
      return made(eventId, false);
    case outcomes.replay:
      return made(uuidOfBytes(values[0] as Buffer), true);
    case outcomes.refused:
      requireMetric(config, metricKeyIn(config));
      throw new Error('the correction of an event on an active metric was refused');
    default:
      throw refusal(outcome, user);
  }
}

/**
 * From what operators write to what is stored: the defaults of optional fields (contract, Create…RequestItem), and ids for keys. Every
 * function takes an object that its schema (schema.ts) has parsed, and throws nothing unless it says so.
 */
import { limits } from '../limits.js';
import {
  type Attribute,
  type AttributeFilter,
  type ConfigObject,
  type Leaderboard,
  type Metric,
  type PointsBoost,
  type PointsLevel,
  type PointsSystem,
  type PointsTrigger,
} from './model.js';
import {
  type AttributeFilterInput,
  type AttributeInput,
  type BoostInput,
  type LeaderboardInput,
  type LevelInput,
  type MetricInput,
  type PointsSystemInput,
  type TriggerInput,
} from './schema.js';

/** What an object has whatever it is. Its name is its own field. */
export type Identity = Omit<ConfigObject, 'name'>;

export type ReferenceKind = 'metric' | 'points system' | 'user attribute' | 'event attribute';

/** The id of the object with a key. `field` is where, in the object that refers to it, the key stands. */
export type Resolve = (kind: ReferenceKind, key: string, field: readonly (string | number)[]) => string;

/** An attribute has no optional fields. */
export const storedAttribute = (identity: Identity, { name, type }: AttributeInput): Attribute => ({ ...identity, name, type });

/** `unitType` defaults to number, `units` to an empty text. */
export const storedMetric = (identity: Identity, { name, unitType, units }: MetricInput): Metric => ({
  ...identity,
  name,
  unitType: unitType ?? 'number',
  units: units ?? '',
});

/** `description` defaults to an empty text, as the contract requires one of levels; `badge` to none. */
export const storedLevel = (identity: Identity, { name, points, description, badge }: LevelInput): PointsLevel => ({
  ...identity,
  name,
  description: description ?? '',
  badgeUrl: badge?.url ?? null,
  points,
});

/** A trigger has no name of its own in the contract: it is called by its key. `status` defaults to inactive, filters to none. */
export const storedTrigger = (identity: Identity, input: TriggerInput, resolve: Resolve): PointsTrigger => ({
  ...identity,
  name: input.key,
  type: 'metric',
  points: input.points,
  status: input.status ?? 'inactive',
  metricId: resolve('metric', input.metricKey, ['metricKey']),
  metricThreshold: input.metricThreshold,
  userAttributes: storedFilters('user attribute', input.userAttributes, 'userAttributes', resolve),
  eventAttributes: storedFilters('event attribute', input.eventAttributes, 'eventAttributes', resolve),
});

/** `end` defaults to none, `rounding` to down, `userId` and filters to everybody. */
export const storedBoost = (identity: Identity, input: BoostInput, resolve: Resolve): PointsBoost => ({
  ...identity,
  name: input.name,
  start: input.start,
  end: input.end ?? null,
  multiplier: input.multiplier,
  rounding: input.rounding ?? 'down',
  userId: input.userId ?? null,
  userAttributes: storedFilters('user attribute', input.userAttributes, 'userAttributes', resolve),
});

/** `description`, `badge` and `maxPoints` default to none. The system's lists are merged apart: here they are those of `existing`, or empty. */
export const storedPointsSystem = (identity: Identity, input: PointsSystemInput, existing: PointsSystem | undefined): PointsSystem => ({
  ...identity,
  name: input.name,
  description: input.description ?? null,
  badgeUrl: input.badge?.url ?? null,
  maxPoints: input.maxPoints ?? null,
  levels: existing?.levels ?? [],
  triggers: existing?.triggers ?? [],
  boosts: existing?.boosts ?? [],
});

/**
 * `status` defaults to inactive, `maxParticipants` to limits.maxParticipants, `end` to none. Without `start`, the board keeps that of
 * `existing`, or gets `today` (`YYYY-MM-DD`). Throws if the input has no key for what it ranks by, which leaderboardSchema refuses.
 */
export function storedLeaderboard(
  identity: Identity,
  input: LeaderboardInput,
  existing: Leaderboard | undefined,
  today: string,
  resolve: Resolve,
): Leaderboard {
  const base = {
    ...identity,
    name: input.name,
    description: input.description ?? null,
    status: input.status ?? 'inactive',
    maxParticipants: input.maxParticipants ?? limits.maxParticipants,
    start: input.start ?? existing?.start ?? today,
    end: input.end ?? null,
  };
  switch (input.rankBy) {
    case 'metric':
      return { ...base, rankBy: 'metric', metricId: resolve('metric', present(input.metricKey), ['metricKey']) };
    case 'points':
      return { ...base, rankBy: 'points', pointsSystemId: resolve('points system', present(input.pointsSystemKey), ['pointsSystemKey']) };
  }
}

function present(key: string | null | undefined): string {
  if (key === null || key === undefined) throw new Error('a leaderboard without the key of what it ranks by has passed its schema');
  return key;
}

const storedFilters = (
  kind: ReferenceKind,
  filters: readonly AttributeFilterInput[] | null | undefined,
  field: string,
  resolve: Resolve,
): AttributeFilter[] =>
  (filters ?? []).map(({ attributeKey, attributeValue }, index) => ({
    attributeId: resolve(kind, attributeKey, [field, index, 'attributeKey']),
    attributeValue,
  }));

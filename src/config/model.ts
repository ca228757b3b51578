/**
 * What an operator configures, in the form that is stored (one document per tenant and version) and compiled.
 *
 * Field names are those of the Admin API's contract. Every object has three names: `id`, a UUID, which the APIs show; `key`, which
 * operators choose and which paths and files use; and `no`, a small number that is never given twice in a tenant, which Redis fields
 * and Postgres columns use. Objects refer to each other by `id`. An archived object stays in the document, so that what it once
 * awarded can still be named and so that its data is found again when its key comes back.
 */
export interface ConfigObject {
  readonly id: string;
  readonly no: number;
  readonly key: string;
  readonly name: string;
  /** ISO 8601 instants. */
  readonly created: string;
  readonly updated: string;
  readonly archived: boolean;
}

export interface AttributeFilter {
  readonly attributeId: string;
  readonly attributeValue: string;
}

export interface Attribute extends ConfigObject {
  /** Keys are unique within a type: a user attribute and an event attribute may share one. */
  readonly type: 'user' | 'event';
}

export interface Metric extends ConfigObject {
  readonly unitType: 'number' | 'currency';
  readonly units: string;
}

export interface PointsLevel extends ConfigObject {
  readonly description: string;
  readonly badgeUrl: string | null;
  /** The total from which a user has this level. No two levels of a system share it. */
  readonly points: number;
}

export interface PointsTrigger extends ConfigObject {
  readonly type: 'metric';
  /** Awarded at every multiple of the threshold; negative deducts. */
  readonly points: number;
  readonly status: 'active' | 'inactive';
  readonly metricId: string;
  readonly metricThreshold: number;
  /** All must match, in both lists. */
  readonly userAttributes: readonly AttributeFilter[];
  readonly eventAttributes: readonly AttributeFilter[];
}

export type Rounding = 'down' | 'up' | 'nearest';

export interface PointsBoost extends ConfigObject {
  /** Local dates of the user, `YYYY-MM-DD`, both inclusive; null has no end. */
  readonly start: string;
  readonly end: string | null;
  /** Above 0 and below 100, with at most `limits.maxMultiplierDecimals` decimal places. */
  readonly multiplier: number;
  readonly rounding: Rounding;
  /** The one user whom it is for; null is everybody who matches `userAttributes`. */
  readonly userId: string | null;
  readonly userAttributes: readonly AttributeFilter[];
}

export interface PointsSystem extends ConfigObject {
  readonly description: string | null;
  readonly badgeUrl: string | null;
  readonly maxPoints: number | null;
  readonly levels: readonly PointsLevel[];
  readonly triggers: readonly PointsTrigger[];
  readonly boosts: readonly PointsBoost[];
}

interface LeaderboardBase extends ConfigObject {
  readonly description: string | null;
  /** What the operator asked for. `active` with a start to come is shown as scheduled, past its end as finished. */
  readonly status: 'inactive' | 'active';
  readonly maxParticipants: number;
  /** Local dates of the user, `YYYY-MM-DD`, both inclusive. */
  readonly start: string;
  readonly end: string | null;
}

export interface MetricLeaderboard extends LeaderboardBase {
  readonly rankBy: 'metric';
  readonly metricId: string;
}

export interface PointsLeaderboard extends LeaderboardBase {
  readonly rankBy: 'points';
  readonly pointsSystemId: string;
}

export type Leaderboard = MetricLeaderboard | PointsLeaderboard;

export interface Settings {
  /** The share of new users, from 0 to 1, who are put in the control group. */
  readonly controlRatio: number;
}

export interface ConfigDocument {
  /** The number that the next new object gets. */
  readonly nextNo: number;
  readonly settings: Settings;
  readonly attributes: readonly Attribute[];
  readonly metrics: readonly Metric[];
  readonly pointsSystems: readonly PointsSystem[];
  readonly leaderboards: readonly Leaderboard[];
}

export const emptyConfig: ConfigDocument = {
  nextNo: 1,
  settings: { controlRatio: 0 },
  attributes: [],
  metrics: [],
  pointsSystems: [],
  leaderboards: [],
};

/** One stored version of a tenant's configuration. Versions count up from 1; version 0 is the empty configuration before the first. */
export interface ConfigVersion {
  /** `tenants.no`: 1 is the default tenant. */
  readonly tenant: number;
  readonly version: number;
  readonly document: ConfigDocument;
}

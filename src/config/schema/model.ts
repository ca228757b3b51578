/**
 * The configuration of a tenant, in the form that is stored (one document per tenant and version) and compiled.
 *
 * Field names are those of the Admin API's contract. Every object has three names: `id`, a UUID, which the APIs show; `key`, which
 * operators choose and which paths and files use; and `no`, a small number that is unique in a tenant and never reused, which Redis
 * fields and Postgres columns use. Objects refer to each other by `id`. An archived object stays in the document: responses still name what
 * it has awarded, and its data is found again when its key comes back.
 *
 * The types are those of the fields that kinds.ts declares, which also says what each means.
 */
import { type FieldSpec, type SettingSpec, type SettingSpecs, type Specs, type Variations } from './kind.js';
import { type ListName } from './kind-names.js';
import {
  type achievementFields,
  type achievementVariants,
  type attributeFields,
  type boostFields,
  type leaderboardFields,
  type leaderboardVariants,
  type levelFields,
  type metricFields,
  settingsFields,
  streakFields,
  type systemFields,
  type triggerFields,
  type triggerVariants,
  type webhookFields,
} from './kinds.js';
import { messageSettings, type templateFields } from './message-fields.js';

export type { ListName, NestedListName, TopListName } from './kind-names.js';

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

/** What is stored for declared fields. */
type Stored<F extends Specs> = { readonly [K in keyof F]: F[K] extends FieldSpec<infer V> ? V : never };

/** An object without variants. */
type ObjectOf<F extends Specs> = ConfigObject & Stored<F>;

/** An object of one of the variants that the field `By` names: it has the fields of all variants, and its own. */
type VariantOf<F extends Specs, By extends keyof F, V extends Variations<F>> = {
  readonly [K in keyof V]: ConfigObject &
    Omit<Stored<F>, By | V[keyof V][number]> &
    Pick<Stored<F>, V[K][number]> & { readonly [P in By]: K };
}[keyof V];

export type Attribute = ObjectOf<typeof attributeFields>;
export type Metric = ObjectOf<typeof metricFields>;
export type PointsLevel = ObjectOf<typeof levelFields>;

export type PointsTrigger = VariantOf<typeof triggerFields, 'type', typeof triggerVariants>;
export type TimeTrigger = Extract<PointsTrigger, { readonly type: 'time' }>;

/** What awards list of a boost that applied. */
export type BoostTerms = Pick<Stored<typeof boostFields>, 'name' | 'start' | 'end' | 'multiplier' | 'rounding'>;

/** Terms that a boost had, and the numbers that awards under them have of it. */
export type EarlierTerms = BoostTerms & { readonly numbers: readonly number[] };

/** Awards store numbers of boosts, and list a boost as it was: changed terms get a number of their own (config/change/boost-terms.ts). */
export type PointsBoost = ObjectOf<typeof boostFields> & {
  /** The numbers that awards under the present terms have of the boost, of which new awards get the last; `no` until the terms first change. */
  readonly numbers?: readonly number[];
  /** The oldest first. */
  readonly earlier?: readonly EarlierTerms[];
};
export type AttributeFilter = PointsBoost['userAttributes'][number];

export type PointsSystem = ObjectOf<typeof systemFields> & {
  readonly levels: readonly PointsLevel[];
  readonly triggers: readonly PointsTrigger[];
  readonly boosts: readonly PointsBoost[];
};

export type Achievement = VariantOf<typeof achievementFields, 'trigger', typeof achievementVariants>;
export type MetricAchievement = Extract<Achievement, { readonly trigger: 'metric' }>;
export type AnniversaryAchievement = Extract<Achievement, { readonly trigger: 'anniversary' }>;

export type Leaderboard = VariantOf<typeof leaderboardFields, 'rankBy', typeof leaderboardVariants>;
export type Webhook = ObjectOf<typeof webhookFields>;

/**
 * The texts of one type of message in one language, in Liquid (templates/language.ts). Null falls back, field by field: to the templates of the more
 * general locales, to those of the default locale, to the built-in one. An empty heading or button leaves it out.
 */
export type MessageTemplate = ObjectOf<typeof templateFields>;

export type Settings = Stored<typeof settingsFields>;
export type StreakSettings = Stored<typeof streakFields>;
/** The channels of each type of message to users, and what all messages have in common. */
export type MessageSettings = Stored<typeof messageSettings>;

export interface ConfigDocument {
  /** The number that the next new object gets. */
  readonly nextNo: number;
  readonly settings: Settings;
  readonly attributes: readonly Attribute[];
  readonly metrics: readonly Metric[];
  readonly pointsSystems: readonly PointsSystem[];
  readonly achievements: readonly Achievement[];
  readonly streaks: StreakSettings;
  readonly leaderboards: readonly Leaderboard[];
  readonly webhooks: readonly Webhook[];
  readonly messages: MessageSettings;
  readonly templates: readonly MessageTemplate[];
}

/** What the lists of a configuration hold; levels, triggers and boosts are in points systems. */
export interface Lists {
  readonly attributes: Attribute;
  readonly metrics: Metric;
  readonly pointsSystems: PointsSystem;
  readonly achievements: Achievement;
  readonly leaderboards: Leaderboard;
  readonly webhooks: Webhook;
  readonly templates: MessageTemplate;
  readonly levels: PointsLevel;
  readonly triggers: PointsTrigger;
  readonly boosts: PointsBoost;
}

/** A list of a document or of an object; empty where the owner has no such list. */
export const listIn = <N extends ListName>(owner: object, list: N): readonly Lists[N][] =>
  (owner as { readonly [L in N]?: readonly Lists[L][] })[list] ?? [];

function initialOf<F extends SettingSpecs>(fields: F): Stored<F> {
  const values = Object.entries<SettingSpec<unknown>>(fields).map(([stored, { initial }]) => [stored, initial] as const);
  return Object.fromEntries(values) as unknown as Stored<F>;
}

export const emptyConfig: ConfigDocument = {
  nextNo: 1,
  settings: initialOf(settingsFields),
  attributes: [],
  metrics: [],
  pointsSystems: [],
  achievements: [],
  streaks: initialOf(streakFields),
  leaderboards: [],
  webhooks: [],
  messages: initialOf(messageSettings),
  templates: [],
};

/** One stored version of a tenant's configuration. Versions count up from 1; version 0 is the empty configuration before the first. */
export interface ConfigVersion {
  /** `tenants.no`: 1 is the default tenant. */
  readonly tenant: number;
  readonly version: number;
  readonly document: ConfigDocument;
}

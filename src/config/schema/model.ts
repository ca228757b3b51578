/**
 * The configuration of a tenant, in the form that is stored (one document per tenant and version) and compiled.
 *
 * Field names are those of the Admin API's contract. Every object has three names: `id`, a UUID, which the APIs show; `key`, which
 * operators choose and which paths and files use; and `no`, a small number that is unique in a tenant and never reused, which Redis
 * fields and Postgres columns use. Objects refer to each other by `id`. An archived object stays in the document: responses still name what
 * it has awarded, and its data is found again when its key comes back.
 */
import { type Channel, type NotificationType } from './message-types.js';
import { type WebhookKind } from './webhook-kinds.js';

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

interface TriggerBase extends ConfigObject {
  /** Negative deducts. */
  readonly points: number;
  readonly status: 'active' | 'inactive';
  /** All must match. */
  readonly userAttributes: readonly AttributeFilter[];
}

/** Awarded at every multiple of the threshold that the total of the matching events passes. */
export interface MetricTrigger extends TriggerBase {
  readonly type: 'metric';
  readonly metricId: string;
  readonly metricThreshold: number;
  readonly eventAttributes: readonly AttributeFilter[];
  /** Refuse an event for which this trigger (which deducts) would take the total below 0. */
  readonly blockIfOutOfPoints: boolean;
}

/** Awarded at every multiple of a streak length. */
export interface StreakTrigger extends TriggerBase {
  readonly type: 'streak';
  readonly streakLength: number;
}

/** Awarded once, with the achievement. */
export interface AchievementTrigger extends TriggerBase {
  readonly type: 'achievement';
  readonly achievementId: string;
}

/** Awarded every N hours (on the UTC hour) or days (at the user's local midnight) since the user was created. */
export interface TimeTrigger extends TriggerBase {
  readonly type: 'time';
  readonly timeUnit: 'hours' | 'days';
  readonly timeInterval: number;
}

/** Awarded once, when the user is created. */
export interface UserCreationTrigger extends TriggerBase {
  readonly type: 'user_creation';
}

export type PointsTrigger = MetricTrigger | StreakTrigger | AchievementTrigger | TimeTrigger | UserCreationTrigger;

export type Rounding = 'down' | 'up' | 'nearest';

/** What awards list of a boost that applied. */
export interface BoostTerms {
  readonly name: string;
  /** Local dates of the user, `YYYY-MM-DD`, both inclusive; null has no end. */
  readonly start: string;
  readonly end: string | null;
  /** Above 0 and below 100, with at most `limits.maxMultiplierDecimals` decimal places. */
  readonly multiplier: number;
  readonly rounding: Rounding;
}

/** Terms that a boost had, and the numbers that awards under them have of it. */
export interface EarlierTerms extends BoostTerms {
  readonly numbers: readonly number[];
}

/** Awards store numbers of boosts, and list a boost as it was: changed terms get a number of their own (config/change/boost-terms.ts). */
export interface PointsBoost extends ConfigObject, BoostTerms {
  /** The numbers that awards under the present terms have of the boost, of which new awards get the last; `no` until the terms first change. */
  readonly numbers?: readonly number[];
  /** The oldest first. */
  readonly earlier?: readonly EarlierTerms[];
  /** The only user it applies to; null applies it to all users that match `userAttributes`. */
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

interface AchievementBase extends ConfigObject {
  readonly description: string | null;
  readonly badgeUrl: string | null;
  /** inactive → active ↔ locked. A locked achievement cannot be completed, and only users with it see it. */
  readonly status: 'inactive' | 'active' | 'locked';
  /** All must match, or the user can't complete it yet. */
  readonly userAttributes: readonly AttributeFilter[];
}

/** Completed when the total of the metric, or of its matching events where there are filters, reaches the value. */
export interface MetricAchievement extends AchievementBase {
  readonly trigger: 'metric';
  readonly metricId: string;
  readonly metricValue: number;
  readonly eventAttributes: readonly AttributeFilter[];
}

/** Completed when the current streak reaches the length. */
export interface StreakAchievement extends AchievementBase {
  readonly trigger: 'streak';
  readonly streakLength: number;
}

/** Completed by a call that names its key. */
export interface ApiAchievement extends AchievementBase {
  readonly trigger: 'api';
}

/** Completed when all the others are. */
export interface CompositeAchievement extends AchievementBase {
  readonly trigger: 'achievement';
  readonly achievementIds: readonly string[];
}

/** Completed on the local day of the user that is so many years after the user's `signUpDate`. */
export interface AnniversaryAchievement extends AchievementBase {
  readonly trigger: 'anniversary';
  readonly anniversaryYears: number;
}

export type Achievement = MetricAchievement | StreakAchievement | ApiAchievement | CompositeAchievement | AnniversaryAchievement;

export interface StreakCondition {
  readonly metricId: string;
  /** The change of the metric inside the period that meets the condition; above 0. */
  readonly threshold: number;
}

/** One for each tenant. Daily, weekly and monthly streaks are all tracked; `frequency` selects the one that is shown and counts. */
export interface StreakSettings {
  readonly enabled: boolean;
  readonly frequency: 'daily' | 'weekly' | 'monthly';
  /** AND: every condition; OR: any one. */
  readonly evaluationMode: 'AND' | 'OR';
  readonly metrics: readonly StreakCondition[];
  readonly freezes: {
    readonly initial: number;
    /** At most `limits.maxFreezes`. */
    readonly maximum: number;
    /** Local days; 0 earns none. */
    readonly earnInterval: number;
    readonly earnAmount: number;
  };
  /** The weekdays, from 0 for Sunday to 6, that do not count; empty unless the frequency is daily. */
  readonly daysOff: readonly number[];
  /** Whether users may set their own conditions and days off. */
  readonly personalization: boolean;
}

interface LeaderboardBase extends ConfigObject {
  readonly description: string | null;
  /** The operator's choice. Responses show `active` as scheduled before its start and as finished after its end. */
  readonly status: 'inactive' | 'active';
  readonly maxParticipants: number;
  /** Local dates of the user, `YYYY-MM-DD`, both inclusive. */
  readonly start: string;
  readonly end: string | null;
  /** The window of the user's local time, `HH:MM` or `HH:MM:SS`, in which events count: from `startTime` (midnight where it is null) up to but not at `endTime` (the next midnight). A window whose end is before its start goes over midnight. */
  readonly startTime: string | null;
  readonly endTime: string | null;
  /** Ids of user attributes: one group for each combination of their values. */
  readonly breakdownAttributes: readonly string[];
}

/** A repeating leaderboard starts anew every `runInterval` units, counted from `start`; a perpetual one has neither. */
interface Repeating {
  readonly runUnit: 'day' | 'month' | 'year' | null;
  /** 0 for a perpetual leaderboard. */
  readonly runInterval: number;
}

export interface MetricLeaderboard extends LeaderboardBase, Repeating {
  readonly rankBy: 'metric';
  readonly metricId: string;
}

export interface PointsLeaderboard extends LeaderboardBase, Repeating {
  readonly rankBy: 'points';
  readonly pointsSystemId: string;
}

/** Always perpetual (docs/rules/leaderboards.md). */
export interface StreakLeaderboard extends LeaderboardBase, Repeating {
  readonly rankBy: 'streak';
  readonly runUnit: null;
  readonly runInterval: 0;
}

export type Leaderboard = MetricLeaderboard | PointsLeaderboard | StreakLeaderboard;

/** The days of a week, from Monday on. */
export const weekdays = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'] as const;

/** How often recaps can be due. */
export const recapFrequencies = ['daily', 'weekly', 'monthly', 'yearly'] as const;

export interface Settings {
  /** The share of new users, from 0 to 1, that join the control group. */
  readonly controlRatio: number;
  /** The first days of a user, from the first event on, by which operators judge activation. Changes nothing for users. */
  readonly activationWindowDays: number;
  /** The first day of a week. */
  readonly weekStart: 'monday' | 'sunday';
  /** The IANA time zone of users without their own. */
  readonly defaultTimeZone: string;
  /** For how many days (of 24 hours) an idempotency key is remembered; null is for ever (docs/rules/idempotency.md). */
  readonly idempotencyRetentionDays: number | null;
  /** How often a recap is due: after each day, week, month or year. */
  readonly recapFrequency: (typeof recapFrequencies)[number];
  /** The hour of the user's local time, from 0 to 23, at which recaps, reactivations and reminders of weekly and monthly streaks are due. */
  readonly emailHour: number;
  /** After how many days without an event a reactivation is due, in ascending order. */
  readonly reactivationDays: readonly number[];
  /** The hour at which reminders of daily streaks are due. */
  readonly streakReminderHour: number;
  /** The day of the week on which reminders of weekly streaks are due. */
  readonly streakReminderWeekday: (typeof weekdays)[number];
  /** The day of the month, from 1 to 31, on which reminders of monthly streaks are due; the last day of a shorter month. */
  readonly streakReminderDay: number;
  /** The hours between which emails about achievements are due; the end is from 1 to 24. */
  readonly achievementFromHour: number;
  readonly achievementToHour: number;
}

/**
 * An endpoint that subscribes to some kinds of messages. Its secret is in the table delivery_queues instead, because a configuration is
 * shown, exported and stored in versions.
 */
export interface Webhook extends ConfigObject {
  /** http or https, without credentials. */
  readonly url: string;
  /** At least one kind, each once. */
  readonly events: readonly WebhookKind[];
  readonly status: 'active' | 'inactive';
}

/** The families of fonts of emails, by the contract's names. */
export const brandFonts = [
  'MODERN_SANS',
  'BOOK_SANS',
  'ORGANIC_SANS',
  'GEOMETRIC_SANS',
  'HEAVY_SANS',
  'ROUNDED_SANS',
  'MODERN_SERIF',
  'BOOK_SERIF',
  'MONOSPACE',
] as const;
export type BrandFont = (typeof brandFonts)[number];

/** The channels of each type of message to users, and what all messages have in common. One for each tenant. */
export interface MessageSettings {
  /** The channels on which each type is sent; none switches the type off. */
  readonly achievementCompleted: readonly Channel[];
  readonly recap: readonly Channel[];
  readonly reactivation: readonly Channel[];
  readonly streakReminder: readonly Channel[];
  readonly brandName: string;
  /** `#rrggbb`, in lower case. */
  readonly brandColor: string;
  readonly brandFont: BrandFont;
  /** https, or http on this machine. */
  readonly brandLogoUrl: string | null;
  /** The icon of the app, in web pushes. */
  readonly brandIconUrl: string | null;
  readonly brandUrl: string | null;
  /** The postal address in the footer of emails. */
  readonly brandAddress: string | null;
  /** Hosts (`example.com`, `example.com:8443`), in lower case, that links may lead to, besides the host of `brandUrl`. */
  readonly linkHosts: readonly string[];
  /** BCP 47: of users whose attribute has no locale, and of templates that others fall back to. */
  readonly defaultLocale: string;
  /** The id of the user attribute that holds the locale of a user. */
  readonly localeAttribute: string | null;
  /** Local hours, from 0 to 23, between which no message is sent: from the one up to, but not at, the other, also over midnight. Both or neither. */
  readonly quietFromHour: number | null;
  readonly quietToHour: number | null;
  /** The most messages that a user gets in one local day. */
  readonly maxPerUserDay: number;
  /** For how long an achievement waits for others of the user, which join its message. Those that wait for their hours join each other anyway. */
  readonly achievementGroupMinutes: number;
}

/**
 * The texts of one type of message in one language, in Liquid (templates/language.ts). Null falls back, field by field: to the templates of the more
 * general locales, to those of the default locale, to the built-in one. An empty heading or button leaves it out.
 */
export interface MessageTemplate extends ConfigObject {
  readonly type: NotificationType;
  /** BCP 47, canonical. At most one template that is not archived has the same type and locale. */
  readonly locale: string;
  readonly subject: string | null;
  readonly heading: string | null;
  /** A blank line starts a new paragraph. */
  readonly body: string | null;
  readonly button: string | null;
  readonly buttonUrl: string | null;
  readonly pushTitle: string | null;
  readonly pushBody: string | null;
}

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
export type ListName = keyof Lists;
export type NestedListName = 'levels' | 'triggers' | 'boosts';
export type TopListName = Exclude<ListName, NestedListName>;

/** A list of a document or of an object; empty where the owner has no such list. */
export const listIn = <N extends ListName>(owner: object, list: N): readonly Lists[N][] =>
  (owner as { readonly [L in N]?: readonly Lists[L][] })[list] ?? [];

export const emptyConfig: ConfigDocument = {
  nextNo: 1,
  settings: {
    controlRatio: 0,
    activationWindowDays: 7,
    weekStart: 'monday',
    defaultTimeZone: 'UTC',
    idempotencyRetentionDays: null,
    recapFrequency: 'weekly',
    emailHour: 9,
    reactivationDays: [3, 5, 7, 14, 30],
    streakReminderHour: 20,
    streakReminderWeekday: 'friday',
    streakReminderDay: 25,
    achievementFromHour: 17,
    achievementToHour: 21,
  },
  attributes: [],
  metrics: [],
  pointsSystems: [],
  achievements: [],
  streaks: {
    enabled: false,
    frequency: 'daily',
    evaluationMode: 'OR',
    metrics: [],
    freezes: { initial: 0, maximum: 0, earnInterval: 0, earnAmount: 0 },
    daysOff: [],
    personalization: false,
  },
  leaderboards: [],
  webhooks: [],
  messages: {
    achievementCompleted: ['email', 'push'],
    recap: ['email', 'push'],
    reactivation: ['email', 'push'],
    streakReminder: ['email', 'push'],
    brandName: 'Laurel',
    brandColor: '#4f46e5',
    brandFont: 'MODERN_SANS',
    brandLogoUrl: null,
    brandIconUrl: null,
    brandUrl: null,
    brandAddress: null,
    linkHosts: [],
    defaultLocale: 'en',
    localeAttribute: null,
    quietFromHour: 22,
    quietToHour: 8,
    maxPerUserDay: 3,
    achievementGroupMinutes: 10,
  },
  templates: [],
};

/** One stored version of a tenant's configuration. Versions count up from 1; version 0 is the empty configuration before the first. */
export interface ConfigVersion {
  /** `tenants.no`: 1 is the default tenant. */
  readonly tenant: number;
  readonly version: number;
  readonly document: ConfigDocument;
}

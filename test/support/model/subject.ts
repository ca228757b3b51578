/** The calls of the model, and of anything compared with it. */
import type { ConfigDocument, StreakSettings } from '../../../src/config/schema/model.js';
import type { Page } from './leaderboard-answers.js';
import type { UserInCall, UserProperties } from './users.js';
import type { Answer } from './world.js';

export interface EventRequest {
  readonly metricKey: string;
  readonly user: UserInCall;
  readonly value: number;
  readonly attributes?: Readonly<Record<string, string>> | undefined;
  readonly idempotencyKey?: string | undefined;
}

/** Points that an operator adds, or takes with a negative amount. */
export interface Adjustment {
  readonly amount: number;
  readonly idempotencyKey?: string | undefined;
}

/** `create` refuses a user who exists, `update` one who does not, `upsert` neither. */
export type IdentifyMode = 'create' | 'update' | 'upsert';

/** A user's own streak conditions, by the keys of metrics; or only whether the user has streaks, or the days off, which leaves the rest. */
export type StreakPreferences =
  | { readonly enabled: boolean }
  | { readonly daysOff: readonly number[] }
  | {
      readonly evaluationMode: StreakSettings['evaluationMode'];
      readonly metrics: readonly { readonly key: string; readonly threshold: number }[];
    };

/**
 * Bodies are those of the contract, as far as `normalise` leaves them. A refusal is a status without a body. What an administrator's call
 * reports as an issue is a 422 here, and what it has done a 200.
 */
export interface Operations {
  /** Moves the clock forward, and returns when everything due up to then has been done. */
  setNow(ms: number): void;
  /** Moves the clock forward, and leaves what is due to calls that need it and to the next new document. */
  drift(ms: number): void;
  /** Puts a valid document into force, and returns when everything that follows from it has been done. */
  configure(document: ConfigDocument): void;
  /** Puts a valid document into force, and leaves what follows from it to calls that need it and to the next `configure` or `setNow`. */
  activate(document: ConfigDocument): void;

  /** 201 or 202 with the contract's `EventResponse`, 404, 422. */
  event(request: EventRequest): Answer;
  /** 201 for `create`, else 200, with the contract's `User`; 404, 422. */
  identify(mode: IdentifyMode, id: string, properties: UserProperties): Answer;
  /** 201 with the contract's `AchievementCompletionResponse`, 404, 422. */
  completeAchievement(key: string, user: UserInCall): Answer;
  /** 200, 403, 404, 422. Without a body. */
  setStreakPreferences(userId: string, preferences: StreakPreferences): Answer;
  /** 200, with whether the user had the token. */
  removeDeviceToken(userId: string, token: string): Answer;

  /** 200, 422. Without a body. */
  grantFreeze(userId: string): Answer;
  /** 200, 422. Without a body. */
  takeFreeze(userId: string): Answer;
  /** 200 with `{pauseId, start, end}`, 422. Dates are `YYYY-MM-DD`, both inclusive. */
  createPause(userId: string, start: string, end: string): Answer;
  /** 200, 422. Without a body. `pauseId` is what createPause has answered. */
  deletePause(pauseId: string): Answer;
  /** 200, 422. Without a body. */
  restoreStreak(userId: string): Answer;
  /** 200, 422 (also where there is no streak). Without a body. */
  resetStreak(userId: string): Answer;

  /** 200 with `{awarded, total, level}`, the level's key; 404 for an unknown points system; 422 (also where nothing changes). */
  adjustPoints(userId: string, key: string, adjustment: Adjustment): Answer;

  /** 201 or, if it was corrected before, 200; 404, 422. Without a body. `eventId` is what `event` has answered. */
  correctEvent(userId: string, eventId: string): Answer;

  /** 200, 404. Without a body. */
  deleteUser(id: string): Answer;

  user(id: string): Answer;
  metrics(id: string): Answer;
  points(id: string, key: string, awards: number): Answer;
  /** How many users have each level of a system, the lowest first: the contract's `PointsLevelSummaryResponse`. */
  levels(key: string): Answer;
  achievements(id: string, includeIncomplete: boolean): Answer;
  allAchievements(): Answer;
  streak(id: string, historyPeriods: number): Answer;
  streaks(ids: readonly string[]): Answer;
  /**
   * The webhooks about a user of the kinds that are sent at once, the oldest first: `SentWebhook`, but with the key that an achievement has now. A
   * webhook shows the key of the moment at which it was written, which may be after a change of the key.
   */
  webhooks(id: string): Answer;
  leaderboards(includeFinished: boolean): Answer;
  leaderboard(key: string, page: Page): Answer;
  /** With `rank`, `value` and `history`. `run` is the first date of one. */
  userLeaderboard(id: string, key: string, run?: string): Answer;
  /** 200 with `{rankings: [{group: [values of the breakdown attributes], userId, rank, value}]}`, by group and rank; 404 until they are final. */
  finalRankings(key: string, run: string): Answer;
}

/** The same, of something that takes its time. The model is one too. */
export type Subject = {
  [Name in keyof Operations]: (
    ...args: Parameters<Operations[Name]>
  ) => ReturnType<Operations[Name]> | Promise<ReturnType<Operations[Name]>>;
};

/** What each side makes up for itself. */
const ownFields = new Set(['eventId', 'completionId', 'pauseId']);
/** Lists whose items have ids that each side makes up for itself. */
const ownItems = new Set(['awards', 'pauses']);

/** A body without what each side makes up for itself: ids of events, completions, awards and pauses. */
export function normalise(body: unknown, withoutId = false): unknown {
  if (Array.isArray(body)) return body.map((item) => normalise(item, withoutId));
  if (typeof body !== 'object' || body === null) return body;
  const kept = Object.entries(body).filter(([key, value]) => value !== undefined && !ownFields.has(key) && !(withoutId && key === 'id'));
  return Object.fromEntries(kept.map(([key, value]) => [key, normalise(value, ownItems.has(key))]));
}

const isBranch = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

/** Where two normalised values differ: one line for each place, with what the model says and what the subject says. */
export function differences(model: unknown, subject: unknown, path = ''): string[] {
  if (!isBranch(model) || !isBranch(subject) || Array.isArray(model) !== Array.isArray(subject)) {
    return Object.is(model, subject) ? [] : [`${path || 'answer'}: model ${show(model)}, subject ${show(subject)}`];
  }
  const keys = new Set([...Object.keys(model), ...Object.keys(subject)]);
  return [...keys].flatMap((key) => differences(model[key], subject[key], path === '' ? key : `${path}.${key}`));
}

const show = (value: unknown): string => (value === undefined ? 'nothing' : JSON.stringify(value));

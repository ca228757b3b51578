import { z } from 'zod';
import {
  type AwardFact,
  type BoardFact,
  type EventEntry,
  type PointsFact,
  type StreakFact,
  type UserEntry,
  awardId,
  noTrigger,
} from '../ledger/entry.js';
import { type ActiveConfig, mustGet } from '../plan/active-config.js';
import { dayToDate, firstDayOf, utcDate, weekShiftOf } from '../shared/calendar.js';
import { JsonText } from '../shared/json.js';
import { dateShape } from '../shared/shapes.js';
import { type UserAchievementResponse, completedResponse, userAchievementShape } from './achievements.js';
import { eventLeaderboardShape } from './leaderboards.js';
import { type EventPointsResponse, eventPointsResponse, pointsBlockShape } from './points.js';
import { PreparedJson } from './prepared.js';
import { eventStreakShape } from './streaks.js';
import { instant } from './users.js';

/** The contract's `EventResponse`. */
export const eventShape = z
  .object({
    eventId: z.string(),
    metricId: z.string(),
    total: z.number().meta({ description: "The user's new total of the metric." }),
    achievements: z.array(userAchievementShape).meta({ description: 'What the event completed.' }),
    currentStreak: eventStreakShape,
    points: pointsBlockShape.meta({ description: 'Points system key → what the event did there; only the systems that it changed.' }),
    leaderboards: z
      .record(z.string(), eventLeaderboardShape)
      .meta({ description: "Leaderboard key → the user's place; only the leaderboards that the event changed." }),
    idempotencyKey: z.string().optional().meta({ description: 'The key that was sent, if one was.' }),
    idempotentReplayed: z.boolean().optional().meta({ description: 'Whether the key had been used before, so that nothing was counted.' }),
  })
  .meta({ id: 'Event' });

/** The contract's `AchievementCompletionResponse`. */
export const completionShape = z
  .object({ completionId: z.string(), achievement: userAchievementShape, points: pointsBlockShape })
  .meta({ id: 'AchievementCompletion' });
export type CompletionResponse = z.infer<typeof completionShape>;

/** An item of an event summary. */
export const summaryItemShape = z
  .object({
    date: dateShape.meta({ description: 'The first day of the bucket.' }),
    total: z.number().meta({ description: 'At the end of the bucket.' }),
    change: z.number().meta({ description: '0 for a bucket in which nothing happened.' }),
  })
  .meta({ id: 'SummaryItem' });
export type SummaryItem = z.infer<typeof summaryItemShape>;

/** What an entry changed, as the blocks of a response. */
type Entry = EventEntry | UserEntry;

/** The achievements that were completed, in order. */
export function completedBlock(config: ActiveConfig, { achieved = [], at }: Entry): UserAchievementResponse[] {
  return achieved.map((no) => completedResponse(config, mustGet(config.achievementByNo, no, 'achievement'), at));
}

/** The points systems that changed, by key. */
export function pointsBlock(config: ActiveConfig, { points, id }: Entry): Record<string, EventPointsResponse> {
  return Object.fromEntries(
    points.map((fact) => [mustGet(config.systemByNo, fact.no, 'points system').key, eventPointsResponse(config, id, fact)]),
  );
}

/**
 * The leaderboards on which the user's place changed, in order; not those on which the user is outside before and after. One entry can change a
 * board twice, as when the user moves to another group: what counts is where the user is in the end, and where in that group the user had
 * been before.
 */
function changedPlaces(boards: readonly BoardFact[]): Iterable<BoardFact> {
  const before = new Map<string, number | undefined>();
  const last = new Map<number, BoardFact>();
  for (const fact of boards) {
    const place = `${fact.no}:${fact.run}:${fact.group ?? ''}`;
    if (!before.has(place)) before.set(place, fact.previousRank);
    const previousRank = before.get(place);
    // A user without a value has left the group, and one without either rank was outside before and after.
    if (fact.value === undefined || (fact.rank === undefined && previousRank === undefined)) last.delete(fact.no);
    else last.set(fact.no, previousRank === fact.previousRank ? fact : withPreviousRank(fact, previousRank));
  }
  return last.values();
}

function withPreviousRank({ previousRank: _, ...fact }: BoardFact, previousRank: number | undefined): BoardFact {
  return previousRank === undefined ? fact : { ...fact, previousRank };
}

const boardJson = (prepared: PreparedJson, fact: BoardFact, today: string): string =>
  `${prepared.openBoardField(fact, today)},"threshold":${fact.threshold},"previousRank":${fact.previousRank ?? null},"rank":${fact.rank ?? null}}`;

/** The contract's `PointsAward`. `entryId` is that of the ledger entry that it came with. */
export function awardJson(prepared: PreparedJson, entryId: string, award: AwardFact): string {
  const boosts = award.boosts.map((no) => prepared.appliedBoost.get(no)).filter((text) => text !== '');
  const trigger = award.trigger === noTrigger ? '' : `"trigger":${prepared.trigger.get(award.trigger)},`;
  return (
    `{"id":"${awardId(entryId, award.ordinal)}","awarded":${award.awarded},"date":"${instant(award.at)}","total":${award.total},` +
    `${trigger}"boosts":[${boosts.join()}]}`
  );
}

/** A system's block in the response to an event; `level` is there only when the event changed it (docs/rules/points.md). */
function systemJson(prepared: PreparedJson, entryId: string, fact: PointsFact): string {
  const level = fact.level === fact.levelBefore ? '' : `,"level":${fact.level === 0 ? 'null' : prepared.level.get(fact.level)}`;
  const awards = fact.awards.map((award) => awardJson(prepared, entryId, award)).join();
  return `${prepared.openSystemField.get(fact.no)},"total":${fact.total}${level},"added":${fact.total - fact.before},"awards":[${awards}]}`;
}

/** What a response to an event says apart from the changes. */
export interface EventFrame {
  readonly eventId: string;
  readonly metricId: string;
  /** The key that was sent, if one was. */
  readonly idempotencyKey: string | undefined;
}

/** What an entry changed, as the contents of a list of achievements and of objects of points systems and leaderboards. */
function blocksJson(prepared: PreparedJson, { id, achieved = [], at, points, boards }: Entry) {
  const completed = achieved.map((no) => `${prepared.openAchievement.get(no)},"achievedAt":"${instant(at)}"}`).join();
  const systems = points.map((fact) => systemJson(prepared, id, fact)).join();
  let places = '';
  if (boards.length > 0) {
    const today = utcDate(at);
    for (const fact of changedPlaces(boards)) places += (places === '' ? '' : ',') + boardJson(prepared, fact, today);
  }
  return { completed, systems, places };
}

/**
 * What an entry changed for its user, for live streams: the blocks of the response to an event, and the periods of the displayed streak. Undefined
 * if it is nothing that users see.
 */
export function userChangeJson(config: ActiveConfig, entry: Entry): string | undefined {
  const { completed, systems, places } = blocksJson(PreparedJson.of(config), entry);
  const weekShift = weekShiftOf(config.document.settings);
  const streak = (entry.periods ?? [])
    .filter(({ isShown }) => isShown)
    .map(({ frequency, period, length, how }) => ({ date: dayToDate(firstDayOf(frequency, period, weekShift)), frequency, length, how }));
  const event =
    entry.kind === 'event'
      ? { id: entry.id, metricKey: mustGet(config.metricByNo, entry.metric, 'metric').key, value: entry.value, total: entry.total }
      : null;
  if (!event && completed + systems + places === '' && streak.length === 0) return undefined;
  return (
    `{"at":"${instant(entry.at)}","event":${JSON.stringify(event)},"achievements":[${completed}],"points":{${systems}},` +
    `"leaderboards":{${places}},"streak":${JSON.stringify(streak)}}`
  );
}

/** The contract's `EventResponse` of a counted event, put together from what is prepared. */
export function eventJson(config: ActiveConfig, frame: EventFrame, entry: EventEntry): JsonText {
  const prepared = PreparedJson.of(config);
  const { completed, systems, places } = blocksJson(prepared, entry);
  const streak = prepared.eventStreak(entry.streak);
  return framed(
    frame,
    false,
    `${entry.total},"achievements":[${completed}],"currentStreak":${streak},"points":{${systems}},"leaderboards":{${places}}`,
  );
}

/** The contract's `EventResponse` to a repeated idempotency key. */
export function replayJson(
  config: ActiveConfig,
  frame: EventFrame,
  now: { readonly total: number; readonly streak: StreakFact | undefined },
): JsonText {
  const streak = PreparedJson.of(config).eventStreak(now.streak);
  return framed(frame, true, `${now.total},"achievements":[],"currentStreak":${streak},"points":{},"leaderboards":{}`);
}

function framed({ eventId, metricId, idempotencyKey }: EventFrame, replayed: boolean, fromTotal: string): JsonText {
  const idempotency =
    idempotencyKey === undefined ? '' : `,"idempotencyKey":${JSON.stringify(idempotencyKey)},"idempotentReplayed":${replayed}`;
  return new JsonText(`{"eventId":"${eventId}","metricId":"${metricId}","total":${fromTotal}${idempotency}}`);
}

import { z } from 'zod';
import { achievementTriggers } from '../config/schema/kinds.js';
import { type AchievementRow, type AwardRow, cursorOf, type EventRow, type StreakRow, type TimelinePage } from '../history/timeline.js';
import { type ActiveConfig, mustGet } from '../plan/active-config.js';
import { correctedEvent } from '../redis/encoding.js';
import { dayToDate, firstDayOf, weekShiftOf } from '../shared/calendar.js';
import { dateShape, instantShape } from '../shared/shapes.js';
import { levelAt } from './points.js';
import { refOf, refShape } from './refs.js';

const localDay = dateShape.meta({ description: "The user's local date." });

export const timelineAwardShape = z
  .object({
    id: z.uuid(),
    at: instantShape,
    day: localDay,
    system: refShape,
    trigger: z
      .object({ id: z.string(), key: z.string(), type: z.enum(['metric', 'streak', 'achievement', 'time', 'user_creation']) })
      .nullable()
      .meta({ description: 'Archived triggers included; null for an adjustment by an operator.' }),
    awarded: z.number().int().meta({ description: 'Points that were added, boosts included; negative for a deduction.' }),
    total: z.number().int().meta({ description: 'The total after the award.' }),
    level: refShape
      .nullable()
      .optional()
      .meta({ description: 'Only if the award changed the level by the present levels: the level after it, null for none.' }),
    boosts: z
      .array(z.object({ id: z.string(), key: z.string().nullable(), name: z.string(), multiplier: z.number() }))
      .meta({ description: 'The boosts that applied, as they were then, archived ones included.' }),
    eventId: z.uuid().nullable().meta({ description: 'The event that it is for; null for an award by time or by another call.' }),
    adjustment: z
      .object({ id: z.uuid(), reason: z.string(), key: z.object({ id: z.uuid(), name: z.string() }) })
      .optional()
      .meta({ description: 'Only of an adjustment by an operator: why, and with which admin key, by its present name.' }),
  })
  .meta({ id: 'TimelineAward' });

export const eventEntryShape = z
  .object({
    type: z.literal('event'),
    id: z.uuid(),
    at: instantShape,
    day: localDay,
    metric: refShape,
    value: z.number(),
    total: z.number().meta({ description: 'The total of the metric after the event.' }),
    attributes: z.record(z.string(), z.string()).meta({ description: 'Attribute key → value.' }),
    idempotencyKey: z.string().nullable(),
    corrects: z.uuid().optional().meta({ description: 'Only of a correction: the event whose value it takes back.' }),
    awards: z.array(timelineAwardShape),
  })
  .meta({ id: 'TimelineEvent' });

const achievementEntryShape = z
  .object({
    type: z.literal('achievement'),
    at: instantShape,
    achievement: refShape.extend({
      badgeUrl: z.string().nullable(),
      trigger: z.enum(achievementTriggers),
    }),
  })
  .meta({ id: 'TimelineAchievement' });

const streakEntryShape = z
  .object({
    type: z.literal('streak'),
    at: z.null(),
    date: dateShape.meta({ description: 'The first day of the period.' }),
    frequency: z.enum(['daily', 'weekly', 'monthly']),
    length: z.number().int().meta({ description: 'The length after the period.' }),
    how: z.enum(['extended', 'freeze', 'pause', 'day_off', 'move', 'lost']).meta({
      description: 'What the period did to the streak; `day_off`, `move`: it was covered by a day off, by a move between time zones.',
    }),
    resetAt: instantShape.optional().meta({ description: 'When an operator last reset the streak in the period; absent if none did.' }),
  })
  .meta({ id: 'TimelineStreak' });

const entryShape = z.discriminatedUnion('type', [
  eventEntryShape,
  timelineAwardShape.extend({ type: z.literal('award') }).meta({ id: 'TimelineOtherAward' }),
  achievementEntryShape,
  streakEntryShape,
]);

export const timelineShape = z.object({
  entries: z.array(entryShape),
  next: z.string().nullable().meta({ description: 'The `cursor` of the next page; null on the last one.' }),
});
export type TimelineResponse = z.infer<typeof timelineShape>;
type Entry = z.infer<typeof entryShape>;
type TimelineAward = z.infer<typeof timelineAwardShape>;
type TimelineEvent = z.infer<typeof eventEntryShape>;

const adjustmentOf = ({ id, reason, keyId, keyName }: NonNullable<AwardRow['adjustment']>): TimelineAward['adjustment'] => ({
  id,
  reason,
  key: { id: keyId, name: keyName },
});

export function awardOf(config: ActiveConfig, row: AwardRow): TimelineAward {
  const system = mustGet(config.systemByNo, row.system, 'points system');
  const trigger = config.triggerByNo.get(row.trigger);
  const [before, after] = [levelAt(system, row.total - row.awarded), levelAt(system, row.total)];
  return {
    id: row.id,
    at: row.at.toISOString(),
    day: dayToDate(row.day),
    system: refOf(system),
    trigger: trigger ? { id: trigger.id, key: trigger.key, type: trigger.type } : null,
    awarded: row.awarded,
    total: row.total,
    ...(before === after ? {} : { level: after && refOf(after) }),
    boosts: row.boosts
      .flatMap((no) => config.boostByNo.get(no) ?? [])
      .map(({ id, key, name, multiplier }) => ({ id, key, name, multiplier })),
    eventId: row.eventId,
    ...(row.adjustment ? { adjustment: adjustmentOf(row.adjustment) } : {}),
  };
}

export function eventOf(config: ActiveConfig, row: EventRow): TimelineEvent {
  const attributes = Object.entries(row.attributes ?? {}).map(([no, value]): [string, string] => [
    mustGet(config.attributeByNo, Number(no), 'attribute').key,
    value,
  ]);
  const corrects = correctedEvent(row.idempotencyKey);
  return {
    type: row.type,
    id: row.id,
    at: row.at.toISOString(),
    day: dayToDate(row.day),
    metric: refOf(mustGet(config.metricByNo, row.metric, 'metric')),
    value: row.value,
    total: row.total,
    attributes: Object.fromEntries(attributes),
    idempotencyKey: corrects === undefined ? row.idempotencyKey : null,
    ...(corrects === undefined ? {} : { corrects }),
    awards: row.awards.map((award) => awardOf(config, award)),
  };
}

function achievementOf(config: ActiveConfig, row: AchievementRow): Entry {
  const achievement = mustGet(config.achievementByNo, row.achievement, 'achievement');
  const { badgeUrl, trigger } = achievement;
  return { type: row.type, at: row.at.toISOString(), achievement: { ...refOf(achievement), badgeUrl, trigger } };
}

function periodEntry({ document: { streaks, settings } }: ActiveConfig, { type, period, length, how, resetAt }: StreakRow): Entry {
  const { frequency } = streaks;
  const date = dayToDate(firstDayOf(frequency, period, weekShiftOf(settings)));
  return { type, at: null, date, frequency, length, how, ...(resetAt ? { resetAt: resetAt.toISOString() } : {}) };
}

/** A page of a user's timeline. */
export function timelineResponse(config: ActiveConfig, { rows, next }: TimelinePage): TimelineResponse {
  const entries = rows.map((row): Entry => {
    switch (row.type) {
      case 'event':
        return eventOf(config, row);
      case 'award':
        return { type: row.type, ...awardOf(config, row) };
      case 'achievement':
        return achievementOf(config, row);
      case 'streak':
        return periodEntry(config, row);
    }
  });
  return { entries, next: next ? cursorOf(next) : null };
}

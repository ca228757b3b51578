import type { Webhook } from '../../config/schema/model.js';
import { pendingDeliveries, withAttributes, withMetric, withoutZone, withOwnCondition, withStreak } from '../../history/counts.js';
import { conditionsDefinition } from '../../plan/activation.js';
import type { Frequency } from '../../shared/calendar.js';
import { counted, isDropped, pairs, type PlannedChange, type Question, subjectOf } from './question.js';

/** What users have that is no longer shown, or counts otherwise: attributes, metrics, streaks, time zones; and messages to webhooks. */
export const dataQuestions = (change: PlannedChange): Question[] => [
  ...droppedData(change),
  ...pairs(change.from.webhooks, change.to.webhooks).flatMap(({ was, is }) => webhookQuestions(was, is)),
  ...streakQuestions(change),
  ...zoneQuestions(change),
];

function droppedData({ from, to }: PlannedChange): Question[] {
  const attributes = pairs(from.attributes, to.attributes).filter(({ was, is }) => isDropped(was, is) && is.type === 'user');
  const metrics = pairs(from.metrics, to.metrics).filter(({ was, is }) => isDropped(was, is));
  return [
    ...attributes.map(({ is }): Question => ({
      subject: subjectOf('user attribute', is),
      count: withAttributes([is.no]),
      of: 'users',
      sentence: (count) => `${counted(count, 'user has', 'users have')} a value of it, which would no longer be shown.`,
      what: 'users with a value of it',
    })),
    ...metrics.map(({ is }): Question => ({
      subject: subjectOf('metric', is),
      count: withMetric(is.no),
      of: 'users',
      sentence: (count) => `${counted(count, 'user has', 'users have')} a total of it, which would no longer be shown.`,
      what: 'users with a total of it',
    })),
    ...(to.streaks.personalization ? metrics : []).map(({ is }): Question => ({
      subject: subjectOf('metric', is),
      count: withOwnCondition(is.no),
      of: 'users',
      sentence: (count) =>
        `${counted(count, 'user has', 'users have')} a streak condition of their own on it, which would no longer count.`,
      what: 'users with a streak condition of their own on it',
    })),
  ];
}

function webhookQuestions(was: Webhook | undefined, is: Webhook): Question[] {
  const isSending = (webhook: Webhook | undefined): boolean => webhook?.archived === false && webhook.status === 'active';
  if (!isSending(was) || isSending(is)) return [];
  const then = is.archived ? 'would be deleted' : 'would wait until the webhook is active again';
  return [
    {
      subject: subjectOf('webhook', is),
      count: pendingDeliveries(is.no),
      of: 'deliveries',
      sentence: (count) => `${counted(count, 'pending delivery', 'pending deliveries')} ${then}.`,
      what: 'pending deliveries',
    },
  ];
}

const nouns: Readonly<Record<Frequency, string>> = { daily: 'day', weekly: 'week', monthly: 'month' };

function streakQuestions({ from, to }: PlannedChange): Question[] {
  const [was, is] = [from.streaks, to.streaks];
  if (!was.enabled) return [];
  const question = (frequency: Frequency, rest: string): Question => ({
    subject: { kind: 'streaks', key: null, within: null },
    count: withStreak(frequency),
    of: 'users',
    sentence: (count) => `${counted(count, 'user has', 'users have')} an active ${frequency} streak${rest}.`,
    what: `users with an active ${frequency} streak`,
  });
  if (!is.enabled) return [question(was.frequency, ', which would no longer be shown')];
  if (is.frequency !== was.frequency) return [question(is.frequency, `, which would be shown in place of the ${was.frequency} one`)];
  if (conditionsDefinition(from) === conditionsDefinition(to)) return [];
  return [question(is.frequency, `: from this ${nouns[is.frequency]} on, the new conditions decide whether it continues`)];
}

function zoneQuestions({ from, to }: PlannedChange): Question[] {
  const zone = to.settings.defaultTimeZone;
  if (from.settings.defaultTimeZone === zone) return [];
  return [
    {
      subject: { kind: 'settings', key: null, within: null },
      count: withoutZone,
      of: 'users',
      sentence: (count) => `${counted(count, 'user')} without a time zone would move to ${zone}.`,
      what: 'users without a time zone',
    },
  ];
}

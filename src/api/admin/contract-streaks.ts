/** The streak settings as the contract has them: a view of the stored ones (config/schema/model.ts), which hold more than it can show. */
import { z } from 'zod';
import { keysOf } from '../../config/file/export.js';
import { daysOff, whole } from '../../config/schema/fields.js';
import type { ConfigDocument, StreakSettings } from '../../config/schema/model.js';
import { LaurelError } from '../../shared/errors.js';
import { limits } from '../../shared/limits.js';
import { key, listOf } from './requests.js';

/** The most that the contract can show; Laurel stores more. */
const most = { threshold: 10_000, autoEarnInterval: 365, autoEarnAmount: 10 } as const;

const sentFreezes = z
  .object({
    startCount: whole(0, limits.maxFreezes),
    maxCount: whole(1, limits.maxFreezes),
    autoEarnInterval: whole(1, most.autoEarnInterval).nullish(),
    autoEarnAmount: whole(1, most.autoEarnAmount).nullish(),
  })
  .superRefine(({ startCount, maxCount, autoEarnInterval: interval = null, autoEarnAmount: amount = null }, context) => {
    const refuse = (field: string, message: string): void => context.addIssue({ code: 'custom', path: [field], message });
    if (maxCount < startCount) refuse('maxCount', 'must be at least `startCount`');
    if (interval === null && amount !== null) refuse('autoEarnInterval', 'is required with `autoEarnAmount`');
    if (interval !== null && amount === null) refuse('autoEarnAmount', 'is required with `autoEarnInterval`');
  });
type SentFreezes = z.infer<typeof sentFreezes>;

export const contractStreaksBody = z
  .object({
    frequency: z.enum(['daily', 'weekly', 'monthly']),
    evaluationMode: z.enum(['OR', 'AND']),
    customizationEnabled: z.boolean(),
    daysOff,
    metrics: listOf(z.object({ key, threshold: whole(1, most.threshold) }), limits.maxStreakConditions),
    freezes: sentFreezes.nullable(),
  })
  .partial();
type Sent = z.infer<typeof contractStreaksBody>;
type SentConditions = NonNullable<Sent['metrics']>;

const integer = z.number().int();

export const contractStreaksShape = z.object({
  frequency: z.enum(['daily', 'weekly', 'monthly']),
  evaluationMode: z.enum(['OR', 'AND']),
  customizationEnabled: z.boolean(),
  daysOff: z.array(integer).meta({ description: 'Weekdays that do not count for daily streaks, from 0 (Sunday) to 6 (Saturday).' }),
  metrics: z
    .array(z.object({ key: z.string(), threshold: integer.meta({ description: 'Rounded: Laurel’s own may be another number.' }) }))
    .meta({ description: 'The conditions; empty while streaks are not enabled.' }),
  freezes: z
    .object({
      startCount: integer,
      maxCount: integer,
      autoEarnInterval: integer.nullable(),
      autoEarnAmount: integer.nullable(),
    })
    .nullable()
    .meta({ description: 'Null: users have no freezes.' }),
});
type Shown = z.infer<typeof contractStreaksShape>;

/** A stored number as a whole one from 1 to the most that the contract can show. */
const shownNumber = (value: number, max: number): number => Math.min(Math.max(Math.round(value), 1), max);

const shownEarning = (value: number, max: number): number | null => (value === 0 ? null : shownNumber(value, max));

function shownFreezes({ initial, maximum, earnInterval, earnAmount }: StreakSettings['freezes']): Shown['freezes'] {
  if (maximum === 0) return null;
  return {
    startCount: initial,
    maxCount: maximum,
    autoEarnInterval: shownEarning(earnInterval, most.autoEarnInterval),
    autoEarnAmount: shownEarning(earnAmount, most.autoEarnAmount),
  };
}

export function shownContractStreaks(document: ConfigDocument): Shown {
  const { enabled, frequency, evaluationMode, metrics, freezes, personalization, daysOff: days } = document.streaks;
  const keyOf = keysOf(document);
  const conditions = metrics.map(({ metricId, threshold }) => ({
    key: keyOf('metric', metricId),
    threshold: shownNumber(threshold, most.threshold),
  }));
  return {
    frequency,
    evaluationMode,
    customizationEnabled: personalization,
    daysOff: [...days],
    // The contract has no switch: streaks that count nothing have no conditions.
    metrics: enabled ? conditions : [],
    freezes: shownFreezes(freezes),
  };
}

/** The freezes to store: a number that was sent as it is shown stays what it is stored as. */
function storedFreezes(stored: StreakSettings['freezes'], sent: SentFreezes | null): StreakSettings['freezes'] {
  if (sent === null) return { initial: 0, maximum: 0, earnInterval: 0, earnAmount: 0 };
  const { startCount, maxCount, autoEarnInterval = null, autoEarnAmount = null } = sent;
  const shown = shownFreezes(stored);
  return {
    initial: startCount,
    maximum: maxCount,
    earnInterval: autoEarnInterval === shown?.autoEarnInterval ? stored.earnInterval : (autoEarnInterval ?? 0),
    earnAmount: autoEarnAmount === shown?.autoEarnAmount ? stored.earnAmount : (autoEarnAmount ?? 0),
  };
}

/** The conditions to store, and that streaks are enabled. Throws a 422 for an unknown key, and for none unless none are shown. */
function storedConditions({ metrics, streaks }: ConfigDocument, sent: SentConditions): Partial<StreakSettings> {
  if (sent.length === 0 && !streaks.enabled) return {};
  if (sent.length === 0) throw new LaurelError('unprocessable', '`metrics` must have at least 1 item.');
  const conditions = sent.map(({ key: named, threshold }) => {
    const id = metrics.find((metric) => metric.key === named && !metric.archived)?.id;
    if (id === undefined) throw new LaurelError('unprocessable', `There is no metric with the key ${JSON.stringify(named)}.`);
    const stored = streaks.metrics.find(({ metricId }) => metricId === id)?.threshold;
    const isShown = stored !== undefined && shownNumber(stored, most.threshold) === threshold;
    return { metricId: id, threshold: isShown ? stored : threshold };
  });
  return { enabled: true, metrics: conditions };
}

/** The stored fields that a request changes. Throws a 422. */
export function contractStreaksFields(document: ConfigDocument, sent: Sent): Partial<StreakSettings> {
  const { frequency, evaluationMode, customizationEnabled: personalization, daysOff: days, metrics, freezes } = sent;
  return {
    ...(frequency && { frequency }),
    ...(evaluationMode && { evaluationMode }),
    ...(personalization !== undefined && { personalization }),
    ...(days && { daysOff: days }),
    ...(metrics && storedConditions(document, metrics)),
    ...(freezes !== undefined && { freezes: storedFreezes(document.streaks.freezes, freezes) }),
  };
}

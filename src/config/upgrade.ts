/** Documents that an earlier Laurel stored, in the form of today. */
import { type ConfigDocument, emptyConfig } from './model.js';

/** What leaderboards were before they could repeat, have a window or be broken down. */
const plainBoard = { startTime: null, endTime: null, breakdownAttributes: [], runUnit: null, runInterval: 0 } as const;
/** What triggers, all of them by metric, did before they could block an event. */
const plainTrigger = { blockIfOutOfPoints: false } as const;

/**
 * The document, with what it lacks: streaks, achievements, webhooks and settings other than the control ratio came after the first release, as did some fields
 * of triggers and leaderboards. What is missing means what was true then: no streaks, boards that run on, triggers that
 * block nothing, UTC for users without a zone, keys that are kept for ever.
 */
export function upgradeDocument(stored: ConfigDocument): ConfigDocument {
  return {
    ...emptyConfig,
    ...stored,
    settings: { ...emptyConfig.settings, ...stored.settings },
    pointsSystems: stored.pointsSystems.map((system) => ({
      ...system,
      triggers: system.triggers.map((trigger) => (trigger.type === 'metric' ? { ...plainTrigger, ...trigger } : trigger)),
    })),
    leaderboards: stored.leaderboards.map((board) => ({ ...plainBoard, ...board })),
  };
}

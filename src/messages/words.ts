import type { NotificationType } from '../config/message-types.js';
import type { StreakDay, StreakVariables } from './variables.js';

/** The words of the layout that are in no template (docs/messages-look.md). */
export const words = {
  locale: 'en',
  streak: {
    daily: 'Your streak in the last {n} days',
    weekly: 'Your streak in the last {n} weeks',
    monthly: 'Your streak in the last {n} months',
  } satisfies Record<StreakVariables['frequency'], string>,
  summary: 'In numbers',
  rank: 'Rank {n}',
  next: 'Next: {name}',
  of: '{current} of {target}',
  toNextLevel: '{points} to {level}',
  reasons: {
    achievement_completed: 'You receive this email because you completed an achievement.',
    recap: 'You receive this email as a regular review of your activity.',
    reactivation: 'You receive this email because you have not been active lately.',
    streak_reminder: 'You receive this email because your streak is about to end.',
  } satisfies Record<NotificationType, string>,
  unsubscribe: 'Unsubscribe or choose what you receive',
  states: {
    extended: 'active',
    frozen: 'freeze used',
    paused: 'paused',
    missed: 'missed',
    today: 'not active yet',
  } satisfies Record<StreakDay['state'], string>,
};

/** Fills in the `{names}` of words. */
export const fill = (text: string, values: Readonly<Record<string, string>>): string =>
  text.replace(/\{(\w+)\}/g, (_, name: string) => values[name] ?? '');

import type { NotificationType } from '../../config/schema/message-types.js';
import { checkText } from '../../config/templates/check.js';
import { textFields } from './fields.js';
import { type MessageConfig, textOf } from './texts.js';

/** What the texts of a message use of the variables that cost a read of their own. */
export interface Uses {
  /** Keys of leaderboards. */
  readonly leaderboards: readonly string[];
  readonly streakDays: boolean;
}

/** What the texts of a type, in a locale and for both channels, use. */
export function usesOf(config: MessageConfig, type: NotificationType, locale: string): Uses {
  const texts = textFields.map((field) => textOf(config, { type, locale }, field)?.text ?? '');
  const checked = texts.map((text) => checkText(type, text));
  return {
    leaderboards: checked.flatMap(({ keys }) => keys).flatMap(({ kind, key }) => (kind === 'leaderboard' ? key : [])),
    streakDays: checked.some(({ readsStreakDays }) => readsStreakDays),
  };
}

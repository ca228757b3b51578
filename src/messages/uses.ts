import { analyzeSync } from 'liquidjs';
import type { NotificationType } from '../config/message-types.js';
import { parseTemplate } from './pending-config.js';
import { type MessageConfig, textFields, textOf } from './texts.js';

/** What the texts of a message use of the variables that cost a read of their own. */
export interface Uses {
  /** Keys; `all` where a text goes through all of them. */
  readonly leaderboards: ReadonlySet<string> | 'all';
  readonly streakDays: boolean;
}

/** The paths of the variables of a text, as far as they are fixed: `leaderboards.weekly.rank` is `['leaderboards', 'weekly', 'rank']`. */
function pathsOf(text: string): string[][] {
  return Object.values(analyzeSync(parseTemplate(text)).globals)
    .flat()
    .map(({ segments }) => {
      const unknown = segments.findIndex((segment) => typeof segment !== 'string');
      return segments.slice(0, unknown < 0 ? undefined : unknown).map(String);
    });
}

/** What the texts of a type, in a locale and for both channels, use. */
export function usesOf(config: MessageConfig, type: NotificationType, locale: string): Uses {
  const texts = textFields.map((field) => textOf(config, { type, locale }, field)?.text ?? '');
  const paths = texts.filter((text) => text.includes('leaderboards') || text.includes('streak')).flatMap(pathsOf);
  const keys = paths.filter(([root]) => root === 'leaderboards').map(([, key]) => key);
  return {
    leaderboards: keys.includes(undefined) ? 'all' : new Set(keys.flatMap((key) => key ?? [])),
    streakDays: paths.some(([root, field]) => root === 'streak' && (field === undefined || field === 'days')),
  };
}

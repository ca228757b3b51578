import type { components } from '../../../api/schema/application.js';
import { formatNumber } from '../../../ui/numbers.js';

type EventResponse = components['schemas']['Event'];

const rankOf = (rank: number | null): string => (rank === null ? 'no rank' : `rank ${formatNumber(rank)}`);

/** What an event changed, a sentence for each change. */
export function changesOfEvent(event: EventResponse): string[] {
  if (event.idempotentReplayed === true) {
    return ['The idempotency key has been used before: nothing was counted.', `The total is ${formatNumber(event.total)}.`];
  }
  const points = Object.values(event.points).flatMap(({ name, added, total, level }) => [
    `${name}: ${added < 0 ? '' : '+'}${formatNumber(added)}, now ${formatNumber(total)}.`,
    ...(level === undefined ? [] : [level === null ? `${name}: no level any more.` : `${name}: the level is now ${level.name}.`]),
  ]);
  const boards = Object.values(event.leaderboards).map(
    ({ name, rank, previousRank }) => `${name}: ${rankOf(rank)}, before: ${rankOf(previousRank)}.`,
  );
  return [
    `The total is now ${formatNumber(event.total)}.`,
    ...points,
    ...event.achievements.map(({ name }) => `Completed the achievement “${name}”.`),
    ...(event.currentStreak.extended ? [`The streak is extended to ${formatNumber(event.currentStreak.length)}.`] : []),
    ...boards,
  ];
}

/** A text as a header has it: a character for each byte of its UTF-8, which is what the API reads. */
export const headerText = (text: string): string => String.fromCharCode(...new TextEncoder().encode(text));

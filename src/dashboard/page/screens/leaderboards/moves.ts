/** What moved between two reads of a page of a leaderboard. */
import type { components } from '../../api/schema/application.js';
import { formatCount, formatNumber } from '../../ui/numbers.js';

/** A row of a leaderboard. */
export type Place = components['schemas']['LeaderboardRanking'];

export interface Move {
  readonly place: Place;
  /** The rank before; null for a user who was not on the page. */
  readonly from: number | null;
  /** How much the value has changed; null for a user who was not on the page. */
  readonly change: number | null;
}

/** The users whose rank or value differs, by their ids. */
export function movesBetween(before: readonly Place[], after: readonly Place[]): ReadonlyMap<string, Move> {
  const places = new Map(before.map((place) => [place.userId, place]));
  const moves = after.flatMap((place): [string, Move][] => {
    const was = places.get(place.userId);
    if (was?.rank === place.rank && was.value === place.value) return [];
    return [[place.userId, { place, from: was?.rank ?? null, change: was ? place.value - was.value : null }]];
  });
  return new Map(moves);
}

/** `up` for a better rank than before, or a new row. */
export function directionOf({ from, place }: Move): 'up' | 'down' | 'same' {
  if (from === null || place.rank < from) return 'up';
  return place.rank > from ? 'down' : 'same';
}

/** `▲ 2, +15`. */
export function moveText(move: Move): string {
  const { from, place, change } = move;
  if (from === null) return 'new';
  const ranks = { up: `▲ ${from - place.rank}`, down: `▼ ${place.rank - from}`, same: '' }[directionOf(move)];
  const gained = change === null || change === 0 ? '' : `${change > 0 ? '+' : '−'}${formatNumber(Math.abs(change))}`;
  return [ranks, gained].filter((text) => text !== '').join(', ');
}

/** How many moves a screen reader announces; it must have ended before the next ones come. */
const announcedMoves = 3;

/** Moves in a sentence for screen readers; empty when no rank has changed. */
export function announcementOf(moves: ReadonlyMap<string, Move>): string {
  const moved = [...moves.values()].filter((move) => directionOf(move) !== 'same');
  const sentences = moved.slice(0, announcedMoves).map(({ place, from }) => {
    const name = place.userName ?? place.userId;
    return from === null ? `${name} is new on the page, at rank ${place.rank}.` : `${name} moved from rank ${from} to ${place.rank}.`;
  });
  const others = moved.length - sentences.length;
  return [...sentences, ...(others > 0 ? [`${formatCount(others, 'other user')} moved.`] : [])].join(' ');
}

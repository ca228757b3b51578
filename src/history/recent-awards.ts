import { unpackSequence, uuidOfBytes } from '../redis/encoding.js';
import { awardMomentBytes, placeOf, uuidBytes } from '../redis/layout.js';
import type { AwardFact } from '../ledger/entry.js';
import { dayMs } from '../shared/calendar.js';

/** MessagePack's `false` as the first value: the award shares id, time and day with the previous one. */
const sharedMark = 0xc2;
const headBytes = uuidBytes + awardMomentBytes;
const places = {
  dayOffset: placeOf('recentAward', 'dayOffset'),
  trigger: placeOf('recentAward', 'trigger'),
  ordinal: placeOf('recentAward', 'ordinal'),
  awarded: placeOf('recentAward', 'awarded'),
  total: placeOf('recentAward', 'total'),
  boosts: placeOf('recentAward', 'boosts'),
};

/** A recent award in Redis. */
export interface RecentAward {
  /** The id of its ledger entry. */
  readonly id: string;
  readonly award: AwardFact;
}

/** Unpacks an element of a list of recent awards (redis/layout.ts, `recentAward`). Throws when it is damaged. */
export function unpackAward(element: Buffer, previous: RecentAward | undefined): RecentAward {
  const isShared = element[0] === sharedMark;
  const valuesEnd = isShared ? element.length : element.length - headBytes;
  const values = unpackSequence(element.subarray(0, Math.max(valuesEnd, 0))) as number[];
  const isDamaged = values.some((value, place) => !Number.isSafeInteger(value) && !(isShared && place === places.dayOffset));
  if (values.length < places.boosts || isDamaged) throw new Error('cannot decode a recent award');
  const number = (place: keyof typeof places): number => values[places[place]] ?? 0;
  const fact = {
    trigger: number('trigger'),
    ordinal: number('ordinal'),
    awarded: number('awarded'),
    total: number('total'),
    boosts: values.slice(places.boosts),
  };
  if (isShared) {
    if (!previous) throw new Error('cannot decode a recent award: the previous one is missing');
    return { id: previous.id, award: { ...fact, at: previous.award.at, day: previous.award.day } };
  }
  const at = element.readIntBE(valuesEnd + uuidBytes, awardMomentBytes);
  return {
    id: uuidOfBytes(element.subarray(valuesEnd, valuesEnd + uuidBytes)),
    award: { ...fact, at, day: Math.floor(at / dayMs) + number('dayOffset') },
  };
}

/** Unpacks a list of recent awards, or the beginning of one. Throws when an element is damaged. */
export function unpackAwards(elements: readonly Buffer[]): RecentAward[] {
  const awards: RecentAward[] = [];
  for (const element of elements) awards.push(unpackAward(element, awards.at(-1)));
  return awards;
}

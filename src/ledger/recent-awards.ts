import { unpackSequence, uuidOfBytes } from '../redis/encoding.js';
import { awardMomentBytes, named, placeOf, uuidBytes } from '../redis/layout.js';
import type { AwardFact } from './entry.js';

const dayMs = 86_400_000;
/** MessagePack's `false` as the first value: the award shares id, time and day with the previous one. */
const sharedMark = 0xc2;
const headBytes = uuidBytes + awardMomentBytes;
const firstBoost = placeOf('recentAward', 'boosts');

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
  const values = unpackSequence(element.subarray(0, Math.max(valuesEnd, 0)));
  if (values.length < firstBoost || !values.slice(isShared ? 1 : 0).every(Number.isSafeInteger)) throw new Error('a damaged recent award');
  const { dayOffset, trigger, ordinal, awarded, total } = named('recentAward', values) as Record<string, number>;
  const fact = { trigger, ordinal, awarded, total, boosts: values.slice(firstBoost) } as Omit<AwardFact, 'at' | 'day'>;
  if (isShared) {
    if (!previous) throw new Error('a recent award without the previous one');
    return { id: previous.id, award: { ...fact, at: previous.award.at, day: previous.award.day } };
  }
  const at = element.readIntBE(valuesEnd + uuidBytes, awardMomentBytes);
  return {
    id: uuidOfBytes(element.subarray(valuesEnd, valuesEnd + uuidBytes)),
    award: { ...fact, at, day: Math.floor(at / dayMs) + Number(dayOffset) },
  };
}

/** Unpacks a list of recent awards, or the beginning of one. Throws when an element is damaged. */
export function unpackAwards(elements: readonly Buffer[]): RecentAward[] {
  const awards: RecentAward[] = [];
  for (const element of elements) awards.push(unpackAward(element, awards.at(-1)));
  return awards;
}

/** Generates keys for objects without one: the Admin API's contract has none for triggers and boosts. */
import { type FileFields } from '../file/convert.js';

/** Most characters of a generated key: few enough that a number can follow. */
const maxMadeChars = 200;

/** The words of a text as a key: `Double XP, week 1!` becomes `double-xp-week-1`. Empty if no character fits into a key. */
const slug = (text: string): string =>
  text
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z\d]+/g, '-')
    .slice(0, maxMadeChars)
    .replace(/^-+|-+$/g, '');

const words = (...parts: readonly unknown[]): string =>
  parts.filter((part) => typeof part === 'string' || typeof part === 'number').join(' ');

/**
 * A free key for an object, from the fields that a file has of it: from its name, or for a trigger from its type and condition
 * (`metric-flashcards-viewed`, `streak-7`, `time-2-days`).
 */
export function freeKey(kind: string, fields: FileFields, taken: ReadonlySet<string>): string {
  const { name, type, metricKey, achievementKey, streakLength, timeInterval, timeUnit } = fields;
  const text = kind === 'trigger' ? words(type, metricKey, achievementKey, streakLength, timeInterval, timeUnit) : words(name);
  const key = slug(text) || kind;
  if (!taken.has(key)) return key;
  let number = 2;
  while (taken.has(`${key}-${number}`)) number += 1;
  return `${key}-${number}`;
}

import { isKeyedList, type JsonObject, type Keyed, valueAt } from './json.js';

const listOf: Readonly<Record<string, string>> = {
  metric: 'metrics',
  'points system': 'points',
  achievement: 'achievements',
  leaderboard: 'leaderboards',
  'user attribute': 'attributes',
  'event attribute': 'attributes',
};

/** The objects of a draft that a field may refer to, by the words of the schema: `metric`, `user attribute`. */
export function referable(file: JsonObject, to: string): readonly Keyed[] {
  const list = valueAt(file, [listOf[to] ?? '']) ?? [];
  if (!isKeyedList(list)) return [];
  const type = /^(user|event) attribute$/.exec(to)?.[1];
  return type === undefined ? list : list.filter((object) => object['type'] === type);
}

/** `Flashcards viewed (flashcards-viewed)` for a key with a name. */
function referenceLabel(object: Keyed): string {
  const { name } = object;
  return typeof name === 'string' && name !== '' && name !== object.key ? `${name} (${object.key})` : object.key;
}

export const referenceOptions = (file: JsonObject, to: string): { readonly value: string; readonly label: string }[] =>
  referable(file, to).map((object) => ({ value: object.key, label: referenceLabel(object) }));

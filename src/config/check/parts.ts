/** What a configuration has in use, each object with its path from the document's root. */
import { kinds, topLists } from '../schema/kinds.js';
import { type ConfigDocument, type ConfigObject, type Lists, type ListName, listIn } from '../schema/model.js';
import { type Path } from '../file/yaml.js';

export interface At<T> {
  readonly object: T;
  readonly path: Path;
}

/** What is not archived. Levels, triggers and boosts are those of all points systems. */
export type Parts = { readonly [N in ListName]: readonly At<Lists[N]>[] };

/** The objects of a list, with their paths. */
export const at = <T extends ConfigObject>(list: readonly T[], path: Path): At<T>[] =>
  list.map((object, index) => ({ object, path: [...path, index] }));

export const isLive = ({ object }: At<ConfigObject>): boolean => !object.archived;

/** A list inside an object. */
export const nestedIn = ({ object, path }: At<ConfigObject>, list: ListName): At<ConfigObject>[] =>
  at<ConfigObject>(listIn(object, list), [...path, list]);

export function partsOf(document: ConfigDocument): Parts {
  const lists = topLists.flatMap((list) => {
    const objects = at<ConfigObject>(document[list], [list]).filter(isLive);
    const nested = kinds[list].inside.map(
      (inside) => [inside, objects.flatMap((owner) => nestedIn(owner, inside)).filter(isLive)] as const,
    );
    return [[list, objects] as const, ...nested];
  });
  return Object.fromEntries(lists) as unknown as Parts;
}

import { fieldOf, identityOf, isKeyedList, isObject, isSame, type Json, type JsonObject, type Keyed, type Path } from './json.js';

/** A draft on top of a newer configuration. */
interface Merged {
  readonly file: JsonObject;
  /** Where the draft and the newer configuration changed the same value: the draft's is kept. */
  readonly conflicts: readonly Path[];
}

interface Three<T> {
  /** What both started from. */
  readonly base: T;
  readonly mine: T;
  readonly theirs: T;
}

/** Puts the changes that a draft made to `base` on top of what `base` has become. */
export function mergeFiles({ base, mine, theirs }: Three<JsonObject>): Merged {
  const conflicts: Path[] = [];
  const merger = new Merger(conflicts);
  return { file: merger.object({ base, mine, theirs }, []), conflicts };
}

class Merger {
  private readonly conflicts: Path[];

  constructor(conflicts: Path[]) {
    this.conflicts = conflicts;
  }

  object({ base, mine, theirs }: Three<JsonObject>, path: Path): JsonObject {
    const fields = [...new Set([...Object.keys(theirs), ...Object.keys(mine)])];
    const values = fields.flatMap((field): [string, Json][] => {
      const three = { base: fieldOf(base, field), mine: fieldOf(mine, field), theirs: fieldOf(theirs, field) };
      const value = this.value(three, [...path, field]);
      return value === undefined ? [] : [[field, value]];
    });
    return Object.fromEntries(values);
  }

  private value({ base, mine, theirs }: Three<Json | undefined>, path: Path): Json | undefined {
    if (isSame(mine, base) || isSame(mine, theirs)) return theirs;
    if (isSame(theirs, base)) return mine;
    const lists = { base: base ?? [], mine: mine ?? [], theirs: theirs ?? [] };
    if (isKeyedList(lists.base) && isKeyedList(lists.mine) && isKeyedList(lists.theirs)) {
      return this.list({ base: lists.base, mine: lists.mine, theirs: lists.theirs }, path);
    }
    if (isObject(mine) && isObject(theirs)) return this.object({ base: isObject(base) ? base : {}, mine, theirs }, path);
    this.conflicts.push(path);
    return mine;
  }

  private list({ base, mine, theirs }: Three<readonly Keyed[]>, path: Path): Json {
    const list = String(path.at(-1));
    const byIdentity = (objects: readonly Keyed[]) => new Map(objects.map((object) => [identityOf(list, object), object]));
    const [old, own, other] = [byIdentity(base), byIdentity(mine), byIdentity(theirs)];
    return [...new Set([...other.keys(), ...own.keys()])].flatMap((identity): Json[] => {
      const three = { base: old.get(identity), mine: own.get(identity), theirs: other.get(identity) };
      const value = this.value(three, [...path, identity]);
      return value === undefined ? [] : [value];
    });
  }
}

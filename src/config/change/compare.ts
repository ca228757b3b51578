/** What differs between two configurations, whichever way the one became the other: by kinds.ts, like the changes of a file (merge.ts). */
import { type Change, type FieldChange, fieldChanges, orderChanges } from './changes.js';
import { type KeyOf } from '../file/convert.js';
import { type Kind, kindOf } from '../schema/kind.js';
import { fileParts, isSingle, kinds, singles, type SingleName, topLists } from '../schema/kinds.js';
import { type ConfigDocument, type ConfigObject, listIn, type ListName } from '../schema/model.js';

/** The keys in either of two documents; `to` decides where they differ. */
function keysIn(from: ConfigDocument, to: ConfigDocument): KeyOf {
  const objects = [from, to].flatMap((document) => topLists.flatMap((list) => [...document[list]] as ConfigObject[]));
  const keys = new Map(objects.map(({ id, key }) => [id, key]));
  return (_kind, id) => keys.get(id) ?? id;
}

/** A key that the Admin API has changed. Files find objects by their key, so it is no field of theirs. */
const keyChange = (from: ConfigObject, to: ConfigObject): FieldChange[] =>
  from.key === to.key ? [] : [{ field: 'key', from: from.key, to: to.key }];

const triggersIn = (object: object): string[] => listIn(object, 'triggers').flatMap(({ key, archived }) => (archived ? [] : [key]));

class Comparison {
  private readonly keyOf: KeyOf;

  constructor(keyOf: KeyOf) {
    this.keyOf = keyOf;
  }

  single(name: SingleName, from: object, to: object): Change[] {
    const fields = fieldChanges(singles[name].fields, from, to, this.keyOf);
    return fields.length === 0 ? [] : [{ action: 'change', kind: name, fields }];
  }

  /** The changes of a list. `within` is the key of the points system that has it. */
  list(list: ListName, from: object, to: object, within: string | null): Change[] {
    const [before, after] = [listIn(from, list) as readonly ConfigObject[], listIn(to, list) as readonly ConfigObject[]];
    const known = new Map(before.map((object) => [object.id, object]));
    const kept = new Set(after.map(({ id }) => id));
    const kind = kinds[list] as Kind;
    return [
      ...before.filter(({ id }) => !kept.has(id)).flatMap((object) => this.object(kind, object, undefined, within)),
      ...after.flatMap((object) => this.object(kind, known.get(object.id), object, within)),
    ];
  }

  /** The changes of one object, with those of the lists inside it. */
  private object(kind: Kind, from: ConfigObject | undefined, to: ConfigObject | undefined, within: string | null): Change[] {
    const isOver = !to || to.archived;
    const shown = to ?? from;
    if (!shown || (isOver && (!from || from.archived))) return [];
    const name = { kind: kindOf(kind, shown), key: shown.key, within };
    if (isOver) return [{ action: 'archive', ...name, fields: [] }];
    const fields = from
      ? [...keyChange(from, to), ...fieldChanges(kind.fields, from, to, this.keyOf), ...orderChanges(triggersIn(from), triggersIn(to))]
      : [];
    const action = from ? (from.archived ? 'revive' : 'change') : 'add';
    const own: Change[] = action === 'change' && fields.length === 0 ? [] : [{ action, ...name, fields }];
    return [...own, ...kind.inside.flatMap((inside) => this.list(inside, from ?? {}, to, to.key))];
  }
}

/** The changes that lead from one document of a tenant to another, in the order of a file. */
export function compareConfigs(from: ConfigDocument, to: ConfigDocument): Change[] {
  const comparison = new Comparison(keysIn(from, to));
  return fileParts.flatMap((part) =>
    isSingle(part) ? comparison.single(part, from[part], to[part]) : comparison.list(part, from, to, null),
  );
}

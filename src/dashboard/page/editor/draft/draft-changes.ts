import { fieldOf, identityOf, isKeyedList, isSame, type Json, type JsonObject, type Keyed, type Path } from '../file/json.js';

/** What an operator has changed and not applied yet: an object, or a part of the file that is one object. */
export interface DraftChange {
  readonly action: 'add' | 'change' | 'remove';
  /** `metrics`, or `settings`. */
  readonly part: string;
  /** The identities of the object and of those around it, with the lists between: `['points', 'triggers', 'daily']`. Empty for a part. */
  readonly within: Path;
}

/** The objects that differ between two files. Objects inside others count on their own, as the service counts them. */
export function draftChanges(base: JsonObject, draft: JsonObject): DraftChange[] {
  const parts = [...new Set([...Object.keys(base), ...Object.keys(draft)])];
  return parts.flatMap((part): DraftChange[] => {
    const [from, to] = [fieldOf(base, part), fieldOf(draft, part)];
    if (isSame(from, to)) return [];
    const [before, after] = [from ?? [], to ?? []];
    if (isKeyedList(before) && isKeyedList(after)) return listChanges(part, part, { before, after, within: [] });
    return [{ action: 'change', part, within: [] }];
  });
}

interface Lists {
  readonly before: readonly Keyed[];
  readonly after: readonly Keyed[];
  readonly within: Path;
}

function listChanges(part: string, list: string, { before, after, within }: Lists): DraftChange[] {
  const old = new Map(before.map((object) => [identityOf(list, object), object]));
  const current = new Set(after.map((object) => identityOf(list, object)));
  const removed = [...old.keys()].filter((identity) => !current.has(identity));
  return [
    ...after.flatMap((object) => objectChanges(part, [...within, identityOf(list, object)], old.get(identityOf(list, object)), object)),
    ...removed.map((identity): DraftChange => ({ action: 'remove', part, within: [...within, identity] })),
  ];
}

/** The lists inside an object whose items have keys. */
const innerLists = (object: JsonObject): string[] =>
  Object.keys(object).filter((field) => isKeyedList(object[field]) && object[field].length > 0);

function objectChanges(part: string, within: Path, before: Keyed | undefined, after: Keyed): DraftChange[] {
  const inner = [...new Set([...innerLists(before ?? {}), ...innerLists(after)])];
  const own = (object: JsonObject): Json =>
    Object.fromEntries(Object.entries(object).filter(([field, value]) => !inner.includes(field) && !isEmptyList(value)));
  const changes: DraftChange[] = inner.flatMap((field) => {
    const [from, to] = [fieldOf(before ?? {}, field) ?? [], fieldOf(after, field) ?? []];
    return isKeyedList(from) && isKeyedList(to) ? listChanges(part, field, { before: from, after: to, within: [...within, field] }) : [];
  });
  if (!before) return [{ action: 'add', part, within }, ...changes];
  return isSame(own(before), own(after)) ? changes : [{ action: 'change', part, within }, ...changes];
}

const isEmptyList = (value: Json): boolean => Array.isArray(value) && value.length === 0;

/** How an object, or a part, differs in a draft: itself or an object inside it. */
export function changeOf(changes: readonly DraftChange[], part: string, within: Path): DraftChange['action'] | undefined {
  const inside = changes.filter((change) => change.part === part && within.every((step, at) => change.within[at] === step));
  const own = inside.find((change) => change.within.length === within.length);
  return own?.action ?? (inside.length > 0 ? 'change' : undefined);
}

/** The lists of a configuration, merged with those of a file: which objects keep their identity, get one, are archived. Part of apply.ts. */
import { type Change, type FieldChange, fieldChanges, objectName, orderChanges } from './changes.js';
import { type FileFields, type Identity, type KeyOf, type Resolve, storedObject, storedSingle } from '../file/convert.js';
import { type ConfigFile, type Placed, type PlacedSingle } from '../file/file.js';
import { identityOf, type Kind, kindOf, type ReferenceKind } from '../schema/kind.js';
import { fileNames, kinds, type SingleName, singles } from '../schema/kinds.js';
import { type ConfigDocument, type ConfigObject, type Lists, type ListName, listIn, type StreakSettings } from '../schema/model.js';
import { type ConfigProblem, type FileProblem, type Problem, type Subject } from '../file/problems.js';
import type { WebhookReceivers } from '../schema/webhook-url.js';
import { type Path } from '../file/yaml.js';

export interface PlanOptions {
  /** ISO 8601 instant: the `created` and `updated` of what changes, and, in UTC, the first day of a leaderboard that names none. */
  readonly now: string;
  /** Archives the objects that the file doesn't mention. */
  readonly prune: boolean;
  /** Whether levels, triggers and boosts that the lists of their system don't mention are archived (as for a file) or kept. */
  readonly lists?: 'replaced' | 'extended';
  /** Public ones without it. */
  readonly webhookReceivers?: WebhookReceivers | undefined;
  /** A new UUID at every call. */
  readonly newId: () => string;
}

/** Whether another frequency empties the days off of streak settings, which only daily streaks have: unless `given` has some, which is refused. */
function emptiesDaysOff(stored: object, given: FileFields): boolean {
  const { frequency, daysOff = [] } = stored as Partial<StreakSettings>;
  return daysOff.length > 0 && frequency !== 'daily' && (given['daysOff'] ?? null) === null;
}

/** A list of objects that a file may change. */
export interface MergeList<N extends ListName> {
  readonly kind: Kind<N>;
  readonly existing: readonly Lists[N][];
  readonly given: readonly Placed[];
  /** For objects that the file's list doesn't have. */
  readonly absent: 'keep' | 'archive';
  /** The key of the points system that has the list; null for the document's own lists. */
  readonly within: string | null;
  /** Completes an object of the file, and reports problems of the transition. */
  readonly complete?: (making: Making<Lists[N]>) => Lists[N];
}

/** An object made from one of a file. */
export interface Making<T> {
  readonly made: T;
  readonly existing: T | undefined;
  readonly given: FileFields;
  readonly report: (field: string, problem: Problem) => void;
}

/** An object of the file, and its previous state. */
interface Listed<T> {
  readonly given: Placed;
  readonly existing: T | undefined;
  readonly identity: Pick<ConfigObject, 'id' | 'no' | 'key' | 'created'>;
}

/** An object that the file doesn't have. */
interface Unlisted<T> {
  readonly given: undefined;
  readonly existing: T;
}

type Member<T> = Listed<T> | Unlisted<T>;

/** A configuration in the making. */
export class Draft {
  nextNo: number;
  readonly changes: Change[] = [];
  readonly kept: string[] = [];
  readonly problems: FileProblem[];
  private readonly file: ConfigFile;
  private readonly options: PlanOptions;
  /** Paths that have a problem already: other problems of the same value follow from it. */
  private readonly reported = new Set<string>();
  /** Where in the file the objects of the new document come from. */
  private readonly origins = new Map<unknown, Path>();
  /** What can be referred to, archived or not, by kind and key: `metric flashcards-viewed`, `user attribute city`. */
  private readonly targets = new Map<string, Pick<ConfigObject, 'id' | 'archived'>>();
  private readonly keys = new Map<string, string>();
  private readonly pruned = new Set<string>();
  /** The values of the file that their schemas refused, and the objects around these. */
  private readonly refused = new Set<string>();
  private readonly aroundRefused = new Set<string>();

  constructor(current: ConfigDocument, file: ConfigFile, options: PlanOptions) {
    this.nextNo = current.nextNo;
    this.file = file;
    this.options = options;
    this.problems = [...file.problems];
    for (const path of file.problems.flatMap(({ path }) => (path === null ? [] : [path]))) {
      this.refused.add(JSON.stringify(path));
      // A list of the file can have problems of its own, whatever is wrong with one of its objects.
      for (let length = 2; length < path.length; length += 1) this.aroundRefused.add(JSON.stringify(path.slice(0, length)));
    }
  }

  /**
   * The merged list: existing objects in their order, then new ones in the file's; triggers that are replaced as a whole in the file's. It is
   * `existing` itself if nothing changed.
   */
  merge<N extends ListName>(list: MergeList<N>): readonly Lists[N][] {
    const { existing } = list;
    const members = this.members(list);
    // Levels, triggers and boosts are not referred to.
    if (list.within === null) for (const member of members) this.register(member, list);
    const merged = members.map((member) => (member.given ? this.settle(member, list) : this.leaveOut(member.existing, list)));
    return merged.length === existing.length && merged.every((object, index) => object === existing[index]) ? existing : merged;
  }

  /** The settings or streak settings with the file's changes; `existing` itself if there are none. */
  mergeSingle<S extends SingleName>(name: S, existing: ConfigDocument[S], given: PlacedSingle | null): ConfigDocument[S] {
    if (given === null) return existing;
    const { fields } = singles[name];
    const stored = storedSingle(fields, existing, given.value, this.resolverFor({ kind: name }, given.path));
    const made = emptiesDaysOff(stored, given.value) ? { ...stored, daysOff: [] } : stored;
    const changed = fieldChanges(fields, existing, made, this.keyOf);
    if (changed.length > 0) this.changes.push({ action: 'change', kind: name, fields: changed });
    const settled = changed.length > 0 ? made : existing;
    this.origins.set(settled, given.path);
    return settled;
  }

  /** The key of an object that others can refer to. */
  keyOf: KeyOf = (_kind, id) => this.keys.get(id) ?? id;

  /** Adds a problem of the value at a path of the file, unless that value has one already. null: the file has no such value. */
  report(path: Path | null, problem: Problem): void {
    // A text can have several faults, each at a place of its own.
    const within = problem.code === 'template_fault' ? { line: problem.line, column: problem.column } : undefined;
    const place = JSON.stringify([path ?? problem, within]);
    if (this.reported.has(place) || (path !== null && this.followsFromRefusal(path))) return;
    this.reported.add(place);
    this.problems.push({ position: path === null ? null : this.file.locate(path, within), problem, path });
  }

  /** Adds problems of the merged document, at the places of the file from which the values come. */
  reportAll(document: ConfigDocument, problems: readonly ConfigProblem[]): void {
    for (const problem of problems) this.report(this.filePath(document, problem.path), problem);
  }

  /** Whether a value, a part of it or a value around it was refused: that is reported already. */
  private followsFromRefusal(path: Path): boolean {
    if (this.aroundRefused.has(JSON.stringify(path))) return true;
    return path.some((_, index) => this.refused.has(JSON.stringify(path.slice(0, index + 1))));
  }

  /** Existing objects in their order, then new ones, which get their ids and numbers, in the file's. */
  private members<N extends ListName>({ kind, existing, given, absent }: MergeList<N>): Member<Lists[N]>[] {
    const byIdentity = new Map(given.map((placed) => [identityOf(kind, placed.value), placed]));
    const members = existing.map((object): Member<Lists[N]> => {
      const identity = identityOf(kind, object);
      const placed = object.archived && !kind.comesBack ? undefined : byIdentity.get(identity);
      if (!placed) return { given: undefined, existing: object };
      byIdentity.delete(identity);
      return { given: placed, existing: object, identity: object };
    });
    for (const placed of byIdentity.values()) {
      const identity = { id: this.options.newId(), no: this.nextNo++, key: placed.value.key, created: this.options.now };
      members.push({ given: placed, existing: undefined, identity });
    }
    if (kind.list !== 'triggers' || absent !== 'archive') return members;
    const place = new Map(given.map((placed, index) => [placed, index]));
    const placeOf = (member: Member<Lists[N]>): number => (member.given && place.get(member.given)) ?? given.length;
    return members.toSorted((a, b) => placeOf(a) - placeOf(b));
  }

  /** Makes an object available to references, also from the same list. */
  private register<N extends ListName>(member: Member<Lists[N]>, { kind, absent }: MergeList<N>): void {
    const { id, key } = member.given ? member.identity : member.existing;
    const isPruned = !member.given && !member.existing.archived && absent === 'archive';
    if (isPruned) this.pruned.add(id);
    const archived = isPruned || (!member.given && member.existing.archived);
    this.targets.set(identityOf(kind, member.given ? member.given.value : member.existing), { id, archived });
    this.keys.set(id, key);
  }

  private settle<N extends ListName>(member: Listed<Lists[N]>, list: MergeList<N>): Lists[N] {
    const { existing, given } = member;
    const { id, no, key, created } = member.identity;
    const { kind, complete } = list;
    const subject = { kind: kind.name, key };
    const identity: Identity = { id, no, key, created, updated: this.options.now, archived: false };
    const stored = storedObject(kind, identity, given.value, this.resolverFor(subject, given.path));
    const lists = Object.fromEntries(kind.inside.map((name) => [name, listIn(existing ?? {}, name)]));
    const report = (field: string, problem: Problem): void => this.report([...given.path, field], { ...problem, subject });
    const plain: Lists[N] = { ...stored, ...lists };
    const made = complete ? complete({ made: plain, existing, given: given.value, report }) : plain;
    const fields = existing ? [...fieldChanges(kind.fields, existing, made, this.keyOf), ...this.reordered(existing, given)] : [];
    const action = existing ? (existing.archived ? 'revive' : 'change') : 'add';
    const unchanged = action === 'change' && fields.length === 0;
    if (!unchanged) this.changes.push({ action, ...nameIn(list, made), fields });
    const settled = this.mergeInside(kind, unchanged && existing ? existing : made, given);
    this.origins.set(settled, given.path);
    return settled;
  }

  /** The change of the order of an object's triggers. */
  private reordered(existing: ConfigObject, { lists }: Placed): FieldChange[] {
    if (this.options.lists === 'extended') return [];
    const before = listIn(existing, 'triggers').flatMap(({ key, archived }) => (archived ? [] : [key]));
    return orderChanges(
      before,
      (lists?.['triggers'] ?? []).map(({ value }) => value.key),
    );
  }

  /** The object with the lists inside it merged. */
  private mergeInside<T extends ConfigObject>({ inside }: Kind, owner: T, { lists = {} }: Placed): T {
    const changed = inside.flatMap((list) => {
      const before = listIn(owner, list);
      const merged = this.merge({
        kind: kinds[list],
        existing: before,
        given: lists[list] ?? [],
        absent: this.options.lists === 'extended' ? 'keep' : 'archive',
        within: owner.key,
      });
      return merged === before ? [] : [[list, merged] as const];
    });
    return changed.length === 0 ? owner : { ...owner, ...Object.fromEntries(changed) };
  }

  private leaveOut<N extends ListName>(object: Lists[N], list: MergeList<N>): Lists[N] {
    if (object.archived) return object;
    const name = nameIn(list, object);
    if (list.absent === 'keep') {
      this.kept.push(objectName(name));
      return object;
    }
    this.changes.push({ action: 'archive', ...name, fields: [] });
    return { ...object, archived: true, updated: this.options.now };
  }

  /** Keys to ids, for an object of the file. A key that leads nowhere is reported and gets an id that leads nowhere. */
  private resolverFor(subject: Subject, path: Path): Resolve {
    return (to, key, field) => {
      const target = this.targets.get(`${to} ${key}`);
      if (!target || target.archived) this.report([...path, ...field], { ...this.fault(to, key, target), subject });
      return target?.id ?? '';
    };
  }

  /** Why a key can't be referred to. */
  private fault(to: ReferenceKind, key: string, target: Pick<ConfigObject, 'id'> | undefined): Problem {
    if (target) return { code: 'archived_reference', to, key, why: this.pruned.has(target.id) ? 'pruned' : 'not_in_file' };
    const other = otherType[to];
    const namesake = other && this.targets.get(`${other} ${key}`);
    return { code: 'unknown_reference', to, key, ...(namesake && !namesake.archived ? { only: `${other} with that key` } : {}) };
  }

  /** The path of the file that a path of the document comes from; null if the object is not from the file. */
  private filePath(document: ConfigDocument, path: Path): Path | null {
    let value: unknown = document;
    let result: Path = [];
    for (const segment of path) {
      value = typeof value === 'object' && value !== null ? (value as Record<string | number, unknown>)[segment] : undefined;
      const origin = this.origins.get(value);
      const isForeign =
        !origin &&
        typeof value === 'object' &&
        value !== null &&
        ('no' in value || value === document.streaks || value === document.messages);
      if (isForeign) return null;
      result = origin ?? [...result, fileNames[segment] ?? segment];
    }
    return result;
  }
}

/** How changes name an object of a list. */
const nameIn = <N extends ListName>({ kind, within }: MergeList<N>, object: ConfigObject) => ({
  kind: kindOf(kind, object),
  key: object.key,
  within,
});

const otherType: Readonly<Partial<Record<ReferenceKind, ReferenceKind>>> = {
  'user attribute': 'event attribute',
  'event attribute': 'user attribute',
};

/** The lists of a configuration, merged with those of a file: which objects keep their identity, get one, are archived. Part of apply.ts. */
import { type Change, type FieldChange, fieldChanges, objectName, orderChanges } from './changes.js';
import { type FileFields, type Identity, type Resolve, storedObject, storedSingle } from '../file/convert.js';
import { type ConfigFile, type Placed, type PlacedSingle } from '../file/file.js';
import { identityOf, type Kind, kindOf } from '../schema/kind.js';
import { kinds, type SingleName, singles } from '../schema/kinds.js';
import { type ConfigDocument, type ConfigObject, type Lists, type ListName, listIn, type StreakSettings } from '../schema/model.js';
import { type ConfigProblem, type FileProblem, type Problem, type Subject } from '../file/problems.js';
import { MergeProblems } from './merge-problems.js';
import { MergeTargets } from './merge-targets.js';
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
  private readonly options: PlanOptions;
  private readonly targets = new MergeTargets();
  private readonly reports: MergeProblems;
  /** The key of an object that others can refer to. */
  readonly keyOf = this.targets.keyOf;

  constructor({ nextNo }: Pick<ConfigDocument, 'nextNo'>, file: ConfigFile, options: PlanOptions) {
    this.nextNo = nextNo;
    this.options = options;
    this.reports = new MergeProblems(file);
  }

  /** Those of the file, of what its objects refer to, and of the document. */
  get problems(): readonly FileProblem[] {
    return this.reports.all;
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
    this.reports.setOrigin(settled, given.path);
    return settled;
  }

  /** Adds problems of the merged document, at the places of the file from which the values come. */
  reportAll(document: ConfigDocument, problems: readonly ConfigProblem[]): void {
    this.reports.reportAll(document, problems);
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
    if (member.given) this.targets.add(identityOf(kind, member.given.value), { ...member.identity, archived: false }, false);
    else this.targets.add(identityOf(kind, member.existing), member.existing, !member.existing.archived && absent === 'archive');
  }

  private settle<N extends ListName>(member: Listed<Lists[N]>, list: MergeList<N>): Lists[N] {
    const { existing, given } = member;
    const { id, no, key, created } = member.identity;
    const { kind, complete } = list;
    const subject = { kind: kind.name, key };
    const identity: Identity = { id, no, key, created, updated: this.options.now, archived: false };
    const stored = storedObject(kind, identity, given.value, this.resolverFor(subject, given.path));
    const lists = Object.fromEntries(kind.inside.map((name) => [name, listIn(existing ?? {}, name)]));
    const report = (field: string, problem: Problem): void => this.reports.report([...given.path, field], { ...problem, subject });
    const plain: Lists[N] = { ...stored, ...lists };
    const made = complete ? complete({ made: plain, existing, given: given.value, report }) : plain;
    const fields = existing ? [...fieldChanges(kind.fields, existing, made, this.keyOf), ...this.reordered(existing, given)] : [];
    const action = existing ? (existing.archived ? 'revive' : 'change') : 'add';
    const unchanged = action === 'change' && fields.length === 0;
    if (!unchanged) this.changes.push({ action, ...nameIn(list, made), fields });
    const settled = this.mergeInside(kind, unchanged && existing ? existing : made, given);
    this.reports.setOrigin(settled, given.path);
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
      const { id, problem } = this.targets.find(to, key);
      if (problem) this.reports.report([...path, ...field], { ...problem, subject });
      return id;
    };
  }
}

/** How changes name an object of a list. */
const nameIn = <N extends ListName>({ kind, within }: MergeList<N>, object: ConfigObject) => ({
  kind: kindOf(kind, object),
  key: object.key,
  within,
});

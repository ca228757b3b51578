/** The lists of a configuration, merged with those of a file: who keeps an identity, who gets one, who is archived. Part of apply.ts. */
import { type Change, fieldChanges, type ObjectKind, objectName } from './changes.js';
import { type ConfigFile, type Placed } from './file.js';
import { type ConfigDocument, type ConfigObject } from './model.js';
import { type ConfigProblem, type FileProblem } from './problems.js';
import { type Identity, type ReferenceKind, type Resolve } from './stored.js';
import { type Path } from './yaml.js';

export interface PlanOptions {
  /** ISO 8601 instant: the `created` and `updated` of what changes, and, in UTC, the first day of a leaderboard that names none. */
  readonly now: string;
  /** Archive the objects that the file doesn't mention. */
  readonly prune: boolean;
  /** A new UUID at every call. */
  readonly newId: () => string;
}

type PlacedObject = Placed<{ readonly key: string }>;

/** How the objects of one list are made. */
export interface MergeRules<T extends ConfigObject, P extends PlacedObject> {
  readonly kind: (object: T | P['value']) => ObjectKind;
  /** What becomes of objects that the file's list doesn't have. */
  readonly absent: 'keep' | 'archive';
  /** The key of the points system that has the list; null for the document's own lists. */
  readonly within: string | null;
  readonly make: (identity: Identity, given: P, existing: T | undefined, resolve: Resolve) => T;
  /** What follows once the object itself is settled: the lists in it. */
  readonly then?: (object: T, given: P) => T;
}

/** A configuration in the making. */
export class Draft {
  nextNo: number;
  readonly changes: Change[] = [];
  readonly kept: string[] = [];
  readonly problems: FileProblem[];
  private readonly file: ConfigFile;
  private readonly options: PlanOptions;
  /** Paths that have a problem already: what else is said of the same value follows from it. */
  private readonly reported = new Set<string>();
  /** Where in the file the objects of the new document come from. */
  private readonly origins = new Map<unknown, Path>();
  /** What can be referred to, archived or not, by kind and key: `metric flashcards-viewed`, `user attribute city`. */
  private readonly targets = new Map<string, ConfigObject>();
  private readonly keys = new Map<string, string>();
  private readonly pruned = new Set<string>();

  constructor(current: ConfigDocument, file: ConfigFile, options: PlanOptions) {
    this.nextNo = current.nextNo;
    this.file = file;
    this.options = options;
    this.problems = [...file.problems];
  }

  /** The merged list: existing objects in their order, then new ones in the file's. It is `existing` itself if nothing changed. */
  merge<T extends ConfigObject, P extends PlacedObject>(
    existing: readonly T[],
    given: readonly P[],
    rules: MergeRules<T, P>,
  ): readonly T[] {
    const nameOf = (object: T | P['value']): string => `${rules.kind(object)} ${object.key}`;
    const named = new Map(given.map((placed) => [nameOf(placed.value), placed]));
    const merged = existing.map((object) => {
      const placed = named.get(nameOf(object));
      named.delete(nameOf(object));
      return placed ? this.settle(placed, object, rules) : this.leaveOut(object, rules);
    });
    for (const placed of named.values()) merged.push(this.settle(placed, undefined, rules));
    if (rules.within === null) {
      for (const object of merged) {
        this.targets.set(nameOf(object), object);
        this.keys.set(object.id, object.key);
      }
    }
    return merged.length === existing.length && merged.every((object, index) => object === existing[index]) ? existing : merged;
  }

  /** The key of what an id stands for, of the kinds that are referred to. */
  keyOf = (id: string): string => this.keys.get(id) ?? id;

  /** Notes what is wrong with the value at a path of the file, unless something has been said of it. null: the file has no such value. */
  report(path: Path | null, sentence: string): void {
    const place = JSON.stringify(path ?? sentence);
    if (this.reported.has(place)) return;
    this.reported.add(place);
    this.problems.push({ position: path === null ? null : this.file.locate(path), sentence });
  }

  /** Notes problems of the document that the merged lists make up, at the places of the file from which they come. */
  reportAll(document: ConfigDocument, problems: readonly ConfigProblem[]): void {
    for (const { path, sentence } of problems) this.report(this.filePath(document, path), sentence);
  }

  private settle<T extends ConfigObject, P extends PlacedObject>(given: P, existing: T | undefined, rules: MergeRules<T, P>): T {
    const { now } = this.options;
    const known = existing ?? { id: this.options.newId(), no: this.nextNo++, key: given.value.key, created: now };
    const identity = { id: known.id, no: known.no, key: known.key, created: known.created, updated: now, archived: false };
    const made = rules.make(
      identity,
      given,
      existing,
      this.resolverFor(`${rules.kind(given.value)} ${JSON.stringify(known.key)}`, given.path),
    );
    const fields = existing ? fieldChanges(existing, made, this.keyOf) : [];
    const action = existing ? (existing.archived ? 'revive' : 'change') : 'add';
    const unchanged = action === 'change' && fields.length === 0;
    if (!unchanged) this.changes.push({ action, ...this.name(rules, made), fields });
    const object = unchanged && existing ? existing : made;
    const settled = rules.then ? rules.then(object, given) : object;
    this.origins.set(settled, given.path);
    return settled;
  }

  private leaveOut<T extends ConfigObject, P extends PlacedObject>(object: T, rules: MergeRules<T, P>): T {
    if (object.archived) return object;
    const name = this.name(rules, object);
    if (rules.absent === 'keep') {
      this.kept.push(objectName(name));
      return object;
    }
    this.changes.push({ action: 'archive', ...name, fields: [] });
    this.pruned.add(object.id);
    return { ...object, archived: true, updated: this.options.now };
  }

  private name<T extends ConfigObject, P extends PlacedObject>(rules: MergeRules<T, P>, object: T | P['value']) {
    return { kind: rules.kind(object), key: object.key, within: rules.within };
  }

  /** Keys to ids, for an object of the file. A key that leads nowhere is reported and gets an id that leads nowhere. */
  private resolverFor(from: string, path: Path): Resolve {
    return (kind, key, field) => {
      const target = this.targets.get(`${kind} ${key}`);
      const sentence = this.fault(kind, key, target);
      if (sentence !== null) this.report([...path, ...field], `${from}: ${sentence}`);
      return target?.id ?? '';
    };
  }

  /** Why a key can't be referred to; null if it can. */
  private fault(kind: ReferenceKind, key: string, target: ConfigObject | undefined): string | null {
    const name = `${kind} ${JSON.stringify(key)}`;
    if (target) {
      if (!target.archived) return null;
      const isPruned = this.pruned.has(target.id);
      return isPruned
        ? `${name} is not in the file, so --prune would archive it`
        : `${name} is archived: put it into the file to use it again`;
    }
    const other = otherType[kind];
    const namesake = other && this.targets.get(`${other} ${key}`);
    return `there is no ${name}${namesake && !namesake.archived ? `, only the ${other} of that key` : ''}`;
  }

  /** The path of the file that a path of the document comes from; null if the object is not from the file. */
  private filePath(document: ConfigDocument, path: Path): Path | null {
    let value: unknown = document;
    let result: Path = [];
    for (const segment of path) {
      value = typeof value === 'object' && value !== null ? (value as Record<string | number, unknown>)[segment] : undefined;
      const origin = this.origins.get(value);
      const isForeign = !origin && typeof value === 'object' && value !== null && 'no' in value;
      if (isForeign) return null;
      result = origin ?? [...result, fileFields[segment] ?? segment];
    }
    return result;
  }
}

const otherType: Readonly<Partial<Record<ReferenceKind, ReferenceKind>>> = {
  'user attribute': 'event attribute',
  'event attribute': 'user attribute',
};

/** The names that a file has for fields of a document. */
const fileFields: Readonly<Record<string, string>> = {
  pointsSystems: 'points',
  metricId: 'metricKey',
  pointsSystemId: 'pointsSystemKey',
  attributeId: 'attributeKey',
};

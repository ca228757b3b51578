/** The lists of a configuration, merged with those of a file: who keeps an identity, who gets one, who is archived. Part of apply.ts. */
import { type Change, fieldChanges, type ObjectKind, objectName, type SettingsChange } from './changes.js';
import { type ConfigFile, type Placed } from './file.js';
import { type ConfigDocument, type ConfigObject, type Settings, type StreakSettings } from './model.js';
import { type ConfigProblem, type FileProblem } from './problems.js';
import { type Identity, type ReferenceKind, type Resolve } from './stored.js';
import { type Path } from './yaml.js';

export interface PlanOptions {
  /** ISO 8601 instant: the `created` and `updated` of what changes, and, in UTC, the first day of a leaderboard that names none. */
  readonly now: string;
  /** Archive the objects that the file doesn't mention. */
  readonly prune: boolean;
  /** What becomes of levels, triggers and boosts that the lists of their system don't mention: a file's lists are whole. */
  readonly lists?: 'replaced' | 'extended';
  /** Whether the URLs of webhooks may be http ones, or lead to private addresses (WEBHOOK_ALLOW_PRIVATE). */
  readonly allowPrivateWebhooks?: boolean | undefined;
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
  /** Whether an archived object comes back, with its data, when its key does. Otherwise the key then gets a new object. */
  readonly comesBack: boolean;
  readonly make: (identity: Identity, given: P, existing: T | undefined, resolve: Resolve) => T;
  /** What follows once the object itself is settled: the lists in it. */
  readonly then?: (object: T, given: P) => T;
}

/** An object that the file has, and what it was. */
interface Listed<T, P> {
  readonly listed: true;
  readonly given: P;
  readonly existing: T | undefined;
  readonly identity: Pick<ConfigObject, 'id' | 'no' | 'key' | 'created'>;
}

/** An object that the file doesn't have. */
interface Unlisted<T> {
  readonly listed: false;
  readonly existing: T;
}

type Member<T, P> = Listed<T, P> | Unlisted<T>;

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
  private readonly targets = new Map<string, Pick<ConfigObject, 'id' | 'archived'>>();
  private readonly keys = new Map<string, string>();
  private readonly pruned = new Set<string>();
  /** The values of the file that were refused by themselves, and the objects around these. */
  private readonly refused = new Set<string>();
  private readonly aroundRefused = new Set<string>();

  constructor(current: ConfigDocument, file: ConfigFile, options: PlanOptions) {
    this.nextNo = current.nextNo;
    this.file = file;
    this.options = options;
    this.problems = [...file.problems];
    for (const path of file.problems.flatMap(({ path }) => (path === null ? [] : [path]))) {
      this.refused.add(JSON.stringify(path));
      // Of a whole list of the file more can be said than follows from a mistake in one of its objects.
      for (let length = 2; length < path.length; length += 1) this.aroundRefused.add(JSON.stringify(path.slice(0, length)));
    }
  }

  /** The merged list: existing objects in their order, then new ones in the file's. It is `existing` itself if nothing changed. */
  merge<T extends ConfigObject, P extends PlacedObject>(
    existing: readonly T[],
    given: readonly P[],
    rules: MergeRules<T, P>,
  ): readonly T[] {
    const members = this.members(existing, given, rules);
    // Levels, triggers and boosts are not referred to.
    if (rules.within === null) for (const member of members) this.register(member, rules);
    const merged = members.map((member) => (member.listed ? this.settle(member, rules) : this.leaveOut(member.existing, rules)));
    return merged.length === existing.length && merged.every((object, index) => object === existing[index]) ? existing : merged;
  }

  /** What there is one of, made from what the file says of it: `existing` itself if that changes nothing. */
  mergeOne<T extends Settings | StreakSettings, I>(
    kind: SettingsChange['kind'],
    existing: T,
    given: Placed<I> | null,
    make: (input: I, resolve: Resolve) => T,
  ): T {
    if (given === null) return existing;
    const made = make(given.value, this.resolverFor(kind, given.path));
    const fields = fieldChanges(existing, made, this.keyOf);
    if (fields.length > 0) this.changes.push({ action: 'change', kind, fields });
    const settled = fields.length > 0 ? made : existing;
    this.origins.set(settled, given.path);
    return settled;
  }

  /** The key of what an id stands for, of the kinds that are referred to. */
  keyOf = (id: string): string => this.keys.get(id) ?? id;

  /** Notes what is wrong with the value at a path of the file, unless something has been said of it. null: the file has no such value. */
  report(path: Path | null, sentence: string): void {
    const place = JSON.stringify(path ?? sentence);
    if (this.reported.has(place) || (path !== null && this.followsFromRefusal(path))) return;
    this.reported.add(place);
    this.problems.push({ position: path === null ? null : this.file.locate(path), sentence, path });
  }

  /** Notes problems of the document that the merged lists make up, at the places of the file from which they come. */
  reportAll(document: ConfigDocument, problems: readonly ConfigProblem[]): void {
    for (const { path, sentence } of problems) this.report(this.filePath(document, path), sentence);
  }

  /** Whether a value could not be read, or only in part, or is part of one that could not: the file is told that already. */
  private followsFromRefusal(path: Path): boolean {
    if (this.aroundRefused.has(JSON.stringify(path))) return true;
    return path.some((_, index) => this.refused.has(JSON.stringify(path.slice(0, index + 1))));
  }

  /** Who is who: existing objects in their order, then new ones, which get their ids and numbers, in the file's. */
  private members<T extends ConfigObject, P extends PlacedObject>(
    existing: readonly T[],
    given: readonly P[],
    rules: MergeRules<T, P>,
  ): Member<T, P>[] {
    const byName = new Map(given.map((placed) => [nameOf<T, P>(placed.value, rules), placed]));
    const members = existing.map((object): Member<T, P> => {
      const name = nameOf<T, P>(object, rules);
      const placed = object.archived && !rules.comesBack ? undefined : byName.get(name);
      if (!placed) return { listed: false, existing: object };
      byName.delete(name);
      return { listed: true, given: placed, existing: object, identity: object };
    });
    for (const placed of byName.values()) {
      const identity = { id: this.options.newId(), no: this.nextNo++, key: placed.value.key, created: this.options.now };
      members.push({ listed: true, given: placed, existing: undefined, identity });
    }
    return members;
  }

  /** Makes an object known to those that refer to it, which may be of the same list. */
  private register<T extends ConfigObject, P extends PlacedObject>(member: Member<T, P>, rules: MergeRules<T, P>): void {
    const object = member.listed ? member.given.value : member.existing;
    const { id, key } = member.listed ? member.identity : member.existing;
    const isPruned = !member.listed && !member.existing.archived && rules.absent === 'archive';
    if (isPruned) this.pruned.add(id);
    this.targets.set(nameOf<T, P>(object, rules), { id, archived: isPruned || (!member.listed && member.existing.archived) });
    this.keys.set(id, key);
  }

  private settle<T extends ConfigObject, P extends PlacedObject>(member: Listed<T, P>, rules: MergeRules<T, P>): T {
    const { existing, given } = member;
    const { id, no, key, created } = member.identity;
    const identity = { id, no, key, created, updated: this.options.now, archived: false };
    const made = rules.make(identity, given, existing, this.resolverFor(`${rules.kind(given.value)} ${JSON.stringify(key)}`, given.path));
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
  private fault(kind: ReferenceKind, key: string, target: Pick<ConfigObject, 'id' | 'archived'> | undefined): string | null {
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
      const isForeign = !origin && typeof value === 'object' && value !== null && ('no' in value || value === document.streaks);
      if (isForeign) return null;
      result = origin ?? [...result, fileFields[segment] ?? segment];
    }
    return result;
  }
}

/** What an object of the file and one of the document have in common if they are the same. */
function nameOf<T extends ConfigObject, P extends PlacedObject>(object: T | P['value'], { kind }: MergeRules<T, P>): string {
  return `${kind(object)} ${object.key}`;
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
  achievementId: 'achievementKey',
  achievementIds: 'achievementKeys',
  attributeId: 'attributeKey',
};

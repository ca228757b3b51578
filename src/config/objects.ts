/** Objects of a file, parsed one by one, so that a mistake in one of them doesn't hide those of the others. The inner part of file.ts. */
import { type z } from 'zod';
import { limits } from '../shared/limits.js';
import { keySchema } from './fields.js';
import { type FileProblem, schemaProblems } from './problems.js';
import { type Path, type Position } from './yaml.js';

/** An object of the file, and its path from the root. */
export interface Placed<T> {
  readonly value: T;
  readonly path: Path;
}

/** Values for required fields, put in where the file's were refused: the rules between objects are then checked all the same. */
export type StandIns = readonly Readonly<Record<string, unknown>>[];

export interface ListOptions {
  readonly path: Path;
  /** What a sentence calls an object of the list. */
  readonly kind: string;
  /** Every set of stand-ins makes another object, unless it makes the same. */
  readonly standIns: StandIns;
  /** Whether an object without a good key of its own is in the result, for what is in it, under a key that the file can't have. */
  readonly keepsUnnamed?: boolean;
}

type ObjectSchema<T> = z.ZodType<T> & { readonly shape: Readonly<Record<string, unknown>> };
type Fields = Readonly<Record<string, unknown>>;

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value);

export class ObjectParser {
  /** What was wrong with the objects parsed so far. */
  readonly problems: FileProblem[];
  private readonly locate: (path: Path, name?: boolean) => Position;

  constructor(locate: (path: Path, name?: boolean) => Position, problems: readonly FileProblem[]) {
    this.locate = locate;
    this.problems = [...problems];
  }

  /**
   * The one object that `raw` is. If something is wrong with it, that is noted, and the result is what it would be without its unknown
   * fields and with each set of stand-ins in place of the others that were refused: several objects, or none.
   */
  object<T>(schema: ObjectSchema<T>, raw: unknown, path: Path, label: string, standIns: StandIns = [{}]): T[] {
    const result = schema.safeParse(raw);
    if (result.success) return [result.data];
    const problems = schemaProblems(result.error, label, Object.keys(schema.shape));
    for (const problem of problems) {
      const at = [...path, ...problem.path];
      this.problems.push({ position: this.locate(at, problem.unknown), sentence: problem.sentence, path: problem.unknown ? null : at });
    }
    if (!isFields(raw)) return [];
    const refused = problems.filter(({ unknown }) => !unknown).map((problem) => problem.path.slice(0, 1));
    const unknown = problems.filter((problem) => problem.unknown).map((problem) => problem.path);
    const rest = without(raw, [...unknown, ...refused]) as Fields;
    const candidates = standIns.map((set) => {
      const needed = Object.entries(set).filter(([field]) => refused.some(([head]) => head === field));
      return { ...rest, ...Object.fromEntries(needed) };
    });
    const distinct = new Map(candidates.map((candidate) => [JSON.stringify(candidate), candidate]));
    return [...distinct.values()].map((candidate) => schema.safeParse(candidate)).flatMap(({ data }) => (data === undefined ? [] : [data]));
  }

  /** The object that a field of the file holds, if it holds one. */
  single<T>(schema: ObjectSchema<T>, raw: unknown, field: string): Placed<T> | null {
    if (raw === undefined || raw === null) return null;
    const [value] = this.object(schema, raw, [field], field);
    return value === undefined ? null : { value, path: [field] };
  }

  /** The objects of a list, each key once. */
  list<T extends { readonly key: string }>(
    schema: ObjectSchema<T>,
    list: readonly unknown[] | null | undefined,
    { path, kind, standIns, keepsUnnamed = false }: ListOptions,
  ): Placed<T>[] {
    const seen = new Map<string, Path>();
    return (list ?? []).flatMap((raw, index) => {
      const at = [...path, index];
      const { key, type } = isFields(raw) ? raw : {};
      const label = typeof key === 'string' ? `${kind} ${JSON.stringify(key.slice(0, limits.maxKeyChars))}` : `${kind} number ${index + 1}`;
      const unnamed = keepsUnnamed ? { key: `unnamed-${index}` } : {};
      const objects = this.object(
        schema,
        raw,
        at,
        label,
        standIns.map((set) => ({ ...set, ...unnamed })),
      );
      // An attribute's type is part of what it is: a user attribute and an event attribute may share a key (model.ts).
      const identity = JSON.stringify(kind === 'attribute' ? [key, type] : [key]);
      const first = seen.get(identity);
      if (first && typeof key === 'string') {
        const { line } = this.locate([...first, 'key']);
        const sentence = `${label}: the key is given twice, the first time on line ${line}`;
        this.problems.push({ position: this.locate([...at, 'key']), sentence, path: [...at, 'key'] });
      } else {
        seen.set(identity, at);
      }
      const isNamed = !first && keySchema.safeParse(key).success;
      if (!isNamed && !keepsUnnamed) return [];
      return objects.map((value) => ({ value: isNamed ? value : { ...value, key: `unnamed ${index}` }, path: at }));
    });
  }
}

/** A copy of plain values without the fields at some paths. */
function without(value: unknown, paths: readonly Path[]): unknown {
  const heads = new Set(paths.filter((path) => path.length === 1).map(([head]) => String(head)));
  const below = (field: string | number): Path[] =>
    paths.filter((path) => path.length > 1 && String(path[0]) === String(field)).map((path) => path.slice(1));
  if (Array.isArray(value)) return value.map((element: unknown, index) => without(element, below(index)));
  if (!isFields(value)) return value;
  const kept = Object.entries(value).filter(([field]) => !heads.has(field));
  return Object.fromEntries(kept.map(([field, element]) => [field, without(element, below(field))]));
}

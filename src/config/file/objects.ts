/** Objects of a file, parsed one by one, so that a mistake in one of them doesn't hide those of the others. The inner part of file.ts. */
import { limits } from '../../shared/limits.js';
import { keySchema } from '../schema/fields.js';
import { identityOf, type Kind, type MapSchema, type StandIns } from '../schema/kind.js';
import { kinds, singles, type SingleName } from '../schema/kinds.js';
import { type ListName } from '../schema/model.js';
import { type FileProblem, schemaProblems, type Subject } from './problems.js';
import { type Path, type Position } from './yaml.js';

type Fields = Readonly<Record<string, unknown>>;

/** An object of the file, its path from the root, and the lists in it. */
export interface Placed {
  readonly value: Fields & { readonly key: string };
  readonly path: Path;
  readonly lists?: Partial<Record<ListName, readonly Placed[]>>;
}

/** The settings or streak settings of a file. */
export type PlacedSingle = Pick<Placed, 'path'> & { readonly value: Fields };

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value);

export class ObjectParser {
  /** The problems of the objects parsed so far. */
  readonly problems: FileProblem[];
  private readonly locate: (path: Path, name?: boolean) => Position | null;

  constructor(locate: (path: Path, name?: boolean) => Position | null, problems: readonly FileProblem[]) {
    this.locate = locate;
    this.problems = [...problems];
  }

  /**
   * Parses one object. If something is wrong with it, that is added to `problems`, and the result is the object without its unknown fields
   * and with each set of stand-ins in place of its other refused fields: several objects, or none.
   */
  object(
    schema: MapSchema,
    raw: unknown,
    { path, subject }: { readonly path: Path; readonly subject?: Subject },
    standIns: StandIns = [{}],
  ): Fields[] {
    const result = schema.safeParse(raw);
    if (result.success) return [result.data];
    const unknown: Path[] = [];
    const refused: Path[] = [];
    for (const problem of schemaProblems(result.error, subject, Object.keys(schema.shape))) {
      const isUnknown = problem.code === 'unknown_field';
      const at = [...path, ...problem.path];
      this.problems.push({ position: this.locate(at, isUnknown), problem, ...(isUnknown ? { path: null, unknown: at } : { path: at }) });
      if (isUnknown) unknown.push(problem.path);
      else refused.push(problem.path.slice(0, 1));
    }
    if (!isFields(raw)) return [];
    const rest = without(raw, [...unknown, ...refused]) as Fields;
    const candidates = standIns.map((set) => {
      const needed = Object.entries(set).filter(([field]) => refused.some(([head]) => head === field));
      return { ...rest, ...Object.fromEntries(needed) };
    });
    const distinct = new Map(candidates.map((candidate) => [JSON.stringify(candidate), candidate]));
    return [...distinct.values()].map((candidate) => schema.safeParse(candidate)).flatMap(({ data }) => (data === undefined ? [] : [data]));
  }

  /** The settings or streak settings, if the file has them. */
  single(name: SingleName, raw: unknown): PlacedSingle | null {
    if (raw === undefined || raw === null) return null;
    const [value] = this.object(singles[name].schema, raw, { path: [name], subject: { kind: name } });
    return value === undefined ? null : { value, path: [name] };
  }

  /** The objects of a list, each key once, with the lists in them. */
  list(kind: Kind, raws: unknown, path: Path): Placed[] {
    // An object without a valid key is left out, unless it has lists of its own: then it gets a key that no file can have.
    const keepsUnnamed = kind.inside.length > 0;
    const seen = new Map<string, Path>();
    return ((raws ?? []) as readonly unknown[]).flatMap((raw, index) => {
      const at = [...path, index];
      const { key } = isFields(raw) ? raw : {};
      const subject: Subject =
        typeof key === 'string' ? { kind: kind.name, key: key.slice(0, limits.maxKeyChars) } : { kind: kind.name, index };
      const unnamed = keepsUnnamed ? { key: `unnamed-${index}` } : {};
      const standIns = kind.standIns.map((set) => ({ ...set, ...unnamed }));
      const objects = this.object(kind.schema, raw, { path: at, subject }, standIns);
      const identity = typeof key === 'string' ? identityOf(kind, { ...(raw as Fields), key }) : '';
      const first = seen.get(identity);
      if (first && identity !== '') {
        const problem = { code: 'repeated_in_file', subject, line: this.locate([...first, 'key'])?.line ?? null } as const;
        this.problems.push({ position: this.locate([...at, 'key']), problem, path: [...at, 'key'] });
      } else {
        seen.set(identity, at);
      }
      const isNamed = !first && keySchema.safeParse(key).success;
      if (!isNamed && !keepsUnnamed) return [];
      return objects.map((value) => {
        const lists = kind.inside.map((inside) => {
          const { file } = kinds[inside];
          return [inside, this.list(kinds[inside], value[file], [...at, file])];
        });
        const named = { ...value, key: isNamed ? String(value['key']) : `unnamed ${index}` };
        return { value: named, path: at, ...(keepsUnnamed ? { lists: Object.fromEntries(lists) as Required<Placed>['lists'] } : {}) };
      });
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

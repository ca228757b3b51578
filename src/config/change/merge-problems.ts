/** The problems of a file and of the document that is made of it, each with its place in the file. Part of merge.ts. */
import { type ConfigFile } from '../file/file.js';
import { type ConfigProblem, type FileProblem, type Problem } from '../file/problems.js';
import { type Path } from '../file/yaml.js';
import { fileNames } from '../schema/kinds.js';
import { type ConfigDocument } from '../schema/model.js';

export class MergeProblems {
  readonly all: FileProblem[];
  private readonly locate: ConfigFile['locate'];
  /** Paths that have a problem already: other problems of the same value follow from it. */
  private readonly reported = new Set<string>();
  /** The values of the file that their schemas refused, and the objects around these. */
  private readonly refused = new Set<string>();
  private readonly aroundRefused = new Set<string>();
  /** Where in the file the objects of the new document come from. */
  private readonly origins = new Map<unknown, Path>();

  constructor({ problems, locate }: Pick<ConfigFile, 'problems' | 'locate'>) {
    this.locate = locate;
    this.all = [...problems];
    for (const path of problems.flatMap(({ path }) => (path === null ? [] : [path]))) {
      this.refused.add(JSON.stringify(path));
      // A list of the file can have problems of its own, whatever is wrong with one of its objects.
      for (let length = 2; length < path.length; length += 1) this.aroundRefused.add(JSON.stringify(path.slice(0, length)));
    }
  }

  /** Adds a problem of the value at a path of the file, unless that value has one already. null: the file has no such value. */
  report(path: Path | null, problem: Problem): void {
    // A text can have several faults, each at a place of its own.
    const within = problem.code === 'template_fault' ? { line: problem.line, column: problem.column } : undefined;
    const place = JSON.stringify([path ?? problem, within]);
    if (this.reported.has(place) || (path !== null && this.followsFromRefusal(path))) return;
    this.reported.add(place);
    this.all.push({ position: path === null ? null : this.locate(path, within), problem, path });
  }

  /** Notes that an object of the new document comes from a path of the file. */
  setOrigin(object: object, path: Path): void {
    this.origins.set(object, path);
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

/** What is wrong with a configuration, as data: where, and a sentence. Positions in a file come later, from whoever has the file. */
import { type z } from 'zod';
import { andMore, OperatorError } from '../shared/errors.js';
import { limits } from '../shared/limits.js';
import { type Path, type Position } from './yaml.js';

export interface ConfigProblem {
  /** From the root of what was judged: a file's values, or a ConfigDocument. */
  readonly path: Path;
  readonly sentence: string;
}

/** A problem in a file. */
export interface FileProblem {
  /** null for something that the file doesn't mention. */
  readonly position: Position | null;
  readonly sentence: string;
  /** The value that was refused; null if the problem is not in one value. */
  readonly path: Path | null;
}

/** What a sentence calls an object: `metric "a"`. */
export const named = (kind: string, { key }: { readonly key: string }): string => `${kind} ${JSON.stringify(key)}`;

/**
 * One problem per value that a schema refused, and one per unknown field (whose path then ends in its name). `label` names the object
 * (`metric "a"`), or is empty for the root; `known` are the fields that it has.
 */
export function schemaProblems(error: z.ZodError, label: string, known: readonly string[]): (ConfigProblem & { unknown: boolean })[] {
  const problems = new Map<string, ConfigProblem & { unknown: boolean }>();
  for (const issue of error.issues) {
    const path = issue.path.map((segment) => (typeof segment === 'symbol' ? String(segment) : segment));
    if (issue.code === 'unrecognized_keys') {
      const where = path.length === 0 ? `it has ${known.join(', ')}` : `in ${fieldName(path)}`;
      const start = label === '' ? '' : `${label}: `;
      for (const [at, key] of issue.keys.slice(0, limits.maxComplaints).entries()) {
        const more = at === limits.maxComplaints - 1 ? andMore(issue.keys.length) : '';
        const sentence = `${start}unknown field ${JSON.stringify(key)} (${where})${more}`;
        problems.set(JSON.stringify([...path, key, 'unknown']), { path: [...path, key], sentence, unknown: true });
      }
      continue;
    }
    // The first thing wrong with a value is enough: what else its rules say follows from it more often than not.
    const place = JSON.stringify(path);
    if (problems.has(place)) continue;
    const field = fieldName(path);
    const start = label === '' ? field || 'the file' : field === '' ? label : `${label}: ${field}`;
    problems.set(place, { path, sentence: `${start} ${issue.message}`, unknown: false });
  }
  return [...problems.values()];
}

/** `userAttributes.attributeKey` for `['userAttributes', 0, 'attributeKey']`. */
const fieldName = (path: Path): string => path.filter((segment) => typeof segment === 'string').join('.');

/** An error whose message has a line `FILE:LINE:COLUMN: sentence` for each problem, in the order of the file. */
export function problemsError(fileName: string, problems: readonly FileProblem[]): OperatorError {
  const order = (problem: FileProblem): [number, number] => [problem.position?.line ?? 0, problem.position?.column ?? 0];
  const sorted = [...problems].sort((a, b) => {
    const [lineA, columnA] = order(a);
    const [lineB, columnB] = order(b);
    return lineA - lineB || columnA - columnB;
  });
  const lines = sorted.map(({ position, sentence }) =>
    position ? `${fileName}:${position.line}:${position.column}: ${sentence}` : `${fileName}: ${sentence}`,
  );
  return new OperatorError([...new Set(lines)].join('\n'));
}

/** What the contents of a file, sent as a YAML text or as plain values, make of the current configuration. Problems are data here. */
import { andMore } from '../../shared/errors.js';
import { limits } from '../../shared/limits.js';
import { type ApplyPlan, planChanges, type PlanOptions } from './apply.js';
import { fitsIntoFile } from './edits.js';
import { type ConfigFile, configFileOf, parseConfigFile } from '../file/file.js';
import { type ConfigDocument } from '../schema/model.js';
import { FileRefusal, type FileProblem, fileSentence, inFileOrder } from '../file/problems.js';

/** A YAML text, or the plain values that such a text has. */
export type Contents = string | object;

/** A file, or why the contents have no discernible objects. */
export type ReadContents = ConfigFile | readonly FileProblem[];

export type PlannedContents = ApplyPlan & { readonly problems: readonly FileProblem[] };

/** Whether plain values are nested deeper than a file may be. Plain recursion would overflow the stack. */
export function isTooDeep(contents: object): boolean {
  let level: unknown[] = [contents];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > limits.maxYamlLevels) return true;
    level = level.flatMap((value) => (typeof value === 'object' && value !== null ? (Object.values(value) as unknown[]) : []));
  }
  return false;
}

const tooDeep: FileProblem = {
  problem: { code: 'syntax', message: `objects and lists are nested more than ${limits.maxYamlLevels} levels deep` },
  position: null,
  path: null,
};

/** Reads contents once, for any number of plans. */
export function readContents(contents: Contents): ReadContents {
  try {
    if (typeof contents === 'string') return parseConfigFile(contents, 'the file');
    return isTooDeep(contents) ? [tooDeep] : configFileOf(contents);
  } catch (error) {
    if (error instanceof FileRefusal) return inFileOrder(error.problems);
    throw error;
  }
}

/** Plans as planChanges does; a configuration that would be too large to export has a problem as well. */
export function planContents(current: ConfigDocument, read: ReadContents, options: PlanOptions): PlannedContents {
  if (!('locate' in read)) return { document: current, changes: [], kept: [], problems: read };
  const planned = planChanges(current, read, options);
  if (planned.problems.length > 0) return { ...planned, problems: inFileOrder(planned.problems) };
  if (planned.document === current || fitsIntoFile(planned.document)) return planned;
  return { ...planned, problems: [{ problem: { code: 'whole_too_large' }, position: null, path: null }] };
}

/** All problems of a file in one sentence: `Line 4, column 5: metric "a": …; line 9, column 1: …`. */
export function problemsSentence(problems: readonly FileProblem[]): string {
  const sentences = problems.map(({ position, problem }) => {
    const sentence = fileSentence(problem);
    return position ? `line ${position.line}, column ${position.column}: ${sentence}` : sentence;
  });
  const distinct = [...new Set(sentences)];
  const all = `${distinct.slice(0, limits.maxComplaints).join('; ')}${andMore(distinct.length)}.`;
  return all.charAt(0).toUpperCase() + all.slice(1);
}

import type { Problem } from './api.js';
import { identityOf, isKeyed, type JsonObject, type Path, valueAt } from './json.js';

const startsWith = (path: Path, start: Path): boolean => start.every((step, at) => path[at] === step);

/** The problems that are still known after a change: not those of the value, nor of what is around or inside it, nor of its neighbours in a list. */
export function problemsAfter(problems: readonly Problem[], changed: Path): readonly Problem[] {
  const last = changed.at(-1);
  const place = typeof last === 'number' ? changed.slice(0, -1) : changed;
  const left = problems.filter(({ path }) => path !== null && !startsWith(path, place) && !startsWith(place, path));
  return left.length === problems.length ? problems : left;
}

/** What is wrong with a value, in the words of the service; `within` counts what is inside it too. */
export function problemAt(problems: readonly Problem[], path: Path, within = false): string | undefined {
  const found = problems.filter(
    (problem) => problem.path !== null && (within || problem.path.length === path.length) && startsWith(problem.path, path),
  );
  return found.length === 0 ? undefined : found.map(({ message }) => message).join('\n');
}

/** The editor of the value at a path of a file: the path of its screen, and what to show there. */
export function editorOf(file: JsonObject, path: Path): string | undefined {
  const [part, index, list, inner] = path;
  if (typeof part !== 'string') return undefined;
  const start = `/configuration/${encodeURIComponent(part)}`;
  const object = typeof index === 'number' ? valueAt(file, [part, index]) : undefined;
  if (!isKeyed(object)) return start;
  const own = editorPath(part, identityOf(part, object));
  const nested = typeof list === 'string' && typeof inner === 'number' ? valueAt(object, [list, inner]) : undefined;
  // Levels are edited in the form of their system.
  if (!isKeyed(nested) || list === 'levels') return own;
  return `${own}/${encodeURIComponent(String(list))}/${encodeURIComponent(nested.key)}`;
}

/** The editor of an object by its identity. */
export const editorPath = (part: string, identity: string): string =>
  `${part === 'templates' ? '/templates' : `/configuration/${encodeURIComponent(part)}`}/${encodeURIComponent(identity)}`;

/** A configuration file, from text to objects that know their place in it. */
import { limits } from '../../shared/limits.js';
import { configFileSchema, fileNameOf, kinds, topLists } from '../schema/kinds.js';
import { type TopListName } from '../schema/model.js';
import { ObjectParser, type Placed, type PlacedSingle } from './objects.js';
import { type FileProblem, type Problem, problemsError } from './problems.js';
import { type Path, type Position, readYaml } from './yaml.js';

export { type Placed, type PlacedSingle } from './objects.js';

/**
 * A parsed file. Keys are unique in it. A file with `problems` must not be applied; it holds what could be understood, so that rules between
 * objects are checked as well and all problems are reported at once.
 */
export interface ConfigFile extends Readonly<Record<TopListName, readonly Placed[]>> {
  readonly fileName: string;
  readonly settings: PlacedSingle | null;
  readonly streaks: PlacedSingle | null;
  readonly messages: PlacedSingle | null;
  readonly problems: readonly FileProblem[];
  /**
   * Where the value at a path stands, or a place within it if it is a text; the innermost object around a value that isn't there. Null for
   * contents without lines.
   */
  readonly locate: (path: Path, within?: Position) => Position | null;
}

/**
 * Reads a configuration file (docs/configuration.md).
 *
 * `text` is the whole file; `fileName` is its name in messages. Throws an OperatorError with a line `FILE:LINE:COLUMN: sentence` for
 * each thing that is wrong with the file by itself. What it refers to is checked by planApply.
 */
export function readConfigFile(text: string, fileName: string): ConfigFile {
  const file = parseConfigFile(text, fileName);
  if (file.problems.length > 0) throw problemsError(fileName, file.problems);
  return file;
}

/**
 * As readConfigFile, but problems of the objects are in the result, for planApply to report with its own. Throws an OperatorError only
 * for a text without discernible objects: empty, too large, not YAML, not a map.
 */
export function parseConfigFile(text: string, fileName: string): ConfigFile {
  const refuse = (problem: Problem) => problemsError(fileName, [{ position: null, problem, path: null }]);
  if (Buffer.byteLength(text) > limits.maxConfigFileBytes) throw refuse({ code: 'file_too_large' });
  const yaml = readYaml(text);
  const faults = yaml.faults.map(({ sentence, line, column }) => ({
    problem: { code: 'syntax', message: sentence } as const,
    position: { line, column },
    path: null,
  }));
  if (yaml.value === undefined) throw problemsError(fileName, faults);
  if (yaml.value === null) throw refuse({ code: 'file_empty' });

  return configFileOf(yaml.value, { fileName, locate: yaml.locate, locateIn: yaml.locateIn, faults });
}

interface Origin {
  readonly fileName: string;
  readonly locate: (path: Path, name?: boolean) => Position | null;
  readonly locateIn: (path: Path, within: Position) => Position | null;
  readonly faults: readonly FileProblem[];
}

const nowhere: Origin = { fileName: 'the configuration', locate: () => null, locateIn: () => null, faults: [] };

/**
 * A file with these contents: plain values, as a YAML file has them, by the names of its parts. Without an origin, problems have no
 * positions. Throws an OperatorError for contents without discernible objects.
 */
export function configFileOf(contents: unknown, { fileName, locate, locateIn, faults }: Origin = nowhere): ConfigFile {
  const parser = new ObjectParser(locate, faults);
  const [root] = parser.object(configFileSchema, contents, { path: [] });
  if (!root) throw problemsError(fileName, parser.problems);
  const lists = topLists.map((list) => [list, parser.list(kinds[list], root[fileNameOf(list)], [fileNameOf(list)])]);
  return {
    ...(Object.fromEntries(lists) as Record<TopListName, readonly Placed[]>),
    fileName,
    settings: parser.single('settings', root['settings']),
    streaks: parser.single('streaks', root['streaks']),
    messages: parser.single('messages', root['messages']),
    problems: parser.problems,
    locate: (path, within) => (within ? locateIn(path, within) : locate(path)),
  };
}

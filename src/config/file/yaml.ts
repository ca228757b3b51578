/** YAML with positions: a text as plain values, and the place of each in the text. Independent of what the values mean. */
import {
  type Alias,
  CST,
  type Document,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  parseDocument,
  Parser,
  visit,
} from 'yaml';
import { limits } from '../../shared/limits.js';

/** Line and column count from 1; a column is a UTF-16 unit, as editors count them. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** Names of fields and indexes of lists, from the root down. */
export type Path = readonly (string | number)[];

interface YamlFault extends Position {
  readonly sentence: string;
}

export interface YamlText {
  /** Maps, lists, texts, numbers, booleans and null; undefined when the text is too broken to have a value. */
  readonly value: unknown;
  /** The problems of the text as YAML. */
  readonly faults: readonly YamlFault[];
  /**
   * Where the value at a path stands, or with `name` the name of the field that the path ends in. A value that is not there is located
   * at the innermost object around it, an alias at its anchor.
   */
  readonly locate: (path: Path, name?: boolean) => Position;
  /** Where a place of the text at a path stands; the start of the text where escapes or folded lines hide it. */
  readonly locateIn: (path: Path, within: Position) => Position;
}

/**
 * Reads one YAML 1.2 document with the core schema: dates and words like `on` stay texts, whatever a %YAML directive asks for, and tags
 * are refused. A text with faults has a value all the same if every fault leaves no doubt about the rest (a field given twice).
 */
export function readYaml(text: string): YamlText {
  const beyond = beyondLimits(text);
  if (beyond) return broken(beyond);

  const lines = new LineCounter();
  const position = (offset: number): Position => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  const document = parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    schema: 'core',
    resolveKnownTags: false,
    logLevel: 'error',
    // The library would compare each key of a map with all others.
    uniqueKeys: false,
  });
  const syntax = [...document.errors, ...document.warnings].map((error) => ({
    ...position(error.pos[0]),
    sentence: syntaxSentence(error.code, error.message),
  }));
  const aliases = aliasFaults(document, position);
  const faults = [...syntax, ...repeatedKeys(document, position), ...aliases];
  if (aliases.length > 0 || document.errors.length > 0) return { ...broken(), faults };
  try {
    const value: unknown = document.toJS({ maxAliasCount: limits.maxYamlAliases });
    const locate = (path: Path, name = false): Position => position(offsetOf(document, path, name));
    const locateIn = (path: Path, within: Position): Position => {
      const offset = offsetOf(document, path, false);
      const block = text[offset] === '|' ? lineOf(text, lines.lineStarts, position(offset).line + within.line) : null;
      return placeInText(text, String(valueAt(value, path)), { offset, start: position(offset), within, block });
    };
    return { value, faults, locate, locateIn };
  } catch (error) {
    // The library's only error at this point is that aliases, each of them within bounds, multiply to too many.
    if (!(error instanceof ReferenceError)) throw error;
    return broken({ line: 1, column: 1, sentence: `aliases expand to more than ${limits.maxYamlAliases} copies of one object` });
  }
}

const first: Position = { line: 1, column: 1 };
const broken = (...faults: YamlFault[]): YamlText => ({ value: undefined, faults, locate: () => first, locateIn: () => first });

const valueAt = (value: unknown, path: Path): unknown =>
  path.reduce<unknown>((inner, segment) => (inner as Readonly<Record<string | number, unknown>>)[segment], value);

interface PlaceInText {
  /** Where the scalar starts in the file. */
  readonly offset: number;
  readonly start: Position;
  /** The place in the value of the scalar. */
  readonly within: Position;
  /** The line of the file that has the place, in a literal block. */
  readonly block: string | null;
}

/** A line of a text, without its end. */
const lineOf = (text: string, starts: readonly number[], line: number): string =>
  text.slice(starts[line - 1], starts[line]).replace(/\r?\n$/, '');

/** The place in the file of a place in the value of a scalar: exact in literal blocks, and in scalars of one line without escapes. */
function placeInText(file: string, value: string, { offset, start, within, block }: PlaceInText): Position {
  if (block !== null) {
    const meant = value.split('\n')[within.line - 1] ?? '';
    return { line: start.line + within.line, column: block.length - meant.length + within.column };
  }
  const quotes = /^["']/.test(file[offset] ?? '') ? 1 : 0;
  if (!file.startsWith(value, offset + quotes)) return start;
  return { line: start.line, column: start.column + quotes + within.column - 1 };
}

/** The lexemes that begin a value, an item or a field: a document has at most a node for each. */
const nodeLexemes: ReadonlySet<ReturnType<typeof CST.tokenType>> = new Set([
  'scalar',
  'alias',
  'seq-item-ind',
  'map-value-ind',
  'explicit-key-ind',
  'flow-seq-start',
  'flow-map-start',
  'comma',
]);

/** Why a text has too many values or is nested too deep, and where; or null. Uses the parser's first stage, which does not recurse or build. */
function beyondLimits(text: string): YamlFault | null {
  const parser = new Parser();
  let nodes = 0;
  const fault = (sentence: string): YamlFault => {
    const before = text.slice(0, parser.offset).split('\n');
    return { line: before.length, column: (before.at(-1) ?? '').length + 1, sentence };
  };
  for (const lexeme of new Lexer().lex(text)) {
    if (nodeLexemes.has(CST.tokenType(lexeme))) nodes += 1;
    // The tokens are for the stage that recurses; only how many are open counts here.
    Array.from(parser.next(lexeme));
    if (nodes > limits.maxYamlNodes) return fault(`the file has more than ${limits.maxYamlNodes.toLocaleString('en-US')} values`);
    if (parser.stack.length > limits.maxYamlLevels) {
      return fault(`objects and lists are nested more than ${limits.maxYamlLevels} levels deep`);
    }
  }
  return null;
}

function syntaxSentence(code: string, message: string): string {
  switch (code) {
    case 'MULTIPLE_DOCS':
      return 'a second YAML document starts here: a configuration file is one document';
    case 'TAG_RESOLVE_FAILED':
      return `YAML tags are not supported (${message})`;
    default:
      return `invalid YAML: ${message}`;
  }
}

/** Fields that a map gives twice: at most limits.maxComplaints, the first of them. */
function repeatedKeys(document: Document, position: (offset: number) => Position): YamlFault[] {
  const faults: YamlFault[] = [];
  visit(document, {
    Map(_key, map) {
      const known = new Set<unknown>();
      for (const { key } of map.items) {
        if (!isScalar(key)) continue;
        if (known.has(key.value)) faults.push({ ...position(startOf(key) ?? 0), sentence: `duplicate field ${String(key.value)}` });
        if (faults.length === limits.maxComplaints) return visit.BREAK;
        known.add(key.value);
      }
      return undefined;
    },
  });
  return faults;
}

/** Aliases of nothing, of an object that they are part of, and too many of them. */
function aliasFaults(document: Document, position: (offset: number) => Position): YamlFault[] {
  const faults: YamlFault[] = [];
  let count = 0;
  visit(document, {
    Alias(_key, alias: Alias, ancestors) {
      count += 1;
      const at = position(alias.range?.[0] ?? 0);
      if (count > limits.maxYamlAliases) {
        faults.push({ ...at, sentence: `a file may use at most ${limits.maxYamlAliases} aliases` });
        return visit.BREAK;
      }
      const target = alias.resolve(document);
      if (!target) faults.push({ ...at, sentence: `there is no anchor &${alias.source} before this alias` });
      else if (ancestors.some((ancestor) => ancestor === target))
        faults.push({ ...at, sentence: `the alias *${alias.source} refers to an object that contains it` });
      return undefined;
    },
  });
  return faults;
}

/** The offset of a value, of the name of a field, or of the innermost object around a value that is not there. */
function offsetOf(document: Document, path: Path, name: boolean): number {
  let node: unknown = document.contents;
  let offset = startOf(node) ?? 0;
  for (const [index, segment] of path.entries()) {
    if (isAlias(node)) {
      node = node.resolve(document);
      offset = startOf(node) ?? offset;
    }
    if (isSeq(node) && typeof segment === 'number') {
      node = node.items[segment];
    } else if (isMap(node)) {
      // The last one, where a field is given twice: its value is the one that counts.
      const pair = node.items.findLast(({ key }) => keyText(key) === String(segment));
      if (!pair) return offset;
      const atName = (name && index === path.length - 1) || isEmpty(pair.value);
      node = pair.value;
      offset = (atName ? startOf(pair.key) : undefined) ?? offset;
      if (atName) return offset;
    } else {
      return offset;
    }
    offset = startOf(node) ?? offset;
  }
  if (isAlias(node)) return startOf(node.resolve(document)) ?? offset;
  return offset;
}

/** The field that a key makes in the plain value: YAML allows any value as a key. */
const keyText = (key: unknown): string => (!isNode(key) || (isScalar(key) && key.value === null) ? '' : key.toString());

/** `name:` with nothing after it: there is no value to point at. */
const isEmpty = (node: unknown): boolean => node === null || (isScalar(node) && node.value === null && node.source === '');

const startOf = (node: unknown): number | undefined => (isNode(node) ? node.range?.[0] : undefined);

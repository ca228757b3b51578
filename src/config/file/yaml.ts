/** YAML with positions: a text as plain values, and the place of each in the text. Independent of what the values mean. */
import { type Alias, Composer, CST, type Document, isAlias, isMap, isNode, isScalar, isSeq, Lexer, LineCounter, Parser, visit } from 'yaml';
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
  const lines = new LineCounter();
  lines.addNewLine(0);
  for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', end + 1)) lines.addNewLine(end + 1);
  const position = (offset: number): Position => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  const read = compose(text);
  const syntax = [...read.errors, ...read.warnings].map(({ offset, sentence }) => ({ ...position(offset), sentence }));
  const { document } = read;
  if (!document) return { ...broken(), faults: syntax };
  const aliases = aliasFaults(document, position);
  const faults = [...syntax, ...repeatedKeys(document, position), ...aliases];
  if (aliases.length > 0 || read.errors.length > 0) return { ...broken(), faults };
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

type LexemeType = ReturnType<typeof CST.tokenType>;

const few = (
  max: number,
  sentence: string,
  ...types: LexemeType[]
): (readonly [LexemeType, { readonly max: number; readonly sentence: string }])[] => types.map((type) => [type, { max, sentence }]);

/** Lexemes of which a file needs few, and the most of each type that it may have. The library takes up to 0.1 ms for each. */
const bounded = new Map([
  ...few(limits.maxYamlAliases, `a file may use at most ${limits.maxYamlAliases} aliases`, 'alias'),
  ...few(limits.maxYamlMarks, `the file has more than ${limits.maxYamlMarks.toLocaleString('en-US')} anchors or tags`, 'anchor', 'tag'),
  ...few(
    limits.maxYamlErrors,
    `the file has more than ${limits.maxYamlErrors} document markers or directives`,
    'doc-start',
    'doc-end',
    'directive-line',
  ),
]);

/** Whether a lexeme is wrong whatever follows: a text after one in quotes, one that begins as none may, a bracket that closes none. */
class WrongTexts {
  private last: LexemeType = null;
  private isBlock = false;
  /** How many brackets are open. */
  private open = 0;

  has(lexeme: string, type: LexemeType, isText: boolean): boolean {
    const { last } = this;
    if (type === 'block-scalar-header') this.isBlock = true;
    if (type !== 'space') this.last = isText ? null : type;
    if (type === 'flow-seq-start' || type === 'flow-map-start') this.open += 1;
    if (type === 'flow-error-end') this.open = 0;
    if (type === 'flow-seq-end' || type === 'flow-map-end') {
      if (this.open === 0) return true;
      this.open -= 1;
    }
    if (isText) {
      const isWrong = !this.isBlock && /^[@`]/.test(lexeme);
      this.isBlock = false;
      return isWrong;
    }
    const isQuoted = (of: LexemeType): boolean => of === 'single-quoted-scalar' || of === 'double-quoted-scalar';
    return isQuoted(last) && isQuoted(type);
  }
}

interface SyntaxProblem {
  readonly offset: number;
  readonly sentence: string;
}

/** What the library makes of a text: no document if the text is beyond a limit, which is the last of the errors then. */
interface Composed {
  readonly document: Document | undefined;
  readonly errors: readonly SyntaxProblem[];
  readonly warnings: readonly SyntaxProblem[];
}

/** How the library reports an error: where it stands, as an offset, a range or a token. */
type NoteError = (
  source: number | readonly [number, number] | { readonly offset: number },
  code: string,
  message: string,
  isWarning?: boolean,
) => void;

/** A text is beyond a limit: what is after the offset is not read. */
class BeyondLimit extends Error {
  readonly problem: SyntaxProblem;
  constructor(offset: number, sentence: string) {
    super(sentence);
    this.problem = { offset, sentence };
  }
}

/** Escapes of texts in double quotes; the group is set for one that YAML does not have. */
const escapes = /\\(?:[0abefnrtvN_LP "/\\\t\r\n]|x[\da-fA-F]{2}|u[\da-fA-F]{4}|U00(?:0[\da-fA-F]|10)[\da-fA-F]{4}|(.))/gs;

/** The wrong escapes of a lexeme, of which no more are counted than a file may have errors. */
function wrongEscapes(lexeme: string): number {
  if (!lexeme.includes('\\')) return 0;
  let count = 0;
  for (const [, wrong] of lexeme.matchAll(escapes)) {
    if (wrong !== undefined) count += 1;
    if (count > limits.maxYamlErrors) break;
  }
  return count;
}

function linesIn(lexeme: string): number {
  let count = 0;
  for (let at = lexeme.indexOf('\n'); at !== -1; at = lexeme.indexOf('\n', at + 1)) count += 1;
  return count;
}

/** Lexemes of the library that are no part of the text. */
const noText: ReadonlySet<LexemeType> = new Set(['doc-mode', 'flow-error-end', 'scalar']);

function refuseMore(count: number, max: number, what: string, offset: number): void {
  if (count > max) throw new BeyondLimit(offset, `the file has more than ${max.toLocaleString('en-US')} ${what}`);
}

/** The lexemes of a text. Throws a BeyondLimit, before the parser begins, which takes several times as long. */
function lexemesOf(text: string): readonly string[] {
  const lexemes: string[] = [];
  const counts = new Map<LexemeType, number>();
  const wrong = new WrongTexts();
  let [offset, nodes, ends, errors, isText] = [0, 0, 0, 0, false];
  for (const lexeme of new Lexer().lex(text)) {
    // A plain text or a block follows the lexeme that announces it, and may begin like anything else.
    const type = isText ? null : CST.tokenType(lexeme);
    if (wrong.has(lexeme, type, isText)) errors += 1;
    if (type === 'double-quoted-scalar') errors += wrongEscapes(lexeme);
    isText = type === 'scalar';
    if (nodeLexemes.has(type)) nodes += 1;
    ends += linesIn(lexeme);
    const bound = bounded.get(type);
    if (bound) {
      const count = (counts.get(type) ?? 0) + 1;
      counts.set(type, count);
      if (count > bound.max) throw new BeyondLimit(offset, bound.sentence);
    }
    refuseMore(nodes, limits.maxYamlNodes, 'values', offset);
    refuseMore(ends - nodes, limits.maxYamlIdleLines, 'comments, empty lines and lines inside of texts', offset);
    refuseMore(errors, limits.maxYamlErrors, moreErrors, offset);
    refuseMore(lexemes.push(lexeme), limits.maxYamlLexemes, 'tokens', offset);
    if (!noText.has(type)) offset += lexeme.length;
  }
  return lexemes;
}

/** The tokens of a text. Throws a BeyondLimit, before the stages that recurse and build, whose work grows with what is counted here. */
function tokensOf(text: string): CST.Token[] {
  const parser = new Parser();
  const tokens: CST.Token[] = [];
  let errors = 0;
  const add = (token: CST.Token): void => {
    if (token.type === 'error') errors += 1;
    tokens.push(token);
  };
  for (const lexeme of lexemesOf(text)) {
    for (const token of parser.next(lexeme)) add(token);
    refuseMore(errors, limits.maxYamlErrors, moreErrors, parser.offset);
    if (parser.stack.length > limits.maxYamlLevels) {
      throw new BeyondLimit(parser.offset, `objects and lists are nested more than ${limits.maxYamlLevels} levels deep`);
    }
  }
  for (const token of parser.end()) add(token);
  return tokens;
}

const moreErrors = 'YAML errors: the rest is not read';

/** Reads a text as `parseDocument` of the library does, within limits. */
function compose(text: string): Composed {
  const errors: SyntaxProblem[] = [];
  const warnings: SyntaxProblem[] = [];
  const note: NoteError = (source, code, message, isWarning) => {
    const offset = typeof source === 'number' ? source : 'offset' in source ? source.offset : source[0];
    if (errors.length + warnings.length === limits.maxYamlErrors) {
      throw new BeyondLimit(offset, `the file has more than ${limits.maxYamlErrors} ${moreErrors}`);
    }
    (isWarning === true ? warnings : errors).push({ offset, sentence: syntaxSentence(code, message) });
  };
  try {
    const composer = new Composer({ prettyErrors: false, schema: 'core', resolveKnownTags: false, logLevel: 'error', uniqueKeys: false });
    // Private in the library's types. Its own handler makes an Error of each, with a stack, which takes most of the time of a bad text.
    Reflect.set(composer, 'onError', note);
    const [document, second] = composer.compose(tokensOf(text), true, text.length);
    if (second) errors.push({ offset: second.range[0], sentence: syntaxSentence('MULTIPLE_DOCS', '') });
    const unexpected = (document?.errors ?? []).map(({ pos, code, message }) => ({
      offset: pos[0],
      sentence: syntaxSentence(code, message),
    }));
    return { document, errors: [...errors, ...unexpected], warnings };
  } catch (error) {
    if (!(error instanceof BeyondLimit)) throw error;
    return { document: undefined, errors: [...errors, error.problem], warnings };
  }
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

/** Aliases of nothing, and of an object that they are part of. */
function aliasFaults(document: Document, position: (offset: number) => Position): YamlFault[] {
  const faults: YamlFault[] = [];
  visit(document, {
    Alias(_key, alias: Alias, ancestors) {
      const at = position(alias.range?.[0] ?? 0);
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

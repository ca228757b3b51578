/** Parses large JSON bodies in parts, since one call of the parser may take 0.4 s for 2 MiB of distinct keys. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { parse } from '@hapi/bourne';
import { LaurelError } from '../shared/errors.js';
import { JsonText } from '../shared/json.js';
import { limits } from '../shared/limits.js';

const code = (character: string): number => character.charCodeAt(0);
const quote = code('"');
const backslash = code('\\');
const comma = code(',');
const colon = code(':');
const openList = code('[');
const openObject = code('{');
const closeList = code(']');
const closeObject = code('}');

/** Neighbouring items of the outermost list, or fields of the outermost object, by where they start and end in the text. */
interface Part {
  readonly start: number;
  end: number;
}

const notJson = (): SyntaxError => new SyntaxError('The parts of the text are not JSON.');

/** The offset of the end of a string that starts at an offset. */
function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length) {
    const found = text.charCodeAt(at);
    if (found === quote) return at;
    at += found === backslash ? 2 : 1;
  }
  throw notJson();
}

function checkValues(count: number): void {
  if (count <= limits.maxBodyValues) return;
  throw new LaurelError(
    'unprocessable',
    `The body has more than ${limits.maxBodyValues.toLocaleString('en-US')} values, where a field counts as two: split it into smaller requests.`,
  );
}

/** Adds an item or a field to the last part, if it fits into limits.parsedAtOnceChars; an object for each item would take longer than the rest. */
function addTo(parts: Part[], start: number, end: number): void {
  const last = parts.at(-1);
  if (last && end - last.start <= limits.parsedAtOnceChars) last.end = end;
  else parts.push({ start, end });
}

/**
 * The parts of a text that starts with a list or an object. The text is JSON if each part is. Throws a 422 for more than limits.maxBodyValues
 * values, and a SyntaxError if anything follows the list or object, or it does not end.
 */
function partsOf(text: string, opening: number): Part[] {
  const parts: Part[] = [];
  let depth = 1;
  let values = 0;
  let start = opening + 1;
  let at = start;
  while (at < text.length) {
    const found = text.charCodeAt(at);
    if (found === quote) {
      at = endOfString(text, at);
    } else if (found === comma || found === colon) {
      values += 1;
      checkValues(values);
      if (found === comma && depth === 1) {
        addTo(parts, start, at);
        start = at + 1;
      }
    } else if (found === openList || found === openObject) {
      values += 1;
      checkValues(values);
      depth += 1;
    } else if (found === closeList || found === closeObject) {
      depth -= 1;
    }
    if (depth === 0) {
      if (text.slice(at + 1).trim() !== '' || found - text.charCodeAt(opening) !== closeList - openList) throw notJson();
      const isEmpty = parts.length === 0 && text.slice(start, at).trim() === '';
      if (!isEmpty) addTo(parts, start, at);
      return parts;
    }
    at += 1;
  }
  throw notJson();
}

/** A field whose value is an object: `"file": {`. */
const objectField = /^\s*"(\w+)"\s*:\s*(?=\{)/;
/** A text, or a field whose value is one. Its length makes it no slower to parse. */
const textItem = /^\s*"/;
const textField = /^\s*"[^"\\]*"\s*:\s*"/;

/**
 * Parses a body of any length up to limits.maxConfigRequestBytes without holding the event loop: in turns of limits.parsedAtOnceChars, or of one item,
 * which may be as large as any other body; so may the fields together, besides long texts. A larger field of the outermost object with the name
 * `deferred`, if it is an object, becomes a JsonText, which is not parsed yet. Throws a 422, or a SyntaxError.
 */
export async function parseLarge(text: string, deferred?: string): Promise<unknown> {
  const opening = text.search(/\S/);
  const isList = text[opening] === '[';
  if (!isList && text[opening] !== '{') return parse(text) as unknown;
  const items: unknown[] = [];
  const fields: Record<string, unknown> = {};
  // The characters of an item, or of all fields, besides one long text.
  let shortChars = 0;
  for (const { start, end } of partsOf(text, opening)) {
    await nextTurn();
    const part = text.slice(start, end);
    const [name, field] = (!isList && objectField.exec(part)) || [];
    if (part.trim() === '') throw notJson();
    if (part.length > limits.parsedAtOnceChars && name !== undefined && field !== undefined && field === deferred) {
      fields[field] = new JsonText(part.slice(name.length));
      continue;
    }
    const isText = part.length > limits.parsedAtOnceChars && (isList ? textItem : textField).test(part);
    if (!isText) shortChars = (isList ? 0 : shortChars) + part.length;
    if (shortChars > limits.maxBodyBytes) {
      throw new LaurelError(
        'unprocessable',
        `The body has ${isList ? 'an item' : 'fields'} of more than ${limits.maxBodyBytes} characters: make ${isList ? 'it' : 'them'} smaller.`,
      );
    }
    if (isList) items.push(...(parse(`[${part}]`) as unknown[]));
    else Object.assign(fields, parse(`{${part}}`));
  }
  // What is done with the values is a turn of its own.
  await nextTurn();
  return isList ? items : fields;
}

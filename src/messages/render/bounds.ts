import { limits } from '../../shared/limits.js';
import type { MessageVariables } from './variables.js';

/** Control characters, and those that change the direction of the text after them. */
const controls = /[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu;
const lineBreaks = /\r\n|[\r\n\v\f\u0085\u2028\u2029]/gu;

/** The first `max` characters (code points) of a text. A longer one ends in an ellipsis. */
export function cut(text: string, max: number): string {
  // No character has more than two UTF-16 units, so the rest is never looked at.
  const characters = Array.from(text.slice(0, 2 * max + 2));
  return characters.length <= max && text.length <= 2 * max
    ? text
    : `${characters
        .slice(0, max - 1)
        .join('')
        .trimEnd()}…`;
}

/** A text on one line, without control characters, of at most `max` characters. */
export function oneLine(text: string, max: number): string {
  const cleaned = text
    .slice(0, 4 * max)
    .toWellFormed()
    .replace(lineBreaks, ' ')
    .replace(/\t/g, ' ')
    .replace(controls, '');
  return cut(cleaned.replace(/ {2,}/g, ' ').trim(), max);
}

/** Lines without white space at their ends, of which at most one in a row is blank; none at the beginning and at the end. */
export const tidyLines = (text: string): string =>
  text
    .split('\n')
    // Not a regular expression: it would look for the end of the line from each space of a long run.
    .map((line) => line.trimEnd())
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim();

/** Paragraphs of lines: blank lines separate paragraphs. Without control characters; at most `max` characters and `paragraphs` paragraphs. */
export function paragraphsOf(text: string, max: number, paragraphs: number): string[][] {
  const cleaned = text
    .slice(0, 4 * max)
    .toWellFormed()
    .replace(lineBreaks, '\n')
    .replace(/\t/g, ' ');
  const kept = cut(tidyLines(cleaned), max);
  const all = kept.split('\n\n').map((paragraph) => paragraph.split('\n').map((line) => line.replace(controls, '').trim()));
  const shown = all.slice(0, paragraphs).map((lines) => lines.filter((line) => line !== ''));
  shown.at(-1)?.push(...all.slice(paragraphs).flat());
  return shown.filter((lines) => lines.length > 0);
}

/** A link as a value of a template, which can't be cut: empty when it is too long. */
const boundLink = (url: string): string => (url.length <= limits.maxMessageLinkChars ? url.replace(controls, '') : '');

const linkNames: ReadonlySet<string> = new Set(['url', 'badgeUrl']);

function boundValue(name: string, value: unknown): unknown {
  if (typeof value === 'string') return linkNames.has(name) ? boundLink(value) : oneLine(value, limits.maxMessageValueChars);
  if (Array.isArray(value)) return value.map((item: unknown) => boundValue('', item));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, boundValue(key, item)]));
}

/** What mail clients make links of: a dot before letters, the colon of a scheme, the @ of an address. */
const linked = /[.\u3002\uff0e\uff61](?=\p{L}[\p{L}\p{M}])|:(?=\/\/)|@(?=\S)/gu;
const zeroWidthSpace = '\u200b';

/** A name that a user or a tenant has chosen: short, and broken invisibly wherever a mail client would make a link of it. */
export const nameWithoutLinks = (name: string): string =>
  oneLine(name, limits.maxMessageNameChars).replace(linked, (character) => character + zeroWidthSpace);

/** The values of templates, every text of which is on one line and has at most limits.maxMessageValueChars characters. */
export function boundVariables(variables: MessageVariables): MessageVariables {
  // An attribute may have the key `url`, and is a text all the same.
  const { attributes } = variables.user;
  const texts = Object.entries(attributes).map(([key, text]) => [key, oneLine(text, limits.maxMessageValueChars)]);
  const bounded = boundValue('', variables) as MessageVariables;
  const name = nameWithoutLinks(variables.user.name);
  return { ...bounded, user: { ...bounded.user, name, attributes: Object.fromEntries(texts) as typeof attributes } };
}

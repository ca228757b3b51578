import type { Json } from './json.js';

/**
 * What a number field holds while it is typed: a number once it is written as one, otherwise the text, which the service refuses in its own
 * words. Undefined for an empty field.
 */
export function typedNumber(text: string): Json | undefined {
  if (text.trim() === '') return undefined;
  const value = Number(text);
  return Number.isFinite(value) && String(value) === text ? value : text;
}

/** What it holds when the operator leaves the field: `1.` and `007` are numbers too. */
export function finishedNumber(value: Json | undefined): Json | undefined {
  if (typeof value !== 'string') return value;
  const number = Number(value.trim());
  return value.trim() !== '' && Number.isFinite(number) ? number : value;
}

/** The words of a list with commas between them. */
export function typedWords(text: string, areNumbers: boolean): Json[] {
  const words = text
    .split(/[\s,]+/)
    .map((word) => word.trim())
    .filter((word) => word !== '');
  return areNumbers ? words.map((word) => finishedNumber(word) ?? word) : words;
}

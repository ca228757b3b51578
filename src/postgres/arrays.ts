/**
 * Array literals, for statements that take an array for each column. pg can make them too, one element at a time through a general conversion; with a
 * thousand rows in ten columns, that was a tenth of the write-behind's work.
 */
const special = /["\\]/;
const specials = /["\\]/g;

function quoted(text: string): string {
  return special.test(text) ? `"${text.replace(specials, '\\$&')}"` : `"${text}"`;
}

/** An array of texts, each quoted, so that no character is parsed as part of the array; null is NULL. */
export function textArray(values: readonly (string | null)[]): string {
  let literal = '{';
  for (let i = 0; i < values.length; i += 1) {
    const value = values[i];
    if (i > 0) literal += ',';
    literal += value === null || value === undefined ? 'NULL' : quoted(value);
  }
  return `${literal}}`;
}

/** An array of numbers; null is NULL. */
export function numberArray(values: readonly (number | null)[]): string {
  return `{${values.map((value) => value ?? 'NULL').join(',')}}`;
}

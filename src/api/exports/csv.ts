/**
 * What spreadsheets may take for the start of a formula: a user who chooses such a name would have it computed on the machine of the operator who
 * opens the file. An apostrophe before it makes it text.
 */
const formulaStart = /^[=+\-@\t\r\n＝＋－＠]/u;

/** A cell as in RFC 4180; empty for null. Texts are quoted, numbers are not; an object is JSON. */
function csvCell(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return `"${(formulaStart.test(text) ? `'${text}` : text).replaceAll('"', '""')}"`;
}

/** A line of a CSV file, with its end. */
export const csvLine = (cells: readonly unknown[]): string => `${cells.map(csvCell).join(',')}\r\n`;

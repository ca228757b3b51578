/** The place of a line and a column, both from 1, in a text; its end for a place that it does not have. Columns count UTF-16 units. */
export function offsetOf(text: string, line: number, column: number): number {
  const lines = text.split('\n');
  const before = lines.slice(0, line - 1).reduce((sum, each) => sum + each.length + 1, 0);
  const length = lines[line - 1]?.length ?? 0;
  return Math.min(text.length, before + Math.min(column - 1, length));
}

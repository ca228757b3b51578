/** What differs between two snapshots of a world: the lines that only one has, with their sign. A whole snapshot is too long to be shown. */
export function changedLines(before: string, after: string): string[] {
  if (before === after) return [];
  const [old, now] = [before.split('\n'), after.split('\n')];
  const [inOld, inNow] = [new Set(old), new Set(now)];
  const removed = old.filter((line) => !inNow.has(line)).map((line) => `-${line}`);
  const added = now.filter((line) => !inOld.has(line)).map((line) => `+${line}`);
  return [`${old.length} lines, then ${now.length}`, ...removed, ...added];
}

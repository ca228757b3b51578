/** Lists of rows in memory, by key: the most recently used ones, at most `maxRows` rows. A list counts as one row more than it has. */
export class RecentRows {
  private readonly maxRows: number;
  /** The least recently used first. */
  private readonly lists = new Map<string, readonly unknown[]>();
  private rows = 0;

  constructor(maxRows: number) {
    this.maxRows = maxRows;
  }

  get(key: string): readonly unknown[] | undefined {
    const list = this.lists.get(key);
    if (!list) return undefined;
    this.lists.delete(key);
    this.lists.set(key, list);
    return list;
  }

  set(key: string, list: readonly unknown[]): void {
    this.remove(key);
    this.lists.set(key, list);
    this.rows += list.length + 1;
    for (const oldest of this.lists.keys()) {
      if (this.rows <= this.maxRows) break;
      this.remove(oldest);
    }
  }

  private remove(key: string): void {
    const list = this.lists.get(key);
    if (!list) return;
    this.lists.delete(key);
    this.rows -= list.length + 1;
  }
}

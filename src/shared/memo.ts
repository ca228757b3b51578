/** Values by key, each made when it is first needed: at most `max` of them. When there are as many, it starts anew. */
export class Memo<K, V> {
  private readonly max: number;
  private readonly values = new Map<K, V>();

  constructor(max: number) {
    this.max = max;
  }

  get(key: K, make: (key: K) => V): V {
    const known = this.values.get(key);
    if (known !== undefined) return known;
    if (this.values.size >= this.max) this.values.clear();
    const value = make(key);
    this.values.set(key, value);
    return value;
  }
}

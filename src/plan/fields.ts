/** A list of fields in which every field stands once. */
export class FieldList {
  private readonly known = new Set<string>();

  constructor(fields: Iterable<string> = []) {
    this.add(fields);
  }

  get fields(): string[] {
    return [...this.known];
  }

  /** The fields that are not in another list. */
  without(others: readonly string[]): string[] {
    const known = new Set(others);
    return this.fields.filter((field) => !known.has(field));
  }

  add(fields: Iterable<string>): this {
    for (const field of fields) this.known.add(field);
    return this;
  }
}

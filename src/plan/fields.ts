/** A list of fields in which every field stands once. */
export class FieldList {
  readonly fields: string[] = [];

  constructor(fields: Iterable<string> = []) {
    this.add(fields);
  }

  add(fields: Iterable<string>): this {
    for (const field of fields) if (!this.fields.includes(field)) this.fields.push(field);
    return this;
  }
}

/** A JSON document that is complete already, such as a response put together from parts that were prepared with the configuration. */
export class JsonText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** An error of the service, with the sentence that it gave. */
export class ApiError extends Error {
  /** The HTTP status; 0 when there was no response. */
  readonly status: number;

  constructor(status: number, sentence: string) {
    super(sentence);
    this.name = 'ApiError';
    this.status = status;
  }
}

/** What an operator reads about an error. */
export function sentenceOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

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

/** The error of a request that got no response. */
export const noResponse = (): ApiError => new ApiError(0, 'The service does not respond: check your connection and try again.');

/** What an operator reads about an error. */
export function sentenceOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The data of a response that has some. */
export function dataOf<T>({ data }: { readonly data?: T | undefined }): T {
  if (data === undefined) throw new ApiError(200, 'The service responded without a result.');
  return data;
}

/** The outcome of a batch. Throws an ApiError with the reasons of its items that failed. */
export function wholeBatch<T extends { readonly issues: readonly { readonly message: string }[] }>(response: {
  readonly data?: T | undefined;
}): T {
  const data = dataOf(response);
  if (data.issues.length > 0) throw new ApiError(422, data.issues.map(({ message }) => message).join('\n'));
  return data;
}

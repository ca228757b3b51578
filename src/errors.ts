/**
 * The one catalogue of what callers can be told. `status` and `message` are public; `message` is a sentence that says what to do.
 * Everything that is not a LaurelError is a fault of ours: it is logged whole and answered without details.
 */
const statuses = {
  invalid_json: 400,
  invalid_request: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  body_too_large: 413,
  header_too_large: 431,
  unprocessable: 422,
  too_many_requests: 429,
  not_ready: 503,
} as const;

export type ErrorCode = keyof typeof statuses;

export class LaurelError extends Error {
  readonly code: ErrorCode;
  /** Seconds after which trying again makes sense; sent as `Retry-After`. */
  readonly retryAfterS: number | undefined;

  constructor(code: ErrorCode, message: string, options: { retryAfterS?: number; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'LaurelError';
    this.code = code;
    this.retryAfterS = options.retryAfterS ?? (code === 'not_ready' ? 1 : undefined);
  }

  get status(): number {
    return statuses[this.code];
  }
}

/** A mistake of the person who starts or configures the service: printed as its message alone, without a stack. */
export class OperatorError extends Error {
  constructor(message: string, options: { cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'OperatorError';
  }
}

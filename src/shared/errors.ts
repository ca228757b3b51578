import { limits } from './limits.js';

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

/** Why a service can't serve now: labels of metrics and fields of the log, so their number is bounded. */
export type NotReadyReason =
  | 'redis_away'
  | 'redis_login'
  | 'redis_permission'
  | 'redis_disk'
  | 'redis_memory'
  | 'redis_loading'
  | 'redis_refuses'
  | 'postgres_away'
  | 'postgres_disk'
  | 'ledger_full'
  | 'out_of_sync'
  | 'stopping'
  | 'other';

export class LaurelError extends Error {
  readonly code: ErrorCode;
  /** Seconds after which trying again makes sense; sent as `Retry-After`. */
  readonly retryAfterS: number | undefined;
  /** Of `not_ready`. */
  readonly reason: NotReadyReason;

  constructor(code: ErrorCode, message: string, options: { retryAfterS?: number; cause?: unknown; reason?: NotReadyReason } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'LaurelError';
    this.code = code;
    this.retryAfterS = options.retryAfterS ?? (code === 'not_ready' ? 1 : undefined);
    this.reason = options.reason ?? 'other';
  }

  get status(): number {
    return statuses[this.code];
  }
}

/** The end of a list of complaints of which a sentence makes only the first: ` and 7 more`, or nothing when it makes all of them. */
export const andMore = (complaints: number): string =>
  complaints > limits.maxComplaints ? ` and ${complaints - limits.maxComplaints} more` : '';

/** A mistake of the person who starts or configures the service: printed as its message alone, without a stack. */
export class OperatorError extends Error {
  constructor(message: string, options: { cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'OperatorError';
  }
}

import { limits } from './limits.js';

/**
 * The catalogue of errors that callers can receive. `status` and `message` are public; `message` says what is wrong and what to do. Any other
 * error is a defect: it is logged in full and returned as a 500 without details.
 */
const statuses = {
  invalid_json: 400,
  invalid_request: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  conflict: 409,
  body_too_large: 413,
  header_too_large: 431,
  unprocessable: 422,
  too_many_requests: 429,
  not_ready: 503,
} as const;

export type ErrorCode = keyof typeof statuses;

/** The causes of a 503: labels of metrics and fields of the log. */
export type NotReadyReason =
  | 'redis_away'
  | 'redis_login'
  | 'redis_permission'
  | 'redis_disk'
  | 'redis_memory'
  | 'redis_loading'
  | 'redis_refuses'
  | 'redis_replicas'
  | 'postgres_away'
  | 'postgres_disk'
  | 'postgres_refuses'
  | 'ledger_full'
  | 'out_of_sync'
  | 'stopping'
  | 'other';

export class LaurelError extends Error {
  readonly code: ErrorCode;
  /** Seconds to wait before a retry; sent as `Retry-After`. */
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

/** The end of a list of problems of which only limits.maxComplaints are named: ` and 7 more`, or the empty string. */
export const andMore = (complaints: number): string =>
  complaints > limits.maxComplaints ? ` and ${complaints - limits.maxComplaints} more` : '';

/** A mistake of the operator who starts or configures the service: printed as its message, without a stack. */
export class OperatorError extends Error {
  constructor(message: string, options: { cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'OperatorError';
  }
}

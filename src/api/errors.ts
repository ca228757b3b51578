import type { Logger } from 'pino';
import type { z } from 'zod';
import { LaurelError, andMore } from '../shared/errors.js';
import { limits } from '../shared/limits.js';

export interface ErrorResponse {
  readonly status: number;
  readonly body: { readonly error: string };
  readonly headers: Record<string, string>;
}

/** The body parser's message for a `__proto__` field, which it refuses. */
const poisoned = 'Object contains forbidden prototype property';
/** Whether a code is one of zlib's or Brotli's. */
const isUnpacking = (code: string): boolean => code.startsWith('Z_') || code.startsWith('ERR__');

/** Maps what Koa, its router, its body parser and Node's parsers throw to the error catalogue. */
function fromHttpLibrary(error: unknown): LaurelError | undefined {
  const status = error instanceof Error && 'status' in error ? Number(error.status) : 0;
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (code === 'ERR_INVALID_URL') return new LaurelError('invalid_request', 'The URL of the request is not valid.', { cause: error });
  if (isUnpacking(code)) return new LaurelError('invalid_json', 'The body does not match its Content-Encoding.', { cause: error });
  if (error instanceof SyntaxError && error.message === poisoned) {
    return new LaurelError('unprocessable', 'The body must not have a field named `__proto__`.', { cause: error });
  }
  if (error instanceof SyntaxError || status === 400)
    return new LaurelError('invalid_json', 'The body is not valid JSON.', { cause: error });
  if (status === 413) {
    const most = error instanceof Error && 'limit' in error ? Number(error.limit) : limits.maxBodyBytes;
    return new LaurelError('body_too_large', `The body is larger than ${most} bytes: split it into smaller requests.`);
  }
  if (status === 415) return new LaurelError('invalid_json', 'The body must be JSON in UTF-8.', { cause: error });
  return undefined;
}

/**
 * Returns the response to a failed request. An unexpected error is logged with `logOf()` and responded to without details. `refused` is called
 * for each 503.
 */
export function errorResponse(error: unknown, logOf: () => Logger, refused: (error: LaurelError) => void): ErrorResponse {
  const known = error instanceof LaurelError ? error : fromHttpLibrary(error);
  if (!known) {
    logOf().error({ err: error }, 'request failed');
    return {
      status: 500,
      body: { error: 'Internal error: the log of the service has the details, under the id in X-Request-Id.' },
      headers: {},
    };
  }
  if (known.code === 'not_ready') refused(known);
  return {
    status: known.status,
    body: { error: known.message },
    headers: known.retryAfterS === undefined ? {} : { 'Retry-After': String(known.retryAfterS) },
  };
}

export type Issue = z.core.$ZodIssue;

const article = (noun: string): string => (/^[aeiou]/.test(noun) ? `an ${noun}` : `a ${noun}`);

/** JSON's names for Zod's types. */
const jsonTypes: Readonly<Record<string, string>> = { int: 'integer', record: 'object', map: 'object', date: 'string' };

/** The predicate of a sentence about an invalid value: `must be a number`. */
function predicate(issue: Issue): string {
  switch (issue.code) {
    case 'invalid_type': {
      const expected = jsonTypes[issue.expected] ?? issue.expected;
      return issue.input === undefined ? `is required and must be ${article(expected)}` : `must be ${article(expected)}`;
    }
    case 'invalid_value':
      return `must be one of ${issue.values.map(String).join(', ')}`;
    case 'too_big':
      return issue.message.startsWith('must ') ? issue.message : `must be at most ${String(issue.maximum)}`;
    case 'too_small':
      return issue.message.startsWith('must ') ? issue.message : `must be at least ${String(issue.minimum)}`;
    case 'invalid_union':
      return issue.input === undefined ? 'is required' : 'is not valid';
    default:
      return /^(must|is|holds|may) /.test(issue.message) ? issue.message : 'is not valid';
  }
}

/** The path of a value: `user.attributes.city`. */
const pathOf = (prefix: string, path: readonly PropertyKey[]): string => [...(prefix ? [prefix] : []), ...path.map(String)].join('.');

/**
 * Parses a part of a request. Throws a 422 whose sentence names every invalid field, up to limits.maxComplaints. `prefix` precedes the
 * fields' names; `whole` names the part itself.
 */
export function parsePart<T>(schema: z.ZodType<T>, input: unknown, whole: string, prefix = ''): T {
  const result = schema.safeParse(input, { reportInput: true });
  if (result.success) return result.data;
  throw invalid(result.error.issues, whole, prefix);
}

/** The 422 of a part of a request, as of parsePart. */
export function invalid(issues: readonly Issue[], whole: string, prefix = ''): LaurelError {
  const sentences = issues.slice(0, limits.maxComplaints).map((issue) => {
    const path = pathOf(prefix, issue.path);
    return `${path === '' ? whole : `\`${path}\``} ${predicate(issue)}`;
  });
  return new LaurelError('unprocessable', `${sentences.join('; ')}${andMore(issues.length)}.`);
}

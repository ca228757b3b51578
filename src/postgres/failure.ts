import { LaurelError, OperatorError } from '../shared/errors.js';
import { postgresProblems, sentenceOf, StoreError } from '../shared/store-problems.js';
import { tlsFailure } from '../shared/tls-failure.js';

export type PostgresProblem = keyof typeof postgresProblems;

/** SQLSTATEs, or their classes, with what they mean to Laurel. The first row that matches decides. */
const states: readonly (readonly [start: string, problem: PostgresProblem])[] = [
  ['53100', 'disk'],
  ['53300', 'connections'],
  ['57P03', 'starting'],
  ['28P01', 'password'],
  ['28', 'notAdmitted'],
  ['3D000', 'database'],
  ['25006', 'readOnly'],
  ['3F000', 'schema'],
  ['42501', 'rights'],
  ['40001', 'conflict'],
  ['40P01', 'conflict'],
  ['08', 'noAnswer'],
  ['53', 'noAnswer'],
  ['57', 'noAnswer'],
];

/** What PgBouncer, and pg itself, say without a SQLSTATE of their own: PgBouncer's is 08P01 for all, or 26000 and 42P05 for lost statements. */
const messages: readonly (readonly [message: RegExp, problem: PostgresProblem])[] = [
  [/no more connections allowed|max_client_conn|query_wait_timeout|too many (?:clients|connections)/i, 'connections'],
  [/not allowed in statement pooling|prepared statement "[^"]*" (?:does not|already) exist/, 'pooler'],
  [/no such database/, 'database'],
  [/no such user|SASL authentication failed|password authentication failed|client password must be a string|auth failed/i, 'password'],
  [/does not support SSL/, 'noTls'],
  [/SSL required|SSL connection is required/i, 'notAdmitted'],
];

/** No class begins with an E, and Node's codes do: EPIPE. */
const sqlState = /^[0-9A-DF-Z][0-9A-Z]{4}$/;

const hasState = (error: Error): boolean => 'code' in error && typeof error.code === 'string' && sqlState.test(error.code);

/** A file of sslrootcert, sslcert or sslkey: its read is the only one that a connection makes. */
const isFileError = (error: Error): boolean =>
  'syscall' in error && (error.syscall === 'open' || error.syscall === 'read') && 'path' in error;

const networkCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOENT',
]);
/** What pg and its pool say without a code. */
const broken =
  /^(?:Connection terminated|Client has encountered a connection error|Client was closed|Query read timeout|timeout expired|timeout exceeded)/;

/** What a failed connection or statement says about Postgres; undefined for a statement that is itself refused, and any other defect. */
function postgresProblemOf(error: unknown): PostgresProblem | undefined {
  if (!(error instanceof Error)) return undefined;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  if (isFileError(error)) return 'tlsFile';
  const tls = tlsFailure(error);
  if (tls) return tls.kind;
  const said = messages.find(([message]) => message.test(error.message));
  if (said) return said[1];
  // The certificate of sslrootcert, or the key of sslkey, is not PEM.
  if (code.startsWith('ERR_OSSL')) return 'tlsFile';
  if (sqlState.test(code)) return states.find(([start]) => code.startsWith(start))?.[1];
  return networkCodes.has(code) || broken.test(error.message) ? 'noAnswer' : undefined;
}

/** The sentence for the operator about a failed connection or statement, with what Postgres says; undefined for a defect. */
export function postgresSentence(error: unknown): string | undefined {
  if (error instanceof OperatorError) return error.message;
  const problem = postgresProblemOf(error);
  if (problem === undefined) return undefined;
  return sentenceOf(postgresProblems[problem], detailOf(error));
}

/** What Postgres, or the network, says; without its full stop. A failure at all addresses of a name has its message in its parts. */
function detailOf(error: unknown): string | undefined {
  const said = tlsFailure(error)?.detail ?? (error as Error).message;
  const first: unknown = error instanceof AggregateError ? error.errors[0] : undefined;
  const detail = said === '' && first instanceof Error ? first.message : said;
  return detail === '' ? undefined : detail.replace(/\.$/, '');
}

/** Turns a failed start or command into an OperatorError when Postgres is the reason; returns any other error unchanged. */
export function refusedByPostgres(error: unknown): unknown {
  if (error instanceof LaurelError || error instanceof OperatorError) return error;
  const sentence = postgresSentence(error);
  return sentence === undefined ? error : new OperatorError(sentence, { cause: error });
}

/** An OperatorError for a state of Postgres that Laurel has found by itself. */
export const postgresError = (problem: PostgresProblem, detail?: string): OperatorError =>
  new OperatorError(sentenceOf(postgresProblems[problem], detail));

/** Turns a failed query into a 503 if Postgres is the reason, without what Postgres says, which names roles; returns any other error unchanged. */
export function postgresFailure(error: unknown): unknown {
  if (error instanceof LaurelError || !(error instanceof Error)) return error;
  const found = postgresProblemOf(error) ?? (hasState(error) ? undefined : 'noAnswer');
  if (found === undefined) return error;
  return new StoreError(postgresProblems[found === 'noAnswer' ? 'away' : found], undefined, error);
}

/** Runs a query on behalf of a request. A query that fails because of Postgres throws a 503 (`postgresFailure`). */
export async function withPostgresErrors<T>(query: Promise<T>): Promise<T> {
  try {
    return await query;
  } catch (error) {
    throw postgresFailure(error);
  }
}

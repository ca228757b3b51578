import pino, { type DestinationStream, type Logger } from 'pino';

/** The depth of nested causes that are logged. */
const maxCauses = 4;
/** Fields of library errors that contain no data: kinds, codes, and names of tables and constraints. */
const plainFields = ['code', 'errno', 'syscall', 'severity', 'schema', 'table', 'column', 'constraint', 'routine'] as const;
/** A second safeguard: no code logs these. */
const neverLogged = ['headers', 'body', 'request', 'response', '*.headers', '*.body'];

/**
 * The log of a process: JSON lines without secrets or user data. Request contents are never passed to it (api/middleware.ts), and errors, which may
 * contain the input of stores and parsers, are logged without it.
 */
export function createLog(level: string, destination: DestinationStream): Logger {
  const options = {
    level,
    base: null,
    serializers: { err: loggedError, error: loggedError },
    redact: { paths: neverLogged, remove: true },
  };
  return pino(options, destination);
}

/**
 * The loggable form of an error: its kind, message, stack and causes, and only those library fields that contain no data. ioredis adds the command with
 * its arguments, Postgres the row, the body parser the body.
 */
export function loggedError(error: unknown, depth = 0): unknown {
  if (!(error instanceof Error)) return typeof error === 'string' ? withoutData(error) : typeof error;
  const fields = Object.fromEntries(plainFields.flatMap((field) => (field in error ? [[field, (error as unknown as Plain)[field]]] : [])));
  return {
    type: error.name,
    message: messageOf(error),
    ...fields,
    stack: framesOf(error),
    ...(error.cause === undefined || depth >= maxCauses ? {} : { cause: loggedError(error.cause, depth + 1) }),
  };
}

type Plain = Readonly<Record<(typeof plainFields)[number], unknown>>;

function messageOf(error: Error): string {
  // V8 quotes the input.
  if (error instanceof SyntaxError) return 'invalid syntax';
  return withoutData(error.message);
}

/**
 * Removes data from a message: Postgres and Laurel quote values in double quotes, Redis appends a command's arguments, and a word with an @ is an email
 * address or a URL with a password.
 */
function withoutData(message: string): string {
  return message
    .replace(/, with args beginning with:.*/s, '')
    .replace(/"(?:[^"\\]|\\.)*"/gs, '"…"')
    .replace(/\S*@\S*/g, '…');
}

/** The stack frames without the message, which may contain data. */
const framesOf = ({ stack = '' }: Error): string =>
  stack
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
    .join('\n');

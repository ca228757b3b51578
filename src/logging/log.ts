import pino, { type DestinationStream, type Logger } from 'pino';

/** How deep causes of causes are told. */
const maxCauses = 4;
/** What libraries say of a failure that names no data: kinds, codes, and names of tables and constraints. */
const plainFields = ['code', 'errno', 'syscall', 'severity', 'schema', 'table', 'column', 'constraint', 'routine'] as const;
/** Belt and braces: nothing is meant to log these. */
const neverLogged = ['headers', 'body', 'request', 'response', '*.headers', '*.body'];

/**
 * The log of a process: JSON lines, and in them no secrets and nothing of users. What requests carry is never given to it (api/middleware.ts),
 * and errors, into which stores and parsers put what they were asked, are told without it.
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
 * An error as it is logged: its kind, message, stack and causes, and of what libraries add only what is known to be plain. ioredis adds the
 * command with its arguments, Postgres the row, the body parser the body.
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
  // V8 quotes what it could not parse.
  if (error instanceof SyntaxError) return 'something could not be parsed';
  return withoutData(error.message);
}

/**
 * Texts in double quotes are values in the messages of Postgres and of ours, the arguments of a command follow it in those of Redis, and
 * what has an @ is an e-mail address or an address with a password.
 */
function withoutData(message: string): string {
  return message
    .replace(/, with args beginning with:.*/s, '')
    .replace(/"(?:[^"\\]|\\.)*"/gs, '"…"')
    .replace(/\S*@\S*/g, '…');
}

/** Where it happened; the message, which stands before it, is told without data. */
const framesOf = ({ stack = '' }: Error): string =>
  stack
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
    .join('\n');

import pino, { type DestinationStream, type Logger } from 'pino';
import { limits } from '../shared/limits.js';

/** Characters of the message of a line that is too long without its stacks too. */
const maxCutChars = 500;
/** The depth of nested causes that are logged. */
const maxCauses = 4;
/** Fields of library errors that contain no data: kinds, codes, and names of tables and constraints. */
const plainFields = ['code', 'errno', 'syscall', 'severity', 'schema', 'table', 'column', 'constraint', 'routine'] as const;
/** A second safeguard: no code logs these. */
const neverLogged = ['headers', 'body', 'request', 'response', '*.headers', '*.body'];

/** Frames of each stack in a line that would be too long. */
const maxFrames = 3;

/**
 * The log of a process: JSON lines without secrets or user data. Request contents are never passed to it (api/middleware.ts), and errors, which may
 * contain the input of stores and parsers, are logged without it. `name` is a field of each line.
 */
export function createLog(level: string, destination: DestinationStream, name?: string): Logger {
  const options = {
    level,
    base: name === undefined ? null : { process: name },
    serializers: { err: loggedError, error: loggedError },
    redact: { paths: neverLogged, remove: true },
  };
  return pino(options, { write: (line) => destination.write(boundedLine(line)) });
}

/** A line of at most limits.maxLogLineBytes, so that processes can share a pipe: a longer one loses stack frames, then its error. */
function boundedLine(line: string): string {
  if (Buffer.byteLength(line) <= limits.maxLogLineBytes) return line;
  const fits = (text: string): boolean => Buffer.byteLength(text) < limits.maxLogLineBytes;
  const shorter = JSON.stringify(JSON.parse(line), (key, value: unknown) =>
    key === 'stack' && typeof value === 'string' ? value.split('\n').slice(0, maxFrames).join('\n') : value,
  );
  if (fits(shorter)) return `${shorter}\n`;
  const { level, time, process, requestId, msg = '' } = JSON.parse(line) as Readonly<Record<string, string | undefined>>;
  return `${JSON.stringify({ level, time, process, requestId, msg: msg.slice(0, maxCutChars), isCut: true })}\n`;
}

/**
 * The loggable form of an error: its kind, message, stack and causes, and only those library fields that contain no data. ioredis adds the command with
 * its arguments, Postgres the row, the body parser the body.
 */
function loggedError(error: unknown, depth = 0): unknown {
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

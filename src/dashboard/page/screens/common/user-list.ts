/** The first cell of a line of CSV. */
function firstCell(line: string): string {
  const quoted = /^"((?:[^"]|"")*)"/.exec(line)?.[1];
  return quoted === undefined ? (line.split(',')[0] ?? '') : quoted.replaceAll('""', '"');
}

/** The users of a file: the first column of CSV, as the export of users has it, or a line each. */
export function listOfFile(name: string, text: string): string {
  if (!name.toLowerCase().endsWith('.csv')) return text;
  const ids = text.split(/\r?\n/).map(firstCell);
  return (ids[0] === 'id' || ids[0] === 'userId' ? ids.slice(1) : ids).join('\n');
}

/** The ids of a list with one on each line, each once. */
export const idsOf = (list: string): string[] => [...new Set(list.split('\n').map((line) => line.trim()))].filter((id) => id !== '');

/** What came of a list of users so far. */
export interface ListOutcome {
  readonly isDryRun: boolean;
  readonly done: number;
  readonly total: number;
  /** Why users were left out. */
  readonly left: ReadonlyMap<string, string>;
}

/** The most users that the service takes in one request. */
const usersPerRequest = 100;

export type SendUsers = (ids: readonly string[], isDryRun: boolean) => Promise<readonly { userId?: string; message: string }[]>;

/** Sends a list of users in parts, and says what came of it after each part. */
export async function* sendList(send: SendUsers, ids: readonly string[], isDryRun: boolean): AsyncGenerator<ListOutcome> {
  const left = new Map<string, string>();
  for (let at = 0; at < ids.length; at += usersPerRequest) {
    const part = ids.slice(at, at + usersPerRequest);
    for (const { userId = '', message } of await send(part, isDryRun)) left.set(userId, message);
    yield { isDryRun, done: at + part.length, total: ids.length, left };
  }
}

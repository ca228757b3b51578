import { boardKey, boardMember, groupsKey, keyNames, userFields } from '../redis/contract.js';
import { messageOf, type RedisConnection } from '../redis/connection.js';
import { packMessage } from '../redis/message.js';
import { BytesWriter } from './bytes-writer.js';
import { luaScript } from './script.js';
import type { StoredUser } from './stored-users.js';

const script = luaScript('restore');

/** How far a restore is, as `meta` notes it. */
export interface Progress {
  /** The restore that has the partition (hold.ts). */
  readonly restorer: string;
  /** The last user who is back, empty for nobody yet. */
  readonly cursor: string;
}

/** A user as the script takes one (lua/restore.lua); what the user holds of bytes goes to the writer, in the same order. */
function laidOut({ id, fields, keys, awards, places }: StoredUser, bytes: BytesWriter): unknown[] {
  const texts: string[] = [];
  const packed: (string | number)[] = [];
  for (const [field, value] of fields) {
    if (typeof value === 'string') texts.push(field, value);
    else packed.push(field, bytes.add(value));
  }
  texts.push(userFields.due, '0');
  return [
    id,
    texts,
    packed,
    [...keys].flatMap(([metric, used]) => [String(metric), [...used].flat()]),
    [...awards].flatMap(([system, list]) => [String(system), bytes.addAwards(list)]),
    places.flatMap(({ leaderboard, run, group, value, seq }) => [
      boardKey('', leaderboard, run, group),
      String(value),
      boardMember(seq, id),
      ...(group === '' ? [false, ''] : [groupsKey('', leaderboard, run), group]),
    ]),
  ];
}

/**
 * Writes the users who come after `before.cursor`, and that there are `count` back with them, in one step of Redis. So the next ones can be
 * sent before this is answered: where some are missing, none after them are written. Throws when another restore is at work.
 */
export async function writeUsers(
  redis: RedisConnection,
  partition: string,
  users: readonly StoredUser[],
  before: Progress,
  count: number,
): Promise<void> {
  const last = users.at(-1)?.id ?? before.cursor;
  const bytes = new BytesWriter();
  const message = packMessage(users.map((user) => laidOut(user, bytes)));
  const meta = partition + keyNames.meta;
  const isDone = await redis
    .eval(script, 1, meta, before.restorer, before.cursor, last, count, message, bytes.done())
    .catch((error: unknown) => {
      // Its command would carry the users into logs.
      throw new Error(messageOf(error));
    });
  if (isDone !== 1) throw new Error('Another restore is at work, or the users before these could not be written.');
}

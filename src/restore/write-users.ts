import { limits } from '../shared/limits.js';
import { boardKey, boardMember, groupsKey, scoreOf } from '../redis/boards.js';
import { keyNames, restoringFields, userRecords } from '../redis/contract.js';
import type { CommandWriter } from './command-writer.js';
import type { RestoreLock } from './lock.js';
import type { StoredUser } from './stored-users.js';

/** Adds the commands that write a user, without places. */
function addUser(to: CommandWriter, partition: string, { id, fields, keys, awards }: StoredUser): void {
  to.command('HSET', partition + keyNames.user + id);
  for (const [field, value] of fields) to.add(field).add(value);
  to.add(userRecords.due).add('0');
  for (const [metric, used] of keys) {
    to.command('HSET', `${partition}${keyNames.idempotency}${metric}:${id}`);
    for (const [key, event] of used) to.add(key).add(event);
  }
  for (const [system, list] of awards) to.command('RPUSH', `${partition}${keyNames.awards}${system}:${id}`).addAwards(list);
}

/** Adds the commands that write users' places, one for each sorted set. */
function addPlaces(to: CommandWriter, partition: string, users: readonly StoredUser[]): void {
  const members = new Map<string, (string | Buffer)[]>();
  const groups = new Map<string, Set<string>>();
  for (const { id, places } of users) {
    for (const { leaderboard, run, group, value, seq } of places) {
      const key = boardKey(partition, leaderboard, run, group);
      const member = boardMember(seq, id);
      const others = members.get(key);
      if (others) others.push(scoreOf(value), member);
      else members.set(key, [scoreOf(value), member]);
      if (group === '') continue;
      const groupKey = groupsKey(partition, leaderboard, run);
      groups.set(groupKey, (groups.get(groupKey) ?? new Set()).add(group));
    }
  }
  for (const [name, values] of [
    ['ZADD', members],
    ['SADD', groups],
  ] as const) {
    for (const [key, all] of values) {
      to.command(name, key);
      for (const value of all) to.add(value);
    }
  }
}

const keyCount = ({ keys }: StoredUser): number => [...keys.values()].reduce((sum, used) => sum + used.size, 0);

/** Whether users have too many idempotency keys for one Redis step. */
export function haveManyKeys(users: readonly StoredUser[]): boolean {
  return users.reduce((sum, user) => sum + keyCount(user), 0) > limits.restoreKeys;
}

/**
 * Writes the idempotency keys of the users after `before`, in steps, and removes them from `users`: an interrupted restore writes the same keys again.
 * The users up to `before` must be restored.
 */
export async function writeKeys(lock: RestoreLock, partition: string, users: readonly StoredUser[], before: string): Promise<void> {
  for (const { id, keys } of users) {
    for (const [metric, used] of keys) {
      const pairs = [...used];
      for (let first = 0; first < pairs.length; first += limits.restoreKeysAtOnce) {
        await lock.renew();
        await lock.writeAfter(before, (to) => {
          to.command('HSET', `${partition}${keyNames.idempotency}${metric}:${id}`);
          for (const [key, event] of pairs.slice(first, first + limits.restoreKeysAtOnce)) to.add(key).add(event);
        });
      }
      keys.delete(metric);
    }
  }
}

/**
 * Writes the users after `before` and the new number of restored users, `count`, in one Redis step, and only if the users up to `before` are
 * restored. So the next chunk can be sent before this one is acknowledged. Throws LeaseLost otherwise, and when another restore is running.
 */
export async function writeUsers(
  lock: RestoreLock,
  partition: string,
  users: readonly StoredUser[],
  { before, count }: { readonly before: string; readonly count: number },
): Promise<void> {
  await lock.writeAfter(before, (to) => {
    for (const user of users) addUser(to, partition, user);
    addPlaces(to, partition, users);
    // Due times are not stored: every user is due now, and the sweep recomputes them.
    to.command('ZADD', partition + keyNames.due);
    for (const { id } of users) to.add('0').add(id);
    to.command('HSET', partition + keyNames.meta)
      .add(restoringFields.cursor)
      .add(users.at(-1)?.id ?? before);
    to.add(restoringFields.count).add(String(count));
  });
}

import { limits } from '../shared/limits.js';
import { boardKey, boardMember, groupsKey, keyNames, restoringFields, userRecords } from '../redis/contract.js';
import type { CommandWriter } from './command-writer.js';
import type { RestoreLock } from './lock.js';
import type { StoredUser } from './stored-users.js';

/** The commands that give Redis back what it holds of a user. */
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

/** The commands that put users on leaderboards again, one for each sorted set. */
function addPlaces(to: CommandWriter, partition: string, users: readonly StoredUser[]): void {
  const members = new Map<string, (string | Buffer)[]>();
  const groups = new Map<string, Set<string>>();
  for (const { id, places } of users) {
    for (const { leaderboard, run, group, value, seq } of places) {
      const key = boardKey(partition, leaderboard, run, group);
      const member = boardMember(seq, id);
      const others = members.get(key);
      if (others) others.push(String(value), member);
      else members.set(key, [String(value), member]);
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

const keysUsed = ({ keys }: StoredUser): number => [...keys.values()].reduce((sum, used) => sum + used.size, 0);

/** Whether users have so many idempotency keys that Redis takes too long over them in one step. */
export function haveManyKeys(users: readonly StoredUser[]): boolean {
  return users.reduce((sum, user) => sum + keysUsed(user), 0) > limits.restoreKeys;
}

/**
 * Writes the idempotency keys of the users who come after `before`, some in each step, and takes them away from the users: a restore that is cut off
 * in between writes the same ones again. Those before them must be back.
 */
export async function writeKeys(hold: RestoreLock, partition: string, users: readonly StoredUser[], before: string): Promise<void> {
  for (const { id, keys } of users) {
    for (const [metric, used] of keys) {
      const pairs = [...used];
      for (let first = 0; first < pairs.length; first += limits.restoreKeysAtOnce) {
        await hold.renew();
        await hold.writeAfter(before, (to) => {
          to.command('HSET', `${partition}${keyNames.idempotency}${metric}:${id}`);
          for (const [key, event] of pairs.slice(first, first + limits.restoreKeysAtOnce)) to.add(key).add(event);
        });
      }
      keys.delete(metric);
    }
  }
}

/**
 * Writes the users who come after `before`, and that there are `count` back with them, in one step of Redis. So the next ones can be sent before
 * this is answered: where some are missing, none after them are written. Throws LeaseLost then, and when another restore is at work.
 */
export async function writeUsers(
  hold: RestoreLock,
  partition: string,
  users: readonly StoredUser[],
  before: string,
  count: number,
): Promise<void> {
  await hold.writeAfter(before, (to) => {
    for (const user of users) addUser(to, partition, user);
    addPlaces(to, partition, users);
    // When time will next do something to a user is worked out by the sweep, for which everybody is due now.
    to.command('ZADD', partition + keyNames.due);
    for (const { id } of users) to.add('0').add(id);
    to.command('HSET', partition + keyNames.meta)
      .add(restoringFields.cursor)
      .add(users.at(-1)?.id ?? before);
    to.add(restoringFields.count).add(String(count));
  });
}

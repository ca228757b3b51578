import { boardKey, boardMember, groupsKey, keyNames, restoringFields, userFields } from '../redis/contract.js';
import type { CommandWriter } from './command-writer.js';
import type { Hold } from './hold.js';
import type { StoredUser } from './stored-users.js';

/** The commands that give Redis back what it holds of a user. */
function addUser(to: CommandWriter, partition: string, { id, fields, keys, awards, places }: StoredUser): void {
  to.command('HSET', partition + keyNames.user + id);
  for (const [field, value] of fields) to.add(field).add(value);
  to.add(userFields.due).add('0');
  for (const [metric, used] of keys) {
    to.command('HSET', `${partition}${keyNames.idempotency}${metric}:${id}`);
    for (const [key, event] of used) to.add(key).add(event);
  }
  for (const [system, list] of awards) to.command('RPUSH', `${partition}${keyNames.awards}${system}:${id}`).addAwards(list);
  for (const { leaderboard, run, group, value, seq } of places) {
    to.command('ZADD', boardKey(partition, leaderboard, run, group))
      .add(String(value))
      .add(boardMember(seq, id));
    if (group !== '') to.command('SADD', groupsKey(partition, leaderboard, run)).add(group);
  }
}

/**
 * Writes the users who come after `before`, and that there are `count` back with them, in one step of Redis. So the next ones can be sent before
 * this is answered: where some are missing, none after them are written. Throws LeaseLost then, and when another restore is at work.
 */
export async function writeUsers(
  hold: Hold,
  partition: string,
  users: readonly StoredUser[],
  before: string,
  count: number,
): Promise<void> {
  await hold.writeAfter(before, (to) => {
    for (const user of users) addUser(to, partition, user);
    // When time will next do something to a user is worked out by the sweep, for which everybody is due now.
    to.command('ZADD', partition + keyNames.due);
    for (const { id } of users) to.add('0').add(id);
    to.command('HSET', partition + keyNames.meta)
      .add(restoringFields.cursor)
      .add(users.at(-1)?.id ?? before);
    to.add(restoringFields.count).add(String(count));
  });
}

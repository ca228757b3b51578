import { defaultTenant } from '../../src/access/tenants.js';
import type { Context } from '../../src/app/context.js';
import { dateToDay } from '../../src/shared/calendar.js';
import { keyNames, userRecords } from '../../src/redis/contract.js';
import { at, listOf } from '../../src/redis/encoding.js';
import type { RedisConnection } from '../../src/redis/connection.js';
import type { Population, User } from './midnight-users.js';

const dayMs = 86_400_000;
const hourMs = 3_600_000;
const shownProblems = 10;

/** Users who missed the first day, or the second too. */
export type Missed = 'first' | 'second';

export interface CheckOptions {
  readonly url: string;
  readonly apiKey: string;
  readonly missed: Missed;
}

/** Counts the changes of a user. */
async function revisionOf(redis: RedisConnection, key: string): Promise<unknown> {
  return at(listOf(new Map(Object.entries(await redis.hgetallBuffer(key))), userRecords.core), 'core', 'rev');
}

interface State {
  readonly length: number;
  readonly freezes: number;
  /** The local day at whose start something is next due. */
  readonly dueDay: number;
}

/**
 * What the rules make of a user whose only event was on 2 January: the first missed day costs the freeze or the streak, the second the streak
 * of users with a freeze. The weekly streak, which is not shown, is lost when the week from 9 January on is over.
 */
function expected({ hasFreeze }: User, missed: Missed): State {
  return hasFreeze && missed === 'first'
    ? { length: 1, freezes: 0, dueDay: dateToDay('2040-01-05') }
    : { length: 0, freezes: 0, dueDay: dateToDay('2040-01-16') };
}

/** Problems: users who are still due, and wrong users of the sample. A read must have nothing left to settle. */
export async function checkAfter(context: Context, users: Population, { url, apiKey, missed }: CheckOptions): Promise<string[]> {
  const { redis } = context;
  const partition = context.engine.partition(defaultTenant);
  const due = partition + keyNames.due;
  const problems: string[] = [];
  const left = await redis.zcount(due, '-inf', await context.clock.now(defaultTenant));
  if (left > 0) problems.push(`${left} users are still due`);
  const noted = await redis.zcard(due);
  if (noted !== users.size) problems.push(`something is due to ${noted} users, and not to all ${users.size}`);
  for (const user of users.sample) {
    const { length, freezes, dueDay } = expected(user, missed);
    const key = `${partition}${keyNames.user}${user.id}`;
    const [revision, score, note] = await Promise.all([
      revisionOf(redis, key),
      redis.zscore(due, user.id),
      redis.hget(key, userRecords.due),
    ]);
    const reply = await fetch(`${url}/v1/users/${user.id}/streak`, { headers: { 'x-api-key': apiKey } });
    const body = (await reply.json()) as { length: number; freezes: number };
    const dueAt = dueDay * dayMs - user.hoursEast * hourMs;
    // A user whose streak was already lost has nothing to lose, and a read records the new day.
    const wasDue = missed === 'first' || user.hasFreeze;
    if (wasDue && (await revisionOf(redis, key)) !== revision) problems.push(`${user.id} had not been settled before a read`);
    if (body.length !== length || body.freezes !== freezes) problems.push(`${user.id} has ${JSON.stringify(body)}`);
    if (Number(score) !== dueAt || Number(note) !== dueAt) problems.push(`${user.id} is due at ${score} (${note}), and not at ${dueAt}`);
    if (problems.length >= shownProblems) break;
  }
  return problems;
}

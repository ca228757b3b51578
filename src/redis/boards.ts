/** The sorted sets of leaderboards, as lua/modules/boards.lua keeps them: their keys, their members and their scores. */
import { keyNames } from './contract.js';
import { memberSeq } from './layout.js';

const maxShortSeq = 256 ** memberSeq.shortBytes - 1;
const maxLongSeq = 256 ** memberSeq.longBytes / 2 - 1;
/** The first number in the long form. */
export const firstLongSeq = 256 ** memberSeq.shortBytes / 2;
const highestBit = 0x80;

/** The sorted set of a board's run, and of one group of it where the board is broken down (`group` is empty where it is not). */
export function boardKey(partition: string, leaderboard: number, run: number, group: string): string {
  return `${partition}${keyNames.board}${leaderboard}:${run}${group === '' ? '' : `:${group}`}`;
}

/** The set of the groups of a board's run. */
export function groupsKey(partition: string, leaderboard: number, run: number): string {
  return `${partition}${keyNames.groups}${leaderboard}:${run}`;
}

/** The member of a board that stands for a user who reached the value at `seq`. */
export function boardMember(seq: number, user: string): Buffer {
  const [bytes, counted] = seq < firstLongSeq ? [memberSeq.shortBytes, maxShortSeq - seq] : [memberSeq.longBytes, maxLongSeq - seq];
  const member = Buffer.allocUnsafe(bytes + Buffer.byteLength(user));
  member.write(user, member.writeUIntBE(counted, 0, bytes));
  return member;
}

/** Whom a member of a board stands for, and when the value was reached: NaN for a damaged member. */
export function parseMember(member: Buffer): { readonly user: string; readonly seq: number } {
  const isShort = Number(member[0]) >= highestBit;
  const bytes = isShort ? memberSeq.shortBytes : memberSeq.longBytes;
  // No user's id has a NUL, which Postgres would refuse.
  if (member.length < bytes || member.includes(0, bytes)) return { user: member.toString('hex'), seq: NaN };
  return { user: member.toString('utf8', bytes), seq: (isShort ? maxShortSeq : maxLongSeq) - member.readUIntBE(0, bytes) };
}

/** The score of a value as Redis takes it, and the value of a score that Redis replies: the same number, as in lua/modules/boards.lua. */
export const scoreOf = (value: number): string => String(value);
export const valueOf = (score: string): number => Number(score);

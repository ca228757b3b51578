import { randomUUID } from 'node:crypto';
import { outcomes } from '../redis/contract.js';
import { text, type Engine } from './engine.js';
import { refusal } from './refusals.js';

/** The contract's `LeaderboardRanking`. */
export interface Ranking {
  readonly userId: string;
  readonly userName: string | null;
  readonly rank: number;
  readonly value: number;
}

/** One run of a board, and one group of it. */
export interface BoardRun {
  /** The leaderboard's `no`. */
  readonly leaderboard: number;
  /** The record of the user's hash that notes places on it (plan/boards.ts). */
  readonly record: string;
  /** Participants: users beyond that rank have no place. */
  readonly max: number;
  /** The first day of the run, perpetualRun for a board that does not repeat. */
  readonly run: number;
  /** Empty for a board that is not broken down. */
  readonly group: string;
}

export interface Page {
  readonly offset: number;
  readonly limit: number;
  /** The offset counts from this user's place; a user who is not on the board gets no rows. */
  readonly userId: string | undefined;
}

/** One page of a board. */
export async function readRankings(engine: Engine, tenant: number, board: BoardRun, page: Page): Promise<Ranking[]> {
  const { outcome, values } = await engine.call(tenant, 'readBoard', () => ({
    args: { ...board, offset: page.offset, limit: page.limit, user: page.userId ?? '' },
  }));
  if (outcome !== outcomes.ok) throw refusal(outcome, page.userId ?? '');
  const rows = values[0];
  if (!Array.isArray(rows)) throw new Error('readBoard answered without rows');
  return (rows as unknown[][]).map(([rank, user, name, value]) => ({
    userId: text(user),
    userName: name === null || name === undefined ? null : text(name),
    rank: Number(rank),
    value: Number(text(value)),
  }));
}

export interface Place {
  /** Null when the user is not on the board. */
  readonly rank: number | null;
  readonly value: number | null;
  /** The newest ledger id when the place was read: what Postgres must have committed to be level with it. */
  readonly ledgerId: string;
  /** The first day of the run that it is of. */
  readonly run: number;
}

/**
 * A user's place on a run of a board, in whatever group the user is; without a run, on the one that the user's local date is in. Throws a
 * 404 for an unknown user.
 */
export async function readPlace(
  engine: Engine,
  tenant: number,
  board: Omit<BoardRun, 'group' | 'run'> & { readonly run: number | undefined },
  user: string,
): Promise<Place> {
  const entryId = randomUUID();
  const { leaderboard, record, max, run = '' } = board;
  const { outcome, values } = await engine.call(tenant, 'readPlace', () => ({ args: { user, entryId, leaderboard, record, max, run } }));
  if (outcome !== outcomes.ok) throw refusal(outcome, user);
  const [rank, value, ledgerId, placeRun] = values;
  return {
    rank: rank === null ? null : Number(rank),
    value: value === null ? null : Number(text(value)),
    ledgerId: text(ledgerId),
    run: Number(placeRun),
  };
}

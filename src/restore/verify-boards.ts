import type pg from 'pg';
import { perpetualRun } from '../plan/boards.js';
import { overAll } from '../postgres/pool.js';
import { boardKey, keyNames, seatOf } from '../redis/contract.js';
import { partitionKeys } from '../redis/scan.js';
import { compareFacts, confirm, type Difference, type Facts, type VerifyOptions } from './facts.js';

interface Board {
  readonly leaderboard: number;
  readonly run: number;
  readonly group: string;
}

/** Every board that either side has somebody on. */
async function boards({ redis, partition, pool, tenant }: VerifyOptions): Promise<Board[]> {
  const found = new Map<string, Board>();
  const rows = await overAll<Board & pg.QueryResultRow>(
    pool,
    `select distinct leaderboard, run, "group" from leaderboard_entries as entry
      where tenant = $1 and present and (run = $2 or not exists (
        select 1 from leaderboard_runs as over where over.tenant = $1 and over.leaderboard = entry.leaderboard and over.run = entry.run))`,
    [tenant, perpetualRun],
  );
  for (const row of rows) found.set(boardKey(partition, row.leaderboard, row.run, row.group), row);
  const start = partition + keyNames.board;
  for await (const keys of partitionKeys(redis, partition, start)) {
    for (const key of keys) {
      const [, leaderboard, run, group] = /^(\d+):(\d+)(?::(.*))?$/s.exec(key.slice(start.length)) ?? [];
      found.set(key, { leaderboard: Number(leaderboard), run: Number(run), group: group ?? '' });
    }
  }
  return [...found.values()];
}

const placeName = ({ leaderboard, run, group }: Board, user: string): string =>
  `place of ${user} on ${leaderboard}, run ${run}${group === '' ? '' : `, group ${group}`}`;

async function compareBoard({ redis, partition, pool, tenant, level }: VerifyOptions, board: Board): Promise<Difference[]> {
  await level();
  const rows = await overAll<{ user_id: string; value: number; seq: string }>(
    pool,
    `select user_id, value, seq from leaderboard_entries where tenant = $1 and leaderboard = $2 and run = $3 and "group" = $4 and present`,
    [tenant, board.leaderboard, board.run, board.group],
  );
  const places = await redis.zrange(boardKey(partition, board.leaderboard, board.run, board.group), '0', '-1', 'WITHSCORES');
  const held: Facts = new Map();
  for (let i = 0; i < places.length; i += 2) {
    const { user, seq } = seatOf(places[i] ?? '');
    held.set(placeName(board, user), `${Number(places[i + 1])} at ${seq}`);
  }
  return compareFacts(held, new Map(rows.map(({ user_id: user, value, seq }) => [placeName(board, user), `${value} at ${seq}`])));
}

/** Compares every board. */
export async function boardDifferences(options: VerifyOptions): Promise<Difference[]> {
  const differences: Difference[] = [];
  for (const board of await boards(options)) {
    differences.push(...(await confirm(await compareBoard(options, board), () => compareBoard(options, board))));
  }
  return differences;
}

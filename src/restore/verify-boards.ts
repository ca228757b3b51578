import type pg from 'pg';
import { limits } from '../shared/limits.js';
import type { Place } from '../shared/ranking.js';
import { perpetualRun } from '../plan/boards.js';
import { textArray } from '../postgres/arrays.js';
import { readAllUsers } from '../postgres/pool.js';
import { boardKey, boardMember, parseMember, valueOf } from '../redis/boards.js';
import { keyNames } from '../redis/contract.js';
import { partitionKeys } from '../redis/partition.js';
import { differencesOf, confirm, type Difference, type Facts, type VerifyOptions } from './differences.js';

interface Board {
  readonly leaderboard: number;
  readonly run: number;
  readonly group: string;
}

interface Row {
  readonly user_id: string;
  readonly value: number;
  readonly seq: string;
}

interface UserPlace extends Place {
  readonly user: string;
}

/** The leaderboards that have participants on either side. */
async function boards({ redis, partition, pool, tenant }: VerifyOptions): Promise<Board[]> {
  const found = new Map<string, Board>();
  const rows = await readAllUsers<Board & pg.QueryResultRow>(
    pool,
    `select distinct leaderboard, run, "group" from leaderboard_entries as entry
      where tenant = $1 and (run = $2 or not exists (
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
  `score of ${user} on ${leaderboard}, run ${run}${group === '' ? '' : `, group ${group}`}`;

const factsOf = (board: Board, places: readonly UserPlace[]): Facts =>
  new Map(places.map(({ user, seq, value }) => [placeName(board, user), `${value} at ${seq}`]));

const placeOf = ({ user_id: user, value, seq }: Row): UserPlace => ({ user, value, seq: Number(seq) });

const ofBoard = 'select user_id, value, seq from leaderboard_entries where tenant = $1 and leaderboard = $2 and run = $3 and "group" = $4';

/** The places of users in Postgres. */
async function storedPlaces({ pool, tenant }: VerifyOptions, board: Board, users: readonly string[]): Promise<UserPlace[]> {
  const { leaderboard, run, group } = board;
  const { rows } = await pool.query<Row>(`${ofBoard} and user_id = any($5::text[])`, [tenant, leaderboard, run, group, textArray(users)]);
  return rows.map(placeOf);
}

/** Compares the sorted set of a board, page by page, with the places of the same users in Postgres. */
async function compareRedis(options: VerifyOptions, board: Board): Promise<Difference[]> {
  const { redis, partition, waitForLedger } = options;
  const key = boardKey(partition, board.leaderboard, board.run, board.group);
  const found: Difference[] = [];
  let cursor = '0';
  do {
    await waitForLedger();
    const [next, page] = await redis.zscanBuffer(key, cursor, 'COUNT', limits.verifyPlaces);
    const held = page.flatMap((member, i) => (i % 2 === 0 ? [{ ...parseMember(member), value: valueOf(String(page[i + 1])) }] : []));
    const stored = await storedPlaces(
      options,
      board,
      held.map(({ user }) => user),
    );
    found.push(...differencesOf(factsOf(board, held), factsOf(board, stored)));
    cursor = next.toString();
  } while (cursor !== '0');
  return found;
}

/** Finds places in Postgres that the sorted set of a board lacks, page by page. */
async function findMissing(options: VerifyOptions, board: Board): Promise<Difference[]> {
  const { redis, partition, pool, tenant, waitForLedger } = options;
  const { leaderboard, run, group } = board;
  const key = boardKey(partition, leaderboard, run, group);
  const found: Difference[] = [];
  let last = '';
  let isLast = false;
  while (!isLast) {
    await waitForLedger();
    const rows = await readAllUsers<Row & pg.QueryResultRow>(pool, `${ofBoard} and user_id > $5 order by user_id limit $6`, [
      ...[tenant, leaderboard, run, group, last, limits.verifyPlaces],
    ]);
    const places = rows.map(placeOf);
    const members = places.map(({ user, seq }) => boardMember(seq, user));
    const scores = members.length === 0 ? [] : await redis.zmscore(key, ...members);
    const missing = places.filter((_, i) => scores[i] === null || scores[i] === undefined);
    found.push(...differencesOf(new Map(), factsOf(board, missing)));
    last = rows.at(-1)?.user_id ?? last;
    isLast = rows.length < limits.verifyPlaces;
  }
  return found;
}

async function compareBoard(options: VerifyOptions, board: Board): Promise<Difference[]> {
  const differences = [...(await findMissing(options, board)), ...(await compareRedis(options, board))];
  // Both comparisons find a user with different values; only the second contains the value in Redis.
  return [...new Map(differences.map((difference) => [difference.what, difference])).values()];
}

/** Compares all leaderboards. */
export async function boardDifferences(options: VerifyOptions): Promise<Difference[]> {
  const differences: Difference[] = [];
  for (const board of await boards(options)) {
    differences.push(...(await confirm(await compareBoard(options, board), () => compareBoard(options, board))));
  }
  return differences;
}

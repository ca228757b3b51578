import type pg from 'pg';
import { utcDate } from '../shared/calendar.js';
import { boardRunResponse } from '../responses/leaderboards.js';
import { limits } from '../shared/limits.js';
import type { ActiveConfig } from '../plan/active-config.js';
import { numberArray, textArray } from '../postgres/arrays.js';
import { queryAllUsers } from '../postgres/pool.js';
import { nameOf, type BoardKey, type ChangedBoard } from './leaderboard-state.js';
import { messageOf } from './entries.js';
import { addToOutbox } from './outbox.js';
import { readUsers } from './profiles.js';
import { isThere, readStanding } from './leaderboard-state.js';

/** A place that somebody has, or was told; null for nobody on the board. */
interface Place {
  readonly rank: number | null;
  readonly value: number | null;
}

interface PublishedRank extends Place {
  readonly user: string;
  /** When; null for who was never told. */
  readonly at: number | null;
}

/** Somebody whose place is another than the one that was told last. */
interface Move {
  readonly user: string;
  readonly before: Place;
  readonly after: Place;
}

const nowhere: Place = { rank: null, value: null };

/**
 * Notes boards whose places have changed: they are compared with what users were told, at once, or a minute after that was done last. Of a board
 * that was not watched until now, the places that it has are what is compared with: call it before what the entries lead to is written.
 */
export async function noteRanks(
  client: pg.ClientBase,
  { tenant, leaderboardByNo }: ActiveConfig,
  changed: readonly ChangedBoard[],
  filled: ReadonlySet<string>,
): Promise<void> {
  if (changed.length === 0) return;
  await queryAllUsers(
    client,
    `with changed as (
       select * from unnest($2::integer[], $3::integer[], $4::text[], $5::bigint[], $6::boolean[], $8::integer[])
                  as row (leaderboard, run, "group", at, silent, max)
     ), watched as (
       insert into webhook_ranking_state as was (tenant, leaderboard, run, "group", at, silent)
       select $1, row.leaderboard, row.run, row."group", row.at, row.silent from changed as row
       on conflict (tenant, leaderboard, run, "group") do update
         set at = least(was.at, greatest(excluded.at, was.compared_at + $7)), silent = was.silent or excluded.silent
       returning leaderboard, run, "group", xmax = 0 as is_new
     )
     insert into webhook_user_rank_state (tenant, leaderboard, run, "group", user_id, rank, value)
     select $1, leaderboard, run, "group", user_id, rank, value from (
       select *, row_number() over (partition by leaderboard, run, "group" order by value desc, seq) as rank
         from leaderboard_entries join watched using (leaderboard, run, "group") join changed using (leaderboard, run, "group")
        where tenant = $1 and is_new) as entry
      where rank <= max
     on conflict do nothing`,
    [
      tenant,
      numberArray(changed.map(({ no }) => no)),
      numberArray(changed.map(({ run }) => run)),
      textArray(changed.map(({ group }) => group)),
      numberArray(changed.map(({ at }) => at)),
      textArray(changed.map((key) => String(filled.has(nameOf(key))))),
      limits.ranksComparedEveryMs,
      numberArray(changed.map(({ no, max }) => max ?? leaderboardByNo.get(no)?.maxParticipants ?? limits.maxParticipants)),
    ],
  );
}

interface Due {
  readonly leaderboard: number;
  readonly run: number;
  readonly group: string;
  readonly silent: boolean;
}

/** Compares the boards that are due at a moment, and tells those who are elsewhere now. Returns how many boards, and how many deliveries. */
export async function publishRanks(
  client: pg.ClientBase,
  config: ActiveConfig,
  now: number,
): Promise<readonly [due: number, sent: number]> {
  const { rows } = await client.query<Due>(
    `select leaderboard, run, "group", silent from webhook_ranking_state where tenant = $1 and at <= $2
      order by at, leaderboard, run, "group" limit ${limits.publishLeaderboards}`,
    [config.tenant, now],
  );
  let sent = 0;
  for (const { leaderboard: no, run, group, silent } of rows) sent += await compare(client, config, { no, run, group }, silent, now);
  return [rows.length, sent];
}

/** Compares one board. Those who were told less than 15 minutes ago wait, and the board is looked at again when the first has waited enough. */
async function compare(client: pg.ClientBase, config: ActiveConfig, key: BoardKey, silent: boolean, now: number): Promise<number> {
  const { tenant } = config;
  const of = [tenant, key.no, key.run, key.group];
  const max = config.leaderboardByNo.get(key.no)?.maxParticipants ?? limits.maxParticipants;
  const standing = await readStanding(client, tenant, key, max);
  const { rows } = await client.query<PublishedRank>(
    `select user_id as "user", rank, value, at::float8 as at from webhook_user_rank_state
      where tenant = $1 and leaderboard = $2 and run = $3 and "group" = $4`,
    of,
  );
  const told = new Map(rows.map((row) => [row.user, row]));
  const places = new Map<string, Place>(standing.map(({ userId, rank, value }) => [userId, { rank, value }]));
  const moved = [...new Set([...places.keys(), ...told.keys()])].flatMap((user): Move[] => {
    const [before, after] = [told.get(user) ?? nowhere, places.get(user) ?? nowhere];
    return before.rank === after.rank ? [] : [{ user, before, after }];
  });
  const freeAt = (user: string): number => (told.get(user)?.at ?? -Infinity) + limits.publishIntervalMs;
  const free = silent ? moved : moved.filter(({ user }) => freeAt(user) <= now);
  const waiting = silent ? [] : moved.filter(({ user }) => freeAt(user) > now);
  await savePublished(client, of, free, silent ? null : now);
  await client.query(
    `delete from webhook_user_rank_state
      where tenant = $1 and leaderboard = $2 and run = $3 and "group" = $4 and rank is null and coalesce(at, 0) <= $5`,
    [...of, now - limits.publishIntervalMs],
  );
  if (standing.length === 0 && told.size === 0) {
    await client.query('delete from webhook_ranking_state where tenant = $1 and leaderboard = $2 and run = $3 and "group" = $4', of);
    return 0;
  }
  await client.query(
    `update webhook_ranking_state set at = $5, compared_at = $6, silent = false
      where tenant = $1 and leaderboard = $2 and run = $3 and "group" = $4`,
    [...of, waiting.length === 0 ? null : Math.min(...waiting.map(({ user }) => freeAt(user))), now],
  );
  return silent ? 0 : tell(client, config, key, free, now);
}

/** Writes down what users are told now; null keeps when they were told last. */
async function savePublished(client: pg.ClientBase, of: readonly unknown[], moves: readonly Move[], at: number | null): Promise<void> {
  if (moves.length === 0) return;
  await client.query(
    `insert into webhook_user_rank_state as was (tenant, leaderboard, run, "group", user_id, rank, value, at)
     select $1, $2, $3, $4, row.*, $8 from unnest($5::text[], $6::integer[], $7::float8[]) as row
     on conflict (tenant, leaderboard, run, "group", user_id) do update
       set rank = excluded.rank, value = excluded.value, at = coalesce(excluded.at, was.at)`,
    [
      ...of,
      textArray(moves.map(({ user }) => user)),
      numberArray(moves.map(({ after }) => after.rank)),
      numberArray(moves.map(({ after }) => after.value)),
      at,
    ],
  );
}

/** Tells users of their places, as the contract's `WebhookUserLeaderboardResponse`. */
async function tell(client: pg.ClientBase, config: ActiveConfig, key: BoardKey, moves: readonly Move[], now: number): Promise<number> {
  const board = config.leaderboardByNo.get(key.no);
  if (!isThere(board)) return 0;
  const shown = boardRunResponse(config, { board, run: key.run, group: key.group || undefined }, utcDate(now));
  const users = await readUsers(
    client,
    config,
    moves.map(({ user }) => user),
  );
  const messages = moves.flatMap(({ user: id, before, after }) => {
    const user = users.get(id);
    const leaderboard = { ...shown, ...after, previousRank: before.rank, previousValue: before.value };
    return user ? [messageOf({ kind: 'leaderboard.rank_changed', user: id, at: now, body: { leaderboard } }, user)] : [];
  });
  return addToOutbox(client, config.tenant, config, messages);
}

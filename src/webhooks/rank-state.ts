import type pg from 'pg';
import { utcDate } from '../shared/calendar.js';
import { boardRunResponse } from '../responses/leaderboards.js';
import { limits } from '../shared/limits.js';
import { firstPlaceFirst } from '../shared/ranking.js';
import type { ActiveConfig } from '../plan/active-config.js';
import { numberArray, textArray } from '../postgres/arrays.js';
import { queryAllUsers } from '../postgres/pool.js';
import { boardName, type BoardKey, type ChangedBoard } from './leaderboard-state.js';
import { eventOf } from './drafts.js';
import { publishEvents } from '../deliveries/outbox.js';
import { readUsers } from '../messages/rules/profiles.js';
import { isPublishable, readRankings } from './leaderboard-state.js';

/** A user's rank and value on a board, current or last published; null if not ranked. */
interface Position {
  readonly rank: number | null;
  readonly value: number | null;
}

interface PublishedRank extends Position {
  readonly user: string;
  /** When it was published; null for never. */
  readonly at: number | null;
}

/** A user whose rank differs from the last published one. */
interface RankChange {
  readonly user: string;
  readonly before: Position;
  readonly after: Position;
}

const unranked: Position = { rank: null, value: null };

/**
 * Records boards whose ranks changed: due at once, or a minute after they were last compared with the published ranks. For a board without state, the
 * current ranks count as published: call it before the entries' rows are written.
 */
export async function recordRankChanges(
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
       select *, row_number() over (partition by leaderboard, run, "group" order by ${firstPlaceFirst}) as rank
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
      textArray(changed.map((key) => String(filled.has(boardName(key))))),
      limits.ranksComparedEveryMs,
      numberArray(changed.map(({ no, max }) => max ?? leaderboardByNo.get(no)?.maxParticipants ?? limits.maxParticipants)),
    ],
  );
}

interface Due extends BoardKey {
  /** Whether changes are saved without being published. */
  readonly silent: boolean;
}

/** Compares due boards with the published ranks, and publishes the changes. Returns the number of deliveries. */
export async function publishRanks(client: pg.ClientBase, config: ActiveConfig, now: number): Promise<number> {
  const { rows } = await client.query<Due>(
    `select leaderboard as no, run, "group", silent from webhook_ranking_state where tenant = $1 and at <= $2
      order by at, leaderboard, run, "group" limit ${limits.publishLeaderboards}`,
    [config.tenant, now],
  );
  let sent = 0;
  for (const due of rows) sent += await compare(client, config, due, now);
  return sent;
}

/** Compares one board. Users who were notified less than 15 minutes ago wait, and the board is due again when the first of them is ready. */
async function compare(client: pg.ClientBase, config: ActiveConfig, key: Due, now: number): Promise<number> {
  const { tenant } = config;
  const { silent } = key;
  const values = [tenant, key.no, key.run, key.group];
  const max = config.leaderboardByNo.get(key.no)?.maxParticipants ?? limits.maxParticipants;
  const rankings = await readRankings(client, tenant, key, max);
  const { rows } = await client.query<PublishedRank>(
    `select user_id as "user", rank, value, at::float8 as at from webhook_user_rank_state
      where tenant = $1 and leaderboard = $2 and run = $3 and "group" = $4`,
    values,
  );
  const published = new Map(rows.map((row) => [row.user, row]));
  const current = new Map<string, Position>(rankings.map(({ userId, rank, value }) => [userId, { rank, value }]));
  const changes = [...new Set([...current.keys(), ...published.keys()])].flatMap((user): RankChange[] => {
    const [before, after] = [published.get(user) ?? unranked, current.get(user) ?? unranked];
    return before.rank === after.rank ? [] : [{ user, before, after }];
  });
  const readyAt = (user: string): number => (published.get(user)?.at ?? -Infinity) + limits.publishIntervalMs;
  const ready = silent ? changes : changes.filter(({ user }) => readyAt(user) <= now);
  const waiting = silent ? [] : changes.filter(({ user }) => readyAt(user) > now);
  await savePublished(client, values, ready, silent ? null : now);
  await client.query(
    `delete from webhook_user_rank_state
      where tenant = $1 and leaderboard = $2 and run = $3 and "group" = $4 and rank is null and coalesce(at, 0) <= $5`,
    [...values, now - limits.publishIntervalMs],
  );
  if (rankings.length === 0 && published.size === 0) {
    await client.query('delete from webhook_ranking_state where tenant = $1 and leaderboard = $2 and run = $3 and "group" = $4', values);
    return 0;
  }
  await client.query(
    `update webhook_ranking_state set at = $5, compared_at = $6, silent = false
      where tenant = $1 and leaderboard = $2 and run = $3 and "group" = $4`,
    [...values, waiting.length === 0 ? null : Math.min(...waiting.map(({ user }) => readyAt(user))), now],
  );
  return silent ? 0 : sendRanks(client, config, { key, changes: ready }, now);
}

/** Saves published ranks; without a time, keeps the time of the last event. */
async function savePublished(
  client: pg.ClientBase,
  values: readonly unknown[],
  changes: readonly RankChange[],
  at: number | null,
): Promise<void> {
  if (changes.length === 0) return;
  await client.query(
    `insert into webhook_user_rank_state as was (tenant, leaderboard, run, "group", user_id, rank, value, at)
     select $1, $2, $3, $4, row.*, $8 from unnest($5::text[], $6::integer[], $7::float8[]) as row
     on conflict (tenant, leaderboard, run, "group", user_id) do update
       set rank = excluded.rank, value = excluded.value, at = coalesce(excluded.at, was.at)`,
    [
      ...values,
      textArray(changes.map(({ user }) => user)),
      numberArray(changes.map(({ after }) => after.rank)),
      numberArray(changes.map(({ after }) => after.value)),
      at,
    ],
  );
}

/** Adds events about changed ranks, with the contract's `WebhookUserLeaderboardResponse`. */
async function sendRanks(
  client: pg.ClientBase,
  config: ActiveConfig,
  { key, changes }: { readonly key: BoardKey; readonly changes: readonly RankChange[] },
  now: number,
): Promise<number> {
  const board = config.leaderboardByNo.get(key.no);
  if (!isPublishable(board)) return 0;
  const shown = boardRunResponse(config, { board, run: key.run, group: key.group || undefined }, utcDate(now));
  const users = await readUsers(
    client,
    config,
    changes.map(({ user }) => user),
  );
  const events = changes.flatMap(({ user: id, before, after }) => {
    const user = users.get(id);
    const leaderboard = { ...shown, ...after, previousRank: before.rank, previousValue: before.value };
    return user ? [eventOf({ kind: 'leaderboard.rank_changed', user: id, at: now, body: { leaderboard } }, user)] : [];
  });
  return publishEvents(client, config, events);
}

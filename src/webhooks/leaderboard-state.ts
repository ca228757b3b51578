import type pg from 'pg';
import type { Leaderboard } from '../config/schema/model.js';
import type { BoardFact, LedgerEntry } from '../ledger/entry.js';
import { type ActiveConfig, mustGet } from '../plan/active-config.js';
import { numberArray, textArray } from '../postgres/arrays.js';
import { queryAllUsers } from '../postgres/pool.js';
import { type RankingsResponse, boardRunResponse } from '../responses/leaderboards.js';
import { utcDate } from '../shared/calendar.js';
import { limits } from '../shared/limits.js';
import { firstPlaceFirst } from '../shared/ranking.js';
import { type WebhookEvent, publishEvents } from '../deliveries/outbox.js';

/** One run and group of a leaderboard. */
export interface BoardKey {
  /** The leaderboard's `no`. */
  readonly no: number;
  /** The first local day of the run, 0 for a leaderboard that does not repeat. */
  readonly run: number;
  /** Empty for a leaderboard without a breakdown. */
  readonly group: string;
}

/** A changed board, and the time of its first change. */
export interface ChangedBoard extends BoardKey {
  readonly at: number;
  /** The previous participant limit; absent if unchanged. */
  readonly max?: number;
}

/** The changes of leaderboards in a batch of entries. */
export interface BoardChanges {
  readonly changed: ReadonlyMap<string, ChangedBoard>;
  /** The changed boards that were filled, because they or the streaks were reconfigured. */
  readonly filled: ReadonlySet<string>;
  /** Leaderboards, by `no`, whose participant limit changed: the time, and the previous limit. */
  readonly limited: ReadonlyMap<number, { readonly at: number; readonly before: number }>;
  /** The runs that have ended. */
  readonly ended: readonly { readonly no: number; readonly run: number; readonly at: number }[];
}

export const boardName = ({ no, run, group }: BoardKey): string => `${no}:${run}:${group}`;

/** Whether a fact is about a ranked participant, and not about a value beyond the participant limit. */
const isVisible = ({ rank, previousRank }: BoardFact): boolean => rank !== undefined || previousRank !== undefined;

/** Collects the changes of leaderboards in entries, oldest first. */
export function boardChangesOf(entries: readonly LedgerEntry[]): BoardChanges {
  const changed = new Map<string, ChangedBoard>();
  const filled = new Set<string>();
  const limited = new Map<number, { at: number; before: number }>();
  const ended = new Map<string, { no: number; run: number; at: number }>();
  const change = (key: BoardKey, at: number): void => {
    if (!changed.has(boardName(key))) changed.set(boardName(key), { ...key, at });
  };
  for (const entry of entries) {
    switch (entry.kind) {
      case 'limits':
        for (const { no, before } of entry.boards) if (!limited.has(no)) limited.set(no, { at: entry.at, before });
        break;
      case 'final':
        ended.set(`${entry.no}:${entry.run}`, { no: entry.no, run: entry.run, at: entry.at });
        break;
      case 'segment':
      case 'segmentsDropped':
      case 'deletion':
        break;
      default:
        for (const fact of entry.boards) {
          // Entries that fill a board have no ranks yet.
          if (!isVisible(fact) && entry.kind !== 'activation') continue;
          const key = { no: fact.no, run: fact.run, group: fact.group ?? '' };
          change(key, entry.at);
          if (entry.kind === 'activation') filled.add(boardName(key));
        }
    }
  }
  // Final rankings include changes before the end of the run.
  for (const [name, { no, run }] of changed) if (ended.has(`${no}:${run}`)) changed.delete(name);
  return { changed, filled, limited, ended: [...ended.values()] };
}

type Kind = 'leaderboard.started' | 'leaderboard.changed' | 'leaderboard.finished';
type Ranking = RankingsResponse['rankings'][number];

const columns = (keys: readonly BoardKey[]): string[] => [
  numberArray(keys.map(({ no }) => no)),
  numberArray(keys.map(({ run }) => run)),
  textArray(keys.map(({ group }) => group)),
];

/** The boards, by name, of the leaderboards whose participant limit changed, without final runs. */
export async function limitedBoards(
  client: pg.ClientBase,
  tenant: number,
  { limited, ended }: BoardChanges,
): Promise<ReadonlyMap<string, ChangedBoard>> {
  if (limited.size === 0) return new Map();
  const { rows } = await queryAllUsers<BoardKey & pg.QueryResultRow>(
    client,
    `select distinct leaderboard as no, run, "group" from leaderboard_entries as entry
      where tenant = $1 and leaderboard = any($2::integer[]) and not exists (
        select 1 from leaderboard_runs as over where over.tenant = $1 and over.leaderboard = entry.leaderboard and over.run = entry.run)`,
    [tenant, numberArray([...limited.keys()])],
  );
  const open = rows.filter((row) => !ended.some(({ no, run }) => no === row.no && run === row.run));
  return new Map(
    open.map((row) => {
      const { at, before } = mustGet(limited, row.no, 'changed limit');
      return [boardName(row), { ...row, at, max: before }];
    }),
  );
}

/** Records boards whose rankings changed: due at once, or 15 minutes after they were last published. */
export async function recordBoardChanges(client: pg.ClientBase, tenant: number, keys: readonly ChangedBoard[]): Promise<void> {
  if (keys.length === 0) return;
  await client.query(
    `insert into webhook_leaderboard_state (tenant, kind, leaderboard, run, "group", at)
     select $1, 'leaderboard.changed', * from unnest($2::integer[], $3::integer[], $4::text[], $5::bigint[])
     on conflict (tenant, kind, leaderboard, run, "group") do update set changed = true where not webhook_leaderboard_state.changed`,
    [tenant, ...columns(keys), numberArray(keys.map(({ at }) => at))],
  );
}

/** Delete what is due about a run besides its final rankings. */
const forgetRun = [
  `delete from webhook_leaderboard_state where kind = 'leaderboard.changed' and tenant = $1 and leaderboard = $2 and run = $3`,
  'delete from webhook_ranking_state where tenant = $1 and leaderboard = $2 and run = $3',
  'delete from webhook_user_rank_state where tenant = $1 and leaderboard = $2 and run = $3',
];

/**
 * Records finished runs: their final rankings are due at once, and nothing else of them is. A run that finished before is unchanged: two workers may
 * have ended it.
 */
export async function recordFinishedRuns(
  client: pg.ClientBase,
  tenant: number,
  runs: readonly { readonly no: number; readonly run: number; readonly at: number }[],
  isSubscribed: boolean,
): Promise<void> {
  for (const { no, run, at } of runs) {
    for (const statement of forgetRun) await client.query(statement, [tenant, no, run]);
    if (!isSubscribed) continue;
    await client.query(
      `insert into webhook_leaderboard_state (tenant, kind, leaderboard, run, "group", at)
       select $1, 'leaderboard.finished', $2, $3, '', $4
        where not exists (select 1 from leaderboard_runs where tenant = $1 and leaderboard = $2 and run = $3)
       on conflict do nothing`,
      [tenant, no, run, at],
    );
  }
}

interface BoardRankings {
  readonly run: number;
  readonly group: string;
  readonly rankings: readonly Ranking[];
  /** In milliseconds since 1970. */
  readonly at: number;
}

/** The event about a board's rankings, with the contract's `LeaderboardResponseWithRankings`. */
export function boardEvent(
  config: ActiveConfig,
  kind: Kind,
  board: Leaderboard,
  { run, group, rankings, at }: BoardRankings,
): WebhookEvent {
  const response = boardRunResponse(config, { board, run, group: group || undefined }, utcDate(at));
  const status = kind === 'leaderboard.finished' ? 'finished' : kind === 'leaderboard.started' ? 'active' : response.status;
  const [only, ...others] = rankings;
  return {
    kind,
    subject: `leaderboard:${board.no}`,
    // The values of a group with one user are data about that user.
    ...(group !== '' && only && others.length === 0 ? { user: only.userId } : {}),
    others: rankings.map(({ userId }) => userId),
    at: new Date(at),
    payload: { type: kind, leaderboard: { ...response, status, rankings } },
  };
}

/** Reads at most `max` rankings of a board from Postgres, in the transaction of `client`. */
export async function readRankings(client: pg.ClientBase, tenant: number, { no, run, group }: BoardKey, max: number): Promise<Ranking[]> {
  const { rows } = await queryAllUsers<Ranking>(
    client,
    `select entry.user_id as "userId", users.name as "userName", (row_number() over (order by ${firstPlaceFirst}))::int as rank, entry.value
       from leaderboard_entries as entry left join users on users.tenant = entry.tenant and users.id = entry.user_id
      where entry.tenant = $1 and entry.leaderboard = $2 and entry.run = $3 and entry."group" = $4
      order by rank limit $5`,
    [tenant, no, run, group, max],
  );
  return rows;
}

interface Due {
  readonly leaderboard: number;
  readonly run: number;
  readonly group: string;
  readonly at: string;
}

const dueQuery = `
  select leaderboard, run, "group", at from webhook_leaderboard_state where tenant = $1 and kind = $2 and changed and at <= $3
   order by at, leaderboard, run, "group" limit ${limits.publishLeaderboards}`;

interface FinalGroup {
  readonly group: string;
  readonly rankings: Ranking[];
}

/** Whether events about a leaderboard are published; the state of others is deleted. */
export const isPublishable = (board: Leaderboard | undefined): board is Leaderboard =>
  board !== undefined && !board.archived && board.status === 'active';

/** Publishes due boards. Returns the number of deliveries. */
export async function publishBoards(client: pg.ClientBase, config: ActiveConfig, now: number): Promise<number> {
  const { tenant } = config;
  const { rows } = await client.query<Due>(dueQuery, [tenant, 'leaderboard.changed', now]);
  const events: WebhookEvent[] = [];
  for (const { leaderboard, run, group } of rows) {
    const key = { no: leaderboard, run, group };
    const board = config.leaderboardByNo.get(leaderboard);
    const rankings = await readRankings(client, tenant, key, board?.maxParticipants ?? limits.maxParticipants);
    // A group without participants is not published: its name contains attributes of former participants.
    const isEmptyGroup = group !== '' && rankings.length === 0;
    if (isPublishable(board) && !isEmptyGroup)
      events.push(boardEvent(config, 'leaderboard.changed', board, { run, group, rankings, at: now }));
  }
  if (rows.length > 0) {
    await client.query(
      `update webhook_leaderboard_state set changed = false, at = $5 where tenant = $1 and kind = 'leaderboard.changed'
          and (leaderboard, run, "group") in (select * from unnest($2::integer[], $3::integer[], $4::text[]))`,
      [tenant, ...columns(rows.map(({ leaderboard: no, run, group }) => ({ no, run, group }))), now + limits.publishIntervalMs],
    );
  }
  await client.query('delete from webhook_leaderboard_state where tenant = $1 and at <= $2 and not changed', [tenant, now]);
  return publishEvents(client, config, events);
}

/** The next groups of a final run, after the last published one, with their rankings. */
async function nextGroups(client: pg.ClientBase, tenant: number, { leaderboard, run, group }: Due): Promise<FinalGroup[]> {
  const { rows } = await client.query<FinalGroup>(
    `select "group", json_agg(json_build_object('userId', user_id, 'userName', name, 'rank', shown_rank, 'value', value) order by shown_rank) as rankings
       from (select ranking.*, users.name, row_number() over (partition by ranking."group" order by ranking.rank) as shown_rank
               from leaderboard_rankings as ranking left join users on users.tenant = ranking.tenant and users.id = ranking.user_id
              where ranking.tenant = $1 and ranking.leaderboard = $2 and ranking.run = $3 and ranking."group" in (
                select distinct "group" from leaderboard_rankings
                 where tenant = $1 and leaderboard = $2 and run = $3 and ("group" > $4 or $4 = '')
                 order by "group" limit ${limits.publishLeaderboards})) as ranked
      group by "group" order by "group"`,
    [tenant, leaderboard, run, group],
  );
  return rows;
}

const deleteFinal = `
  delete from webhook_leaderboard_state where tenant = $1 and kind = 'leaderboard.finished' and leaderboard = $2 and run = $3`;
const saveProgress = `
  update webhook_leaderboard_state set "group" = $4 where tenant = $1 and kind = 'leaderboard.finished' and leaderboard = $2 and run = $3`;

/** Publishes the next groups of a finished run, and saves the progress. Returns the number of deliveries. */
export async function publishFinals(client: pg.ClientBase, config: ActiveConfig, now: number): Promise<number> {
  const { tenant } = config;
  const { rows } = await client.query<Due>(dueQuery, [tenant, 'leaderboard.finished', now]);
  const [final] = rows;
  if (!final) return 0;
  const { leaderboard: no, run } = final;
  const board = config.leaderboardByNo.get(no);
  const groups = await nextGroups(client, tenant, final);
  const isDone = groups.length < limits.publishLeaderboards;
  if (isDone) await client.query(deleteFinal, [tenant, no, run]);
  else await client.query(saveProgress, [tenant, no, run, groups.at(-1)?.group]);
  if (!board) return 0;
  // The participants may have been deleted since.
  if (groups.length === 0 && board.breakdownAttributes.length === 0) groups.push({ group: '', rankings: [] });
  const events = groups.map(({ group, rankings }) =>
    boardEvent(config, 'leaderboard.finished', board, { run, group, rankings, at: Number(final.at) }),
  );
  return publishEvents(client, config, events);
}

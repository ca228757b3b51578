import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import type { Frequency } from '../shared/calendar.js';
import { LaurelError } from '../shared/errors.js';
import { correctionKey } from '../redis/encoding.js';
import { hasCommitted, splitId, type StreamId } from '../ledger/offsets.js';
import { limits } from '../shared/limits.js';
import { withPostgresErrors } from '../postgres/failure.js';
import { recentRows } from './recent-rows.js';

/** One local day of a user on a leaderboard; ranks and values are null while the user was not a participant. */
export interface HistoryDay {
  /** `YYYY-MM-DD`, the user's local date. */
  readonly date: string;
  readonly at: Date;
  readonly previousRank: number | null;
  readonly rank: number | null;
  readonly previousValue: number | null;
  readonly value: number | null;
}

export interface StreakPeriod {
  /** Counted from 1970 (docs/rules/time.md). */
  readonly period: number;
  readonly length: number;
  readonly how: string;
  /** When the streak was last reset in the period. */
  readonly resetAt: Date | null;
}

/** A user in the streak rankings. */
export interface StreakLength {
  readonly userId: string;
  readonly name: string | null;
  /** In periods. */
  readonly streakLength: number;
}

/** A user's participation in a run. `seq` is the sequence number in the Redis member. */
export interface OpenParticipation {
  readonly leaderboard: number;
  readonly run: number;
  readonly group: string;
  /** As text: Postgres' bigint. */
  readonly seq: string;
}

/** A row of the final rankings of a run. */
export interface FinalRanking {
  readonly userId: string;
  readonly userName: string | null;
  readonly rank: number;
  readonly value: number;
}

/** A state of a user, as Redis replies with it (lua/modules/reads.lua, `revision`): what Postgres has of the user must be as new. */
export interface UserRevision {
  readonly epoch: string;
  /** The ledger id of the tenant's newest deletion of a user. Once Postgres has it, Postgres has nothing of an earlier user with the same id. */
  readonly deleted: StreamId;
  readonly rev: number;
}

/** What a read of a user's history concerns. */
export interface UserHistoryQuery {
  readonly tenant: number;
  readonly user: string;
  readonly revision: UserRevision;
  /** Names the rows among those of the user. */
  readonly what: string;
  /** The ledger's newest id; asked for only when Postgres does not have the revision yet. */
  readonly newestId: () => Promise<StreamId>;
}

const pollMs = 5;

/** A row of `events`, and the event that corrects it. */
export interface StoredEvent {
  readonly metric: number;
  readonly value: number;
  /** Number of the attribute → value. */
  readonly attributes: Readonly<Record<string, string>> | null;
  readonly idempotencyKey: string | null;
  readonly correctedBy: string | null;
}

/** Reads what only Postgres stores, and waits until the write-behind has committed what a caller may already know (docs/rules/events.md). */
export class HistoryReader {
  private readonly pool: pg.Pool;
  private readonly wakeWriteBehind: (tenant: number) => void;
  private readonly recent = recentRows(limits.maxCachedHistoryRows);

  /** `wakeWriteBehind` makes the worker of a tenant's ledger commit at once, since a caller waits. */
  constructor(pool: pg.Pool, wakeWriteBehind: (tenant: number) => void = () => undefined) {
    this.pool = pool;
    this.wakeWriteBehind = wakeWriteBehind;
  }

  /** Waits until the write-behind has committed a ledger id; throws a 503 after limits.readYourWritesWaitMs. */
  async waitFor(tenant: number, ledgerId: string): Promise<void> {
    const giveUpAt = Date.now() + limits.readYourWritesWaitMs;
    const isCommitted = (): Promise<boolean> => withPostgresErrors(hasCommitted(this.pool, tenant, ledgerId));
    if (await isCommitted()) return;
    this.wakeWriteBehind(tenant);
    do {
      if (Date.now() > giveUpAt) {
        throw new LaurelError('not_ready', 'Recent history is not available yet: the worker is behind or not running. Try again shortly.');
      }
      await delay(pollMs);
    } while (!(await isCommitted()));
  }

  /**
   * Rows of a user that only entries of this user change, as new as `revision`. `load` reads them from Postgres; the rows of a revision stay the
   * same, and are cached. Waits only for a user with entries that are not committed. Throws as `waitFor` does.
   */
  async ofUser<T>(query: UserHistoryQuery, load: () => Promise<readonly T[]>): Promise<readonly T[]> {
    const { tenant, user, what, revision } = query;
    const key = JSON.stringify([tenant, user, what, revision.epoch, revision.deleted, revision.rev]);
    const cached = this.recent.get(key) as readonly T[] | undefined;
    if (cached) return cached;
    const isFinal = await this.waitForUser(query);
    const rows = await load();
    if (isFinal) this.recent.set(key, rows);
    return rows;
  }

  /** Waits until Postgres has a revision of a user. Returns whether its rows can't change any more. */
  private async waitForUser({ tenant, user, revision, newestId }: UserHistoryQuery): Promise<boolean> {
    const state = await this.stateOf(tenant, user, revision);
    if (state.isCommitted) return !state.isRefused;
    await this.waitFor(tenant, await newestId());
    const { isCommitted, isRefused } = await this.stateOf(tenant, user, revision);
    return isCommitted && !isRefused;
  }

  /**
   * Whether Postgres has a revision of a user, which every entry of a user changes; and whether it has refused an entry that may be
   * the user's: retried, that changes rows of earlier revisions.
   */
  private async stateOf(
    tenant: number,
    user: string,
    { deleted, rev }: UserRevision,
  ): Promise<{ readonly isCommitted: boolean; readonly isRefused: boolean }> {
    const rows = await this.rows<{ isCommitted: boolean; isRefused: boolean }>({
      name: 'user-revision',
      text: `select exists (select 1 from stream_offsets where tenant = $1 and (last_ms, last_seq) >= ($3::bigint, $4::bigint))
                and exists (select 1 from user_hashes where tenant = $1 and user_id = $2 and rev >= $5) as "isCommitted",
              exists (select 1 from dead_letters where tenant = $1 and epoch is null and (user_id = $2 or user_id is null)) as "isRefused"`,
      values: [tenant, user, ...splitId(deleted), rev],
    });
    return rows[0] ?? { isCommitted: false, isRefused: true };
  }

  /** The last `days` days on which a user's events changed the user's rank or value in a run, oldest first. */
  async leaderboardDays(
    tenant: number,
    { leaderboard, run, user }: { readonly leaderboard: number; readonly run: number; readonly user: string },
    days: number,
  ): Promise<HistoryDay[]> {
    const rows = await this.rows<HistoryDay>({
      name: 'leaderboard-days',
      text: `select to_char(day, 'YYYY-MM-DD') as date, at, previous_rank as "previousRank", rank, previous_value as "previousValue", value
           from leaderboard_history
          where tenant = $1 and leaderboard = $2 and run = $3 and user_id = $4
          order by day desc
          limit $5`,
      values: [tenant, leaderboard, run, user, days],
    });
    return rows.reverse();
  }

  /** The periods of a user's streak from `first` to `last`, in no order. */
  async streakPeriods(
    tenant: number,
    user: string,
    frequency: Frequency,
    { first, last }: { readonly first: number; readonly last: number },
  ): Promise<StreakPeriod[]> {
    return this.rows<StreakPeriod>({
      name: 'streak-periods',
      text: `select period, length, how, reset_at as "resetAt" from streak_periods
          where tenant = $1 and user_id = $2 and frequency = $3 and period between $4 and $5`,
      values: [tenant, user, frequency, first, last],
    });
  }

  /** The users with the longest streaks: `active` orders equal lengths by when they were reached, `longest` by user id. */
  async streakRankings(tenant: number, frequency: Frequency, type: 'active' | 'longest', count: number): Promise<StreakLength[]> {
    const [length, then] = type === 'active' ? [frequency, `reached_${frequency}`] : [`longest_${frequency}`, 'user_id'];
    const rows = await this.rows<StreakLength>(
      `select streak.user_id as "userId", users.name, streak.${length} as "streakLength"
           from user_streaks as streak join users on users.tenant = streak.tenant and users.id = streak.user_id
          where streak.tenant = $1 and streak.${length} > 0
          order by streak.${length} desc, streak.${then}
          limit $2`,
      [tenant, count],
    );
    return rows;
  }

  /** A user's participations in the runs of repeating leaderboards that are not final yet. */
  async openParticipations(tenant: number, user: string): Promise<OpenParticipation[]> {
    const rows = await this.rows<OpenParticipation>(
      `select leaderboard, run, "group", seq from leaderboard_entries as entry
          where tenant = $1 and user_id = $2 and run <> 0 and not exists (
            select 1 from leaderboard_runs as done
             where done.tenant = entry.tenant and done.leaderboard = entry.leaderboard and done.run = entry.run)`,
      [tenant, user],
    );
    return rows;
  }

  /** An event of a user, and what corrects it; undefined for an unknown id. Reads the index of all of the user's events. */
  async event(tenant: number, user: string, id: string): Promise<StoredEvent | undefined> {
    const [row] = await this.rows<StoredEvent>(
      `select metric, value, attributes, idempotency_key as "idempotencyKey", (
           select other.id from events as other
            where other.tenant = $1 and other.user_id = $2 and other.metric = event.metric and other.at >= event.at
              and other.idempotency_key = $4 limit 1) as "correctedBy"
         from events as event where tenant = $1 and user_id = $2 and id = $3`,
      [tenant, user, id, correctionKey(id)],
    );
    return row;
  }

  /** The user of a pause; undefined for an unknown id. */
  async pauseOwner(tenant: number, pause: string): Promise<string | undefined> {
    const rows = await this.rows<{ user_id: string }>(
      `select user_id from user_streaks where tenant = $1 and pauses <> '[]' and pauses @> jsonb_build_array(jsonb_build_object('id', $2::text))`,
      [tenant, pause],
    );
    return rows[0]?.user_id;
  }

  /** Whether a run of a leaderboard is final. */
  async isFinal(tenant: number, leaderboard: number, run: number): Promise<boolean> {
    const rows = await this.rows('select 1 from leaderboard_runs where tenant = $1 and leaderboard = $2 and run = $3', [
      tenant,
      leaderboard,
      run,
    ]);
    return rows.length === 1;
  }

  /**
   * The final rankings of a run; of one group where the leaderboard has a breakdown. Names are the users' current names. Ranks are counted, so that
   * deleted users leave no gap.
   */
  async finalRankings(tenant: number, leaderboard: number, run: number, group: string): Promise<FinalRanking[]> {
    const rows = await this.rows<FinalRanking>(
      `select ranking.user_id as "userId", users.name as "userName", (row_number() over (order by ranking.rank))::int as rank, ranking.value
           from leaderboard_rankings as ranking
           left join users on users.tenant = ranking.tenant and users.id = ranking.user_id
          where ranking.tenant = $1 and ranking.leaderboard = $2 and ranking.run = $3 and ranking."group" = $4
          order by ranking.rank`,
      [tenant, leaderboard, run, group],
    );
    return rows;
  }

  /** A user's row of the final rankings of a run; undefined when the user is not in them. */
  async finalRanking(tenant: number, leaderboard: number, run: number, user: string): Promise<FinalRanking | undefined> {
    const rows = await this.rows<FinalRanking>(
      `select user_id as "userId", null as "userName", value,
                (select count(*)::int from leaderboard_rankings as above
                  where above.tenant = own.tenant and above.leaderboard = own.leaderboard and above.run = own.run
                    and above."group" = own."group" and above.rank <= own.rank) as rank
           from leaderboard_rankings as own
          where tenant = $1 and leaderboard = $2 and run = $3 and user_id = $4 order by own.rank limit 1`,
      [tenant, leaderboard, run, user],
    );
    return rows[0];
  }

  private async rows<T extends pg.QueryResultRow>(query: string | pg.QueryConfig, values?: unknown[]): Promise<T[]> {
    return (await withPostgresErrors(this.pool.query<T>(query, values))).rows;
  }
}

import { numberArray } from '../postgres/arrays.js';
import { boundsOf, type LongReads } from '../postgres/long-reads.js';
import type { OpenRows, Span } from '../shared/open-rows.js';
import { firstPlaceFirst } from '../shared/ranking.js';
import { type AwardRow, type EventRow, adjustmentColumn } from './timeline.js';
import { type ListedUser, type ProfileRow, profileColumns, profileOf } from './user-directory.js';

export type ExportedEvent = Omit<EventRow, 'awards'> & { readonly userId: string };
export type ExportedAward = AwardRow & { readonly userId: string };

/** A participant of a run, with the group. */
export interface ExportedRanking {
  readonly group: string;
  readonly rank: number;
  readonly userId: string;
  readonly userName: string | null;
  readonly value: number;
}

interface RankedRun {
  readonly leaderboard: number;
  readonly run: number;
  /** Its final rankings are stored. */
  readonly isFinal: boolean;
  readonly maxParticipants: number;
}

// The orders are those of indexes, so that Postgres sends the first rows at once. It sorts only what a user counted in one millisecond.

const usersQuery = `
  select ${profileColumns} from users where tenant = $1 and created >= $2::timestamptz and created < $3::timestamptz order by id collate "C"`;

const eventsQuery = `
  select 'event' as type, user_id as "userId", id, at, day - date '1970-01-01' as day, metric, value, total, attributes,
         idempotency_key as "idempotencyKey", rev::float8 as rev
    from events where tenant = $1 and at >= $2::timestamptz and at < $3::timestamptz order by user_id, metric, at, events.rev, id`;

/** `event_id` is the id of the ledger entry, which is that of an event unless the award came by time or by another call, as in a timeline. */
const awardsQuery = `
  select 'award' as type, user_id as "userId", id, at, day - date '1970-01-01' as day, system, trigger, awarded::float8, total::float8, boosts,
         rev::float8 as rev, ordinal,
         case when trigger <> all($4::integer[]) and exists (
           select 1 from user_metrics as own join events as event
               on event.tenant = $1 and event.user_id = awards.user_id and event.metric = own.metric and event.at = awards.at
              and event.id = awards.event_id
            where own.tenant = $1 and own.user_id = awards.user_id) then event_id end as "eventId",
         ${adjustmentColumn}
    from awards where tenant = $1 and at >= $2::timestamptz and at < $3::timestamptz order by user_id, system, at, awards.rev, ordinal, id`;

const rankingsOf = (ranked: string): string => `
  select "group", rank::integer, user_id as "userId", nullif(users.name, '') as "userName", value
    from (${ranked}) as ranked left join users on users.tenant = $1 and users.id = ranked.user_id
   where rank <= $4 order by "group", rank`;

/** Ranks are counted, as in HistoryReader.finalRankings. */
const finalQuery = rankingsOf(
  `select "group", user_id, value, row_number() over (partition by "group" order by rank) as rank
     from leaderboard_rankings where tenant = $1 and leaderboard = $2 and run = $3`,
);

const openQuery = rankingsOf(
  `select "group", user_id, value, row_number() over (partition by "group" order by ${firstPlaceFirst}) as rank
     from leaderboard_entries where tenant = $1 and leaderboard = $2 and run = $3`,
);

const same = <Row>(row: Row): Row => row;

/** Exports of what the write-behind stores. Callers first wait for it (HistoryReader.waitFor). All methods throw as LongReads.open does. */
export class HistoryExports {
  private readonly reads: LongReads;

  constructor(reads: LongReads) {
    this.reads = reads;
  }

  /** The users who were created in a span, in the byte order of their ids. */
  users(tenant: number, span: Span): Promise<OpenRows<ListedUser>> {
    const query = { text: usersQuery, values: [tenant, ...boundsOf(span)] };
    return this.reads.open(tenant, query, (row: ProfileRow) => ({ id: row.id, profile: profileOf(row) }));
  }

  /** The events of a span, by user, metric and time. */
  events(tenant: number, span: Span): Promise<OpenRows<ExportedEvent>> {
    return this.reads.open(tenant, { text: eventsQuery, values: [tenant, ...boundsOf(span)] }, same<ExportedEvent>);
  }

  /** The awards of a span, by user, points system and time. `timeTriggers` as in a timeline. */
  awards(tenant: number, span: Span, timeTriggers: readonly number[]): Promise<OpenRows<ExportedAward>> {
    const values = [tenant, ...boundsOf(span), numberArray(timeTriggers)];
    return this.reads.open(tenant, { text: awardsQuery, values }, same<ExportedAward>);
  }

  /** The rankings of a run, by group and rank. */
  rankings(tenant: number, { leaderboard, run, isFinal, maxParticipants }: RankedRun): Promise<OpenRows<ExportedRanking>> {
    const values = [tenant, leaderboard, run, maxParticipants];
    return this.reads.open(tenant, { text: isFinal ? finalQuery : openQuery, values }, same<ExportedRanking>);
  }
}

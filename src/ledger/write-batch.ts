import type pg from 'pg';
import { numberArray, textArray } from '../postgres/arrays.js';
import { copiesOf } from '../postgres/copy.js';
import { insertsOf, type Table } from '../postgres/insert.js';
import { queryAllUsers } from '../postgres/pool.js';
import { firstPlaceFirst } from '../shared/ranking.js';
import { analyticsDays } from './analytics-days.js';
import type { Batch, ParticipantRow, PlacedParticipant } from './batch.js';
import { summaryWrites } from './days.js';
import { writeSegment } from './segments.js';
import type { FinalEntry } from './entry.js';
import * as tables from './tables.js';

/**
 * Writes the rows of a batch within the transaction of `client`. A user's state is only replaced by a higher revision. `isLate`: the batch is an
 * entry that was refused before and is written now, behind newer entries of the same user.
 */
export async function writeBatch(client: pg.ClientBase, tenant: number, batch: Batch, isLate = false): Promise<void> {
  const insert = <T>(table: Table<T>, rows: ReadonlyMap<string, T>) => insertsOf(client, tenant, table, [...rows.values()]);
  const participants = [...batch.participants.values()];
  const removed = participants.filter(({ place }) => place === null);
  const placed = participants.filter((row): row is PlacedParticipant => row.place !== null);
  await pipelined([
    ...copiesOf(client, tenant, tables.events, batch.events),
    ...copiesOf(client, tenant, tables.awards, batch.awards),
    ...copiesOf(client, tenant, tables.adjustments, batch.adjustments),
    ...copiesOf(client, tenant, tables.achievements, [...batch.achievements.values()]),
    ...insert(tables.users, batch.users),
    ...insert(tables.userMetrics, batch.metrics),
    ...insert(tables.userPoints, batch.points),
    ...insert(isLate ? tables.lateUserHashes : tables.userHashes, batch.hashes),
    ...insert(tables.userStreaks, batch.streaks),
    ...insert(tables.streakPauses, batch.pauses),
    ...insert(tables.streakPeriods, batch.periods),
    ...summaryWrites(client, tenant, batch.summaries, isLate),
    ...insert(analyticsDays, batch.analytics),
    () => deleteParticipants(client, tenant, removed),
    ...insertsOf(client, tenant, tables.leaderboardEntries, placed),
    ...insert(tables.leaderboardHistory, batch.history),
    ...batch.finals.map((final) => () => writeFinal(client, tenant, final)),
    ...batch.segments.map((entry) => () => writeSegment(client, tenant, entry)),
  ]);
}

/**
 * Runs statements in order. While Postgres executes one, the rows of the next are encoded. Each write must be a single statement: a second one
 * would be sent behind the first of the next write. Throws the error of the first that fails; those behind it fail as well, since the transaction
 * is aborted.
 */
async function pipelined(writes: readonly (() => Promise<void>)[]): Promise<void> {
  let running = Promise.resolve();
  for (const write of writes) {
    const next = write();
    next.catch(() => undefined);
    await running;
    running = next;
  }
  await running;
}

async function deleteParticipants(client: pg.ClientBase, tenant: number, removed: readonly ParticipantRow[]): Promise<void> {
  if (removed.length === 0) return;
  await client.query({
    name: 'delete-leaderboard-entries',
    text: `delete from leaderboard_entries as entry
            using unnest($2::integer[], $3::integer[], $4::text[], $5::text[]) as row (leaderboard, run, "group", user_id)
            where entry.tenant = $1 and entry.leaderboard = row.leaderboard and entry.run = row.run and entry."group" = row."group"
              and entry.user_id = row.user_id`,
    values: [
      tenant,
      numberArray(removed.map(({ no }) => no)),
      numberArray(removed.map(({ run }) => run)),
      textArray(removed.map(({ group }) => group)),
      textArray(removed.map(({ user }) => user)),
    ],
  });
}

/** Writes the final rankings of a run. */
async function writeFinal(client: pg.ClientBase, tenant: number, { no, run, max, at }: FinalEntry): Promise<void> {
  const { rowCount } = await client.query(
    'insert into leaderboard_runs (tenant, leaderboard, run, finalised) values ($1, $2, $3, to_timestamp($4 / 1000.0)) on conflict do nothing',
    [tenant, no, run, at],
  );
  if (rowCount === 0) return;
  await queryAllUsers(
    client,
    `insert into leaderboard_rankings (tenant, leaderboard, run, "group", rank, user_id, value)
     select tenant, leaderboard, run, "group", rank, user_id, value from (
       select *, row_number() over (partition by "group" order by ${firstPlaceFirst}) as rank
         from leaderboard_entries where tenant = $1 and leaderboard = $2 and run = $3
     ) as ranked where rank <= $4`,
    [tenant, no, run, max],
  );
}

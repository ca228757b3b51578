import type pg from 'pg';
import { numberArray, textArray } from '../postgres/arrays.js';
import { insertsOf, type Table } from '../postgres/insert.js';
import { queryAllUsers } from '../postgres/pool.js';
import type { Batch, HistoryRow, PlaceRow } from './batch.js';
import type { FinalEntry } from './entry.js';

type Placed = PlaceRow & { readonly place: NonNullable<PlaceRow['place']> };

const entries: Table<Placed> = {
  name: 'leaderboard_entries',
  columns: [
    { name: 'leaderboard', type: 'integer', value: ({ no }) => no },
    { name: 'run', type: 'integer', value: ({ run }) => run },
    { name: 'group', type: 'text', value: ({ group }) => group },
    { name: 'user_id', type: 'text', value: ({ user }) => user },
    { name: 'value', type: 'float8', value: ({ place }) => place.value },
    { name: 'seq', type: 'bigint', value: ({ place }) => place.seq },
  ],
  conflict: { key: ['leaderboard', 'run', 'user_id', 'group'], replaceWhen: 'leaderboard_entries.seq <= excluded.seq' },
};

const history: Table<HistoryRow> = {
  name: 'leaderboard_history',
  columns: [
    { name: 'leaderboard', type: 'integer', value: ({ board }) => board.no },
    { name: 'run', type: 'integer', value: ({ board }) => board.run },
    { name: 'user_id', type: 'text', value: ({ entry }) => entry.user },
    { name: 'day', type: 'date', value: ({ entry }) => entry.day },
    { name: 'at', type: 'moment', value: ({ entry }) => entry.at },
    { name: 'previous_rank', type: 'integer', value: ({ previousRank }) => previousRank },
    { name: 'rank', type: 'integer', value: ({ board }) => board.rank ?? null },
    { name: 'previous_value', type: 'float8', value: ({ previousValue }) => previousValue },
    { name: 'value', type: 'float8', value: ({ board }) => board.value ?? null },
  ],
  conflict: {
    key: ['leaderboard', 'run', 'user_id', 'day'],
    replace: ['at', 'rank', 'value'],
    replaceWhen: 'leaderboard_history.at <= excluded.at',
  },
};

/** The writes of the places of a batch, of the history by day, and last of the rankings of the runs that ended in it, in order. */
export function boardWrites(client: pg.ClientBase, tenant: number, batch: Batch): (() => Promise<void>)[] {
  const places = [...batch.places.values()];
  return [
    () =>
      deletePlaces(
        client,
        tenant,
        places.filter(({ place }) => place === null),
      ),
    ...insertsOf(
      client,
      tenant,
      entries,
      places.filter((row): row is Placed => row.place !== null),
    ),
    ...insertsOf(client, tenant, history, [...batch.history.values()]),
    ...batch.finals.map((final) => () => writeFinal(client, tenant, final)),
  ];
}

async function deletePlaces(client: pg.ClientBase, tenant: number, left: readonly PlaceRow[]): Promise<void> {
  if (left.length === 0) return;
  await client.query({
    name: 'delete-leaderboard-entries',
    text: `delete from leaderboard_entries as entry
            using unnest($2::integer[], $3::integer[], $4::text[], $5::text[]) as row (leaderboard, run, "group", user_id)
            where entry.tenant = $1 and entry.leaderboard = row.leaderboard and entry.run = row.run and entry."group" = row."group"
              and entry.user_id = row.user_id`,
    values: [
      tenant,
      numberArray(left.map(({ no }) => no)),
      numberArray(left.map(({ run }) => run)),
      textArray(left.map(({ group }) => group)),
      textArray(left.map(({ user }) => user)),
    ],
  });
}

/** The final rankings of a run: by value, then by who reached it first. */
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
       select *, row_number() over (partition by "group" order by value desc, seq) as rank
         from leaderboard_entries where tenant = $1 and leaderboard = $2 and run = $3
     ) as ranked where rank <= $4`,
    [tenant, no, run, max],
  );
}

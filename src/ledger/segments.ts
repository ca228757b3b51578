/** Segments of time (lua/modules/segments.lua) as Postgres has them: those that some users may still live in, and the newest. */
import type pg from 'pg';
import { packMessage } from '../redis/encoding.js';
import type { SegmentEntry, SegmentFact, SegmentsDroppedEntry } from './entry.js';

/** Writes an entry about segments. */
export async function writeSegment(client: pg.ClientBase, tenant: number, entry: SegmentEntry | SegmentsDroppedEntry): Promise<void> {
  if (entry.kind === 'segment') {
    const { no, at, version, plan, next } = entry.segment;
    await client.query(
      `insert into time_segments (tenant, no, ended_at, version, plan, next_version) values ($1, $2, $3, $4, $5, $6) on conflict do nothing`,
      [tenant, no, at, version, plan, next],
    );
    return;
  }
  // The newest stays: it has the number of the segment that runs.
  await client.query(
    `with newest as (select max(no) as no from time_segments where tenant = $1),
          deleted as (delete from time_segments using newest where tenant = $1 and time_segments.no < least($2, newest.no))
     update time_segments set dropped = true from newest where tenant = $1 and time_segments.no = newest.no and newest.no < $2`,
    [tenant, entry.no],
  );
}

type Row = SegmentFact & { readonly dropped: boolean };

/** The ended segments, oldest first; `dropped` are those that no user lives in. */
export async function readSegments(pool: pg.Pool, tenant: number): Promise<readonly Row[]> {
  const { rows } = await pool.query<Omit<Row, 'at'> & { readonly at: string }>(
    'select no, ended_at as at, version, plan, next_version as next, dropped from time_segments where tenant = $1 order by no',
    [tenant],
  );
  return rows.map((row) => ({ ...row, at: Number(row.at) }));
}

/** What the field `segments` of a partition's `meta` holds; undefined before the first segment has ended. */
export function storedSegments(segments: readonly Row[]): Buffer | undefined {
  const newest = segments.at(-1);
  if (!newest) return undefined;
  const open = segments.filter(({ dropped }) => !dropped);
  return packMessage([newest.no + 1, open.map(({ no, at, version, plan, next }) => [no, at, version, plan, next])]);
}

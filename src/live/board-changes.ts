import { createHash } from 'node:crypto';
import type { Ranking } from '../engine/leaderboards.js';
import { readRunResponse } from '../responses/leaderboards.js';
import { openRowJson, rankingRowsJson, rowsOf, type RankingRow } from '../responses/reads.js';
import { message } from './event-stream.js';

/** What watchers of a page of a leaderboard see, once they have merged all messages. */
export interface BoardState extends Omit<Ranking, 'rows'> {
  readonly rows: readonly RankingRow[];
  /** The body of the ranking. */
  readonly json: string;
  /** The same in all processes for the same state. */
  readonly id: string;
}

const idChars = 16;
const idOf = (json: string, isFinal: boolean): string =>
  createHash('sha256').update(json).update(String(isFinal)).digest('base64url').slice(0, idChars);

export function stateOf(ranking: Ranking): BoardState {
  const rows = 'names' in ranking.rows ? rowsOf(ranking.rows) : ranking.rows;
  const json = rankingRowsJson(ranking.open, rows).text;
  return { ...ranking, rows, json, id: idOf(json, ranking.isFinal) };
}

/** The rows that differ, each with its previous rank; a row that is gone has no rank any more. */
function changeJson(before: readonly RankingRow[], after: readonly RankingRow[]): string {
  const earlier = new Map(before.map((row) => [row.userId, row]));
  const rows: string[] = [];
  for (const row of after) {
    const old = earlier.get(row.userId);
    earlier.delete(row.userId);
    const text = openRowJson(row);
    if (!old || openRowJson(old) !== text) rows.push(`${text},"previousRank":${old?.rank ?? null}}`);
  }
  for (const { userId, rank } of earlier.values()) rows.push(`{"userId":${JSON.stringify(userId)},"rank":null,"previousRank":${rank}}`);
  return `{"rankings":[${rows.join()}]}`;
}

const finished = ({ board, run }: Ranking, id: string): Buffer => message('finished', id, JSON.stringify(readRunResponse(board, run)));

/** The messages from nothing to a state: `snapshot`, and `finished` if the rankings are final. */
export function firstMessages(state: BoardState): Buffer {
  const { id, json, isFinal } = state;
  if (!isFinal) return message('snapshot', id, json);
  return Buffer.concat([message('snapshot', idOf(json, false), json), finished(state, id)]);
}

/**
 * The messages from one state to the next, the shorter of `change` and `snapshot`; undefined if the states are equal. When the run is over,
 * `finished` comes before the snapshot of the next run, or after the last change if there is none.
 */
export function messagesBetween(before: BoardState, after: BoardState): Buffer | undefined {
  if (before.id === after.id) return undefined;
  // A run that ended and is not the last: the stream goes on with the next one.
  if (before.run !== after.run) return Buffer.concat([...(before.isFinal ? [] : [finished(before, before.id)]), firstMessages(after)]);
  const isEnd = after.isFinal && !before.isFinal;
  const parts: Buffer[] = [];
  if (before.json !== after.json) {
    const id = isEnd ? idOf(after.json, false) : after.id;
    const change = before.open === after.open ? changeJson(before.rows, after.rows) : undefined;
    parts.push(
      change !== undefined && change.length < after.json.length ? message('change', id, change) : message('snapshot', id, after.json),
    );
  }
  if (isEnd) parts.push(finished(after, after.id));
  return Buffer.concat(parts);
}

import type { BoardGroup, BoardValues } from '../history/boards.js';
import type { DistributionResponse } from '../responses/leaderboard-runs.js';
import { limits } from '../shared/limits.js';
import { rangeWidth } from '../shared/ranges.js';
import type { Engine } from './engine.js';
import { text } from './function-calls.js';
import { type BoardStores, leaderboardOf, runAsked } from './leaderboard-runs.js';
import { isFinal, resolveGroup } from './leaderboards.js';

/** Ranges of one width that follow each other: the first begins at `first` times the width. */
interface Scale {
  readonly width: number;
  readonly first: number;
  readonly count: number;
}

/** Values that lie 19 widths apart are in 20 ranges at most. */
const rangesBetween = limits.maxDistributionBuckets - 1;

/** The ranges from the lowest to the highest value; undefined without values. */
function scaleOf({ lowest, highest }: BoardValues): Scale | undefined {
  if (lowest === null || highest === null) return undefined;
  const width = rangeWidth(highest - lowest, rangesBetween);
  const first = Math.floor(lowest / width);
  return { width, first, count: Math.floor(highest / width) - first + 1 };
}

/** Where a range ends and the next begins. */
const bordersOf = ({ width, first, count }: Scale): number[] => Array.from({ length: count - 1 }, (_, i) => (first + i + 1) * width);

function distribution(values: BoardValues, scale: Scale | undefined, usersIn: (index: number) => number): DistributionResponse {
  const { participants, lowest, highest, median } = values;
  const { width, first, count } = scale ?? { width: 1, first: 0, count: 0 };
  const buckets = Array.from({ length: count }, (_, i) => ({
    from: (first + i) * width,
    to: (first + i + 1) * width,
    users: usersIn(i),
  }));
  return { participants, lowest, highest, median, buckets };
}

/** The values of a board that Redis has, and how many are below each of some others. */
async function readValues(
  engine: Engine,
  tenant: number,
  board: BoardGroup,
  borders: readonly number[],
): Promise<BoardValues & { readonly below: readonly number[] }> {
  const { leaderboard, run, group } = board;
  const pairs = borders.map(String);
  const { values } = await engine.call(tenant, 'readDistribution', () => ({ args: { leaderboard, run, group }, pairs }));
  const [participants, lowest, median, highest, below] = values;
  const valueOf = (value: unknown): number | null => (value === null ? null : Number(text(value)));
  return {
    participants: Number(participants),
    lowest: valueOf(lowest),
    median: valueOf(median),
    highest: valueOf(highest),
    below: (below as unknown[]).map(Number),
  };
}

/** Calls that read one distribution: the first finds the ranges, the second counts them, others follow when a value has left the ranges since. */
const maxReads = 4;

async function openDistribution(engine: Engine, tenant: number, board: BoardGroup): Promise<DistributionResponse> {
  let scale: Scale | undefined;
  for (let reads = 1; ; reads += 1) {
    const values = await readValues(engine, tenant, board, scale ? bordersOf(scale) : []);
    const fitting = scaleOf(values);
    const fits = JSON.stringify(fitting) === JSON.stringify(scale);
    if (fits || !fitting || reads === maxReads) {
      // The first and the last range have what lies beyond them.
      const below = [0, ...values.below, values.participants];
      return distribution(values, fitting && scale, (i) => (below[i + 1] ?? 0) - (below[i] ?? 0));
    }
    scale = fitting;
  }
}

async function finalDistribution({ boards }: BoardStores, tenant: number, board: BoardGroup): Promise<DistributionResponse> {
  const { ranges, ...values } = await boards.values(tenant, board, rangesBetween);
  const scale = scaleOf(values);
  return distribution(values, scale, (i) => ranges.get((scale?.first ?? 0) + i) ?? 0);
}

/**
 * How the values of a run and group are distributed, of all users who have one. From Redis, in some short calls, but for a run that is final.
 * Throws a 404 for an unknown id, a 422 for a run or a group that the leaderboard does not have.
 */
export async function readDistribution(
  stores: BoardStores,
  tenant: number,
  id: string,
  query: { readonly run?: string | undefined; readonly userAttributes: ReadonlyMap<string, string> },
): Promise<DistributionResponse> {
  const { engine, clock } = stores;
  const config = await engine.config(tenant);
  const board = leaderboardOf(config, id);
  const now = await clock.now(tenant);
  const run = runAsked(board, query.run, now);
  const boardGroup = { leaderboard: board.no, run, group: resolveGroup(config, board, query.userAttributes) };
  // Read before it is known whether the run is final, as in readLeaderboard.
  const open = await openDistribution(engine, tenant, boardGroup);
  return (await isFinal(stores, tenant, { board, run, now })) ? finalDistribution(stores, tenant, boardGroup) : open;
}

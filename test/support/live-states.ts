import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { planApply } from '../../src/config/change/apply.js';
import { configFileOf } from '../../src/config/file/file.js';
import { emptyConfig } from '../../src/config/schema/model.js';
import { type BoardState, stateOf } from '../../src/live/board-changes.js';
import { ActiveConfig, requireLeaderboard } from '../../src/plan/active-config.js';
import { PreparedJson } from '../../src/responses/prepared.js';
import type { RankingRow } from '../../src/responses/reads.js';

const file = configFileOf({
  metrics: [{ key: 'm', name: 'M' }],
  leaderboards: [
    { key: 'l', name: 'L', status: 'active', start: '2040-01-01', rankBy: 'metric', metricKey: 'm', runUnit: 'day', runInterval: 1 },
  ],
});
const { document } = planApply(emptyConfig, file, { now: '2030-01-01T00:00:00.000Z', prune: false, newId: randomUUID });
const active = new ActiveConfig({ tenant: 1, version: 1, document });
const board = requireLeaderboard(active, 'l');

/** What watchers of a leaderboard see, with these rows. `run` is its first day. */
export function boardState(rows: readonly RankingRow[], { isFinal = false, run = 0 } = {}): BoardState {
  const open = PreparedJson.of(active).openRankedBoard(board, run, '2040-01-02');
  return stateOf({ board, run, group: '', isFinal, open, rows });
}

/** The rows of a page, from some place on. */
export const rowsArbitrary: fc.Arbitrary<RankingRow[]> = fc
  .tuple(
    fc.nat(3),
    fc.shuffledSubarray(Array.from({ length: 12 }, (_, i) => `u${i}`)),
    fc.array(fc.nat(9), { minLength: 12, maxLength: 12 }),
  )
  .map(([first, users, values]) =>
    users.map((userId, i) => ({ userId, userName: i % 3 === 0 ? 'Name' : null, rank: first + i + 1, value: values[i] ?? 0 })),
  );

import { startArena, type Arena } from '../support/engine-subject.js';
import { playHistory, playOnModel } from '../support/model-histories.js';
import { buildDocument, dateAfter } from '../support/model/documents.js';
import type { Step } from '../support/model/history.js';
import { dayMs } from '../support/model/time.js';

/** The long run is test/long/model.test.ts. */
const histories = 12;
const maxSteps = 60;
const seed = 20_400_102;

const score = (id: string, value: number): Step => ({ do: 'event', metricKey: 'm1', user: { id }, value });

const activate = (key: string): Step => ({
  do: 'configure',
  before: [],
  edits: [{ edit: 'change', list: 'leaderboards', which: key, field: 'status', value: 'active' }],
  after: [],
});

describe('The engine, on a few random histories', () => {
  let arena: Arena;
  before(async () => {
    arena = await startArena();
  });
  after(() => arena.stop());

  it(`responds as the model does (${histories} histories from seed ${seed})`, () => playOnModel(arena, { histories, maxSteps, seed }));

  // Random histories come to it seldom.
  it('responds as the model does when leaderboards are opened on earlier values, and when their runs end', () =>
    playHistory(arena, {
      config: buildDocument({
        metrics: 1,
        boards: [
          { key: 'daily', rankBy: { metric: 'm1' }, every: [1, 'day'], start: dateAfter(0), max: 2 },
          { key: 'first-two', rankBy: { metric: 'm1' }, status: 'inactive', max: 2 },
          { key: 'all', rankBy: { metric: 'm1' }, status: 'inactive' },
        ],
      }),
      steps: [
        ...[score('ana', 5), score('bo', 9), score('cy', 7), score('di', 7)],
        ...[activate('first-two'), activate('all')],
        { do: 'clock', jump: { by: 2 * dayMs }, look: 0 },
        ...[score('di', 1), score('ana', 9)],
        { do: 'clock', jump: { by: 2 * dayMs }, look: 0 },
      ],
    }));
});

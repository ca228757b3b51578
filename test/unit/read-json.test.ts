import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import fc from 'fast-check';
import { planApply } from '../../src/config/change/apply.js';
import { configFileOf } from '../../src/config/file/file.js';
import { emptyConfig } from '../../src/config/schema/model.js';
import { ActiveConfig } from '../../src/plan/active-config.js';
import { completedResponse } from '../../src/responses/achievements.js';
import {
  leaderboardResponse,
  rankedResponse,
  rankingsShape,
  readRunResponse,
  userLeaderboardShape,
} from '../../src/responses/leaderboards.js';
import { metricResponse, metricShape } from '../../src/responses/metrics.js';
import { awardResponse, levelAt, levelResponse, systemResponse, userPointsShape } from '../../src/responses/points.js';
import { PreparedJson } from '../../src/responses/prepared.js';
import { rankingRowsJson, metricJson, rankingsJson, userLeaderboardJson, userPointsJson } from '../../src/responses/reads.js';

const odd = [
  '"',
  '\\',
  '\b\f\n\r\t',
  '\u0000\u001f\u007f',
  '\u2028\u2029',
  '\ud800',
  '</script>',
  '😀',
  'Ω≈ç',
  '__proto__',
  '${x}',
  '日本語',
  '',
];
const texts = fc.oneof(fc.string({ unit: 'binary', maxLength: 20 }), fc.constantFrom(...odd));
const values = fc.oneof(
  fc.integer({ min: -1_000_000_000_000_000, max: 1_000_000_000_000_000 }),
  fc.constantFrom(0.1, -0.000001, 1e-7, 12345.678),
);
const moment = fc.integer({ min: 1_700_000_000_000, max: 3_000_000_000_000 });
const date = '2040-01-02';
/** The day of that date, on which a run of `metric` begins. */
const run = 25_568;

/** A configuration in which everything has this name. */
function config(name: string): ActiveConfig {
  const file = configFileOf({
    metrics: [{ key: 'm', name }],
    points: [
      {
        key: 'p',
        name,
        description: name,
        levels: [{ key: 'one', name, points: 10 }],
        triggers: [{ key: 't', type: 'metric', metricKey: 'm', metricThreshold: 1, points: 1, status: 'active' }],
        boosts: [{ key: 'b', name, start: '2030-01-01', multiplier: 1.5, rounding: 'down' }],
      },
    ],
    achievements: ['a', 'b'].map((key) => ({ key, name, status: 'active', trigger: 'metric', metricKey: 'm', metricValue: 5 })),
    leaderboards: [
      { key: 'metric', name, status: 'active', start: '2040-01-01', rankBy: 'metric', metricKey: 'm', runUnit: 'day', runInterval: 1 },
      { key: 'points', name, status: 'active', rankBy: 'points', pointsSystemKey: 'p' },
      { key: 'streak', name, status: 'active', rankBy: 'streak' },
    ],
  });
  const { document } = planApply(emptyConfig, file, { now: '2030-01-01T00:00:00.000Z', prune: false, newId: randomUUID });
  return new ActiveConfig({ tenant: 1, version: 1, document });
}
const names = fc
  .oneof(texts, fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 }))
  .filter((name) => name.trim() !== '' && name.isWellFormed() && !name.includes('\u0000'));

describe('The response to a read', () => {
  const same = (text: string, object: object): void => {
    expect(text).to.equal(JSON.stringify(object));
  };

  it('of a page of a leaderboard is the JSON of its object form', () => {
    // An empty name is none.
    const row = fc.record({ userId: texts, userName: fc.option(texts).map((name) => name || null), value: values });
    fc.assert(
      fc.property(names, fc.nat(1_000), fc.array(row, { maxLength: 5 }), (name, firstPlace, rows) => {
        const active = config(name);
        for (const board of active.leaderboards.values()) {
          const open = PreparedJson.of(active).openRankedBoard(board, run, date);
          const rankings = rows.map(({ userId, userName, value }, i) => ({ userId, userName, rank: firstPlace + 1 + i, value }));
          const body = {
            ...leaderboardResponse(active, board, date),
            ...rankedResponse(active, board),
            ...readRunResponse(board, run),
            rankings,
          };
          const packed = {
            firstRank: firstPlace + 1,
            usersAndValues: rows.flatMap(({ userId, value }) => [userId, String(value)]),
            names: rows.map(({ userName }) => userName ?? (false as const)),
          };
          same(rankingsJson(open, packed).text, body);
          same(rankingRowsJson(open, rankings).text, body);
          rankingsShape.parse(JSON.parse(rankingsJson(open, packed).text));
        }
      }),
      { numRuns: 100 },
    );
  });

  it('of a place on a leaderboard is the JSON of its object form', () => {
    const rank = fc.option(fc.integer({ min: 1, max: 1_000 }));
    const day = fc.record({
      date: fc.constant(date),
      at: moment.map((ms) => new Date(ms)),
      previousRank: rank,
      rank,
      previousValue: fc.option(values),
      value: fc.option(values),
    });
    fc.assert(
      fc.property(names, fc.option(fc.record({ rank, value: fc.option(values) })), fc.array(day, { maxLength: 3 }), (name, place, days) => {
        const active = config(name);
        for (const board of active.leaderboards.values()) {
          const history = days.map(({ at, ...rest }) => ({ ...rest, timestamp: at.toISOString() }));
          const { text } = userLeaderboardJson(PreparedJson.of(active).openRankedBoard(board, run, date), place ?? undefined, days);
          const head = { ...leaderboardResponse(active, board, date), ...rankedResponse(active, board), ...readRunResponse(board, run) };
          same(text, { ...head, rank: place?.rank ?? null, value: place?.value ?? null, history });
          userLeaderboardShape.parse(JSON.parse(text));
        }
      }),
      { numRuns: 100 },
    );
  });

  it('of points and of a metric is the JSON of its object form', () => {
    const award = fc.record({
      trigger: fc.constant(1),
      ordinal: fc.nat(300),
      awarded: fc.integer(),
      total: fc.integer(),
      at: moment,
      day: fc.constant(1),
      boosts: fc.constantFrom([], [1], [999]),
    });
    fc.assert(
      fc.property(names, fc.nat(20), values, fc.array(award, { maxLength: 3 }), fc.option(moment), (name, total, current, facts, at) => {
        const active = config(name);
        const [system, metric] = [active.systems.get('p')!, active.metrics.get('m')!];
        const [trigger] = active.triggerByNo.keys();
        const [boost] = active.boostByNo.keys();
        const awards = facts.map((fact) => ({
          id: '0f8fad5b-d9cb-469f-a165-70867728950e',
          award: { ...fact, trigger: trigger!, boosts: fact.boosts.map((no) => (no === 1 ? boost! : no)) },
        }));
        const level = levelAt(system, total);
        const points = userPointsJson(active, system, { total, awards }).text;
        same(points, {
          ...systemResponse(system),
          total,
          level: level && levelResponse(level),
          awards: awards.map(({ id, award: fact }) => awardResponse(active, id, fact)),
        });
        userPointsShape.parse(JSON.parse(points));
        const shown = [...active.achievements.values()];
        const completed = new Map(at === null ? [] : [[shown[0]!.no, at]]);
        const text = metricJson(active, metric, { current, shown, completed }).text;
        const achievements = shown.map((achievement) => completedResponse(active, achievement, completed.get(achievement.no)));
        same(text, metricResponse(metric, current, achievements));
        metricShape.parse(JSON.parse(text));
      }),
      { numRuns: 100 },
    );
  });
});

import { expect } from 'chai';
import fc from 'fast-check';
import type { ConfigDocument } from '../../src/config/schema/model.js';
import { validateConfig } from '../../src/config/check/validate.js';
import type { AwardFact, BoardFact, EventEntry, PointsFact, StreakFact } from '../../src/ledger/entry.js';
import { ActiveConfig, mustGet } from '../../src/plan/active-config.js';
import { completedBlock, eventJson, eventShape, pointsBlock, replayJson } from '../../src/responses/events.js';
import { boardRunResponse, groupOf } from '../../src/responses/leaderboards.js';
import { eventStreak } from '../../src/responses/streaks.js';
import { utcDate } from '../../src/shared/calendar.js';
import { documentSpecArbitrary } from '../support/model/arbitraries.js';
import { buildDocument } from '../support/model/documents.js';

const id = '0f8fad5b-d9cb-469f-a165-70867728950e';
const texts = fc.oneof(
  fc.string({ unit: 'binary', minLength: 1, maxLength: 20 }),
  fc.constantFrom('"', '\\', '\u2028\u2029', '\ud800', '</script>', '\u0000\u001f', '😀', 'Ω≈ç', '__proto__', '${x}'),
);

/** A document whose names and descriptions are odd texts. */
function renamed(document: ConfigDocument, names: readonly string[]): ConfigDocument {
  let next = 0;
  const rename = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(rename);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([field, part]) => {
        const isText = (field === 'name' || field === 'description') && typeof part === 'string';
        return [field, isText ? (names[next++ % names.length] ?? '') : rename(part)];
      }),
    );
  };
  return rename(document) as ConfigDocument;
}

const configArbitrary = fc
  .tuple(documentSpecArbitrary, fc.array(texts, { minLength: 1, maxLength: 12 }))
  .map(([spec, names]) => ({ document: buildDocument(spec), names }))
  .filter(({ document }) => validateConfig(document).length === 0)
  .map(({ document, names }) => new ActiveConfig({ tenant: 1, version: 1, document: renamed(document, names) }));

const day = fc.integer({ min: 20_000, max: 40_000 });
const count = fc.integer({ min: -1_000_000, max: 1_000_000 });
const moment = fc.integer({ min: 1_700_000_000_000, max: 3_000_000_000_000 });
const oneOf = <T>(all: Iterable<T>, empty: T): fc.Arbitrary<T> =>
  fc.constantFrom(...[...all, empty].slice(0, Math.max(1, [...all].length)));

const awardOf = (config: ActiveConfig): fc.Arbitrary<AwardFact> =>
  fc.record({
    trigger: oneOf(config.triggerByNo.keys(), 0),
    ordinal: fc.nat(300),
    awarded: count,
    total: count,
    // 999 is unknown, as a deleted user's own boost is.
    boosts: fc.subarray([...config.boostByNo.keys(), 999]),
    at: moment,
    day,
  });

const pointsOf = (config: ActiveConfig): fc.Arbitrary<PointsFact[]> =>
  fc.subarray([...config.systemByNo.values()].map(({ no }) => no)).chain((nos) =>
    fc.tuple(
      ...nos.map((no) =>
        fc.record({
          no: fc.constant(no),
          before: count,
          total: count,
          level: oneOf([0, ...config.levelByNo.keys()], 0),
          levelBefore: oneOf([0, ...config.levelByNo.keys()], 0),
          awards: config.triggerByNo.size === 0 ? fc.constant([]) : fc.array(awardOf(config), { maxLength: 3 }),
        }),
      ),
    ),
  );

const rank = fc.option(fc.integer({ min: 1, max: 1_000 }), { nil: undefined });

const boardsOf = (config: ActiveConfig): fc.Arbitrary<BoardFact[]> =>
  config.leaderboardByNo.size === 0
    ? fc.constant([])
    : (fc.array(
        fc
          .tuple(
            fc.constantFrom(...config.leaderboardByNo.values()),
            texts.filter((text) => text.isWellFormed()),
            day,
            rank,
            rank,
          )
          .chain(([board, text, run, nowAt, before]) =>
            fc.record({
              no: fc.constant(board.no),
              run: fc.constant(board.runUnit === null ? 0 : run),
              ...(board.breakdownAttributes.length > 0 ? { group: fc.constant(groupOf(board.breakdownAttributes.map(() => text))) } : {}),
              value: fc.option(count, { nil: undefined }),
              rank: fc.constant(nowAt),
              previousRank: fc.constant(before),
              threshold: count,
            }),
          ),
        { maxLength: 5 },
      ) as fc.Arbitrary<BoardFact[]>);

const streak: fc.Arbitrary<StreakFact> = fc.record({
  length: fc.nat(500),
  started: fc.integer({ min: 500, max: 600 }),
  current: fc.integer({ min: 600, max: 700 }),
  isExtended: fc.boolean(),
  extended: fc.boolean(),
  extendedAt: moment,
  freezes: fc.nat(5),
});

const entryOf = (config: ActiveConfig): fc.Arbitrary<EventEntry> =>
  fc.record({
    kind: fc.constant('event' as const),
    id: fc.constant(id),
    user: fc.constant('ana'),
    at: moment,
    day,
    rev: fc.nat(),
    metric: fc.constant(1),
    value: count,
    total: fc.double({ noNaN: true, noDefaultInfinity: true }),
    points: pointsOf(config),
    boards: boardsOf(config),
    achieved: fc.subarray([...config.achievementByNo.keys()]),
    streak: fc.option(streak, { nil: undefined }),
    attributes: fc.constant([]),
    state: fc.constant([]),
  }) as fc.Arbitrary<EventEntry>;

/** The user's last place on each leaderboard, and where the user had been there before the event (docs/rules/leaderboards.md). */
function places(config: ActiveConfig, { boards, at }: EventEntry): Record<string, unknown> {
  const shown: Record<string, unknown> = {};
  for (const no of new Set(boards.map((fact) => fact.no))) {
    const facts = boards.filter((fact) => fact.no === no);
    const last = facts.at(-1) as BoardFact;
    const first = facts.find(({ run, group }) => run === last.run && group === last.group) as BoardFact;
    if (last.value === undefined || (last.rank === undefined && first.previousRank === undefined)) continue;
    const board = mustGet(config.leaderboardByNo, no, 'leaderboard');
    const run = boardRunResponse(config, { board, run: last.run, group: last.group }, utcDate(at));
    shown[board.key] = { ...run, threshold: last.threshold, previousRank: first.previousRank ?? null, rank: last.rank ?? null };
  }
  return shown;
}

describe('The response to an event', () => {
  it('is the JSON of its object form, whatever names the configuration has', () => {
    const cases = configArbitrary.chain((config) =>
      fc.record({
        config: fc.constant(config),
        entry: entryOf(config),
        key: fc.option(fc.string({ unit: 'binary' }), { nil: undefined }),
      }),
    );
    fc.assert(
      fc.property(cases, ({ config, entry, key }) => {
        const idempotency = key === undefined ? {} : { idempotencyKey: key, idempotentReplayed: false };
        const body = {
          eventId: id,
          metricId: 'm',
          total: entry.total,
          achievements: completedBlock(config, entry),
          currentStreak: eventStreak(config, entry.streak),
          points: pointsBlock(config, entry),
          leaderboards: places(config, entry),
          ...idempotency,
        };
        const { text } = eventJson(config, { eventId: id, metricId: 'm', idempotencyKey: key }, entry);
        expect(JSON.parse(text)).to.deep.equal(JSON.parse(JSON.stringify(body)));
        // The same parts are prepared by now.
        expect(eventJson(config, { eventId: id, metricId: 'm', idempotencyKey: key }, entry).text).to.equal(text);
        eventShape.parse(JSON.parse(text));
      }),
      { numRuns: 300 },
    );
  });

  it('is the same JSON for a repeated idempotency key', () => {
    fc.assert(
      fc.property(configArbitrary, fc.option(streak, { nil: undefined }), texts, (config, fact, key) => {
        const { text } = replayJson(config, { eventId: id, metricId: 'm', idempotencyKey: key }, { total: 1.5, streak: fact });
        const body = {
          eventId: id,
          metricId: 'm',
          total: 1.5,
          achievements: [],
          currentStreak: eventStreak(config, fact),
          points: {},
          leaderboards: {},
          idempotencyKey: key,
          idempotentReplayed: true,
        };
        expect(text).to.equal(JSON.stringify(body));
      }),
      { numRuns: 50 },
    );
  });
});

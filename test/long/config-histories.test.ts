import { expect } from 'chai';
import fc from 'fast-check';
import { exportConfig } from '../../src/config/file/export.js';
import { type ConfigDocument, type ConfigObject, emptyConfig } from '../../src/config/schema/model.js';
import { validateConfig } from '../../src/config/check/validate.js';
import { apply, friday, messageOf, monday } from '../support/config.js';

/** Files over few keys, so that they meet. What they refer to may be missing, pruned or archived, but mostly is not. */
const files = ((): fc.Arbitrary<string> => {
  const key = fc.constantFrom('a', 'b', 'c');
  const name = fc.constantFrom('One', 'Two');
  const maybe = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(arbitrary, { nil: undefined });
  const list = <T extends { key: string }>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T[]> =>
    fc.uniqueArray(arbitrary, { maxLength: 3, selector: (object) => object.key });
  const attributeKey = fc.constantFrom('a', 'a', 'a', 'a', 'a', 'a', 'b');
  const filters = fc.array(fc.record({ attributeKey, attributeValue: name }), { maxLength: 1 });
  const day = fc.constantFrom('2026-11-20', '2026-11-23', '2026-12-24');
  const lastDay = fc.constantFrom('2026-12-24', '2026-12-31');
  const level = key.chain((own) =>
    fc.record({ key: fc.constant(own), name, points: fc.constantFrom(1, 2).map((n) => 10 * n + own.charCodeAt(0)) }),
  );
  const trigger = fc
    .tuple(
      fc.record({ key, points: fc.constantFrom(-1, 10), userAttributes: maybe(filters) }),
      fc.oneof(
        fc.record({ type: fc.constant('metric'), metricKey: key, metricThreshold: fc.constant(5) }),
        fc.record({ type: fc.constant('achievement'), achievementKey: fc.constant('a') }),
        fc.constantFrom({ type: 'streak', streakLength: 7 }, { type: 'user_creation' }),
        fc.record({ type: fc.constant('time'), timeUnit: fc.constantFrom('hours', 'days'), timeInterval: fc.constant(1) }),
      ),
    )
    .map(([fields, by]) => ({ ...fields, ...by }));
  const boost = fc.record({ key, name, start: day, multiplier: fc.constantFrom(0.5, 1.25), userAttributes: maybe(filters) });
  const ranked = fc.constantFrom(
    { rankBy: 'metric', metricKey: 'a' },
    { rankBy: 'points', pointsSystemKey: 'a' },
    { rankBy: 'metric', metricKey: 'b', runUnit: 'day', runInterval: 7 },
    { rankBy: 'streak', startTime: '09:00', endTime: '17:00' },
  );
  /** An active one mostly keeps what it has to keep. */
  const leaderboard = fc.oneof(
    { weight: 3, arbitrary: fc.record({ key, name, status: fc.constant('active'), rankBy: fc.constant('streak'), end: maybe(lastDay) }) },
    fc
      .tuple(
        fc.record({
          key,
          name,
          start: maybe(day),
          end: maybe(lastDay),
          status: maybe(fc.constant('active')),
          breakdownAttributes: maybe(fc.uniqueArray(attributeKey, { maxLength: 2 })),
        }),
        ranked,
      )
      .map(([fields, by]) => ({ ...fields, ...by })),
  );
  /** Each key mostly has one kind. */
  const kinds: Readonly<Record<string, object>> = {
    a: { trigger: 'metric', metricKey: 'a', metricValue: 1.5 },
    b: { trigger: 'achievement', achievementKeys: ['a'] },
    c: { trigger: 'achievement', achievementKeys: ['b', 'a'] },
  };
  const achievementOf = (own: string) =>
    fc
      .tuple(
        fc.record({ key: fc.constant(own), name, status: fc.constantFrom('active', 'active', 'active', 'active', 'locked', 'inactive') }),
        fc.oneof(
          { weight: 8, arbitrary: fc.constant(kinds[own]) },
          fc.record({ trigger: fc.constant('achievement'), achievementKeys: fc.tuple(key) }),
        ),
      )
      .map(([fields, by]) => ({ ...fields, ...by }));
  const streaks = fc.record({
    enabled: maybe(fc.constantFrom(false, false, true)),
    frequency: maybe(fc.constantFrom('daily', 'weekly')),
    metrics: maybe(
      fc.uniqueArray(fc.record({ metricKey: key, threshold: fc.constant(1) }), { maxLength: 2, selector: ({ metricKey }) => metricKey }),
    ),
    freezes: maybe(fc.record({ initial: fc.constantFrom(0, 1), maximum: maybe(fc.constant(1)) })),
  });
  const attribute = (...types: string[]) => fc.record({ key: attributeKey, name, type: fc.constantFrom(...types) });
  const metricOf = (own: string) => fc.record({ key: fc.constant(own), name, units: maybe(name) });
  const systemOf = (own: string) =>
    fc.record({ key: fc.constant(own), name, levels: list(level), triggers: maybe(list(trigger)), boosts: list(boost) });
  const some = <T>(...arbitraries: fc.Arbitrary<T>[]): fc.Arbitrary<T[]> =>
    fc
      .tuple(...arbitraries.map((arbitrary) => fc.option(arbitrary, { freq: 6, nil: undefined })))
      .map((objects) => objects.filter((object) => object !== undefined));
  return fc
    .record({
      settings: maybe(fc.record({ controlRatio: fc.constantFrom(0, 0.5), weekStart: maybe(fc.constantFrom('monday', 'sunday')) })),
      attributes: fc.oneof({ weight: 3, arbitrary: fc.tuple(attribute('user')) }, list(attribute('user', 'event'))),
      metrics: some(...['a', 'b', 'c'].map(metricOf)),
      points: some(...['a', 'b'].map(systemOf)),
      achievements: fc.oneof({ weight: 2, arbitrary: fc.tuple(achievementOf('a')) }, some(...['a', 'b', 'c'].map(achievementOf))),
      streaks: maybe(streaks),
      leaderboards: list(leaderboard),
    })
    .map((contents) => JSON.stringify(contents));
})();

const everyObject = (document: ConfigDocument): ConfigObject[] => [
  ...document.attributes,
  ...document.metrics,
  ...document.pointsSystems.flatMap((system) => [system, ...system.levels, ...system.triggers, ...system.boosts]),
  ...document.achievements,
  ...document.leaderboards,
];

/** What leaderboards keep. */
const keptByBoards = [
  'rankBy',
  'metricId',
  'pointsSystemId',
  'start',
  'startTime',
  'endTime',
  'breakdownAttributes',
  'runUnit',
  'runInterval',
];

/** The objects that came back although they may not, or changed in what they keep. */
function broken(before: ReadonlyMap<string, ConfigObject>, now: ReadonlyMap<string, ConfigObject>): string[] {
  const kept = (object: object | undefined, fields: readonly string[]): string =>
    JSON.stringify(fields.map((field) => Reflect.get(object ?? {}, field) as unknown));
  return [...before].flatMap(([id, was]) => {
    const is = now.get(id);
    if (!('rankBy' in was)) return [];
    const cameBack = was.archived && is?.archived === false;
    const changed =
      Reflect.get(was, 'status') === 'active' && kept(was, [...keptByBoards, 'status']) !== kept(is, [...keptByBoards, 'status']);
    return cameBack || changed ? [`leaderboard ${was.key}`] : [];
  });
}

describe('A configuration after any sequence of files', () => {
  it('is valid, loses nothing, and is not changed by applying the last file or an export of it again', () => {
    let applied = 0;
    fc.assert(
      fc.property(fc.array(fc.tuple(files, fc.boolean()), { minLength: 1, maxLength: 6 }), (steps) => {
        let document = emptyConfig;
        for (const [text, prune] of steps) {
          if (messageOf(document, text, { prune }) !== '') continue;
          applied += 1;
          const before = new Map(everyObject(document).map((object) => [object.id, object]));
          const plan = apply(document, text, { prune, now: monday });
          document = plan.document;
          expect(validateConfig(document)).to.deep.equal([]);

          const objects = everyObject(document);
          expect(new Set(objects.map(({ no }) => no)).size).to.equal(objects.length);
          expect(Math.max(0, ...objects.map(({ no }) => no))).to.be.below(document.nextNo);
          const now = new Map(objects.map((object) => [object.id, object]));
          const identities = [...before.keys()].map((id) =>
            [before.get(id), now.get(id)].map((object) => `${object?.no} ${object?.key} ${object?.created}`),
          );
          expect(identities.filter(([was, is]) => was !== is)).to.deep.equal([]);
          expect(broken(before, now)).to.deep.equal([]);

          const again = apply(JSON.parse(JSON.stringify(document)) as ConfigDocument, text, { prune, now: friday });
          expect(again.changes).to.deep.equal([]);
          expect(JSON.stringify(again.document)).to.equal(JSON.stringify(document));
          expect(again.kept).to.deep.equal(plan.kept);
        }
        const exported = exportConfig(document);
        expect(apply(document, exported, { now: friday }).changes).to.deep.equal([]);
        expect(exportConfig(apply(emptyConfig, exported, { now: friday }).document)).to.equal(exported);
      }),
      { numRuns: 200 },
    );
    expect(applied).to.be.above(100);
  });
});

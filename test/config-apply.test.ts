import { expect } from 'chai';
import fc from 'fast-check';
import { type ApplyPlan, planApply } from '../src/config/apply.js';
import { describeChanges } from '../src/config/changes.js';
import { parseConfigFile, readConfigFile } from '../src/config/file.js';
import { type ConfigDocument, type ConfigObject, emptyConfig } from '../src/config/model.js';
import { validateConfig } from '../src/config/validate.js';
import { OperatorError } from '../src/errors.js';

const monday = '2026-11-23T23:59:00.000Z';
const friday = '2026-11-27T08:00:00.000Z';

let ids = 0;
const newId = (): string => `id-${(ids += 1)}`;

interface Options {
  readonly now?: string;
  readonly prune?: boolean;
}

function apply(current: ConfigDocument, text: string, { now = monday, prune = false }: Options = {}): ApplyPlan {
  return planApply(current, readConfigFile(text, 'f.yaml'), { now, prune, newId });
}

/** The document after several files, one after the other. */
const after = (...texts: readonly string[]): ConfigDocument =>
  texts.reduce((document, text) => apply(document, text).document, emptyConfig);

/** The lines for an operator. */
const lines = (current: ConfigDocument, text: string, options: Options = {}): string[] =>
  describeChanges(apply(current, text, options).changes);

function messageOf(current: ConfigDocument, text: string, options: Options = {}): string {
  try {
    planApply(current, parseConfigFile(text, 'f.yaml'), { now: friday, prune: false, newId, ...options });
    return '';
  } catch (error) {
    if (error instanceof OperatorError) return error.message;
    throw error;
  }
}

const metric = (key: string): string => `metrics: [{key: ${key}, name: ${key}}]\n`;
const both = 'metrics: [{key: m, name: M}, {key: n, name: N}]\n';
const points = (fields = ''): string => `points: [{key: p, name: P${fields === '' ? '' : `, ${fields}`}}]\n`;
const board = (fields: string): string => `leaderboards: [{key: l, name: L, ${fields}}]\n`;
const byMetric = board('rankBy: metric, metricKey: m');

function only<T>(list: readonly T[]): T {
  const [object, ...more] = list;
  if (object === undefined || more.length > 0) throw new Error(`${list.length} objects`);
  return object;
}

describe('Applying a configuration file', () => {
  it('adds what is new, with ids, numbers that are never given twice, and defaults', () => {
    ids = 0;
    const text = `attributes: [{key: city, name: City, type: user}]
metrics: [{key: m, name: M}]
points:
  - key: p
    name: P
    levels: [{key: a, name: A, points: 0}]
    triggers: [{key: t, type: metric, metricKey: m, metricThreshold: 5, points: 10, userAttributes: [{attributeKey: city, attributeValue: Rome}]}]
    boosts: [{key: b, name: B, start: 2026-12-01, multiplier: 1.5}]
leaderboards:
  - {key: l, name: L, rankBy: points, pointsSystemKey: p}`;
    const times = { created: monday, updated: monday, archived: false };
    const { document, changes, kept } = apply(emptyConfig, text);
    expect(kept).to.deep.equal([]);
    expect(changes.map(({ action }) => action)).to.deep.equal(Array(7).fill('add'));
    expect(document).to.deep.equal({
      nextNo: 8,
      settings: { controlRatio: 0 },
      attributes: [{ id: 'id-1', no: 1, key: 'city', name: 'City', type: 'user', ...times }],
      metrics: [{ id: 'id-2', no: 2, key: 'm', name: 'M', unitType: 'number', units: '', ...times }],
      pointsSystems: [
        {
          ...{ id: 'id-3', no: 3, key: 'p', name: 'P', description: null, badgeUrl: null, maxPoints: null, ...times },
          levels: [{ id: 'id-4', no: 4, key: 'a', name: 'A', description: '', badgeUrl: null, points: 0, ...times }],
          triggers: [
            {
              ...{ id: 'id-5', no: 5, key: 't', name: 't', type: 'metric', points: 10, status: 'inactive', ...times },
              ...{ metricId: 'id-2', metricThreshold: 5, eventAttributes: [] },
              userAttributes: [{ attributeId: 'id-1', attributeValue: 'Rome' }],
            },
          ],
          boosts: [
            {
              ...{ id: 'id-6', no: 6, key: 'b', name: 'B', start: '2026-12-01', end: null, multiplier: 1.5, ...times },
              ...{ rounding: 'down', userId: null, userAttributes: [] },
            },
          ],
        },
      ],
      leaderboards: [
        {
          ...{ id: 'id-7', no: 7, key: 'l', name: 'L', description: null, status: 'inactive', maxParticipants: 1000, ...times },
          ...{ start: '2026-11-23', end: null, rankBy: 'points', pointsSystemId: 'id-3' },
        },
      ],
    });
  });

  it('changes nothing the second time, whatever the day', () => {
    const document = after(metric('m'), points('maxPoints: 5'), byMetric);
    const again = apply(document, metric('m') + points('maxPoints: 5') + byMetric, { now: friday, prune: true });
    expect(again).to.deep.equal({ document, changes: [], kept: [] });
    expect(again.document).to.equal(document);
  });

  it('moves `updated` of what changes, and of nothing else', () => {
    const levels = (name: string): string => points(`levels: [{key: a, name: ${name}, points: 1}, {key: b, name: B, points: 2}]`);
    const before = only(after(levels('A')).pointsSystems);
    const { pointsSystems } = apply(after(levels('A')), levels('AA'), { now: friday }).document;
    const system = only(pointsSystems);
    expect([system.updated, ...system.levels.map(({ updated }) => updated)]).to.deep.equal([monday, friday, monday]);
    expect([system.created, ...system.levels.map(({ created }) => created)]).to.deep.equal([monday, monday, monday]);
    expect(system.no).to.equal(before.no);
  });

  it('replaces an object as a whole: a field left out gets its default again', () => {
    const document = after(
      `metrics: [{key: m, name: M, unitType: currency, units: EUR}]`,
      points('description: D, badge: {url: u}, maxPoints: 5'),
    );
    expect(lines(document, metric('m') + points())).to.deep.equal([
      '~ metric m: name "M" -> "m", unitType "currency" -> "number", units "EUR" -> ""',
      '~ points system p: description "D" -> none, badge.url "u" -> none, maxPoints 5 -> none',
    ]);
  });

  it('archives levels, triggers and boosts that their system no longer lists, and revives them with their numbers', () => {
    const full = points('levels: [{key: a, name: A, points: 1}], boosts: [{key: b, name: B, start: 2026-01-01, multiplier: 2}]');
    const before = after(full);
    const { document, changes } = apply(before, points(), { now: friday });
    expect(describeChanges(changes)).to.deep.equal(['- level p/a', '- boost p/b']);
    const archived = { ...only(only(before.pointsSystems).levels), archived: true, updated: friday };
    expect(only(document.pointsSystems).levels).to.deep.equal([archived]);
    expect(lines(document, full)).to.deep.equal([
      '+ level p/a (archived until now, with its data)',
      '+ boost p/b (archived until now, with its data)',
    ]);
    expect(only(only(apply(document, full).document.pointsSystems).levels)).to.deep.include({
      ...archived,
      archived: false,
      updated: monday,
    });
  });

  it('keeps and names what the file does not mention', () => {
    const document = after(metric('m') + points() + 'attributes: [{key: a, name: A, type: event}]\n');
    const { changes, kept, document: next } = apply(document, metric('n'));
    expect(describeChanges(changes)).to.deep.equal(['+ metric n']);
    expect(kept).to.deep.equal(['event attribute a', 'metric m', 'points system p']);
    expect(next.pointsSystems).to.equal(document.pointsSystems);
  });

  it('archives it with prune, names it once, and finds it again when the key comes back', () => {
    const document = after(both, byMetric);
    const pruned = apply(document, metric('n'), { now: friday, prune: true });
    expect(describeChanges(pruned.changes)).to.deep.equal(['- metric m', '~ metric n: name "N" -> "n"', '- leaderboard l']);
    expect(apply(pruned.document, metric('n'), { prune: true }).changes).to.deep.equal([]);
    const revived = apply(pruned.document, both + byMetric);
    expect(describeChanges(revived.changes)).to.deep.equal([
      '+ metric m (archived until now, with its data)',
      '~ metric n: name "n" -> "N"',
      '+ leaderboard l (archived until now, with its data)',
    ]);
    const identity = ({ id, no, created }: ConfigObject): unknown => ({ id, no, created });
    expect(revived.document.metrics.map(identity)).to.deep.equal(document.metrics.map(identity));
    expect(revived.document.leaderboards.map(identity)).to.deep.equal(document.leaderboards.map(identity));
    expect(revived.document.nextNo).to.equal(document.nextNo);
  });

  it('says what differs in what it revives', () => {
    const document = apply(after(metric('m')), '{}', { prune: true }).document;
    expect(lines(document, 'metrics: [{key: m, name: m, units: u}]')).to.deep.equal([
      '+ metric m (archived until now, with its data): units "" -> "u"',
    ]);
  });

  it('takes another type of an attribute as another attribute', () => {
    const document = after('attributes: [{key: a, name: A, type: user}]');
    const { changes, document: next } = apply(document, 'attributes: [{key: a, name: A, type: event}]', { prune: true });
    expect(describeChanges(changes)).to.deep.equal(['- user attribute a', '+ event attribute a']);
    expect(next.attributes.map(({ no, type, archived }) => ({ no, type, archived }))).to.deep.equal([
      { no: 1, type: 'user', archived: true },
      { no: 2, type: 'event', archived: false },
    ]);
  });

  it('keeps the first day of a leaderboard that names none, and takes one that it names', () => {
    const document = after(metric('m'), byMetric);
    expect(lines(document, board('rankBy: metric, metricKey: m, end: 2026-12-31'), { now: friday })).to.deep.equal([
      '~ leaderboard l: end none -> "2026-12-31"',
    ]);
    expect(lines(document, board('rankBy: metric, metricKey: m, start: 2026-11-01'))).to.deep.equal([
      '~ leaderboard l: start "2026-11-23" -> "2026-11-01"',
    ]);
  });

  it('finds what it refers to in the file, before or after, and in the current configuration', () => {
    expect(messageOf(emptyConfig, byMetric + metric('m'))).to.equal('');
    expect(messageOf(after(metric('m')), byMetric)).to.equal('');
  });

  it('shows filters by key', () => {
    const withFilter = (filters: string): string =>
      points(`boosts: [{key: b, name: B, start: 2026-01-01, multiplier: 2, userAttributes: [${filters}]}]`);
    const document = after('attributes: [{key: city, name: City, type: user}]', withFilter('{attributeKey: city, attributeValue: Rome}'));
    expect(lines(document, withFilter(''))).to.deep.equal(['~ boost p/b: userAttributes [city = "Rome"] -> []']);
  });

  it('leaves settings that the file does not mention, and says what it changes in them', () => {
    const document = after('settings: {controlRatio: 0.25}');
    expect(document.settings.controlRatio).to.equal(0.25);
    expect(lines(document, 'settings: {}', { prune: true })).to.deep.equal([]);
    expect(lines(document, 'settings: {controlRatio: 0}')).to.deep.equal(['~ settings: controlRatio 0.25 -> 0']);
  });

  it('does not take -0, which a document from Postgres has as 0, for a change', () => {
    expect(lines(emptyConfig, 'settings: {controlRatio: -0}')).to.deep.equal([]);
  });
});

describe('A configuration file that does not go with the current configuration is refused:', () => {
  const ranked = (fields: string): string => `leaderboards:\n  - {key: l, name: L, ${fields}}`;
  const needed = 'points:\n  - {key: p, name: P, triggers: [{key: t, type: metric, metricKey: m, metricThreshold: 1, points: 1}]}';
  const all = after(both, points(), byMetric);
  const cases: readonly (readonly [what: string, current: ConfigDocument, text: string, prune: boolean, message: string])[] = [
    [
      'prune would archive what the file refers to',
      after(metric('m')),
      needed,
      true,
      'f.yaml:2:68: trigger "t": metric "m" is not in the file, so --prune would archive it',
    ],
    [
      'it refers to what is archived',
      apply(after(metric('m')), '{}', { prune: true }).document,
      needed,
      false,
      'f.yaml:2:68: trigger "t": metric "m" is archived: put it into the file to use it again',
    ],
    [
      'a leaderboard would rank by another metric',
      all,
      ranked('rankBy: metric, metricKey: n'),
      false,
      'f.yaml:2:50: leaderboard "l": it ranks by metric "m" for good: a board that ranks by something else needs another key',
    ],
    [
      'a leaderboard would rank by points',
      all,
      ranked('rankBy: points, pointsSystemKey: p'),
      false,
      'f.yaml:2:31: leaderboard "l": it ranks by metric "m" for good: a board that ranks by something else needs another key',
    ],
    [
      'an archived leaderboard would come back ranking by something else',
      apply(all, both, { prune: true }).document,
      ranked('rankBy: metric, metricKey: n'),
      false,
      'f.yaml:2:50: leaderboard "l": it ranks by metric "m" for good: a board that ranks by something else needs another key',
    ],
    [
      'a leaderboard would end before the day on which it started',
      all,
      ranked('rankBy: metric, metricKey: m, end: 2026-11-22'),
      false,
      'f.yaml:2:58: leaderboard "l": the end 2026-11-22 is before the start 2026-11-23',
    ],
    [
      'there would be more metrics than there may be, with those that are kept',
      after(both),
      JSON.stringify({ metrics: Array.from({ length: 999 }, (_, n) => ({ key: `m${n}`, name: 'M' })) }),
      false,
      'f.yaml:1:12: there would be 1001 metrics: 1000 is the most',
    ],
  ];
  for (const [what, current, text, prune, message] of cases) {
    it(what, () => expect(messageOf(current, text, { prune })).to.equal(message));
  }

  it('what is wrong in objects that it does not mention is told without a place', () => {
    const document = after(metric('m'), byMetric);
    const board = { ...only(document.leaderboards), end: '2020-01-01' };
    expect(messageOf({ ...document, leaderboards: [board] }, '{}')).to.equal(
      'f.yaml: leaderboard "l": the end 2020-01-01 is before the start 2026-11-23',
    );
  });
});

/** Files over few keys, so that they meet. What they refer to may be missing, pruned or archived, but mostly is not. */
const files = ((): fc.Arbitrary<string> => {
  const key = fc.constantFrom('a', 'b', 'c');
  const name = fc.constantFrom('One', 'Two');
  const maybe = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(arbitrary, { nil: undefined });
  const list = <T extends { key: string }>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T[]> =>
    fc.uniqueArray(arbitrary, { maxLength: 3, selector: (object) => object.key });
  const attributeKey = fc.constantFrom('a', 'a', 'a', 'b');
  const filters = fc.array(fc.record({ attributeKey, attributeValue: name }), { maxLength: 1 });
  const day = fc.constantFrom('2026-11-20', '2026-11-23', '2026-12-24');
  const level = key.chain((own) =>
    fc.record({ key: fc.constant(own), name, points: fc.constantFrom(1, 2).map((n) => 10 * n + own.charCodeAt(0)) }),
  );
  const trigger = fc.record({
    key,
    type: fc.constant('metric'),
    metricKey: key,
    metricThreshold: fc.constant(5),
    points: fc.constantFrom(-1, 10),
    userAttributes: maybe(filters),
  });
  const boost = fc.record({ key, name, start: day, multiplier: fc.constantFrom(0.5, 1.25), userAttributes: maybe(filters) });
  const ranked = fc.constantFrom(
    { rankBy: 'metric', metricKey: 'a' },
    { rankBy: 'points', pointsSystemKey: 'a' },
    { rankBy: 'metric', metricKey: 'b' },
  );
  const leaderboard = fc
    .tuple(fc.record({ key, name, start: maybe(day), end: maybe(fc.constant('2026-12-31')) }), ranked)
    .map(([fields, by]) => ({ ...fields, ...by }));
  const metricOf = (own: string) => fc.record({ key: fc.constant(own), name, units: maybe(name) });
  const systemOf = (own: string) =>
    fc.record({ key: fc.constant(own), name, levels: list(level), triggers: maybe(list(trigger)), boosts: list(boost) });
  const some = <T>(...arbitraries: fc.Arbitrary<T>[]): fc.Arbitrary<T[]> =>
    fc
      .tuple(...arbitraries.map((arbitrary) => fc.option(arbitrary, { freq: 6, nil: undefined })))
      .map((objects) => objects.filter((object) => object !== undefined));
  return fc
    .record({
      settings: maybe(fc.record({ controlRatio: fc.constantFrom(0, 0.5) })),
      attributes: list(fc.record({ key: attributeKey, name, type: fc.constantFrom('user', 'user', 'user', 'event') })),
      metrics: some(...['a', 'b', 'c'].map(metricOf)),
      points: some(...['a', 'b'].map(systemOf)),
      leaderboards: list(leaderboard),
    })
    .map((contents) => JSON.stringify(contents));
})();

const everyObject = (document: ConfigDocument): ConfigObject[] => [
  ...document.attributes,
  ...document.metrics,
  ...document.pointsSystems.flatMap((system) => [system, ...system.levels, ...system.triggers, ...system.boosts]),
  ...document.leaderboards,
];

describe('Whatever files are applied, one after the other', () => {
  it('the outcome is valid, loses nothing, and applying the last file again changes nothing', () => {
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

          const again = apply(JSON.parse(JSON.stringify(document)) as ConfigDocument, text, { prune, now: friday });
          expect(again.changes).to.deep.equal([]);
          expect(JSON.stringify(again.document)).to.equal(JSON.stringify(document));
          expect(again.kept).to.deep.equal(plan.kept);
        }
      }),
      { numRuns: 200 },
    );
    expect(applied).to.be.above(100);
  });
});

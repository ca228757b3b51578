import { expect } from 'chai';
import { describeChanges } from '../../src/config/change/changes.js';
import { compareConfigs } from '../../src/config/change/compare.js';
import { exportConfig } from '../../src/config/file/export.js';
import { type ConfigObject, emptyConfig, type PointsBoost } from '../../src/config/schema/model.js';
import { ActiveConfig } from '../../src/plan/active-config.js';
import { limits } from '../../src/shared/limits.js';
import {
  after,
  apply,
  board,
  both,
  byMetric,
  calls,
  friday,
  idsFrom1,
  lines,
  messageOf,
  metric,
  monday,
  only,
  points,
} from '../support/config.js';

describe('Applying a configuration file', () => {
  it('keeps the order of triggers of the file, and names the change', () => {
    const trigger = (key: string, award: number): string => `{key: ${key}, type: user_creation, points: ${award}, status: active}`;
    const file = (...triggers: string[]): string => `points: [{key: p, name: P, triggers: [${triggers.join(', ')}]}]`;
    const [a, b, c] = [trigger('a', 10), trigger('b', -5), trigger('c', 1)] as const;
    const order = ({ pointsSystems }: typeof emptyConfig): string[] =>
      pointsSystems.flatMap(({ triggers }) => triggers.map(({ key }) => key));
    const first = apply(emptyConfig, file(a, b)).document;
    const turned = apply(first, file(b, a));
    expect(describeChanges(turned.changes)).to.deep.equal(['~ points system p: triggers [a, b] -> [b, a]']);
    expect(describeChanges(compareConfigs(first, turned.document))).to.deep.equal(describeChanges(turned.changes));
    expect(order(turned.document)).to.deep.equal(['b', 'a']);
    expect(apply(turned.document, file(b, a)).changes).to.deep.equal([]);
    expect(exportConfig(turned.document)).to.match(/key: b[^]*key: a/);
    const added = apply(turned.document, file(c, b));
    expect(describeChanges(added.changes)).to.have.members(['+ trigger p/c', '- trigger p/a']);
    expect(order(added.document)).to.deep.equal(['c', 'b', 'a']);
  });

  it('adds what is new, with ids, numbers that are never given twice, and defaults', () => {
    const text = `settings: {weekStart: sunday}
attributes: [{key: city, name: City, type: user}]
metrics: [{key: m, name: M}]
points:
  - key: p
    name: P
    levels: [{key: a, name: A, points: 0}]
    triggers: [{key: t, type: metric, metricKey: m, metricThreshold: 5, points: 10, userAttributes: [{attributeKey: city, attributeValue: Rome}]}]
    boosts: [{key: b, name: B, start: 2026-12-01, multiplier: 1.5}]
achievements:
  - {key: c, name: C, trigger: metric, metricKey: m, metricValue: 0.5}
streaks: {enabled: true, metrics: [{metricKey: m, threshold: 2.5}], freezes: {initial: 2}}
leaderboards:
  - {key: l, name: L, rankBy: points, pointsSystemKey: p}`;
    const times = { created: monday, updated: monday, archived: false };
    const { document, changes, kept } = apply(emptyConfig, text, { newId: idsFrom1() });
    expect(kept).to.deep.equal([]);
    expect(changes.map(({ action, kind }) => `${action} ${kind}`)).to.deep.equal([
      ...['change settings', 'add user attribute', 'add metric', 'add achievement', 'add points system', 'add level', 'add trigger'],
      ...['add boost', 'change streaks', 'add leaderboard'],
    ]);
    expect(document).to.deep.equal({
      nextNo: 9,
      settings: { ...emptyConfig.settings, weekStart: 'sunday' },
      attributes: [{ id: 'id-1', no: 1, key: 'city', name: 'City', type: 'user', ...times }],
      metrics: [{ id: 'id-2', no: 2, key: 'm', name: 'M', unitType: 'number', units: '', ...times }],
      pointsSystems: [
        {
          id: 'id-4',
          no: 4,
          key: 'p',
          name: 'P',
          description: null,
          badgeUrl: null,
          maxPoints: null,
          ...times,
          levels: [{ id: 'id-5', no: 5, key: 'a', name: 'A', description: '', badgeUrl: null, points: 0, ...times }],
          triggers: [
            {
              id: 'id-6',
              no: 6,
              key: 't',
              name: 't',
              type: 'metric',
              points: 10,
              status: 'inactive',
              ...times,
              metricId: 'id-2',
              metricThreshold: 5,
              eventAttributes: [],
              blockIfOutOfPoints: false,
              userAttributes: [{ attributeId: 'id-1', attributeValue: 'Rome' }],
            },
          ],
          boosts: [
            {
              id: 'id-7',
              no: 7,
              key: 'b',
              name: 'B',
              start: '2026-12-01',
              end: null,
              multiplier: 1.5,
              ...times,
              rounding: 'down',
              userId: null,
              userAttributes: [],
            },
          ],
        },
      ],
      achievements: [
        {
          id: 'id-3',
          no: 3,
          key: 'c',
          name: 'C',
          description: null,
          badgeUrl: null,
          status: 'inactive',
          ...times,
          trigger: 'metric',
          metricId: 'id-2',
          metricValue: 0.5,
          userAttributes: [],
          eventAttributes: [],
        },
      ],
      streaks: {
        enabled: true,
        frequency: 'daily',
        evaluationMode: 'OR',
        daysOff: [],
        personalization: false,
        metrics: [{ metricId: 'id-2', threshold: 2.5 }],
        freezes: { initial: 2, maximum: 2, earnInterval: 0, earnAmount: 0 },
      },
      leaderboards: [
        {
          id: 'id-8',
          no: 8,
          key: 'l',
          name: 'L',
          description: null,
          status: 'inactive',
          maxParticipants: 1000,
          ...times,
          start: '2026-11-23',
          end: null,
          startTime: null,
          endTime: null,
          breakdownAttributes: [],
          runUnit: null,
          runInterval: 0,
          rankBy: 'points',
          pointsSystemId: 'id-4',
        },
      ],
      webhooks: [],
      messages: emptyConfig.messages,
      templates: [],
    });
  });

  it('stores every kind of trigger, achievement and leaderboard with its own fields', () => {
    const text = `metrics: [{key: m, name: M}]
attributes: [{key: city, name: City, type: user}, {key: plan, name: Plan, type: user}]
points:
  - key: p
    name: P
    triggers:
      - {key: metric, type: metric, metricKey: m, metricThreshold: 5, points: -1, blockIfOutOfPoints: true}
      - {key: streak, type: streak, streakLength: 7, points: 1}
      - {key: achievement, type: achievement, achievementKey: all, points: 1}
      - {key: time, type: time, timeUnit: hours, timeInterval: 12, points: 1}
      - {key: user, type: user_creation, points: 1}
achievements:
  - {key: all, name: All, trigger: achievement, achievementKeys: [call, ten-days], status: locked}
  - {key: call, name: Call, trigger: api, badge: {url: http://u.test}}
  - {key: ten-days, name: Ten days, trigger: streak, streakLength: 10, status: active}
leaderboards:
  - {key: streaks, name: Streaks, rankBy: streak, status: active, breakdownAttributes: [plan, city]}
  - {key: nights, name: Nights, rankBy: metric, metricKey: m, runUnit: month, runInterval: 3, startTime: 22:30, endTime: 05:00:30}`;
    const { metrics, attributes, pointsSystems, achievements, leaderboards } = after(text);
    const idOf = (key: string): string | undefined => [...metrics, ...attributes, ...achievements].find((object) => object.key === key)?.id;
    const own = ({ id: _id, no: _no, name: _name, created: _c, updated: _u, archived: _a, ...fields }: ConfigObject): object => fields;
    expect(only(pointsSystems).triggers.map(own)).to.deep.equal([
      {
        key: 'metric',
        type: 'metric',
        points: -1,
        status: 'inactive',
        userAttributes: [],
        metricId: idOf('m'),
        metricThreshold: 5,
        eventAttributes: [],
        blockIfOutOfPoints: true,
      },
      { key: 'streak', type: 'streak', points: 1, status: 'inactive', userAttributes: [], streakLength: 7 },
      { key: 'achievement', type: 'achievement', points: 1, status: 'inactive', userAttributes: [], achievementId: idOf('all') },
      { key: 'time', type: 'time', points: 1, status: 'inactive', userAttributes: [], timeUnit: 'hours', timeInterval: 12 },
      { key: 'user', type: 'user_creation', points: 1, status: 'inactive', userAttributes: [] },
    ]);
    const common = { description: null, badgeUrl: null, userAttributes: [] };
    expect(achievements.map(own)).to.deep.equal([
      { ...common, key: 'all', status: 'locked', trigger: 'achievement', achievementIds: [idOf('call'), idOf('ten-days')] },
      { ...common, key: 'call', status: 'inactive', trigger: 'api', badgeUrl: 'http://u.test' },
      { ...common, key: 'ten-days', status: 'active', trigger: 'streak', streakLength: 10 },
    ]);
    const board = { description: null, maxParticipants: 1000, start: '2026-11-23', end: null };
    expect(leaderboards.map(own)).to.deep.equal([
      {
        ...board,
        key: 'streaks',
        status: 'active',
        rankBy: 'streak',
        runUnit: null,
        runInterval: 0,
        startTime: null,
        endTime: null,
        breakdownAttributes: [idOf('plan'), idOf('city')],
      },
      {
        ...board,
        key: 'nights',
        status: 'inactive',
        rankBy: 'metric',
        metricId: idOf('m'),
        runUnit: 'month',
        runInterval: 3,
        startTime: '22:30',
        endTime: '05:00:30',
        breakdownAttributes: [],
      },
    ]);
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
      points('description: D, badge: {url: http://u.test}, maxPoints: 5'),
    );
    expect(lines(document, metric('m') + points())).to.deep.equal([
      '~ metric m: name "M" -> "m", unitType "currency" -> "number", units "EUR" -> ""',
      '~ points system p: description "D" -> none, badge.url "http://u.test" -> none, maxPoints 5 -> none',
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

  describe('keeps the terms of boosts that awards list', () => {
    const boosted = (fields: string): string => points(`boosts: [{key: b, name: B, start: 2026-01-01, ${fields}}]`);
    const boostOf = ({ pointsSystems }: typeof emptyConfig): PointsBoost => only(only(pointsSystems).boosts);
    /** Number → name, window, multiplier and rounding. */
    const termsIn = (document: typeof emptyConfig): Record<number, string> =>
      Object.fromEntries(
        [...new ActiveConfig({ tenant: 1, version: 1, document }).boostByNo].map(([number, { name, start, end, multiplier, rounding }]) => [
          number,
          `${name} ${start} ${end} ×${multiplier} ${rounding}`,
        ]),
      );

    it('under a number for each', () => {
      const document = after(
        boosted('multiplier: 2'),
        boosted('multiplier: 3'),
        boosted('multiplier: 3, rounding: up'),
        boosted('multiplier: 3, rounding: up, end: 2026-02-01').replace('name: B', 'name: C'),
      );
      expect(termsIn(document)).to.deep.equal({
        2: 'B 2026-01-01 null ×2 down',
        3: 'B 2026-01-01 null ×3 down',
        4: 'B 2026-01-01 null ×3 up',
        5: 'C 2026-01-01 2026-02-01 ×3 up',
      });
      expect([boostOf(document).no, document.nextNo]).to.deep.equal([2, 6]);
    });

    it('and their number if they return, archived in between or not', () => {
      const document = after(
        boosted('multiplier: 2'),
        boosted('multiplier: 3'),
        boosted('multiplier: 2'),
        points(),
        boosted('multiplier: 3'),
      );
      expect(termsIn(document)).to.deep.equal({ 2: 'B 2026-01-01 null ×2 down', 3: 'B 2026-01-01 null ×3 down' });
      expect([boostOf(document).numbers, document.nextNo]).to.deep.equal([[3], 4]);
    });

    it('but no number for other changes', () => {
      const changed = after(boosted('multiplier: 2'), boosted('multiplier: 2, userId: ana'));
      expect([boostOf(changed).numbers, changed.nextNo]).to.deep.equal([undefined, 3]);
      const again = apply(apply(changed, boosted('multiplier: 3, userId: ana')).document, boosted('multiplier: 3, userId: bo')).document;
      expect(termsIn(again)).to.deep.equal({ 2: 'B 2026-01-01 null ×2 down', 3: 'B 2026-01-01 null ×3 down' });
    });

    it('of the last hundred: earlier awards list the oldest of these', () => {
      const multipliers = Array.from({ length: limits.maxEarlierTerms + 3 }, (_, i) => (i < 50 ? i + 2 : 1 / 8 + i));
      const terms = termsIn(after(...multipliers.map((multiplier) => boosted(`multiplier: ${multiplier % 100}`))));
      expect(Object.keys(terms)).to.have.lengthOf(limits.maxEarlierTerms + 3);
      expect([2, 3, 4, 5].map((number) => terms[number])).to.deep.equal([4, 4, 4, 5].map((by) => `B 2026-01-01 null ×${by} down`));
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
    const document = after(both, calls);
    const pruned = apply(document, metric('n'), { now: friday, prune: true });
    expect(describeChanges(pruned.changes)).to.deep.equal(['- metric m', '~ metric n: name "N" -> "n"', '- achievement c']);
    expect(apply(pruned.document, metric('n'), { prune: true }).changes).to.deep.equal([]);
    const revived = apply(pruned.document, both + calls);
    expect(describeChanges(revived.changes)).to.deep.equal([
      '+ metric m (archived until now, with its data)',
      '~ metric n: name "n" -> "N"',
      '+ achievement c (archived until now, with its data)',
    ]);
    const identity = ({ id, no, created }: ConfigObject): unknown => ({ id, no, created });
    expect(revived.document.metrics.map(identity)).to.deep.equal(document.metrics.map(identity));
    expect(revived.document.achievements.map(identity)).to.deep.equal(document.achievements.map(identity));
    expect(revived.document.nextNo).to.equal(document.nextNo);
  });

  it('gives the key of an archived leaderboard to a new one, whatever that ranks by, as often as it comes back', () => {
    const files = [byMetric, board('rankBy: streak, status: active'), byMetric];
    const document = files.reduce(
      (before, file) => {
        const { document: pruned } = apply(before, both, { prune: true });
        const { document: next, changes } = apply(pruned, file, { now: friday });
        expect(describeChanges(changes)).to.deep.equal(['+ leaderboard l']);
        return next;
      },
      after(both, byMetric),
    );
    const { leaderboards } = document;
    expect(leaderboards.map(({ archived, rankBy, start }) => `${archived} ${rankBy} ${start}`)).to.deep.equal([
      'true metric 2026-11-23',
      'true metric 2026-11-27',
      'true streak 2026-11-27',
      'false metric 2026-11-27',
    ]);
    for (const field of ['id', 'no'] as const) expect(new Set(leaderboards.map((object) => object[field])).size).to.equal(4);
    expect(apply(document, both + byMetric, { prune: true }).changes).to.deep.equal([]);
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

  it('starts a weekly leaderboard that names no day on the next first day of a week, and keeps that day', () => {
    const weekly = board('rankBy: metric, metricKey: m, runUnit: day, runInterval: 7');
    const start = (text: string, now: string): string => only(apply(after(metric('m')), text, { now }).document.leaderboards).start;
    const sunday = 'settings: {weekStart: sunday}\n';
    expect(start(weekly, monday)).to.equal('2026-11-23');
    expect(start(sunday + weekly, monday)).to.equal('2026-11-29');
    expect(start(weekly, friday)).to.equal('2026-11-30');
    expect(start(sunday + weekly, '2026-11-29T12:00:00Z')).to.equal('2026-11-29');
    expect(start(weekly.replace('runInterval: 7', 'runInterval: 14'), friday)).to.equal('2026-11-27');
    expect(start(weekly.replace('runUnit: day', 'runUnit: month'), friday)).to.equal('2026-11-27');
    expect(lines(after(metric('m'), weekly), weekly, { now: '2027-01-01T00:00:00Z' })).to.deep.equal([]);
  });

  it('finds what it refers to in the file, before or after, and in the current configuration', () => {
    expect(messageOf(emptyConfig, byMetric + metric('m'))).to.equal('');
    expect(messageOf(after(metric('m')), byMetric)).to.equal('');
    const text = `achievements:
  - {key: a, name: A, trigger: achievement, achievementKeys: [b]}
  - {key: b, name: B, trigger: achievement, achievementKeys: [c]}`;
    expect(messageOf(emptyConfig, text)).to.match(/: there is no achievement "c"$/);
    expect(messageOf(after(calls), text)).to.equal('');
  });

  it('shows other objects by key', () => {
    const texts = (keys: string): string => `attributes: [{key: a, name: A, type: user}, {key: b, name: B, type: user}]
points: [{key: p, name: P, triggers: [{key: t, type: achievement, achievementKey: ${keys.slice(0, 1)}, points: 1}]}]
achievements:
  - {key: all, name: All, trigger: achievement, achievementKeys: [${keys}]}
  - {key: a, name: A, trigger: api}
  - {key: b, name: B, trigger: api}
leaderboards: [{key: l, name: L, rankBy: streak, breakdownAttributes: [${keys}]}]`;
    expect(lines(after(texts('a, b')), texts('b'))).to.deep.equal([
      '~ achievement all: achievementKeys [a, b] -> [b]',
      '~ trigger p/t: achievementKey "a" -> "b"',
      '~ leaderboard l: breakdownAttributes [a, b] -> [b]',
    ]);
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
    expect(lines(document, 'settings: {weekStart: sunday}')).to.deep.equal(['~ settings: weekStart "monday" -> "sunday"']);
  });

  it('leaves fields of streaks that the file does not mention, but takes conditions and freezes as a whole', () => {
    const condition = (key: string, threshold: number): string => `{metricKey: ${key}, threshold: ${threshold}}`;
    const document = after(
      both,
      `streaks: {enabled: true, frequency: weekly, metrics: [${condition('m', 2)}], freezes: {initial: 1, maximum: 5, earnInterval: 7, earnAmount: 1}}`,
    );
    expect(apply(document, 'streaks: {enabled: , metrics: }').document).to.equal(document);
    expect(lines(document, `streaks: {evaluationMode: AND, metrics: [${condition('n', 0.5)}], freezes: {maximum: 2}}`)).to.deep.equal([
      '~ streaks: evaluationMode "OR" -> "AND", metrics [m >= 2] -> [n >= 0.5], ' +
        'freezes.initial 1 -> 0, freezes.maximum 5 -> 2, freezes.earnInterval 7 -> 0, freezes.earnAmount 1 -> 0',
    ]);
  });

  it('does not take -0, which a document from Postgres has as 0, for a change', () => {
    expect(lines(emptyConfig, 'settings: {controlRatio: -0}')).to.deep.equal([]);
  });
});

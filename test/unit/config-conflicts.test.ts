import { expect } from 'chai';
import { type ConfigDocument } from '../../src/config/schema/model.js';
import { after, apply, both, byMetric, calls, messageOf, metric, only, points } from '../support/config.js';

describe('A configuration file that conflicts with the current configuration', () => {
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
      'f.yaml:2:68: trigger "t": metric "m" is archived: add it to the file to use it again',
    ],
    [
      'prune would archive what an achievement of the file needs',
      after(calls),
      'achievements:\n  - {key: a, name: A, trigger: achievement, achievementKeys: [c]}',
      true,
      'f.yaml:2:63: achievement "a": achievement "c" is not in the file, so --prune would archive it',
    ],
    [
      'prune would archive an achievement to which a trigger of the file refers',
      after(calls),
      'points:\n  - {key: p, name: P, triggers: [{key: t, type: achievement, achievementKey: c, points: 1}]}',
      true,
      'f.yaml:2:78: trigger "t": achievement "c" is not in the file, so --prune would archive it',
    ],
    [
      'prune would archive what the streak settings, which stay, refer to',
      after(metric('m'), 'streaks: {metrics: [{metricKey: m, threshold: 1}]}'),
      '{}',
      true,
      'f.yaml: streaks: metric "m" is archived',
    ],
    [
      'an achievement of the file closes a circle with one that is kept',
      after(`achievements:
  - {key: a, name: A, trigger: achievement, achievementKeys: [b]}
  - {key: b, name: B, trigger: achievement, achievementKeys: [c]}
  - {key: c, name: C, trigger: api}`),
      'achievements:\n  - {key: b, name: B, trigger: achievement, achievementKeys: [c, a]}',
      false,
      'f.yaml:2:66: achievement "b": it can never be completed because it requires itself: b -> a -> b',
    ],
    [
      'a leaderboard would end before the day on which it started',
      all,
      ranked('rankBy: metric, metricKey: m, end: 2026-11-21'),
      false,
      'f.yaml:2:58: leaderboard "l": the end 2026-11-21 is before the start 2026-11-23',
    ],
    [
      'there would be more metrics than there may be, with those that are kept',
      after(both),
      JSON.stringify({ metrics: Array.from({ length: 999 }, (_, n) => ({ key: `m${n}`, name: 'M' })) }),
      false,
      'f.yaml:1:12: 1001 metrics exceed the limit of 1000',
    ],
  ];
  for (const [what, current, text, prune, message] of cases) {
    it(`is refused: ${what}`, () => expect(messageOf(current, text, { prune })).to.equal(message));
  }

  it('is refused without a place for problems in objects that it does not mention', () => {
    const document = after(metric('m'), byMetric);
    const board = { ...only(document.leaderboards), end: '2020-01-01' };
    expect(messageOf({ ...document, leaderboards: [board] }, '{}')).to.equal(
      'f.yaml: leaderboard "l": the end 2020-01-01 is before the start 2026-11-23',
    );
  });
});

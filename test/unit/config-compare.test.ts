import { expect } from 'chai';
import { describeChanges } from '../../src/config/change/changes.js';
import { compareConfigs } from '../../src/config/change/compare.js';
import { type ConfigDocument, emptyConfig } from '../../src/config/schema/model.js';
import { after, apply, both, calls, friday, metric, points } from '../support/config.js';
import { richConfig } from '../support/rich-config.js';

const rich = JSON.stringify(richConfig);
const levels = (...of: readonly (readonly [key: string, from: number])[]): string =>
  points(`levels: [${of.map(([key, from]) => `{key: ${key}, name: ${key}, points: ${from}}`).join(', ')}]`);
const changed = (from: ConfigDocument, to: ConfigDocument): string[] => describeChanges(compareConfigs(from, to));

describe('The difference between two versions', () => {
  const steps: readonly (readonly [what: string, from: string, file: string, prune?: boolean])[] = [
    ['everything added', '', rich],
    ['everything archived', rich, 'settings: {}', true],
    ['an object added beside others', both, calls],
    ['a field changed', metric('m'), 'metrics: [{key: m, name: Cards, units: cards}]'],
    ['levels added, changed and archived', levels(['a', 1], ['b', 2]), levels(['b', 3], ['c', 4])],
    [
      'settings and streaks changed',
      metric('m'),
      'settings: {weekStart: sunday}\nstreaks: {enabled: true, metrics: [{metricKey: m, threshold: 2}]}',
    ],
    ['another order, which is no change', both, 'metrics: [{key: n, name: N}, {key: m, name: M}]'],
  ];
  for (const [what, from, file, prune = false] of steps) {
    it(`is what applying the file has changed: ${what}`, () => {
      const before = from === '' ? emptyConfig : after(from);
      const plan = apply(before, file, { prune, now: friday });
      expect(changed(before, plan.document).sort()).to.deep.equal(describeChanges(plan.changes).sort());
    });
  }

  it('is what applying has changed when an archived object comes back', () => {
    const archived = apply(after(levels(['a', 1])), 'settings: {}', { prune: true }).document;
    const plan = apply(archived, levels(['a', 2]));
    expect(changed(archived, plan.document)).to.deep.equal(describeChanges(plan.changes));
  });

  it('leads back as well: what is new in the one is archived in the other', () => {
    const older = after(metric('m'));
    const newer = apply(older, both).document;
    expect(changed(older, newer)).to.deep.equal(['~ metric m: name "m" -> "M"', '+ metric n']);
    expect(changed(newer, older)).to.deep.equal(['- metric n', '~ metric m: name "M" -> "m"']);
    expect(changed(newer, newer)).to.deep.equal([]);
  });

  it('has the key of a leaderboard that was renamed', () => {
    const older = after('leaderboards: [{key: l, name: L, rankBy: streak}]');
    const newer = { ...older, leaderboards: older.leaderboards.map((board) => ({ ...board, key: 'renamed' })) };
    expect(changed(older, newer)).to.deep.equal(['~ leaderboard renamed: key "l" -> "renamed"']);
  });
});

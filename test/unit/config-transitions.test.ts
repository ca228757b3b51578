import { expect } from 'chai';
import { kinds } from '../../src/config/schema/kinds.js';
import { type ConfigDocument, type ListName } from '../../src/config/schema/model.js';
import { after, apply, friday, lines, messageOf } from '../support/config.js';

// The documents are of Monday, 2026-11-23, the files of Friday, 2026-11-27.
const metrics = 'metrics: [{key: m, name: M}, {key: n, name: N}]\npoints: [{key: p, name: P}]\n';
const attributes = 'attributes: [{key: a, name: A, type: user}, {key: b, name: B, type: user}]\n';
const base = after(metrics, attributes);
const achievement = (fields: string): string => `achievements:\n  - {key: c, name: C, ${fields}}`;
const board = (fields: string): string => `leaderboards:\n  - {key: l, name: L, ${fields}}`;
const having = (text: string): ConfigDocument => apply(base, text).document;

/** The sentence with which a file is refused on the Friday, without its place; empty if it is fine. */
const refusal = (was: string, is: string): string =>
  messageOf(having(was), is).replace(/^f\.yaml:\d+:\d+: (achievement "c"|leaderboard "l"): /, '');

describe('The status of an achievement', () => {
  const statuses = ['inactive', 'active', 'locked'] as const;
  const backAgain = (was: string): string =>
    `it is ${was} and cannot become inactive again: use status: locked to keep users from completing it`;
  const refused: Readonly<Record<string, string>> = {
    'inactive -> locked': 'it is inactive and must become active before it can be locked',
    'active -> inactive': backAgain('active'),
    'locked -> inactive': backAgain('locked'),
  };
  for (const was of statuses) {
    for (const is of statuses) {
      const move = `${was} -> ${is}`;
      it(`${move} is ${move in refused ? 'refused' : 'fine'}`, () => {
        const status = (value: string): string => achievement(`trigger: api, status: ${value}`);
        expect(refusal(status(was), status(is))).to.equal(refused[move] ?? '');
      });
    }
  }

  it('may be any at first', () => {
    for (const status of statuses) expect(messageOf(base, achievement(`trigger: api, status: ${status}`))).to.equal('');
  });

  it('is inactive in a file that names none, which is reported at the achievement', () => {
    expect(messageOf(having(achievement('trigger: api, status: active')), achievement('trigger: api'))).to.equal(
      `f.yaml:2:5: achievement "c": ${backAgain('active')}`,
    );
  });

  it('moves on from where it was, when the achievement comes back from the archive', () => {
    const archived = apply(having(achievement('trigger: api, status: locked')), '{}', { prune: true }).document;
    expect(messageOf(archived, achievement('trigger: api, status: inactive'))).to.contain(backAgain('locked'));
    expect(lines(archived, achievement('trigger: api, status: active'))).to.deep.equal([
      '+ achievement c (archived until now, with its data): status "locked" -> "active"',
    ]);
  });
});

describe('An achievement', () => {
  const byMetric = 'trigger: metric, metricKey: m, metricValue: 5';
  const cases: readonly (readonly [what: string, was: string, is: string, sentence: string])[] = [
    ['takes another trigger', byMetric, 'trigger: streak, streakLength: 5', ''],
    ['takes another metric', byMetric, 'trigger: metric, metricKey: n, metricValue: 5', ''],
    ['takes another trigger only with its fields', byMetric, 'trigger: streak', 'streakLength is required with trigger: streak'],
    ['takes another value', byMetric, 'trigger: metric, metricKey: m, metricValue: 6', ''],
    ['takes another length', 'trigger: streak, streakLength: 5', 'trigger: streak, streakLength: 6', ''],
    ['takes filters', 'trigger: api', 'trigger: api, userAttributes: [{attributeKey: a, attributeValue: x}]', ''],
  ];
  for (const [what, was, is, sentence] of cases) {
    it(what, () => expect(refusal(achievement(was), achievement(is))).to.equal(sentence));
  }

  it('comes back from the archive with another trigger', () => {
    const archived = apply(having(achievement(byMetric)), '{}', { prune: true }).document;
    expect(lines(archived, metrics + achievement('trigger: api')).join('\n')).to.contain(
      '+ achievement c (archived until now, with its data): trigger "metric" -> "api"',
    );
  });

  it('reports a status that it cannot take, at its place', () => {
    const was = having(achievement(`${byMetric}, status: active`));
    expect(messageOf(was, achievement('status: inactive, trigger: metric, metricKey: n, metricValue: 5'))).to.equal(
      'f.yaml:2:31: achievement "c": it is active and cannot become inactive again: use status: locked to keep users from completing it',
    );
  });

  it('reports no change of unreadable fields', () => {
    const was = having(achievement(`${byMetric}, status: active`));
    expect(messageOf(was, achievement('trigger: metric, metricKey: n n, metricValue: 5, status: off'))).to.match(
      /^f.yaml:2:51: .* metricKey must be one or more letters.*\nf.yaml:2:80: .* status must be inactive or active or locked, not "off"$/,
    );
  });
});

describe('A leaderboard', () => {
  const whole =
    'rankBy: metric, metricKey: m, start: 2026-11-23, startTime: 09:00, endTime: 17:00, breakdownAttributes: [a], runUnit: day, runInterval: 7';
  const active = `${whole}, status: active`;
  const inactive = `${whole}, status: inactive`;
  const stays = (field: string): string =>
    `${field} cannot change once a leaderboard is active because its values would mean something else: create a new leaderboard under another key`;
  const edits: readonly (readonly [field: string, from: string, to: string])[] = [
    ['rankBy', 'rankBy: metric, metricKey: m', 'rankBy: points, pointsSystemKey: p'],
    ['metricKey', 'metricKey: m', 'metricKey: n'],
    ['start', 'start: 2026-11-23', 'start: 2026-11-30'],
    ['startTime', '09:00', '08:00'],
    ['endTime', '17:00', '17:00:01'],
    ['breakdownAttributes', '[a]', '[a, b]'],
    ['runUnit', 'runUnit: day', 'runUnit: month'],
    ['runInterval', 'runInterval: 7', 'runInterval: 14'],
  ];
  for (const [field, from, to] of edits) {
    it(`keeps ${field} while it is active`, () => {
      expect(refusal(board(active), board(active.replace(from, to)))).to.equal(stays(field));
    });
    it(`takes another ${field} while it is inactive, even as it becomes active`, () => {
      expect(refusal(board(inactive), board(active.replace(from, to)))).to.equal('');
    });
  }

  it('keeps its points system while it is active', () => {
    const document = apply(base, 'points: [{key: q, name: Q}]').document;
    const text = (key: string): string => board(`rankBy: points, pointsSystemKey: ${key}, status: active`);
    expect(messageOf(apply(document, text('p')).document, text('q'))).to.contain(stays('pointsSystemKey'));
  });

  it('reports each field that it keeps while it is active, at its place', () => {
    const is =
      'rankBy: metric, metricKey: m, start: 2026-11-24, status: active, runUnit: day, runInterval: 7, startTime: 09:00, endTime: 17:00';
    expect(messageOf(having(board(active)), board(is))).to.equal(
      `f.yaml:2:5: leaderboard "l": ${stays('breakdownAttributes')}\nf.yaml:2:60: leaderboard "l": ${stays('start')}`,
    );
  });

  const moves: readonly (readonly [what: string, was: string, is: string, sentence: string])[] = [
    ['becomes active', inactive, active, ''],
    ['stays inactive', inactive, inactive, ''],
    ['does not become inactive again', active, inactive, 'it is active and cannot become inactive again: it finishes after its end'],
    [
      'becomes inactive in a file that names no status',
      active,
      whole,
      'it is active and cannot become inactive again: it finishes after its end',
    ],
    ['takes another name, size and text', active, `${active}, maxParticipants: 5, description: D`, ''],
    ['may have its window written in another way', active, active.replace('09:00', '09:00:00'), ''],
    ['gets an end', active, `${active}, end: 2026-11-27`, ''],
    ['gets a later end before it has ended', `${active}, end: 2026-11-27`, `${active}, end: 2027-11-27`, ''],
    ['gets no end any more before it has ended', `${active}, end: 2026-11-27`, active, ''],
    ['ends yesterday, which finishes it now', active, `${active}, end: 2026-11-26`, ''],
    [
      'gets no end before that',
      active,
      `${active}, end: 2026-11-25`,
      'the end 2026-11-25 is in the past: an active leaderboard can end on 2026-11-26 at the earliest',
    ],
    ...['2026-11-25', '2026-11-27', '2027-01-01'].map(
      (end) =>
        [
          `that has finished does not end on ${end}`,
          `${active}, end: 2026-11-26`,
          `${active}, end: ${end}`,
          'it finished after 2026-11-26 and cannot reopen: create a new leaderboard under another key',
        ] as const,
    ),
    ['stays finished', `${active}, end: 2026-11-26`, `${active}, end: 2026-11-26`, ''],
    ['can get an end in the past while it is inactive', inactive, `${inactive}, end: 2026-11-24`, ''],
  ];
  for (const [what, was, is, sentence] of moves) {
    it(what, () => expect(refusal(board(was), board(is))).to.equal(sentence));
  }
});

describe('A leaderboard with status: scheduled', () => {
  const text = (start: string, status: string): string =>
    board(`rankBy: streak, status: ${status}${start === '' ? '' : `, start: ${start}`}`);
  const today = (start: string): string => `start must be after today, 2026-11-27, for status: scheduled, not ${start}`;

  it('is stored as active from a day to come on', () => {
    expect(having(text('2026-12-01', 'scheduled')).leaderboards[0]).to.include({ status: 'active', start: '2026-12-01' });
  });

  it('may stay so in the file, also once it has started', () => {
    const scheduled = having(text('2026-11-25', 'scheduled'));
    for (const now of [friday, '2027-01-01T00:00:00Z']) {
      for (const same of ['2026-11-25', '']) expect(lines(scheduled, text(same, 'scheduled'), { now })).to.deep.equal([]);
      expect(lines(scheduled, text('2026-11-25', 'active'), { now })).to.deep.equal([]);
    }
  });

  it('starts on no day that is not to come', () => {
    expect(refusal('{}', text('2026-11-27', 'scheduled'))).to.equal(today('2026-11-27'));
    expect(refusal(text('2026-11-25', 'inactive'), text('', 'scheduled'))).to.equal(today('2026-11-25'));
    expect(refusal(text('2026-11-25', 'inactive'), text('2026-11-28', 'scheduled'))).to.equal('');
  });
});

/**
 * For each list, the fields that an object in use can change, and those that it keeps because data of users would mean something else. A new field has
 * to be put on one side.
 */
const decided: Readonly<Record<ListName, readonly [changes: string, stays: string]>> = {
  // Two attributes of different types may share a key: the type is a part of which one it is.
  attributes: ['name', 'type'],
  metrics: ['name unitType units', ''],
  pointsSystems: ['name description badge maxPoints', ''],
  levels: ['name points description badge', ''],
  triggers: [
    'type points status userAttributes metricKey metricThreshold eventAttributes blockIfOutOfPoints achievementKey streakLength timeUnit timeInterval',
    '',
  ],
  boosts: ['name start end multiplier rounding userId userAttributes', ''],
  achievements: [
    'name description badge status trigger userAttributes metricKey metricValue eventAttributes streakLength achievementKeys anniversaryYears',
    '',
  ],
  leaderboards: [
    'name description status maxParticipants end',
    'rankBy metricKey pointsSystemKey start startTime endTime breakdownAttributes runUnit runInterval',
  ],
  webhooks: ['name url events status', ''],
  templates: ['name type locale subject heading body button buttonUrl pushTitle pushBody', ''],
};

describe('The permanence of a field', () => {
  for (const { list, fields } of Object.values(kinds)) {
    it(`is decided for each field of ${list}`, () => {
      const names = decided[list].flatMap((side) => side.split(' ')).filter((name) => name !== '');
      expect(names).to.have.members(fields.map(({ file }) => file));
    });
  }

  it('is what the schema says of leaderboards', () => {
    expect([...kinds.leaderboards.permanent].join(' ')).to.equal(decided.leaderboards[1]);
  });
});

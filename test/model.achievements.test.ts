import { expect } from 'chai';
import type { AchievementSpec, DocumentSpec } from './support/model/documents.js';
import { Play } from './support/model/play.js';

const metric = (value: number, more: Partial<AchievementSpec> = {}): AchievementSpec =>
  ({ trigger: 'metric', metric: 'm1', value, ...more }) as AchievementSpec;
const needs = (...keys: string[]): AchievementSpec => ({ trigger: 'achievement', needs: keys });
const phone = { attributes: { device: 'phone' } };
const nuuk = { user: { attributes: { city: 'Nuuk' } } };

/** `what > completed`: `m1 5` an event, `phone m1 5` one with an attribute, `nuuk m1 5` one of a user who is in Nuuk from then on. */
interface Row {
  readonly rule: string;
  readonly of: readonly AchievementSpec[];
  readonly steps: readonly string[];
}

const tables: Readonly<Record<string, readonly Row[]>> = {
  Metric: [
    { rule: 'when the total reaches the value', of: [metric(10)], steps: ['m1 9.5 >', 'm2 9 >', 'm1 0.5 > a1', 'm1 5 >'] },
    { rule: 'once, however often the total comes by', of: [metric(10)], steps: ['m1 10 > a1', 'm1 -10 >', 'm1 10 >'] },
    { rule: 'several in the order of the configuration', of: [metric(5), metric(2), metric(9)], steps: ['m1 5 > a1 a2', 'm1 9 > a3'] },
    {
      rule: 'with event filters, when the total of the matching events does',
      of: [metric(10, { event: { device: 'phone' } })],
      steps: ['m1 50 >', 'phone m1 9 >', 'm1 50 >', 'phone m1 1 > a1'],
    },
    {
      rule: 'only for users who match, and then with the next event on the metric',
      of: [metric(10, { user: { city: 'Nuuk' } })],
      steps: ['m1 20 >', 'nuuk m2 0 >', 'm1 0 > a1'],
    },
    {
      rule: 'with event filters, what matched before the user did counts',
      of: [metric(10, { user: { city: 'Nuuk' }, event: { device: 'phone' } })],
      steps: ['phone m1 20 >', 'nuuk m1 0 > a1'],
    },
    {
      rule: 'not while it is inactive or locked',
      of: [metric(1, { status: 'inactive' }), metric(1, { status: 'locked' })],
      steps: ['m1 5 >'],
    },
  ],
  Composite: [
    { rule: 'with the last of its prerequisites', of: [metric(5), metric(10), needs('a1', 'a2')], steps: ['m1 5 > a1', 'm1 5 > a2 a3'] },
    { rule: 'however deep', of: [needs('a2'), needs('a3'), needs('a4'), metric(5)], steps: ['m1 5 > a4 a3 a2 a1'] },
    {
      rule: 'in the order in which their last prerequisites were completed',
      of: [metric(5), metric(5), needs('a2'), needs('a1'), needs('a3', 'a4'), needs('a1')],
      steps: ['m1 5 > a1 a2 a4 a6 a3 a5'],
    },
    {
      rule: 'is not looked at again when only the profile changes',
      of: [metric(5), { ...needs('a1'), user: { city: 'Nuuk' } }],
      steps: ['m1 5 > a1', 'nuuk m1 5 >'],
    },
    {
      rule: 'a closed one in between does not let the others through',
      of: [metric(5), { ...needs('a1'), status: 'locked' }, needs('a2'), needs('a1')],
      steps: ['m1 5 > a1 a4'],
    },
  ],
};

describe('The model: achievements', () => {
  for (const [heading, rows] of Object.entries(tables)) {
    describe(heading, () => {
      for (const { rule, of, steps } of rows) {
        it(rule, () => {
          const play = new Play({ metrics: 2, achievements: of });
          for (const step of steps) {
            const [what = '', expected = ''] = step.split('>').map((part) => part.trim());
            const [value, key, word] = what.split(' ').reverse();
            const more = word === 'phone' ? phone : word === 'nuuk' ? nuuk : {};
            const { achievements } = play.event('ana', key!, Number(value), more);
            expect(achievements.map((each) => each.key).join(' '), step).to.equal(expected);
          }
        });
      }
    });
  }

  describe('Streak', () => {
    const spec: DocumentSpec = {
      metrics: 1,
      streaks: { conditions: { m1: 1 } },
      achievements: [{ trigger: 'streak', length: 2 }, needs('a1'), { trigger: 'streak', length: 2, user: { city: 'Nuuk' } }],
    };

    it('when the event extends the streak to its length', () => {
      const play = new Play(spec);
      expect(play.event('ana', 'm1', 1).achievements).to.deep.equal([]);
      const { achievements } = play.at('01-03 12:00').event('ana', 'm1', 1);
      expect(achievements.map(({ key }) => key)).to.deep.equal(['a1', 'a2']);
    });

    it('events that do not extend it are not looked at', () => {
      const play = new Play(spec);
      play.event('ana', 'm1', 1);
      play.at('01-03 12:00').event('ana', 'm1', 1);
      expect(play.event('ana', 'm1', 1, nuuk).achievements).to.deep.equal([]);
      expect(
        play
          .at('01-04 12:00')
          .event('ana', 'm1', 1)
          .achievements.map(({ key }) => key),
      ).to.deep.equal(['a3']);
    });
  });

  describe('By a call', () => {
    const spec: DocumentSpec = {
      metrics: 1,
      achievements: [{ trigger: 'api', user: { city: 'Nuuk' } }, needs('a1'), metric(1), { trigger: 'api', status: 'locked' }],
    };

    it('once, and only those of this kind that are active, for users who match', () => {
      const { model } = new Play(spec);
      const inNuuk = { id: 'ana', attributes: { city: 'Nuuk' } };
      const statuses = [
        model.completeAchievement('a1', { id: 'ana' }),
        model.completeAchievement('a1', inNuuk),
        model.completeAchievement('a1', inNuuk),
        model.completeAchievement('a3', inNuuk),
        model.completeAchievement('a4', inNuuk),
        model.completeAchievement('a9', inNuuk),
        model.completeAchievement('a1', { ...inNuuk, id: 'bo', tz: 'Mars/Olympus' }),
      ];
      expect(statuses.map(({ status }) => status)).to.deep.equal([422, 201, 422, 422, 422, 404, 422]);
      expect(model.user('bo').status, 'a refused call creates nobody').to.equal(404);
    });

    it('completes the composites that follow', () => {
      const play = new Play(spec);
      play.model.completeAchievement('a1', { id: 'ana', attributes: { city: 'Nuuk' } });
      expect(play.completed('ana')).to.deep.equal(['a1', 'a2']);
    });
  });

  describe('Activation', () => {
    const activate = (play: Play, position: number): void => void play.edit({ edit: 'achievementStatus', achievement: position });

    it('completes it silently for the users who already qualify, and the composites that follow', () => {
      const play = new Play({
        metrics: 1,
        achievements: [metric(5, { status: 'inactive' }), needs('a1'), needs('a2')],
        systems: [{ triggers: [{ type: 'achievement', achievement: 'a1', points: 9 }] }],
      });
      play.event('ana', 'm1', 7);
      play.event('bo', 'm1', 4);
      activate(play.at('01-05 12:00'), 0);
      expect([play.completed('ana'), play.completed('bo'), play.points('ana').total]).to.deep.equal([['a1', 'a2', 'a3'], [], 0]);
      expect(play.model.achievements('ana', false).body).to.have.nested.property('0.achievedAt', '2040-01-05T12:00:00.000Z');
      expect(play.event('ana', 'm1', 1).achievements).to.deep.equal([]);
      expect(play.event('bo', 'm1', 1).points['p1']!.added).to.equal(9);
    });

    it('goes by the matching events since the achievement exists, by the streak, and by the filters', () => {
      const play = new Play({
        metrics: 1,
        streaks: { conditions: { m1: 1 } },
        achievements: [
          metric(5, { status: 'inactive', event: { device: 'phone' } } as never),
          { trigger: 'streak', length: 2, status: 'inactive' },
          { ...metric(5, { status: 'inactive' }), user: { city: 'Nuuk' } },
        ],
      });
      play.event('ana', 'm1', 5, phone);
      play.event('bo', 'm1', 5, nuuk);
      play.at('01-03 12:00').event('bo', 'm1', 1);
      for (const position of [0, 1, 2]) activate(play, position);
      expect([play.completed('ana'), play.completed('bo')]).to.deep.equal([['a1'], ['a2', 'a3']]);
    });

    it('a value that is lowered is looked at in the same way', () => {
      const play = new Play({ metrics: 1, achievements: [metric(50)] });
      play.event('ana', 'm1', 7);
      play.edit({ edit: 'achievementValue', achievement: 0, value: 5 });
      expect(play.completed('ana')).to.deep.equal(['a1']);
    });

    it('who has one keeps it when it is locked, and nobody completes it until it is active again', () => {
      const play = new Play({ metrics: 1, achievements: [metric(5)] });
      play.event('ana', 'm1', 5);
      activate(play, 0);
      expect(play.event('bo', 'm1', 5).achievements).to.deep.equal([]);
      expect([play.completed('ana'), play.completed('bo')]).to.deep.equal([['a1'], []]);
      activate(play, 0);
      expect(play.completed('bo')).to.deep.equal(['a1']);
    });
  });

  describe('Completions and rarity', () => {
    const rows = (play: Play): unknown[] =>
      (play.model.allAchievements().body as { completions: number; rarity: number }[]).map(({ completions, rarity }) => [
        completions,
        rarity,
      ]);

    it('count users, in percent with two decimals, a half up', () => {
      const play = new Play({ metrics: 1, achievements: [metric(5)] });
      expect(rows(play)).to.deep.equal([[0, 0]]);
      play.event('u0', 'm1', 5);
      expect(rows(play)).to.deep.equal([[1, 100]]);
      for (const id of ['u1', 'u2']) play.event(id, 'm1', 1);
      expect(rows(play)).to.deep.equal([[1, 33.33]]);
      play.event('u1', 'm1', 4);
      expect(rows(play)).to.deep.equal([[2, 66.67]]);
      for (let i = 3; i < 32; i += 1) play.event(`u${i}`, 'm1', 1);
      // 2 of 32 are 6.25 %, 3 of 32 are 9.375 %.
      play.event('u2', 'm1', 4);
      expect(rows(play)).to.deep.equal([[3, 9.38]]);
    });

    it('a metric shows its achievements with what the user has of them', () => {
      const play = new Play({ metrics: 2, achievements: [metric(5), metric(9), metric(1, { status: 'inactive' })] });
      play.event('ana', 'm1', 5);
      const [m1, m2] = play.model.metrics('ana').body as { current: number; achievements: { key: string; achievedAt: string | null }[] }[];
      expect(m1!.achievements.map(({ key, achievedAt }) => [key, achievedAt])).to.deep.equal([
        ['a1', '2040-01-02T12:00:00.000Z'],
        ['a2', null],
      ]);
      expect([m1!.current, m2!.current, m2!.achievements]).to.deep.equal([5, 0, []]);
    });
  });
});

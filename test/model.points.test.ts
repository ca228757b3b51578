import { expect } from 'chai';
import { dateAfter, type BoostSpec, type SystemSpec, type TriggerSpec } from './support/model/documents.js';
import { Play, zoneNamed } from './support/model/play.js';

const perMetric = (threshold: number, points: number, more: object = {}): TriggerSpec => ({
  type: 'metric',
  metric: 'm1',
  threshold,
  points,
  ...more,
});
const boost = (multiplier: number, rounding: BoostSpec['rounding'] = 'down', more: Partial<BoostSpec> = {}): BoostSpec => ({
  ...{ start: dateAfter(0), end: null, multiplier, rounding },
  ...more,
});

/** Each step is the value of an event on m1 and what it adds in system p1; a refused event adds `422`. */
interface Row {
  readonly rule: string;
  readonly of: SystemSpec;
  readonly steps: readonly (readonly [value: number, adds: number | '422'])[];
}

const tables: Readonly<Record<string, readonly Row[]>> = {
  'Metric triggers': [
    {
      rule: 'pay at every multiple that is newly passed',
      of: { triggers: [perMetric(5, 10)] },
      steps: [
        [4, 0],
        [1, 10],
        [20, 40],
        [4.9, 0],
        [0.1, 10],
      ],
    },
    {
      rule: 'cannot be farmed by going down and up again',
      of: { triggers: [perMetric(5, 10)] },
      steps: [
        [10, 20],
        [-8, 0],
        [8, 0],
        [-100, 0],
        [104, 0],
        [1, 10],
      ],
    },
    {
      rule: 'go by exact sums',
      of: { triggers: [perMetric(1, 1)] },
      steps: Array.from({ length: 10 }, (_, i) => [0.1, i === 9 ? 1 : 0] as const),
    },
    {
      rule: 'deduct, but never below 0',
      of: { triggers: [perMetric(5, 10), perMetric(10, -15)] },
      steps: [
        [5, 10],
        [5, -5],
        [5, 10],
        [5, -5],
      ],
    },
    {
      rule: 'that block refuse an event that would deduct more than the total then is',
      of: { triggers: [perMetric(5, 10), perMetric(10, -25, { blocks: true })] },
      steps: [
        [9, 10],
        [1, '422'],
        [5, '422'],
        [0.5, 0],
        [0.5, '422'],
      ],
    },
    {
      rule: 'look at the total in their order',
      of: { triggers: [perMetric(1, -10, { blocks: true }), perMetric(1, 10)] },
      steps: [
        [1, '422'],
        [0.5, 0],
      ],
    },
    { rule: 'that are inactive stand still', of: { triggers: [perMetric(5, 10, { inactive: true })] }, steps: [[20, 0]] },
  ],
  'Cap and floor': [
    {
      rule: 'an award stops at maxPoints',
      of: { maxPoints: 25, triggers: [perMetric(1, 10)] },
      steps: [
        [1, 10],
        [1, 10],
        [1, 5],
        [1, 0],
      ],
    },
    {
      rule: 'a deduction makes room again',
      of: { maxPoints: 25, triggers: [perMetric(1, 10), perMetric(4, -20)] },
      steps: [
        [3, 25],
        [1, -20],
        [1, 10],
      ],
    },
  ],
  Boosts: [
    {
      rule: '10 points × 1.1 rounded up are 11, not 12',
      of: { triggers: [perMetric(1, 10)], boosts: [boost(1.1, 'up')] },
      steps: [[1, 11]],
    },
    {
      rule: 'the product is applied once, then rounded',
      of: { triggers: [perMetric(1, 1)], boosts: [boost(1.5), boost(1.5)] },
      steps: [
        [1, 2],
        [4, 9],
      ],
    },
    {
      rule: 'the largest multiplier says how to round',
      of: { triggers: [perMetric(1, 1)], boosts: [boost(1.5, 'up'), boost(1.1)] },
      steps: [[1, 2]],
    },
    {
      rule: 'the newest of equals says how to round',
      of: { triggers: [perMetric(1, 1)], boosts: [boost(1.5, 'up'), boost(1.5)] },
      steps: [
        [1, 2],
        [1, 2],
      ],
    },
    {
      rule: 'the newest of equals, the other way round',
      of: { triggers: [perMetric(1, 1)], boosts: [boost(1.5), boost(1.5, 'up')] },
      steps: [[1, 3]],
    },
    {
      rule: 'nearest takes a half up',
      of: { triggers: [perMetric(1, 1)], boosts: [boost(1.5, 'nearest')] },
      steps: [
        [1, 2],
        [3, 5],
      ],
    },
    {
      rule: 'deductions are not boosted',
      of: { triggers: [perMetric(1, 10), perMetric(2, -3)], boosts: [boost(2)] },
      steps: [
        [1, 20],
        [1, 17],
      ],
    },
    {
      rule: 'what is rounded down to nothing is no award',
      of: { triggers: [perMetric(1, 1)], boosts: [boost(0.5)] },
      steps: [
        [1, 0],
        [2, 1],
      ],
    },
    {
      rule: 'boosts of another user do not apply',
      of: { triggers: [perMetric(1, 1)], boosts: [boost(3, 'down', { userId: 'bo' })] },
      steps: [[1, 1]],
    },
    {
      rule: 'boosts of a user apply to that user',
      of: { triggers: [perMetric(1, 1)], boosts: [boost(3, 'down', { userId: 'ana' })] },
      steps: [[1, 3]],
    },
    {
      rule: 'boosts for others do not apply',
      of: { triggers: [perMetric(1, 1)], boosts: [boost(3, 'down', { user: { city: 'Nuuk' } })] },
      steps: [[1, 1]],
    },
  ],
};

describe('The model: points', () => {
  for (const [heading, rows] of Object.entries(tables)) {
    describe(heading, () => {
      for (const { rule, of, steps } of rows) {
        it(rule, () => {
          const play = new Play({ metrics: 1, systems: [of] });
          play.identify('ana', {});
          for (const [value, adds] of steps) {
            const before = play.points('ana').total;
            const status = play.status('ana', 'm1', value);
            expect(status === 422 ? '422' : play.points('ana').total - before, `an event of ${value}`).to.equal(adds);
          }
        });
      }
    });
  }

  it('a refused event changes nothing, not even the user', () => {
    const play = new Play({ metrics: 1, systems: [{ triggers: [perMetric(1, -1, { blocks: true })] }] });
    expect(play.status('ana', 'm1', 1, { user: { name: 'Ana' }, idempotencyKey: 'k' })).to.equal(422);
    expect(play.model.user('ana').status).to.equal(404);
    expect(play.event('ana', 'm1', 0.5, { idempotencyKey: 'k' })).to.include({ total: 0.5, idempotentReplayed: false });
  });

  it('an event names each award with its total, its trigger and its boosts, and the level only when it changes', () => {
    const play = new Play({
      metrics: 1,
      systems: [{ levels: [10, 30], triggers: [perMetric(5, 10), perMetric(10, 5)], boosts: [boost(2)] }],
    });
    const { p1 } = play.event('ana', 'm1', 10, { user: { attributes: { city: 'Nuuk' } } }).points;
    expect(p1).to.include({ total: 50, added: 50 });
    expect(p1!.level).to.include({ key: 'p1-l2' });
    expect(p1!.awards.map(({ awarded, total, trigger, boosts }) => [awarded, total, trigger['points'], boosts.length])).to.deep.equal([
      [40, 40, 10, 1],
      [10, 50, 5, 1],
    ]);
    expect(play.event('ana', 'm1', 5).points['p1']).to.not.have.property('level');
    expect(play.event('ana', 'm1', 1).points).to.deep.equal({});
    expect(play.points('ana').awards.map(({ awarded }) => awarded)).to.deep.equal([20, 10, 40]);
  });

  it('a level is lost again, and null is said where none is left', () => {
    const play = new Play({
      metrics: 2,
      systems: [{ levels: [10], triggers: [perMetric(5, 10), { type: 'metric', metric: 'm2', threshold: 1, points: -1 }] }],
    });
    expect(play.event('ana', 'm1', 5).points['p1']!.level).to.include({ key: 'p1-l1' });
    expect(play.event('ana', 'm2', 1).points['p1']!.level).to.equal(null);
    play.edit({ edit: 'level', system: 0, level: 0, points: 9 });
    expect(play.points('ana').level).to.include({ key: 'p1-l1' });
  });

  it('a threshold that is changed never pays twice for the same ground', () => {
    const play = new Play({ metrics: 1, systems: [{ triggers: [perMetric(10, 1)] }] });
    play.event('ana', 'm1', 19);
    play.edit({ edit: 'threshold', system: 0, trigger: 0, threshold: 5 });
    expect(play.points('ana').total).to.equal(1);
    expect(play.event('ana', 'm1', 1).points['p1']!.added).to.equal(1);
  });

  it('a trigger stands still while it is inactive', () => {
    const play = new Play({ metrics: 1, systems: [{ triggers: [perMetric(5, 1)] }] });
    play.event('ana', 'm1', 4);
    play.edit({ edit: 'triggerStatus', system: 0, trigger: 0 }).event('ana', 'm1', 100);
    expect(play.edit({ edit: 'triggerStatus', system: 0, trigger: 0 }).event('ana', 'm1', 1).points['p1']!.total).to.equal(1);
  });

  it('lowering maxPoints leaves a higher total as it is', () => {
    const play = new Play({
      metrics: 2,
      systems: [{ triggers: [perMetric(1, 10), { type: 'metric', metric: 'm2', threshold: 1, points: -25 }] }],
    });
    play.event('ana', 'm1', 4);
    play.edit({ edit: 'maxPoints', system: 0, maxPoints: 20 });
    expect(play.event('ana', 'm1', 1).points).to.deep.equal({});
    expect(play.event('ana', 'm2', 1).points['p1']!.total).to.equal(15);
    expect(play.event('ana', 'm1', 1).points['p1']!.added).to.equal(5);
  });

  it('filters go by what the user has and the event brings, at that moment', () => {
    const play = new Play({
      metrics: 1,
      systems: [{ triggers: [perMetric(1, 1, { user: { city: 'Nuuk' }, event: { device: 'phone' } })] }],
    });
    const attributes = { device: 'phone' };
    expect(play.event('ana', 'm1', 1, { attributes }).points).to.deep.equal({});
    expect(play.event('ana', 'm1', 1, { attributes, user: { attributes: { city: 'Nuuk' } } }).points['p1']!.added).to.equal(1);
    expect(play.event('ana', 'm1', 1).points).to.deep.equal({});
    expect(play.event('ana', 'm1', 1, { attributes, user: { attributes: { city: 'Lisbon' } } }).points).to.deep.equal({});
  });

  it('a boost goes by the local date of the user, its first and last day included', () => {
    const play = new Play({
      metrics: 1,
      systems: [{ triggers: [perMetric(1, 1)], boosts: [boost(2, 'down', { start: '2040-01-04', end: '2040-01-04' })] }],
    });
    const adds = (when: string): number => play.at(when).event('ana', 'm1', 1, { user: { tz: zoneNamed('NZ') } }).points['p1']!.added;
    expect([adds('01-03 23:59 NZ'), adds('01-04 00:00 NZ'), adds('01-04 23:59 NZ'), adds('01-05 00:00 NZ')]).to.deep.equal([1, 2, 2, 1]);
  });

  describe('Streak, achievement and creation triggers', () => {
    it('a streak pays at every multiple of its length, in the event that extends it', () => {
      const play = new Play({
        metrics: 1,
        streaks: { conditions: { m1: 1 } },
        systems: [{ triggers: [{ type: 'streak', length: 2, points: 7 }] }],
      });
      const days = ['01-02', '01-03', '01-03', '01-04', '01-05', '01-10', '01-11'];
      const added = days.map((day) => play.at(`${day} 12:00`).event('ana', 'm1', 1).points['p1']?.added ?? 0);
      expect(added).to.deep.equal([0, 7, 0, 0, 7, 0, 7]);
    });

    it('a creation pays once, whichever call it is', () => {
      const spec = {
        metrics: 1,
        achievements: [{ trigger: 'api' as const }],
        systems: [{ triggers: [{ type: 'user_creation' as const, points: 3 }] }],
      };
      const play = new Play(spec);
      expect(play.event('ana', 'm1', 1).points['p1']!.added).to.equal(3);
      expect(play.event('ana', 'm1', 1).points).to.deep.equal({});
      expect(play.identify('bo', {}).points('bo').total).to.equal(3);
      expect(play.model.completeAchievement('a1', { id: 'cy' }).body).to.have.nested.property('points.p1.added', 3);
    });

    it('an achievement pays with what completes it, composites included', () => {
      const play = new Play({
        metrics: 1,
        achievements: [{ trigger: 'api' }, { trigger: 'achievement', needs: ['a1'] }],
        systems: [
          {
            triggers: [
              { type: 'achievement', achievement: 'a2', points: 5 },
              { type: 'achievement', achievement: 'a1', points: 1 },
            ],
          },
        ],
      });
      const { body } = play.model.completeAchievement('a1', { id: 'ana' });
      expect(body).to.have.nested.property('points.p1.added', 6);
      expect(body).to.have.nested.property('achievement.key', 'a1');
    });
  });

  describe('Time triggers', () => {
    const hourly = (interval: number, points = 1): TriggerSpec => ({ type: 'time', unit: 'hours', interval, points });
    const daily = (interval: number, points = 1): TriggerSpec => ({ type: 'time', unit: 'days', interval, points });
    const dates = (play: Play): string[] => [...play.points('ana').awards].reverse().map(({ date }) => date.slice(5, 16));

    it('every so many hours after the UTC hour of the creation', () => {
      const play = new Play({ metrics: 1, systems: [{ triggers: [hourly(5)] }] });
      play.at('01-02 12:34').identify('ana', { tz: zoneNamed('KT') });
      expect(dates(play.at('01-02 16:59:59.999'))).to.deep.equal([]);
      expect(dates(play.at('01-02 17:00'))).to.deep.equal(['01-02T17:00']);
      expect(dates(play.at('01-03 03:30'))).to.deep.equal(['01-02T17:00', '01-02T22:00', '01-03T03:00']);
    });

    it('every so many local days after the day of the creation, at midnight', () => {
      const play = new Play({ metrics: 1, systems: [{ triggers: [daily(2)] }] });
      play.at('01-02 23:00 KT').identify('ana', { tz: zoneNamed('KT') });
      expect(dates(play.at('01-03 23:59 KT'))).to.deep.equal([]);
      expect(dates(play.at('01-06 00:00 KT'))).to.deep.equal(['01-03T18:15', '01-05T18:15']);
    });

    it('a midnight that the clock jumps over is the first moment of its day', () => {
      const play = new Play({ metrics: 1, systems: [{ triggers: [daily(1)] }] });
      play.at('2040-08-31 12:00 SA').identify('ana', { tz: zoneNamed('SA') });
      expect(dates(play.at('2040-09-04 00:00 SA'))).to.deep.equal(['09-01T04:00', '09-02T04:00', '09-03T03:00', '09-04T03:00']);
    });

    it('moving east pays the day that has begun there, moving back pays no day twice', () => {
      const play = new Play({ metrics: 1, systems: [{ triggers: [daily(1)] }] });
      play.at('01-02 12:00 HI').identify('ana', { tz: zoneNamed('HI') });
      play.at('01-04 09:00 HI').identify('ana', { tz: zoneNamed('NZ') });
      expect(dates(play)).to.deep.equal(['01-03T10:00', '01-04T10:00', '01-04T11:00']);
      play.at('01-05 12:00 NZ').identify('ana', { tz: zoneNamed('HI') });
      expect(dates(play.at('01-06 00:00 HI')).slice(3)).to.deep.equal(['01-06T10:00']);
    });

    it('triggers of one moment pay in the order of the configuration, within cap and floor', () => {
      const play = new Play({ metrics: 1, systems: [{ maxPoints: 10, triggers: [hourly(12, 8), daily(1, -3), hourly(6, 5)] }] });
      play.identify('ana', {});
      play.at('01-03 00:00');
      expect(play.points('ana').awards.map(({ awarded, total }) => [awarded, total])).to.deep.equal([
        [3, 10],
        [-3, 7],
        [5, 10],
        [5, 5],
      ]);
    });

    it('pay users who match at that moment, with the boosts of that local day', () => {
      const on3rd = boost(2, 'down', { start: '2040-01-03', end: '2040-01-03' });
      const play = new Play({ metrics: 1, systems: [{ triggers: [{ ...hourly(6, 5), user: { city: 'Nuuk' } }], boosts: [on3rd] }] });
      play.identify('ana', { tz: zoneNamed('HI') });
      play.at('01-02 20:00').identify('ana', { attributes: { city: 'Nuuk' } });
      // 00:00 UTC is still the 2nd in Honolulu, 12:00 UTC is the 3rd.
      expect(
        play
          .at('01-03 12:00')
          .points('ana')
          .awards.map(({ awarded }) => awarded),
      ).to.deep.equal([10, 5, 5]);
    });

    it('pay nothing for a day that had begun in the new zone before the trigger was last changed', () => {
      const paid = (isChanged: boolean): string[] => {
        const play = new Play({ metrics: 1, systems: [{ triggers: [daily(1)] }] });
        play.at('01-02 12:00 HI').identify('ana', { tz: zoneNamed('HI') });
        // The 5th has begun in Auckland at 11:00 UTC.
        play.at('01-04 15:00');
        for (const _ of isChanged ? ['off', 'on'] : []) play.edit({ edit: 'triggerStatus', system: 0, trigger: 0 });
        return dates(play.at('01-04 19:00').identify('ana', { tz: zoneNamed('NZ') }));
      };
      expect(paid(false)).to.deep.equal(['01-03T10:00', '01-04T10:00', '01-04T11:00']);
      expect(paid(true)).to.deep.equal(['01-03T10:00', '01-04T10:00']);
    });

    it('pay nothing for moments before the trigger was last changed', () => {
      const play = new Play({ metrics: 1, systems: [{ triggers: [hourly(1)] }] });
      play.identify('ana', {});
      play.edit({ edit: 'triggerStatus', system: 0, trigger: 0 });
      play.at('01-02 15:00').edit({ edit: 'triggerStatus', system: 0, trigger: 0 });
      expect(dates(play.at('01-02 17:00'))).to.deep.equal(['01-02T16:00', '01-02T17:00']);
    });
  });
});

import type { BoostSpec, SystemSpec, TriggerSpec } from '../support/model/documents.js';
import { tablesOnRealStores, type Given, type Row } from '../support/rules.js';

/**
 * A row of triggers on cards and of events of one user: `10 per 5, at most 25` is a trigger that pays 10 points per 5 cards, in a system with
 * a cap of 25; `4, 1 → 10, 3 → -7 2` are events of 4 cards, which change no points, of 1, which is awarded 10, and of 3 with two awards.
 */
function pays(rule: string, system: string, events: string, boosts: readonly BoostSpec[] = []): Row {
  const parts = system.split(', ');
  const cap = parts.find((part) => part.startsWith('at most '))?.slice('at most '.length);
  const triggers = parts.flatMap((part): TriggerSpec[] => {
    const [points, threshold, status] = part.split(/ per | /);
    return part.includes(' per ')
      ? [{ ...perCards(Number(threshold), Number(points)), ...(status === 'inactive' ? { inactive: true } : {}) }]
      : [];
  });
  let total = 0;
  const lines = events.split(', ').map((event) => {
    const [value = '', text = ''] = event.split(' → ');
    const awards = text.split(' ').filter(Boolean).map(Number);
    for (const award of awards) total += award;
    const sum = awards.reduce((a, b) => a + b, 0);
    return ` | ana cards ${value} | awarded ${awards.join(' ') || '-'}; added ${sum}; points ${total}`;
  });
  return { rule: `${rule}: ${system}`, given: { systems: [{ ...(cap ? { maxPoints: Number(cap) } : {}), triggers, boosts }] }, lines };
}

const perCards = (threshold: number, points: number): TriggerSpec => ({ type: 'metric', metric: 'cards', threshold, points });
const boost = (multiplier: number, rounding: BoostSpec['rounding'] = 'down', more: Partial<BoostSpec> = {}): BoostSpec => ({
  start: '2040-01-01',
  end: null,
  multiplier,
  rounding,
  ...more,
});
const hourly = (interval: number, points = 1): TriggerSpec => ({ type: 'time', unit: 'hours', interval, points });
const daily = (interval: number, points = 1): TriggerSpec => ({ type: 'time', unit: 'days', interval, points });
const system = (triggers: readonly TriggerSpec[], more: SystemSpec = {}): Given => ({ systems: [{ triggers, ...more }] });

/** Points as in docs/rules/points.md; the language is that of support/rules.ts. */
describe('Points', () => {
  const says = tablesOnRealStores();

  says(
    'Metric trigger "P points per T": P × the number of multiples of T newly passed by the total of the matching events since the trigger existed.',
    {},
    [
      pays('at every multiple, and at nothing between', '10 per 5', '4, 1 → 10, 4, 1 → 10, 4, 2 → 10'),
      pays('all of several multiples that one event passes', '10 per 5', '23 → 40, 1, 1 → 10, 50 → 100'),
      pays('every step with a threshold of 1', '3 per 1', '1 → 3, 2 → 6, 0, 1 → 3'),
      pays('nothing for an event of 0', '10 per 5', '0, 5 → 10, 0, 0'),
      pays('parts of numbers once they are whole', '1 per 1', '0.4, 0.3, 0.3 → 1, 1.75 → 1, 0.25 → 1'),
      pays('the tenth of ten tenths', '1 per 1', '0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1 → 1'),
      pays('nothing while it is inactive', '10 per 5 inactive, 1 per 5', '10 → 2'),
      pays('several triggers, in the order of the configuration', '10 per 5, 1 per 2, 25 per 10', '4 → 2, 6 → 20 3 25'),
      pays('several, deductions in their place', '-2 per 1, 10 per 1, -3 per 1', '1 → 10 -3, 1 → -2 10 -3'),
      pays('several, each counting for itself', '1 per 3, 100 per 5', '3 → 1, 2 → 100, 1 → 1, 4 → 1 100'),
      {
        rule: 'matching: the attributes of the user and of the event, at that moment',
        given: system([{ ...perCards(1, 1), user: { city: 'Nuuk' }, event: { device: 'phone' } } as TriggerSpec]),
        lines: [
          ' | ana cards 1 device=phone | added 0',
          ' | ana cards 1 device=phone city=Nuuk | added 1',
          ' | ana cards 1 | added 0',
          ' | ana cards 1 device=desk | added 0',
          ' | ana cards 1 device=phone city=Lisbon | added 0',
        ],
      },
      {
        rule: 'it stands still while it is inactive',
        given: system([perCards(5, 1)]),
        lines: [
          ' | ana cards 4 | points 0',
          ' | operator: trigger 1 off or on |',
          ' | ana cards 100 | points 0',
          ' | operator: trigger 1 off or on |',
          ' | ana cards 1 | points 1',
        ],
      },
      {
        rule: 'with another metric it starts again, and goes on where the metric comes back',
        given: system([perCards(5, 1)]),
        lines: [
          ' | ana cards 4 | points 0',
          ' | operator: trigger 1 counts pages |',
          ' | ana pages 4 | points 0',
          ' | ana pages 1 | points 1',
          ' | operator: trigger 1 counts cards |',
          ' | ana cards 1 | points 2',
        ],
      },
    ],
  );

  says('It cannot be farmed: going down and up again over the same multiple pays once.', {}, [
    pays('going down costs nothing', '10 per 5', '10 → 20, -10, -10'),
    pays('up again pays only what is new', '10 per 5', '10 → 20, -8, 8, -1, 1, 4, 1 → 10'),
    pays('coming from below zero counts from zero', '10 per 5', '-12, 12, 4, 1 → 10'),
    pays('a jump from below pays for what is new alone', '10 per 5', '7 → 10, -20, 30 → 20'),
    pays('parts of numbers go down and up as well', '1 per 1', '1.1 → 1, -0.2, 0.2, -1.1, 2.9 → 1, 0.1 → 1'),
    {
      rule: 'a threshold that is changed never pays twice for the same ground',
      given: system([perCards(10, 1)]),
      lines: [' | ana cards 19 | added 1', ' | operator: trigger 1 per 5 | ana points 1', ' | ana cards 1 | added 1'],
    },
  ]);

  says('Streak trigger: at every multiple of its length.', { streaks: {} }, [
    {
      rule: 'in the event that extends the streak to it',
      given: system([{ type: 'streak', length: 2, points: 7 }]),
      lines: [
        '01-02 12:00 | ana cards 1 | added 0',
        '01-03 12:00 | ana cards 1 | added 7',
        ' | ana cards 1 | added 0',
        '01-04 12:00 | ana cards 1 | added 0',
        '01-05 12:00 | ana cards 1 | added 7',
        // A new streak.
        '01-10 12:00 | ana cards 1 | added 0',
        '01-11 12:00 | ana cards 1 | added 7; points 21',
      ],
    },
  ]);

  says('Achievement, user creation: once.', { achievements: [{ trigger: 'api' }, { trigger: 'achievement', needs: ['a1'] }] }, [
    {
      rule: 'a user is created once, by an event',
      given: system([{ type: 'user_creation', points: 3 }]),
      lines: [' | ana cards 1 | added 3', ' | ana cards 1 | added 0', ' | ana is name=Ana | points 3'],
    },
    {
      rule: 'or by a call',
      given: system([{ type: 'user_creation', points: 3 }]),
      lines: [' | bo is known | points 3', ' | bo is known | points 3', ' | cy completes a1 | added 3; points 3'],
    },
    {
      rule: 'a call that completes an achievement creates its user first',
      given: system([
        { type: 'achievement', achievement: 'a1', points: -5 },
        { type: 'user_creation', points: 12 },
      ]),
      lines: [' | ana completes a1 | awarded 12 -5; points 7', ' | bo is known |', ' | bo completes a1 | awarded -5; points 7'],
    },
    {
      rule: 'an achievement pays with what completes it, composites included',
      given: system([
        { type: 'achievement', achievement: 'a2', points: 5 },
        { type: 'achievement', achievement: 'a1', points: 1 },
      ]),
      lines: [' | ana completes a1 | awarded 5 1; has a1 a2', ' | ana completes a1 | refused 422; points 6'],
    },
  ]);

  says(
    "Time trigger: hours on the UTC hour grid, days at the user's local midnight, every N units since the user was created; only for users who match its filters at that moment.",
    {},
    [
      {
        rule: 'every 5 hours after the UTC hour in which the user was created',
        given: system([hourly(5)]),
        lines: [
          '01-02 12:34 | ana moves to KT |',
          '01-02 16:59:59.999 | nothing | paid -',
          '01-02 17:00 | nothing | paid 01-02 17:00 1',
          '01-03 03:30 | nothing | paid 01-02 17:00 1, 01-02 22:00 1, 01-03 03:00 1',
        ],
      },
      {
        rule: 'every 2 local days after the day on which the user was created, at midnight',
        given: system([daily(2)]),
        zone: 'KT',
        lines: [
          '01-02 23:00 | ana moves to KT |',
          '01-03 23:59 | nothing | paid -',
          '01-06 00:00 | nothing | paid 01-03 18:15 1, 01-05 18:15 1',
        ],
      },
      {
        rule: 'a midnight that the clock jumps over is the first moment of its day',
        given: system([daily(1)]),
        zone: 'SA',
        lines: [
          '08-31 12:00 | ana moves to SA |',
          '09-04 00:00 | nothing | paid 09-01 04:00 1, 09-02 04:00 1, 09-03 03:00 1, 09-04 03:00 1',
        ],
      },
      {
        rule: 'moving east pays the day that has begun there, moving back pays no day twice',
        given: system([daily(1)]),
        lines: [
          '01-02 12:00 HI | ana moves to HI |',
          '01-04 09:00 HI | ana moves to NZ | paid 01-03 10:00 1, 01-04 10:00 1, 01-04 19:00 1',
          '01-05 12:00 NZ | ana moves to HI | points 3',
          '01-06 00:00 HI | nothing | paid 01-03 10:00 1, 01-04 10:00 1, 01-04 19:00 1, 01-06 10:00 1',
        ],
      },
      {
        rule: 'triggers of one moment pay in the order of the configuration, within cap and floor',
        given: { known: ['ana'], ...system([hourly(12, 8), daily(1, -3), hourly(6, 5)], { maxPoints: 10 }) },
        lines: ['01-03 00:00 | nothing | paid 01-02 18:00 5, 01-03 00:00 5, 01-03 00:00 -3, 01-03 00:00 3; points 10'],
      },
      {
        rule: 'users who match at that moment, with the boosts of that local day',
        given: system([{ ...hourly(6, 5), user: { city: 'Nuuk' } }], {
          boosts: [boost(2, 'down', { start: '2040-01-03', end: '2040-01-03' })],
        }),
        lines: [
          ' | ana moves to HI |',
          '01-02 20:00 | ana is city=Nuuk | paid -',
          // 00:00 UTC is still the 2nd in Honolulu, 12:00 UTC is the 3rd.
          '01-03 12:00 | nothing | paid 01-03 00:00 5, 01-03 06:00 5, 01-03 12:00 10',
        ],
      },
      {
        rule: 'nothing for moments before the trigger was last changed',
        given: { known: ['ana'], ...system([hourly(1)]) },
        lines: [
          ' | operator: trigger 1 off or on |',
          '01-02 15:00 | operator: trigger 1 off or on |',
          '01-02 17:00 | nothing | paid 01-02 16:00 1, 01-02 17:00 1',
        ],
      },
      ...[false, true].map((isChanged): Row => ({
        rule: `a day that had begun in the new zone ${isChanged ? 'before the trigger was last changed is not paid' : 'is paid'}`,
        given: system([daily(1)]),
        lines: [
          '01-02 12:00 HI | ana moves to HI |',
          // The 5th has begun in Auckland at 11:00 UTC.
          '01-04 15:00 | nothing |',
          ...(isChanged ? [' | operator: trigger 1 off or on |', ' | operator: trigger 1 off or on |'] : []),
          `01-04 19:00 | ana moves to NZ | paid 01-03 10:00 1, 01-04 10:00 1${isChanged ? '' : ', 01-04 19:00 1'}`,
        ],
      })),
    ],
  );

  says('Boosts multiply what a trigger earns (positive points only).', {}, [
    pays('10 points × 1.1 rounded up are 11, not 12', '10 per 1', '1 → 11', [boost(1.1, 'up')]),
    pays('deductions are not boosted', '10 per 1, -3 per 2', '1 → 20, 1 → 20 -3', [boost(2)]),
    pays('what is rounded down to nothing is no award', '1 per 1', '1, 2 → 1', [boost(0.5)]),
    pays('what a trigger pays at once is boosted at once: 3 × 5 × 1.1', '5 per 1', '3 → 17', [boost(1.1, 'nearest')]),
  ]);

  says(
    'Each award lists the boosts that applied, as they were then.',
    { systems: [{ triggers: [perCards(1, 10)], boosts: [boost(2), boost(1.5)] }] },
    [
      {
        rule: 'a new multiplier is for new awards, also at the same moment',
        lines: [
          ' | ana cards 1 | awarded 30; multiplied ×2 ×1.5',
          ' | operator: boost 1 by 3 | multiplied ×2 ×1.5',
          ' | ana cards 1 | awarded 45; multiplied ×2 ×1.5, ×3 ×1.5',
          '01-03 12:00 | operator: boost 2 by 4 | multiplied ×2 ×1.5, ×3 ×1.5',
          ' | ana cards 1 | awarded 120; multiplied ×2 ×1.5, ×3 ×1.5, ×4 ×3',
        ],
      },
      {
        rule: 'a multiplier that returns, and other changes',
        lines: [
          ' | ana cards 1 |',
          ' | operator: boost 1 by 3 |',
          ' | operator: boost 1 by 2 |',
          ' | operator: boost 1 rounds up |',
          ' | ana cards 1 | multiplied ×2 ×1.5, ×2 ×1.5',
          ' | operator: boost 1 by 5 | multiplied ×2 ×1.5, ×2 ×1.5',
          ' | operator: boost 1 ends in -1 days | multiplied ×2 ×1.5, ×2 ×1.5',
          ' | ana cards 1 | multiplied ×2 ×1.5, ×2 ×1.5, ×1.5',
        ],
      },
      {
        rule: 'one that is archived, and returns with another multiplier',
        lines: [
          ' | ana cards 1 |',
          ' | operator: archives boosts p1-x1 |',
          ' | ana cards 1 | multiplied ×2 ×1.5, ×1.5',
          ' | operator: revives boosts p1-x1 |',
          ' | operator: boost 1 by 7 |',
          ' | ana cards 1 | multiplied ×2 ×1.5, ×1.5, ×7 ×1.5',
        ],
      },
      {
        rule: 'of equal multipliers the newest boost stays the first, whichever was changed last',
        lines: [' | operator: boost 2 rounds up |', ' | operator: boost 1 by 1.5 |', ' | ana cards 1 | awarded 23'],
      },
      {
        rule: 'awards by time that are paid later',
        given: system([daily(1)], { boosts: [boost(2)] }),
        lines: [
          ' | ana is known |',
          '~01-04 12:00 | operator: boost 1 by 3 |',
          '~01-05 12:00 | nothing | paid 01-03 00:00 2, 01-04 00:00 2, 01-05 00:00 3; multiplied ×2, ×2, ×3',
        ],
      },
    ],
  );

  says("Active boosts = window contains the user's local date, and global, or its attribute filters match, or it is this user's.", {}, [
    {
      rule: 'the first and the last day of the window are in it, in the zone of the user',
      given: system([perCards(1, 1)], { boosts: [boost(2, 'down', { start: '2040-01-04', end: '2040-01-04' })] }),
      zone: 'NZ',
      lines: [
        '01-03 23:59 | ana cards 1 tz=NZ | added 1',
        '01-04 00:00 | ana cards 1 | added 2',
        '01-04 23:59 | ana cards 1 | added 2',
        '01-05 00:00 | ana cards 1 | added 1',
      ],
    },
    {
      rule: 'one for users with an attribute',
      given: system([perCards(1, 1)], { boosts: [boost(3, 'down', { user: { city: 'Nuuk' } })] }),
      lines: [' | ana cards 1 | added 1', ' | ana cards 1 city=Nuuk | added 3', ' | ana cards 1 city=Lisbon | added 1'],
    },
    {
      rule: 'one of one user',
      given: system([perCards(1, 1)], { boosts: [boost(3, 'down', { userId: 'bo' })] }),
      lines: [' | ana cards 1 | added 1', ' | bo cards 1 | added 3'],
    },
  ]);

  says(
    'Their product is applied once, then rounded: with several boosts, by the rounding mode of the one with the largest multiplier (the newest of equals).',
    {},
    [
      pays('once: 1 × 1.5 × 1.5 is 2.25, and 4 × 2.25 is 9', '1 per 1', '1 → 2, 4 → 9', [boost(1.5), boost(1.5)]),
      pays('the largest rounds, here up', '1 per 1', '1 → 2', [boost(1.5, 'up'), boost(1.1)]),
      pays('the largest rounds, here down', '1 per 1', '1 → 1', [boost(1.1, 'up'), boost(1.5)]),
      pays('of equals the newest, here down', '1 per 1', '1 → 2', [boost(1.5, 'up'), boost(1.5)]),
      pays('of equals the newest, here up', '1 per 1', '1 → 3', [boost(1.5), boost(1.5, 'up')]),
      pays('nearest takes a half up', '1 per 1', '1 → 2, 3 → 5', [boost(1.5, 'nearest')]),
    ],
  );

  says('Each award lists the boosts that applied.', {}, [
    {
      rule: 'and not the others, the largest first',
      given: system([perCards(1, 1)], { boosts: [boost(2), boost(3, 'down', { user: { city: 'Nuuk' } })] }),
      lines: [' | ana cards 1 | boosted The p1-x1', ' | ana cards 1 city=Nuuk | boosted The p1-x2, The p1-x1'],
    },
  ]);

  says('A total stays within 0 and `maxPoints`; `awarded` is what was really added. An award of 0 is not listed.', {}, [
    pays('a cap takes what still fits', '10 per 5, at most 25', '5 → 10, 15 → 15'),
    pays('at the cap an award is 0, and not listed', '10 per 5, at most 20', '10 → 20, 5, 50'),
    pays('each award of an event takes what the one before has left', '7 per 5, 7 per 5, at most 10', '5 → 7 3, 5'),
    pays('a deduction takes no more than there is', '10 per 5, -3 per 1', '4, 1 → 10 -3, 3 → -7, 1'),
    pays('at 0 a deduction is not listed', '-4 per 1', '1, 3'),
    pays('below the cap there is room again', '10 per 10, -4 per 7, at most 10', '7, 3 → 10, 4 → -4, 6 → 4'),
    pays('without a cap there is room up to 1e15', '1 per 1', '1e15 → 1e15, -1e15'),
    pays('and no more than that', '1e15 per 1', '1 → 1e15, 1e14'),
    pays('exactly', '3 per 1', '333333333333333 → 999999999999999, 1 → 1'),
    {
      rule: 'a cap that is lowered leaves a higher total as it is',
      given: system([perCards(1, 10), { type: 'metric', metric: 'mistakes', threshold: 1, points: -25 }]),
      lines: [
        ' | ana cards 4 | points 40',
        ' | operator: at most 20 points | ana points 40',
        ' | ana cards 1 | added 0; points 40',
        ' | ana mistakes 1 | added -25; points 15',
        ' | ana cards 1 | added 5; points 20',
      ],
    },
  ]);

  says('Adjustment: an operator adds or takes points. No boost applies, and the total stays within 0 and `maxPoints`.', {}, [
    {
      rule: 'it changes the total and the level, and is among the awards',
      given: system([perCards(1, 1)], { levels: [10, 20] }),
      lines: [
        ' | ana cards 9 | points 9; level -',
        '01-02 13:00 | ana is adjusted by 3 | points 12; level p1-l1',
        '01-02 14:00 | ana is adjusted by -7 | points 5; level -; paid 01-02 12:00 9, 01-02 13:00 3, 01-02 14:00 -7',
        ' | ana cards 1 | added 1; points 6',
      ],
    },
    {
      rule: 'it is the first of a user without points',
      given: system([], { levels: [10] }),
      lines: [' | ana is known | points 0', ' | ana is adjusted by 25 | points 25; level p1-l1'],
    },
    {
      rule: 'boosts do not apply',
      given: system([perCards(1, 1)], { boosts: [boost(3)] }),
      lines: [' | ana cards 1 | points 3', ' | ana is adjusted by 5 | points 8; multiplied ×3, -', ' | ana is adjusted by -1 | points 7'],
    },
    {
      rule: 'it takes no more than there is, and nothing from 0',
      given: system([perCards(1, 1)]),
      lines: [
        ' | ana cards 4 | points 4',
        ' | ana is adjusted by -10 | points 0',
        ' | ana is adjusted by -1 | refused 422; points 0',
        ' | ana is adjusted by 2 | points 2',
      ],
    },
    {
      rule: 'it adds up to the cap, and nothing above',
      given: system([perCards(1, 10)], { maxPoints: 50 }),
      lines: [
        ' | ana cards 4 | points 40',
        ' | ana is adjusted by 100 | points 50',
        ' | ana is adjusted by 1 | refused 422; points 50',
        ' | operator: at most 20 points | ana points 50',
        ' | ana is adjusted by 1 | refused 422; points 50',
        ' | ana is adjusted by -35 | points 15',
      ],
    },
    {
      rule: 'a key makes it once, for a user and a system',
      given: { systems: [{}, {}] },
      lines: [
        ' | ana is known |',
        ' | bo is known |',
        ' | ana is adjusted by 5 with a | points 5',
        ' | ana is adjusted by 7 with a | points 5',
        ' | ana is adjusted by 7 in p2 with a | ana points[p1] 5; ana points[p2] 7',
        ' | bo is adjusted by 1 with a | points 1',
        ' | ana is adjusted by 7 with b | points 12',
      ],
    },
    {
      rule: 'a refused one does not use its key',
      given: system([perCards(1, 1)]),
      lines: [
        ' | ana is known |',
        ' | ana is adjusted by -5 with a | refused 422',
        ' | ana cards 9 | points 9',
        ' | ana is adjusted by -5 with a | points 4',
      ],
    },
    {
      rule: 'what time has awarded comes first',
      given: system([daily(1, 10)]),
      lines: [' | ana is known | points 0', '01-04 12:00 | ana is adjusted by -15 | points 5'],
    },
    {
      rule: 'it changes leaderboards, of totals and of runs',
      given: {
        systems: [{ triggers: [perCards(1, 1)] }],
        boards: [
          { key: 'all', rankBy: { points: 'p1' } },
          { key: 'weekly', rankBy: { points: 'p1' }, start: '2040-01-02', every: [7, 'day'] },
        ],
      },
      lines: [
        ' | ana cards 5 |',
        ' | bo cards 5 | board[all] ana 5, bo 5',
        ' | bo is adjusted by 1 | board[all] bo 6, ana 5; board[weekly] bo 6, ana 5',
        ' | bo is adjusted by -3 | board[all] ana 5, bo 3; board[weekly] ana 5, bo 3',
      ],
    },
    {
      rule: 'of a user or a system that does not exist, there is none',
      given: system([perCards(1, 1)]),
      lines: [' | ana is adjusted by 1 | refused 422; known no', ' | ana is known |', ' | ana is adjusted by 1 in p9 | refused 404'],
    },
  ]);

  says('Level: the highest level whose `points` ≤ total. Changing levels re-evaluates every user.', {}, [
    {
      rule: 'the response has it when it changes, and not otherwise',
      given: system([perCards(1, 1), { type: 'metric', metric: 'mistakes', threshold: 1, points: -1 }], { levels: [10, 20, 50] }),
      lines: [
        ' | ana cards 9 | newLevel silent; level -',
        ' | ana cards 1 | newLevel p1-l1; level p1-l1',
        ' | ana cards 9 | newLevel silent',
        ' | ana cards 41 | newLevel p1-l3; points 60',
        ' | ana mistakes 11 | newLevel p1-l2; points 49',
        ' | ana mistakes 40 | newLevel -; level -; points 9',
      ],
    },
    {
      rule: 'changed levels apply to all users at once',
      given: system([perCards(1, 1)], { levels: [10, 30] }),
      lines: [
        ' | ana cards 9 | level -',
        ' | bo cards 15 | level p1-l1',
        ' | operator: level 1 at 9 | ana level p1-l1; bo level p1-l1',
        ' | operator: level 2 at 15 | ana level p1-l1; bo level p1-l2',
        ' | operator: level 1 at 16 | ana level -; bo level p1-l2',
        ' | bo cards 1 | newLevel p1-l1',
      ],
    },
  ]);
});

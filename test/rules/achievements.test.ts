import type { AchievementSpec } from '../support/model/documents.js';
import { tablesOnRealStores } from '../support/rules.js';

/** Completed by a total of cards. */
const cards = (value: number, more: Partial<AchievementSpec> = {}): AchievementSpec =>
  ({ trigger: 'metric', metric: 'cards', value, ...more }) as AchievementSpec;
const needs = (...keys: string[]): AchievementSpec => ({ trigger: 'achievement', needs: keys });
/** Completed so many years after the date of signing up. */
const years = (count: number, more: Partial<AchievementSpec> = {}): AchievementSpec =>
  ({ trigger: 'anniversary', years: count, ...more }) as AchievementSpec;
const onPhone = { event: { device: 'phone' } };
const inNuuk = { user: { city: 'Nuuk' } };

/** Achievements as in docs/rules/achievements.md; the language is that of support/rules.ts. Their keys are a1, a2 … */
describe('Achievements', () => {
  const says = tablesOnRealStores();

  says('Metric: the total reaches the value; with event-attribute filters, the total of matching events.', {}, [
    {
      rule: 'reaching it is enough, and other metrics do not count',
      given: { achievements: [cards(10)] },
      lines: [
        ' | ana cards 9.5 | completed -',
        ' | ana pages 9 | completed -',
        ' | ana cards 0.5 | completed a1',
        ' | ana cards 5 | completed -',
      ],
    },
    {
      rule: 'several are completed in the order of the configuration',
      given: { achievements: [cards(5), cards(2), cards(9)] },
      lines: [' | ana cards 5 | completed a1 a2', ' | ana cards 9 | completed a3'],
    },
    {
      rule: 'with event-attribute filters, the total of matching events',
      given: { achievements: [cards(10, onPhone)] },
      lines: [
        ' | ana cards 50 | completed -',
        ' | ana cards 9 device=phone | completed -',
        ' | ana cards 50 device=desk | completed -',
        ' | ana cards 1 device=phone | completed a1',
      ],
    },
    {
      rule: 'only for users who match its user-attribute filters, and then with the next event on the metric',
      given: { achievements: [cards(10, inNuuk)] },
      lines: [' | ana cards 20 | completed -', ' | ana pages 0 city=Nuuk | completed -', ' | ana cards 0 | completed a1'],
    },
    {
      rule: 'what matched before the user did counts',
      given: { achievements: [cards(10, { ...inNuuk, ...onPhone })] },
      lines: [' | ana cards 20 device=phone | completed -', ' | ana cards 0 city=Nuuk | completed a1'],
    },
  ]);

  says(
    'Streak.',
    { streaks: {}, achievements: [{ trigger: 'streak', length: 2 }, needs('a1'), { trigger: 'streak', length: 2, ...inNuuk }] },
    [
      {
        rule: 'when the event extends the streak to its length',
        lines: [' | ana cards 1 | completed -', '01-03 12:00 | ana cards 1 | completed a1 a2'],
      },
      {
        rule: 'an event that does not extend it completes nothing',
        lines: [
          ' | ana cards 1 |',
          '01-03 12:00 | ana cards 1 | completed a1 a2',
          ' | ana cards 1 city=Nuuk | completed -',
          '01-04 12:00 | ana cards 1 | completed a3',
        ],
      },
    ],
  );

  says('Api.', { achievements: [{ trigger: 'api', ...inNuuk }, needs('a1'), cards(1), { trigger: 'api', status: 'locked' }] }, [
    {
      rule: 'by its call, for users who match, with the composites that follow',
      lines: [' | ana completes a1 | refused 422', ' | ana completes a1 city=Nuuk | has a1 a2'],
    },
    {
      rule: 'not those of another kind, that are locked, or that there are not',
      lines: [' | ana completes a3 | refused 422', ' | ana completes a4 | refused 422', ' | ana completes a9 | refused 404; known no'],
    },
    { rule: 'a refused call creates no user', lines: [' | bo completes a1 city=Nuuk tz=Mars/Olympus | refused 422; known no'] },
  ]);

  says('Composite.', {}, [
    {
      rule: 'with the last of its prerequisites',
      given: { achievements: [cards(5), cards(10), needs('a1', 'a2')] },
      lines: [' | ana cards 5 | completed a1', ' | ana cards 5 | completed a2 a3'],
    },
    {
      rule: 'however deep',
      given: { achievements: [needs('a2'), needs('a3'), needs('a4'), cards(5)] },
      lines: [' | ana cards 5 | completed a4 a3 a2 a1'],
    },
    {
      rule: 'in the order in which their last prerequisites were completed',
      given: { achievements: [cards(5), cards(5), needs('a2'), needs('a1'), needs('a3', 'a4'), needs('a1')] },
      lines: [' | ana cards 5 | completed a1 a2 a4 a6 a3 a5'],
    },
    {
      rule: 'is not looked at again when only the profile changes',
      given: { achievements: [cards(5), { ...needs('a1'), ...inNuuk }] },
      lines: [' | ana cards 5 | completed a1', ' | ana cards 5 city=Nuuk | completed -'],
    },
    {
      rule: 'one that is locked does not let those through that need it',
      given: { achievements: [cards(5), { ...needs('a1'), status: 'locked' }, needs('a2'), needs('a1')] },
      lines: [' | ana cards 5 | completed a1 a4'],
    },
  ]);

  says('Anniversary: on the local day that is so many years after `signUpDate`.', { achievements: [years(1)] }, [
    {
      rule: 'when the day begins in the zone of the user',
      lines: [
        ' | ana is tz=NZ signUpDate=2039-01-04 | has -',
        ' | bo cards 1 |',
        '01-03 10:59 | nothing | completions 0',
        '01-03 11:00 | nothing | completions 1; ana has a1; ana achieved 01-03T11:00:00.000Z; ana announced a1',
        '2041-01-05 12:00 | nothing | completions 1; bo has -',
      ],
    },
    {
      rule: 'however late it is looked at',
      lines: [
        ' | ana is signUpDate=2039-01-04 |',
        '~01-20 12:00 | ana cards 1 | completed -; has a1; achieved 01-04T00:00:00.000Z; announced a1',
      ],
    },
    {
      rule: 'when clocks show another time than when it was noted',
      lines: [' | ana is tz=NY signUpDate=2039-07-04 |', '07-04 03:59 | nothing | completions 0', '07-04 04:00 | nothing | completions 1'],
    },
    {
      rule: 'of 29 February, on the 28th in common years',
      given: { achievements: [years(4), years(5)] },
      lines: [
        ' | ana is signUpDate=2036-02-29 | has -',
        '02-28 12:00 | nothing | completions[a1] 0',
        '02-29 00:00 | nothing | completions[a1] 1; ana has a1',
        '2041-02-27 23:59 | nothing | completions[a2] 0',
        '2041-02-28 00:00 | nothing | completions[a2] 1; ana has a1 a2; ana announced a1 a2',
      ],
    },
    {
      rule: 'only for users who match its filters when it begins',
      given: { achievements: [years(1, inNuuk)] },
      lines: [
        ' | ana is signUpDate=2039-01-04 |',
        ' | bo is signUpDate=2039-01-04 city=Nuuk |',
        '01-04 00:00 | nothing | ana has -; bo has a1',
        '01-04 01:00 | ana cards 1 city=Nuuk | completed -; has -',
        '01-05 00:00 | nothing | ana has -',
      ],
    },
    {
      rule: 'with its points and the composites that follow, after time triggers of the same moment',
      given: {
        achievements: [years(1), needs('a1')],
        systems: [
          {
            maxPoints: 13,
            triggers: [
              { type: 'achievement', achievement: 'a2', points: 9 },
              { type: 'time', unit: 'days', interval: 1, points: 1 },
            ],
          },
        ],
        boards: [{ rankBy: { points: 'p1' } }],
      },
      lines: [
        ' | ana is signUpDate=2039-01-04 |',
        ' | bo is signUpDate=2039-01-05 |',
        '01-04 06:00 | nothing | ana has a1 a2; ana announced a1 a2; ana paid 01-03 00:00 1, 01-04 00:00 1, 01-04 00:00 9; board ana 11, bo 2',
        '~01-06 12:00 | bo cards 1 | completed -; has a1 a2; paid 01-03 00:00 1, 01-04 00:00 1, 01-05 00:00 1, 01-05 00:00 9, 01-06 00:00 1',
        '01-08 00:00 | nothing | ana points 13; bo points 13',
      ],
    },
    {
      rule: 'after what time did to the streak before',
      given: { streaks: {}, achievements: [years(1)] },
      lines: [
        ' | ana cards 1 signUpDate=2039-01-05 | streak 1',
        '~01-06 12:00 | ana cards 1 | completed -; streak 1; has a1; achieved 01-05T00:00:00.000Z',
      ],
    },
  ]);

  says('A move between zones brings an anniversary once.', { achievements: [years(1)] }, [
    {
      rule: 'west on the day: it is completed',
      lines: [
        ' | ana is tz=KI signUpDate=2039-01-04 |',
        '01-03 10:00 | nothing | completions 1',
        '01-03 10:30 | ana moves to HI | has a1',
        '01-05 12:00 | nothing | ana achieved 01-03T10:00:00.000Z; ana announced a1',
      ],
    },
    {
      rule: 'west before the day: when it begins there',
      lines: [
        ' | ana is tz=KI signUpDate=2039-01-04 |',
        '01-03 09:00 | ana moves to HI | has -',
        '01-04 09:59 | nothing | completions 0',
        '01-04 10:00 | nothing | completions 1; ana announced a1',
      ],
    },
    {
      rule: 'west on the day, when its filters did not match: not again',
      given: { achievements: [years(1, inNuuk)] },
      lines: [
        ' | ana is tz=KI signUpDate=2039-01-04 |',
        '01-03 10:30 | ana is tz=HI city=Nuuk | has -',
        '01-05 12:00 | nothing | ana has -',
      ],
    },
    {
      rule: 'east into the day: with the move',
      lines: [
        ' | ana is tz=HI signUpDate=2039-01-04 |',
        '01-03 20:00 | ana moves to KI | has a1; achieved 01-03T20:00:00.000Z; announced a1',
      ],
    },
    {
      rule: 'east over the day: with the move',
      given: { achievements: [years(1)], systems: [{ triggers: [{ type: 'achievement', achievement: 'a1', points: 3 }] }] },
      lines: [
        ' | ana is tz=BK signUpDate=2039-01-04 |',
        '01-04 11:00 | ana moves to KI | has a1; achieved 01-04T11:00:00.000Z; announced a1; paid 01-04 11:00 3',
      ],
    },
    {
      rule: 'by another default zone',
      lines: [
        ' | ana is signUpDate=2039-01-04 |',
        '01-03 20:00 | operator: default zone KI | ana has a1; ana achieved 01-03T20:00:00.000Z; ana announced a1',
      ],
    },
  ]);

  says(
    'A date of signing up that is set or changed completes silently what has come by it.',
    {
      achievements: [years(1), needs('a1'), years(2), years(1, inNuuk)],
      systems: [{ triggers: [{ type: 'achievement', achievement: 'a1', points: 9 }] }],
    },
    [
      {
        rule: 'on the day, and after it',
        lines: [
          ' | ana is signUpDate=2039-01-02 | has a1 a2; announced -; points 0; achieved 01-02T12:00:00.000Z 01-02T12:00:00.000Z',
          ' | bo cards 1 signUpDate=2038-01-02 | completed -; added 0; has a1 a2 a3; announced -; points 0; completions 2',
          ' | cy is city=Nuuk |',
          '01-03 12:00 | cy is signUpDate=2039-01-03 | has a1 a2 a4; announced -; points 0',
          '01-09 12:00 | nothing | cy announced -; ana announced -; ana has a1 a2',
        ],
      },
      {
        rule: 'in the zone that is sent with it',
        lines: [
          ' | ana is tz=KI signUpDate=2039-01-03 | has a1 a2; announced -',
          ' | bo is tz=HI |',
          ' | bo is tz=KI signUpDate=2039-01-03 | has a1 a2; announced -',
          ' | cy is tz=HI signUpDate=2039-01-03 | has -',
        ],
      },
      {
        rule: 'what is completed stays, and does not come again',
        lines: [
          ' | ana is signUpDate=2039-06-01 | has -',
          ' | ana is signUpDate=2038-12-01 | has a1 a2; announced -',
          ' | ana is signUpDate=2039-01-05 | has a1 a2',
          '01-06 12:00 | nothing | ana has a1 a2; ana announced -; ana achieved 01-02T12:00:00.000Z 01-02T12:00:00.000Z',
          ' | ana is signUpDate=- | has a1 a2',
        ],
      },
      {
        rule: 'a date that is cleared brings nothing',
        lines: [' | ana is signUpDate=2039-01-05 |', '01-04 12:00 | ana is signUpDate=- | has -', '01-06 12:00 | nothing | ana has -'],
      },
      {
        rule: 'filters that do not match then are not looked at again',
        lines: [' | ana is signUpDate=2039-01-02 | has a1 a2', '01-03 12:00 | ana cards 1 city=Nuuk | completed -; has a1 a2; announced -'],
      },
    ],
  );

  says('Each completes once per user.', {}, [
    {
      rule: 'however often the total comes by',
      given: { achievements: [cards(10)] },
      lines: [
        ' | ana cards 10 | completed a1',
        ' | ana cards -10 | completed -; has a1',
        ' | ana cards 10 | completed -',
        ' | bo cards 10 | completed a1',
      ],
    },
    {
      rule: 'however often the streak has its length',
      given: { streaks: {}, achievements: [{ trigger: 'streak', length: 1 }] },
      lines: [' | ana cards 1 | completed a1', '01-05 12:00 | ana cards 1 | streak 1; completed -'],
    },
    {
      rule: 'a second call is refused',
      given: { achievements: [{ trigger: 'api' }] },
      lines: [' | ana completes a1 | has a1', ' | ana completes a1 | refused 422; completions 1'],
    },
  ]);

  says('`rarity` = completions ÷ users × 100, rounded to two decimals.', { achievements: [cards(5)] }, [
    {
      rule: '0 without users, and a half is rounded up',
      lines: [
        ' | nothing | completions 0; rarity 0',
        ' | u0 cards 5 | completions 1; rarity 100',
        ' | u1 cards 1 |',
        ' | u2 cards 1 | completions 1; rarity 33.33',
        ' | u1 cards 4 | completions 2; rarity 66.67',
        ...Array.from({ length: 29 }, (_, i) => ` | u${i + 3} cards 1 |`),
        ' | nothing | completions 2; rarity 6.25',
        // 3 of 32 are 9.375 %.
        ' | u2 cards 4 | completions 3; rarity 9.38',
      ],
    },
  ]);

  says('Statuses inactive → active ↔ locked.', {}, [
    {
      rule: 'an inactive or locked achievement can’t be completed',
      given: { achievements: [cards(1, { status: 'inactive' }), cards(1, { status: 'locked' })] },
      lines: [' | ana cards 5 | completed -'],
    },
    {
      rule: 'a locked achievement stays with its users, and can’t be completed until it is active again',
      given: { achievements: [cards(5)] },
      lines: [
        ' | ana cards 5 | completed a1',
        ' | operator: achievement a1 moves on | ana has a1',
        ' | bo cards 5 | completed -; has -',
        ' | operator: achievement a1 moves on | bo has a1; ana has a1',
      ],
    },
  ]);

  says('A locked achievement is visible only to users who have completed it, in every read.', {}, [
    {
      rule: "in a user's list, among those of a metric, and in the list of all",
      given: { achievements: [cards(5), cards(1)] },
      lines: [
        ' | ana cards 5 | sees a1 a2; metric a1 a2',
        ' | bo cards 1 | sees a1 a2; metric a1 a2; listed a1 a2',
        ' | operator: achievement a1 moves on | bo has a2; bo sees a2; bo metric a2; listed a2',
        ' | nothing | ana has a1 a2; ana sees a1 a2; ana metric a1 a2',
        ' | operator: achievement a1 moves on | bo sees a1 a2; bo metric a1 a2; listed a1 a2',
      ],
    },
  ]);

  says('Activating backfills users who already qualify, without notifications or webhooks.', {}, [
    {
      rule: 'silently: without points, dated at the activation, with the composites that follow',
      given: {
        achievements: [cards(5, { status: 'inactive' }), needs('a1'), needs('a2')],
        systems: [{ triggers: [{ type: 'achievement', achievement: 'a1', points: 9 }] }],
      },
      lines: [
        ' | ana cards 7 |',
        ' | bo cards 4 |',
        '01-05 12:00 | operator: achievement a1 moves on | ana has a1 a2 a3; bo has -; ana points 0; completions 1',
        '01-06 12:00 | nothing | ana achieved 01-05T12:00:00.000Z 01-05T12:00:00.000Z 01-05T12:00:00.000Z',
        ' | ana cards 1 | completed -',
        ' | bo cards 1 | completed a1 a2 a3; added 9',
      ],
    },
    {
      rule: 'by the matching events since the achievement exists',
      given: { achievements: [cards(5, { status: 'inactive', ...onPhone })] },
      lines: [' | ana cards 5 device=phone |', ' | bo cards 5 |', ' | operator: achievement a1 moves on | ana has a1; bo has -'],
    },
    {
      rule: 'by the streak that they have',
      given: { streaks: {}, achievements: [{ trigger: 'streak', length: 2, status: 'inactive' }] },
      lines: [
        ' | ana cards 5 |',
        ' | bo cards 5 |',
        '01-03 12:00 | bo cards 1 |',
        ' | operator: achievement a1 moves on | ana has -; bo has a1',
      ],
    },
    {
      rule: 'by anniversaries that have come, on the day of the activation too; those to come are no backfill',
      given: { achievements: [years(1, { status: 'inactive' })] },
      lines: [
        ' | ana is signUpDate=2039-01-04 |',
        ' | bo is signUpDate=2039-01-03 |',
        ' | cy is signUpDate=2038-07-07 |',
        '01-03 12:00 | operator: achievement a1 moves on | ana has -; bo has a1; cy has a1; bo achieved 01-03T12:00:00.000Z',
        '01-04 00:00 | nothing | ana has a1; ana announced a1; bo announced -; cy announced -',
      ],
    },
    {
      rule: 'by a day that has come in an earlier zone',
      given: { achievements: [years(1, { status: 'inactive' })] },
      lines: [
        ' | ana is tz=KI signUpDate=2039-01-04 |',
        '01-03 12:00 | ana moves to HI |',
        '01-03 13:00 | operator: achievement a1 moves on | ana has a1; ana announced -',
      ],
    },
    {
      rule: 'anniversaries of the time before a change follow the configuration of then',
      given: { achievements: [years(1)] },
      lines: [
        ' | ana is signUpDate=2039-01-04 |',
        ' | bo is signUpDate=2039-01-08 |',
        '~01-05 12:00 | operator: achievement a1 moves on | ana has a1; ana achieved 01-04T00:00:00.000Z; ana announced a1',
        '~01-09 12:00 | operator: achievement a1 moves on | bo has a1; bo achieved 01-09T12:00:00.000Z; bo announced -',
        ' | operator: achievement a1 at 2 | ana has a1',
      ],
    },
    {
      rule: 'by fewer years',
      given: { achievements: [years(2)] },
      lines: [' | ana is signUpDate=2039-01-01 | has -', ' | operator: achievement a1 at 1 | ana has a1; ana announced -'],
    },
    {
      rule: 'only those who match its filters',
      given: { achievements: [cards(5, { status: 'inactive', ...inNuuk })] },
      lines: [' | ana cards 5 |', ' | bo cards 5 city=Nuuk |', ' | operator: achievement a1 moves on | ana has -; bo has a1'],
    },
    {
      rule: 'and so does lowering what it takes',
      given: { achievements: [cards(50)] },
      lines: [' | ana cards 7 | completed -', ' | operator: achievement a1 at 5 | ana has a1'],
    },
  ]);

  says('Another trigger or metric: what is completed stays, and users who qualify by the new one complete it silently.', {}, [
    {
      rule: 'from a metric to streaks, with the composites that follow',
      given: { streaks: {}, achievements: [cards(5), needs('a1')] },
      lines: [
        ' | ana cards 5 | completed a1 a2',
        ' | bo cards 1 | completed -',
        '01-03 12:00 | bo cards 1 | streak 2; completed -',
        ' | operator: achievement a1 is by streak | ana has a1 a2; bo has a1 a2; completions 2',
        ' | nothing | ana achieved 01-02T12:00:00.000Z 01-02T12:00:00.000Z; bo achieved 01-03T12:00:00.000Z 01-03T12:00:00.000Z',
        ' | carl cards 9 | completed -',
        '01-04 12:00 | carl cards 1 | streak 2; completed a1 a2',
        ' | ana cards 9 | completed -; metric -',
      ],
    },
    {
      rule: 'from streaks to a metric, without the points of its completion',
      given: {
        streaks: {},
        achievements: [{ trigger: 'streak', length: 2 }],
        systems: [{ triggers: [{ type: 'achievement', achievement: 'a1', points: 9 }] }],
      },
      lines: [
        ' | ana cards 1 |',
        ' | bo cards 7 |',
        '01-03 12:00 | ana cards 1 | completed a1; added 9',
        ' | operator: achievement a1 is by metric | ana has a1; bo has a1; bo points 0; bo metric a1',
        ' | carl cards 4 | completed -',
        ' | carl cards 1 | completed a1; added 9',
        '01-04 12:00 | ana cards 9 | completed -',
      ],
    },
    {
      rule: 'from a metric to the API, for whose call users who have completed it are done',
      given: { achievements: [cards(5)] },
      lines: [
        ' | ana cards 5 | completed a1',
        ' | bo cards 4 |',
        ' | operator: achievement a1 is by api | ana has a1; bo has -',
        ' | bo cards 9 | completed -',
        ' | ana completes a1 | refused 422',
        ' | bo completes a1 | has a1; completions 2',
      ],
    },
    {
      rule: 'from the API to a metric',
      given: { achievements: [{ trigger: 'api' }] },
      lines: [
        ' | ana cards 5 | completed -',
        ' | bo completes a1 | has a1',
        ' | operator: achievement a1 is by metric | ana has a1; bo has a1; completions 2',
        ' | carl completes a1 | refused 422; known no',
      ],
    },
    {
      rule: 'from a metric to what other achievements complete',
      given: { achievements: [cards(5), { trigger: 'api' }] },
      lines: [
        ' | ana cards 5 | completed a1',
        ' | bo completes a2 | has a2',
        ' | operator: achievement a1 is by achievement | ana has a1; bo has a1 a2',
        ' | carl cards 9 | completed -',
        ' | carl completes a2 | has a1 a2',
      ],
    },
    {
      rule: 'from a composite to streaks, whatever its prerequisites are then',
      given: { streaks: {}, achievements: [needs('a2'), { trigger: 'api' }, needs('a1')] },
      lines: [
        ' | ana completes a2 | has a1 a2 a3',
        ' | bo cards 1 |',
        '01-03 12:00 | bo cards 1 |',
        ' | operator: achievement a1 is by streak | ana has a1 a2 a3; bo has a1 a3',
        ' | carl completes a2 | has a2',
      ],
    },
    {
      rule: 'from a metric to another one',
      given: { achievements: [cards(5), needs('a1')] },
      lines: [
        ' | ana cards 5 | completed a1 a2',
        ' | bo pages 5 | completed -',
        ' | operator: achievement a1 counts pages | ana has a1 a2; bo has a1 a2',
        ' | carl cards 9 | completed -',
        ' | carl pages 5 | completed a1 a2',
      ],
    },
    {
      rule: 'a sum of matching events is of its metric: it begins at 0, and goes on when the metric returns',
      given: { achievements: [cards(5, onPhone)] },
      lines: [
        ' | ana cards 4 device=phone | completed -',
        ' | ana pages 9 device=phone | completed -',
        ' | operator: achievement a1 counts pages | ana has -',
        ' | ana cards 9 device=phone | completed -',
        ' | ana pages 4 device=phone | completed -',
        ' | operator: achievement a1 counts cards | ana has -',
        ' | ana cards 1 device=phone | completed a1',
      ],
    },
    {
      rule: 'from streaks to anniversaries of the same number, and back',
      given: {
        streaks: {},
        achievements: [{ trigger: 'streak', length: 2 }],
        systems: [{ triggers: [{ type: 'achievement', achievement: 'a1', points: 9 }] }],
      },
      lines: [
        ' | ana is signUpDate=2038-01-02 | has -',
        ' | bo is signUpDate=2038-01-04 |',
        ' | carl cards 1 |',
        ' | operator: achievement a1 is by anniversary | ana has a1; ana announced -; ana points 0; bo has -',
        '01-03 12:00 | carl cards 1 | streak 2; completed -',
        '01-04 00:00 | nothing | bo has a1; bo announced a1; bo points 9; carl has -',
        ' | operator: achievement a1 is by streak | ana has a1; bo has a1; carl has a1; carl points 0; completions 3',
      ],
    },
    {
      rule: 'from a metric to anniversaries, with the composites that follow',
      given: { achievements: [cards(5), needs('a1')] },
      lines: [
        ' | ana cards 4 signUpDate=2038-01-01 | completed -',
        ' | bo cards 4 signUpDate=2039-01-01 | completed -',
        ' | operator: achievement a1 is by anniversary | ana has a1 a2; ana announced -; bo has -',
        ' | bo cards 9 | completed -; metric -',
        '2041-01-01 00:00 | nothing | bo has a1 a2; bo announced a1 a2',
      ],
    },
    {
      rule: 'from anniversaries: their days to come bring nothing',
      given: { achievements: [years(1), years(1)] },
      lines: [
        ' | ana is signUpDate=2039-01-04 |',
        ' | operator: achievement a1 is by api | ana has -',
        ' | operator: achievement a2 is by metric | ana has -',
        '01-05 12:00 | nothing | ana has -; completions 0',
        ' | ana completes a1 | has a1',
      ],
    },
    {
      rule: 'nobody completes one that is not active by it',
      given: { streaks: {}, achievements: [cards(5, { status: 'inactive' }), cards(5)] },
      lines: [
        ' | ana cards 1 |',
        '01-03 12:00 | ana cards 1 |',
        ' | operator: achievement a1 is by streak | ana has -',
        ' | operator: achievement a2 moves on | ana has -',
        ' | operator: achievement a2 is by streak | ana has -',
        ' | operator: achievement a1 moves on | ana has a1',
        ' | operator: achievement a2 moves on | ana has a1 a2',
      ],
    },
  ]);
});

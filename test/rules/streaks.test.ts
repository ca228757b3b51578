import { tablesOnRealStores } from '../support/rules.js';

/** The streaks of docs/rules/streaks.md; the language is that of support/rules.ts. What moving does to them is in time.test.ts. */
describe('Streaks', () => {
  const says = tablesOnRealStores();

  says(
    '`expires` is the last local date on which the user can still extend: the end of the current period if it is not yet extended, else the end of the next.',
    { known: ['ana'], streaks: {} },
    [
      {
        rule: 'once a day, from the first event that meets the condition',
        lines: [
          '01-02 12:00 | ana cards 1 | streak 1; expires 01-03; started 01-02',
          '01-02 13:00 | ana cards 9 | streak 1',
          '01-03 00:00 | ana cards 1 | streak 2; expires 01-04; started 01-02',
        ],
      },
      {
        rule: 'the end of today, on the day after',
        lines: ['01-02 12:00 | ana cards 1 | expires 01-03', '01-03 12:00 | nothing | expires 01-03', ' | ana cards 1 | expires 01-04'],
      },
      {
        rule: 'the end of this week or the next, where weeks are counted',
        given: { streaks: { frequency: 'weekly' } },
        lines: [
          '01-04 12:00 | ana cards 1 | expires 01-15',
          '01-09 00:00 | nothing | expires 01-15',
          '01-15 23:59 | ana cards 1 | expires 01-22',
        ],
      },
      {
        rule: 'in the zone of the user: in Auckland it is the 4th already',
        lines: ['01-03 12:00 | ana cards 1 tz=NZ | expires 01-05; started 01-04'],
      },
    ],
  );

  says('`started`, `periodStart`, `periodEnd`, `expires` are null when the length is 0.', { known: ['ana'], streaks: {} }, [
    { rule: 'before the first', lines: [' | nothing | streak 0; expires -; started -; period -..-'] },
    {
      rule: 'and when it is lost',
      lines: [
        '01-02 12:00 | ana cards 1 | streak 1; expires 01-03; started 01-02; period 01-02..01-02',
        '01-04 00:00 | nothing | streak 0; expires -; started -; period -..-',
      ],
    },
    {
      rule: 'without conditions there is never one',
      given: { streaks: { conditions: {} } },
      lines: ['01-02 12:00 | ana cards 5 | streak 0; expires -; started -; period -..-'],
    },
  ]);

  says('`extended` in reads is the moment of the last extension, null only without a streak.', { known: ['ana'], streaks: {} }, [
    {
      rule: 'today and on the days after, until it is lost, in the call of one user and in that of many',
      given: { streaks: { freezes: { initial: 1, maximum: 1 } } },
      lines: [
        '01-02 12:00 | nothing | extendedAt -',
        '01-02 12:30 | ana cards 1 | extendedAt 01-02T12:30:00.000Z',
        '01-02 13:00 | ana cards 1 | extendedAt 01-02T12:30:00.000Z',
        '01-03 12:00 | nothing | extendedAt 01-02T12:30:00.000Z',
        '01-04 12:00 | nothing | streak 1; freezes 0; extendedAt 01-02T12:30:00.000Z',
        '01-04 13:00 | ana cards 1 | streak 2; extendedAt 01-04T13:00:00.000Z',
        '01-06 00:00 | nothing | streak 0; extendedAt -',
      ],
    },
    {
      rule: 'a restored streak was last extended when it was',
      lines: ['01-02 12:30 | ana cards 1 |', '01-06 12:00 | ana restores the streak | streak 1; extendedAt 01-02T12:30:00.000Z'],
    },
  ]);

  says('Conditions count metric change inside the period.', { known: ['ana'], streaks: {} }, [
    {
      rule: 'counts add up inside the day, and a new day starts from 0',
      given: { streaks: { conditions: { cards: 5 } } },
      lines: [
        '01-02 12:00 | ana cards 3 | streak 0',
        '01-02 23:59 | ana cards 2 | streak 1',
        '01-03 10:00 | ana cards 3 | streak 1',
        '01-03 11:00 | ana cards 1.5 | streak 1',
        '01-03 11:00 | ana cards 0.5 | streak 2',
      ],
    },
    {
      rule: 'a count that falls takes nothing back, and what is below the threshold again has still been kept',
      lines: [
        '01-02 12:00 | ana cards 1 | streak 1',
        '01-02 13:00 | ana cards -5 | streak 1',
        '01-03 13:00 | ana cards -2 | streak 1',
        '01-03 13:00 | ana cards 2 | streak 1',
        '01-03 13:00 | ana cards 1 | streak 2',
      ],
    },
    {
      rule: 'events on other metrics do not look at it',
      lines: ['01-02 12:00 | ana mistakes 5 | streak 0', '01-02 13:00 | ana cards 1 | streak 1'],
    },
    {
      rule: 'conditions that are changed are looked at again at once',
      given: { streaks: { conditions: { cards: 5 } } },
      lines: [
        '01-02 12:00 | ana cards 3 | streak 0',
        '01-02 13:00 | operator: conditions cards 3 | streak 1',
        '01-02 14:00 | ana cards 3 | streak 1',
      ],
    },
    {
      rule: "a user's own conditions take the place of the configured ones",
      given: { streaks: { personalization: true } },
      lines: [
        '01-02 12:00 | ana pages 1 | streak 0',
        '01-02 12:00 | ana prefers pages 2 | streak 0',
        '01-02 12:00 | ana cards 5 | streak 0',
        '01-02 12:00 | ana pages 2 | streak 1',
      ],
    },
    {
      rule: 'a user may switch streaks off and on again while personalization is off',
      lines: [
        '01-02 12:00 | ana cards 1 | streak 1',
        '01-02 13:00 | ana switches streaks off | streak 1',
        '01-03 12:00 | ana cards 1 | streak 1',
        '01-03 13:00 | ana switches streaks on | streak 1',
        '01-03 14:00 | ana cards 1 | streak 2',
        '01-03 15:00 | ana switches streaks off | streak 2',
        '01-05 12:00 | ana cards 5 | streak 0',
      ],
    },
    {
      rule: 'streaks that are switched off and on again keep the conditions of the user',
      given: { streaks: { personalization: true } },
      lines: [
        '01-02 12:00 | ana prefers pages 2 | streak 0',
        '01-02 13:00 | ana switches streaks off | streak 0',
        '01-02 14:00 | ana pages 2 | streak 0',
        '01-02 15:00 | ana switches streaks on | streak 0',
        '01-02 16:00 | ana cards 5 | streak 0',
        '01-02 17:00 | ana pages 1 | streak 1',
      ],
    },
    {
      rule: 'neither conditions nor days off that are sent alone switch streaks on again',
      given: { streaks: { personalization: true } },
      lines: [
        '01-02 12:00 | ana switches streaks off | streak 0',
        ' | ana prefers pages 1 | streak 0',
        ' | ana is off on 6 | streak 0',
        ' | ana pages 1 | streak 0',
        ' | ana switches streaks on | streak 0',
        ' | ana pages 1 | streak 1',
      ],
    },
    {
      rule: "a user's own condition on an archived metric is dropped until the metric is back",
      given: { streaks: { personalization: true } },
      lines: [
        '01-02 12:00 | ana prefers pages 2 and mistakes 1 | streak 0',
        '01-02 12:00 | ana pages 2 | streak 0',
        '01-02 13:00 | operator: archives metrics mistakes | streak 0',
        '01-02 14:00 | ana cards 1 | streak 0',
        '01-02 14:00 | ana pages 1 | streak 1',
        '01-03 12:00 | operator: revives metrics mistakes | streak 1',
        '01-03 13:00 | ana pages 2 | streak 1',
        '01-03 13:00 | ana mistakes 1 | streak 2',
      ],
    },
    {
      rule: "the configured conditions count when none of a user's own is left",
      given: { streaks: { personalization: true } },
      lines: [
        '01-02 12:00 | ana prefers pages 2 | streak 0',
        '01-02 12:00 | ana pages 2 | streak 1',
        '01-03 12:00 | operator: archives metrics pages | streak 1',
        '01-03 13:00 | ana cards 1 | streak 2',
      ],
    },
    {
      rule: 'while personalization is off, users choose none',
      lines: ['01-02 12:00 | ana prefers pages 2 | refused 403', '01-02 12:00 | ana pages 2 | streak 0'],
    },
    {
      rule: 'the event that meets them says that it extended the streak, and no other',
      given: { streaks: { conditions: { cards: 2 } } },
      lines: [' | ana cards 1 | extended no', ' | ana cards 1 | extended yes', ' | ana cards 1 | extended no'],
    },
  ]);

  says('Evaluation `AND`/`ALL`: every threshold; `OR`/any: one.', { known: ['ana'], streaks: {} }, [
    {
      rule: 'AND needs every condition',
      given: { streaks: { mode: 'AND', conditions: { cards: 1, pages: 2 } } },
      lines: ['01-02 12:00 | ana cards 1 | streak 0', '01-02 12:00 | ana pages 1 | streak 0', '01-02 12:00 | ana pages 1 | streak 1'],
    },
    {
      rule: 'OR needs one condition',
      given: { streaks: { mode: 'OR', conditions: { cards: 1, pages: 2 } } },
      lines: ['01-02 12:00 | ana pages 1 | streak 0', '01-02 12:00 | ana pages 1 | streak 1', '01-03 12:00 | ana cards 1 | streak 2'],
    },
  ]);

  says(
    'All three frequencies are tracked for all users, so that the operator can switch without losing history.',
    { known: ['ana'], streaks: {} },
    [
      {
        rule: 'all three are tracked, and a switch of the frequency shows another',
        lines: [
          '01-02 12:00 | ana cards 1 | streak 1',
          '01-03 12:00 | ana cards 1 | streak 2',
          '01-10 12:00 | ana cards 1 | streak 1; started 01-10',
          '01-10 12:00 | operator: frequency weekly | streak 2; started 01-02; expires 01-22',
          '01-10 12:00 | operator: frequency monthly | streak 1; started 01-01; expires 02-29',
          '01-10 12:00 | operator: frequency daily | streak 1; started 01-10; expires 01-11',
        ],
      },
    ],
  );

  says('A missed period is covered, in this order, by a pause, then a freeze; else the streak is lost.', { known: ['ana'], streaks: {} }, [
    {
      rule: 'cover what they touch, before a freeze is used',
      given: { streaks: { freezes: { initial: 1, maximum: 1 } } },
      lines: [
        '01-02 12:00 | ana cards 1 | streak 1; freezes 1',
        '01-02 12:00 | ana pauses 01-03 to 01-04 | streak 1',
        '01-05 00:00 | nothing | streak 1; freezes 1',
        '01-06 00:00 | nothing | streak 1; freezes 0',
        '01-07 00:00 | nothing | streak 0',
      ],
    },
    {
      rule: 'a week is covered by a pause of one of its days',
      given: { streaks: { frequency: 'weekly' } },
      lines: [
        '01-02 12:00 | ana cards 1 | streak 1',
        '01-02 12:00 | ana pauses 01-15 to 01-15 | streak 1',
        '01-16 00:00 | nothing | streak 1',
        '01-22 00:00 | ana cards 1 | streak 2',
      ],
    },
    {
      rule: 'can be extended in, which then counts',
      lines: [
        '01-02 12:00 | ana cards 1 | streak 1',
        '01-02 12:00 | ana pauses 01-03 to 01-05 | streak 1',
        '01-04 12:00 | ana cards 1 | streak 2',
        '01-06 12:00 | ana cards 1 | streak 3',
      ],
    },
    {
      rule: 'none can be made afterwards',
      lines: [
        '01-02 12:00 | ana cards 1 | streak 1',
        '01-04 00:00 | ana pauses 01-03 to 01-03 | refused 422; streak 0; pauses -',
        '01-04 00:00 | ana cards 1 | streak 1',
      ],
    },
    {
      rule: 'one made in time, on the last moment of the day, does',
      lines: [
        '01-02 12:00 | ana cards 1 | streak 1',
        '01-03 23:59:59.999 | ana pauses 01-03 to 01-03 | streak 1',
        '01-04 12:00 | ana cards 1 | streak 2',
      ],
    },
    {
      rule: 'one that is deleted covers nothing any more',
      lines: [
        '01-02 12:00 | ana cards 1 | streak 1',
        '01-02 12:00 | ana pauses 01-03 to 01-09 | streak 1',
        '01-05 12:00 | ana ends the pause | streak 1',
        '01-06 00:00 | nothing | streak 0',
      ],
    },
    {
      rule: 'a day without an event',
      lines: [
        '01-02 12:00 | ana cards 1 | streak 1',
        '01-03 23:59:59.999 | nothing | streak 1; expires 01-03',
        '01-04 00:00 | nothing | streak 0',
      ],
    },
    {
      rule: 'months later as well',
      lines: ['01-02 12:00 | ana cards 1 | streak 1', '06-01 12:00 | ana cards 1 | streak 1; started 06-01'],
    },
    {
      rule: 'the history says what each day was: kept, covered by a freeze, covered by a pause, not yet extended',
      given: { streaks: { freezes: { initial: 1, maximum: 1 } } },
      lines: [
        '01-02 12:00 | ana cards 1 |',
        '01-03 12:00 | ana cards 1 |',
        ' | ana pauses 01-05 to 01-05 | pauses 01-05..01-05',
        '01-06 12:00 | ana cards 1 |',
        '01-07 12:00 | nothing | history 0 1 2 2f 2p 3 0',
      ],
    },
    {
      rule: 'a user can have 100 pauses, of which one that is over makes room, and no pause ends before it starts',
      lines: [
        ' | ana pauses 02-02 to 02-01 | refused 422',
        ' | ana pauses 01-02 to 01-03 |',
        ...Array.from({ length: 99 }, () => ' | ana pauses 02-01 to 02-01 |'),
        '01-03 23:59 | ana pauses 02-01 to 02-01 | refused 422',
        '01-04 00:00 | ana pauses 02-01 to 02-01 |',
        '01-04 00:00 | ana pauses 02-01 to 02-01 | refused 422',
      ],
    },
  ]);

  says("`pauses` lists current and upcoming pauses; a pause that starts before the user's today is an issue.", { known: ['ana'] }, [
    {
      rule: 'until the end of the last day, and what it covered stays covered',
      given: { streaks: {} },
      lines: [
        '01-02 12:00 | ana cards 1 |',
        ' | ana pauses 01-01 to 01-05 | refused 422; pauses -',
        ' | ana pauses 01-02 to 01-03 | pauses 01-02..01-03',
        ' | ana pauses 01-09 to 01-09 | pauses 01-02..01-03 01-09..01-09',
        '01-03 23:59 | nothing | pauses 01-02..01-03 01-09..01-09',
        '01-04 00:00 | nothing | pauses 01-09..01-09; history 1 1p 0',
      ],
    },
    {
      rule: 'in the calendar of the user: in Auckland it is the 4th already',
      given: { streaks: {} },
      lines: [
        '01-03 12:00 | ana moves to NZ |',
        ' | ana pauses 01-03 to 01-05 | refused 422',
        ' | ana pauses 01-04 to 01-04 | pauses 01-04..01-04',
        '01-04 12:00 | nothing | pauses -',
      ],
    },
    {
      rule: 'while streaks are off, too',
      lines: [
        ' | ana pauses 01-04 to 01-05 | pauses 01-04..01-05',
        ' | ana pauses 01-06 to 01-06 | pauses 01-04..01-05 01-06..01-06',
        ' | ana ends the pause | pauses 01-04..01-05',
      ],
    },
  ]);

  says('Freezes: initial amount, amount per N days up to a maximum (≤ 100), granted by hand.', { known: ['ana'], streaks: {} }, [
    {
      rule: 'no more than the maximum at first',
      given: { streaks: { freezes: { initial: 5, maximum: 2 } } },
      lines: ['01-02 12:00 | ana cards 1 | streak 1; freezes 2'],
    },
    {
      rule: 'are earned after every so many local days since the creation, up to the maximum',
      given: { streaks: { freezes: { initial: 0, maximum: 2, earnInterval: 3, earnAmount: 1 } } },
      lines: [
        '01-02 12:00 | ana mistakes 1 | streak 0; freezes 0',
        '01-04 23:59 | nothing | streak 0; freezes 0',
        '01-05 00:00 | nothing | streak 0; freezes 1',
        '01-08 00:00 | nothing | streak 0; freezes 2',
        '02-01 00:00 | nothing | streak 0; freezes 2',
      ],
    },
    {
      rule: 'one that is earned on a day is there for the period that ends with that day',
      given: { streaks: { freezes: { initial: 0, maximum: 1, earnInterval: 3, earnAmount: 1 } } },
      lines: [
        '01-02 12:00 | ana cards 1 | streak 1',
        '01-03 12:00 | ana cards 1 | streak 2',
        '01-04 12:00 | ana cards 1 | streak 3; freezes 0',
        '01-06 00:00 | nothing | streak 3; freezes 0',
      ],
    },
    {
      rule: 'but not for the one that has ended with the day before',
      given: { streaks: { freezes: { initial: 0, maximum: 1, earnInterval: 3, earnAmount: 1 } } },
      lines: [
        '01-02 12:00 | ana cards 1 | streak 1',
        '01-03 12:00 | ana cards 1 | streak 2',
        '01-05 00:00 | nothing | streak 0; freezes 1',
      ],
    },
    {
      rule: 'so that a use makes room for the next one',
      given: { streaks: { freezes: { initial: 1, maximum: 1, earnInterval: 1, earnAmount: 1 } } },
      lines: [
        '01-02 12:00 | ana cards 1 | streak 1; freezes 1',
        '01-04 00:00 | nothing | streak 1; freezes 1',
        '02-01 00:00 | nothing | streak 1; freezes 1',
      ],
    },
    {
      rule: 'granted ones go beyond the maximum, earned ones then add nothing',
      given: { streaks: { freezes: { initial: 1, maximum: 1, earnInterval: 1, earnAmount: 1 } } },
      lines: [
        '01-02 12:00 | ana cards 1 | streak 1; freezes 1',
        '01-02 12:00 | ana gets a freeze | streak 1; freezes 2; maxFreezes 2',
        '01-02 12:00 | ana gets a freeze | streak 1; freezes 3; maxFreezes 3',
        '01-03 12:00 | ana cards 1 | saidFreezes 3 of 3',
        '01-03 12:00 | nothing | streak 2; freezes 3',
        '01-06 00:00 | nothing | streak 2; freezes 1; maxFreezes 1',
      ],
    },
    {
      rule: 'ones that are taken cover nothing any more, and a user who holds none loses none',
      given: { streaks: { freezes: { initial: 2, maximum: 2 } } },
      lines: [
        ' | unknown loses a freeze | refused 422',
        '01-02 12:00 | ana cards 1 | streak 1; freezes 2',
        '01-02 12:00 | ana loses a freeze | streak 1; freezes 1',
        '01-04 00:00 | nothing | streak 1; freezes 0',
        '01-04 00:00 | ana loses a freeze | refused 422; streak 1; freezes 0',
        '01-05 00:00 | nothing | streak 0; freezes 0',
      ],
    },
    {
      rule: 'are shown where they are configured, or where the user holds one',
      lines: [
        '01-02 12:00 | ana cards 1 | saidFreezes -; freezes -; maxFreezes -; history 0 1',
        '01-02 12:00 | ana gets a freeze | freezes 1; maxFreezes 1',
        '01-03 12:00 | ana cards 1 | saidFreezes 1 of 1',
        '01-05 00:00 | nothing | streak 2; freezes -; history 1 2 2f 0',
      ],
    },
    {
      rule: 'are used by the configured frequency alone',
      given: { streaks: { frequency: 'weekly', freezes: { initial: 1, maximum: 1 } } },
      lines: [
        '01-02 12:00 | ana cards 1 | streak 1; freezes 1',
        '01-16 00:00 | nothing | streak 1; freezes 0',
        '01-16 00:00 | operator: frequency daily | streak 0; freezes 0',
      ],
    },
    {
      rule: 'a user has at most 100, and an unknown user gets none',
      lines: [
        ' | nobody gets a freeze | refused 422',
        ...Array.from({ length: 100 }, () => ' | ana gets a freeze |'),
        ' | nothing | freezes 100',
        ' | ana gets a freeze | refused 422; freezes 100',
      ],
    },
  ]);

  says('A covered period keeps the length and does not add to it.', { known: ['ana'], streaks: {} }, [
    {
      rule: 'one covers one missed day, and adds nothing to the length',
      given: { streaks: { freezes: { initial: 2, maximum: 3 } } },
      lines: [
        '01-02 12:00 | ana cards 1 | streak 1; freezes 2',
        '01-04 00:00 | nothing | streak 1; freezes 1; expires 01-04',
        '01-05 00:00 | ana cards 1 | streak 2; freezes 0',
        '01-07 00:00 | nothing | streak 0; freezes 0',
      ],
    },
    {
      rule: 'several days at once use one each, and one too few loses the streak but the freezes are gone',
      given: { streaks: { freezes: { initial: 2, maximum: 2 } } },
      lines: ['01-02 12:00 | ana cards 1 | streak 1; freezes 2', '01-06 00:00 | nothing | streak 0; freezes 0'],
    },
  ]);

  says('A day off keeps the streak of a user who stays away.', { known: ['ana'], streaks: { daysOff: [0, 6] } }, [
    {
      rule: 'over the weekend, and `expires` is the next day that counts',
      lines: [
        '01-05 12:00 | ana cards 1 | streak 1; expires 01-06',
        '01-06 12:00 | ana cards 1 | streak 2; saidExpires 01-09',
        '01-07 12:00 | nothing | streak 2; expires 01-09',
        '01-08 12:00 | nothing | streak 2; expires 01-09',
        '01-09 12:00 | ana cards 1 | streak 3; started 01-05; expires 01-10',
      ],
    },
    {
      rule: 'up to the end of the next day that counts',
      lines: [
        '01-06 12:00 | ana cards 1 | streak 1',
        '01-09 23:59:59.999 | nothing | streak 1; expires 01-09',
        '01-10 00:00 | nothing | streak 0',
      ],
    },
    {
      rule: 'an event on it extends the streak, and what was extended needs nothing else before the next day that counts',
      lines: [
        '01-06 12:00 | ana cards 1 | streak 1',
        '01-07 12:00 | ana cards 1 | extended yes; streak 2; expires 01-09',
        '01-08 12:00 | ana cards 1 | extended yes; streak 3; expires 01-09',
        '01-09 12:00 | ana cards 1 | streak 4; expires 01-10',
      ],
    },
    {
      rule: 'one can start on it',
      lines: ['01-07 12:00 | ana cards 1 | streak 1; started 01-07; expires 01-09', '01-09 12:00 | ana cards 1 | streak 2; started 01-07'],
    },
    {
      rule: 'it does not cover the day before',
      lines: ['01-05 12:00 | ana cards 1 | streak 1', '01-07 00:00 | nothing | streak 0'],
    },
    {
      rule: 'it uses no freeze',
      given: { streaks: { freezes: { initial: 1, maximum: 1 } } },
      lines: [
        '01-06 12:00 | ana cards 1 | streak 1; freezes 1',
        '01-09 12:00 | nothing | streak 1; freezes 1',
        '01-10 12:00 | nothing | streak 1; freezes 0; expires 01-10',
        '01-11 00:00 | nothing | streak 0; freezes 0',
      ],
    },
    {
      rule: 'between days that freezes cover',
      given: { streaks: { freezes: { initial: 2, maximum: 2 } } },
      lines: [
        '01-05 12:00 | ana cards 1 | streak 1',
        '01-10 12:00 | nothing | streak 1; freezes 0; expires 01-10; history 1 1f 1 1 1f 0',
        '01-11 00:00 | nothing | streak 0; history 1 1f 1 1 1f 0 0',
      ],
    },
    {
      rule: 'freezes are earned on it as on other days',
      given: { streaks: { freezes: { initial: 0, maximum: 9, earnInterval: 2, earnAmount: 1 } } },
      lines: [
        '01-06 12:00 | ana cards 1 | streak 1; freezes 2',
        '01-08 12:00 | nothing | streak 1; freezes 3',
        '01-09 12:00 | nothing | streak 1; freezes 3',
      ],
    },
    {
      rule: 'in the history it has the length that the streak kept, and a pause of it is shown',
      lines: [
        '01-06 12:00 | ana cards 1 |',
        ' | ana pauses 01-07 to 01-07 |',
        '01-07 12:00 | nothing | history 1 0',
        '01-09 12:00 | nothing | streak 1; history 0 1 1p 1 0',
      ],
    },
    {
      rule: 'six of seven days may be off',
      given: { streaks: { daysOff: [0, 1, 2, 3, 4, 5] } },
      lines: [
        '01-03 12:00 | ana cards 1 | streak 1; expires 01-07',
        '01-07 12:00 | ana cards 1 | streak 2; expires 01-14',
        '01-14 23:59 | nothing | streak 2; expires 01-14',
        '01-15 00:00 | nothing | streak 0',
      ],
    },
    {
      rule: 'a streak that is restored on it expires with the next day that counts',
      lines: [
        '01-05 12:00 | ana cards 1 | streak 1',
        '01-07 12:00 | nothing | streak 0',
        ' | ana restores the streak | streak 1; started 01-05; expires 01-09',
        '01-10 00:00 | nothing | streak 0',
      ],
    },
    {
      rule: 'by the calendar of the user: in Auckland it is Saturday already',
      zone: 'NZ',
      lines: [
        '01-06 09:00 | ana moves to NZ |',
        '01-06 12:00 | ana cards 1 | streak 1; expires 01-09',
        '01-07 01:00 | nothing | streak 1; expires 01-09',
        '01-09 23:59 | nothing | streak 1',
        '01-10 00:00 | nothing | streak 0',
      ],
    },
    {
      rule: 'after a move west, the Friday that comes again changes nothing',
      zone: 'NZ',
      lines: [
        '01-06 08:00 | ana moves to NZ |',
        '01-07 12:00 | ana cards 1 | streak 1; expires 01-09',
        '01-06 14:00 HI | ana moves to HI | streak 1; expires 01-09',
        '01-09 23:59 HI | nothing | streak 1; expires 01-09',
        '01-10 00:00 HI | nothing | streak 0',
      ],
    },
    {
      rule: 'after a move, the day that is needed next is the next one that counts in the old zone',
      zone: 'NZ',
      lines: [
        '01-06 08:00 HI | ana moves to HI | streak 0',
        '01-06 12:00 HI | ana cards 1 | streak 1',
        '01-07 12:00 HI | ana moves to NZ | streak 1; expires 01-09',
        '01-10 22:59 NZ | nothing | streak 1; expires 01-10',
        '01-10 23:00 NZ | nothing | streak 0',
      ],
    },
  ]);

  says('Another choice of days off is for the current day and later ones.', { known: ['ana'], streaks: { daysOff: [0, 6] } }, [
    {
      rule: 'what was a day off stays one',
      lines: [
        '01-06 12:00 | ana cards 1 | streak 1',
        '01-08 12:00 | operator: days off 0 | streak 1; expires 01-09',
        '01-09 12:00 | ana cards 1 | streak 2; history 1 1 1 2',
      ],
    },
    {
      rule: 'one that is taken away counts if it is not over',
      lines: [
        '01-06 12:00 | ana cards 1 | streak 1; expires 01-09',
        '01-07 12:00 | operator: days off - | streak 1; expires 01-07',
        '01-08 00:00 | nothing | streak 0',
      ],
    },
    {
      rule: 'one that is added in its last minute is one',
      given: { streaks: { daysOff: [] } },
      lines: [
        '01-06 12:00 | ana cards 1 | streak 1; expires 01-07',
        '01-07 23:59 | operator: days off 6 | streak 1; expires 01-08',
        '01-08 23:59 | nothing | streak 1',
        '01-09 00:00 | nothing | streak 0',
      ],
    },
    {
      rule: 'one that is added later was missed',
      given: { streaks: { daysOff: [] } },
      lines: ['01-05 12:00 | ana cards 1 | streak 1', '~01-07 12:00 | operator: days off 5 | streak 0'],
    },
    {
      rule: 'another frequency empties them',
      lines: [
        '01-06 12:00 | ana cards 1 | streak 1; expires 01-09',
        ' | operator: frequency weekly | streak 1; expires 01-15',
        ' | operator: frequency daily | streak 1; expires 01-07',
      ],
    },
  ]);

  says("A user's own days off replace the configured ones.", { known: ['ana'], streaks: { daysOff: [0, 6], personalization: true } }, [
    {
      rule: 'as soon as they are set',
      lines: [
        '01-06 12:00 | ana cards 1 | streak 1; expires 01-09',
        ' | ana is off on 0 | streak 1; expires 01-07',
        '01-08 00:00 | nothing | streak 0',
      ],
    },
    {
      rule: 'also with none',
      lines: ['01-06 12:00 | ana is off on - |', ' | ana cards 1 | streak 1; expires 01-07', '01-08 00:00 | nothing | streak 0'],
    },
    {
      rule: 'from the current day on',
      lines: [
        '01-06 12:00 | ana cards 1 | streak 1',
        '~01-08 12:00 | ana is off on 1 | streak 1; expires 01-08',
        '01-09 00:00 | nothing | streak 0',
      ],
    },
    {
      rule: 'beside conditions of the user',
      lines: [
        '01-06 12:00 | ana prefers pages 2 |',
        ' | ana is off on 6 |',
        ' | ana pages 2 | streak 1; saidExpires 01-08',
        ' | ana prefers pages 1 | expires 01-08',
        ' | ana switches streaks off | expires 01-08',
      ],
    },
    {
      rule: 'while personalization is on',
      lines: [
        '01-06 12:00 | ana cards 1 | streak 1; expires 01-09',
        ' | ana is off on 6 | expires 01-08',
        ' | operator: personalization off | expires 01-09',
        ' | ana is off on 0 | refused 403; expires 01-09',
        ' | operator: personalization on | expires 01-08',
      ],
    },
    {
      rule: 'while the streaks are daily',
      lines: [
        '01-02 12:00 | ana cards 1 | streak 1',
        ' | ana is off on 123456 | expires 01-08',
        ' | operator: frequency weekly | streak 1; expires 01-15',
        ' | ana is off on 0 | refused 422',
        '01-03 12:00 | operator: frequency daily | streak 1; expires 01-08',
        '01-08 12:00 | operator: frequency weekly | streak 1; expires 01-15',
        '01-16 00:00 | nothing | streak 0',
      ],
    },
  ]);

  says('Restore sets the streak back to the length it had when it was last lost.', { known: ['ana'], streaks: {} }, [
    {
      rule: 'with the current day not yet extended',
      lines: [
        '01-02 12:00 | ana cards 1 | streak 1',
        '01-03 12:00 | ana cards 1 | streak 2',
        '01-06 12:00 | ana restores the streak | streak 2; started 01-02; expires 01-06',
        '01-06 13:00 | ana cards 1 | streak 3',
        '01-06 13:00 | ana restores the streak | refused 422; streak 3',
      ],
    },
    {
      rule: 'with the current day extended',
      lines: [
        '01-02 12:00 | ana cards 1 | streak 1',
        '01-03 12:00 | ana cards 1 | streak 2',
        '01-06 12:00 | ana cards 1 | streak 1',
        '01-06 12:00 | ana restores the streak | streak 2; started 01-02; expires 01-07',
        '01-07 12:00 | ana cards 1 | streak 3',
      ],
    },
    {
      rule: 'who never lost one is an issue',
      lines: ['01-02 12:00 | ana cards 1 | streak 1', '01-02 12:00 | ana restores the streak | refused 422; streak 1'],
    },
    {
      rule: 'one of the length that there is now takes its place',
      lines: [
        '01-02 12:00 | ana cards 1 | streak 1',
        '01-05 12:00 | ana cards 1 | streak 1; started 01-05',
        '01-05 12:00 | ana restores the streak | streak 1; started 01-02; expires 01-06',
      ],
    },
    {
      rule: 'and it can be lost again',
      lines: [
        '01-02 12:00 | ana cards 1 | streak 1',
        '01-06 12:00 | ana restores the streak | streak 1',
        '01-07 00:00 | nothing | streak 0',
        '01-07 00:00 | ana restores the streak | streak 1',
      ],
    },
  ]);

  says('If the running streak is longer, it is an issue and nothing changes.', { known: ['ana'], streaks: {} }, [
    {
      rule: 'not even what was lost last',
      lines: [
        '01-02 12:00 | ana cards 1 | streak 1',
        '01-05 12:00 | ana cards 1 | streak 1',
        '01-06 12:00 | ana cards 1 | streak 2',
        '01-06 12:00 | ana restores the streak | refused 422; streak 2; started 01-05; expires 01-07',
        '01-08 00:00 | nothing | streak 0',
        '01-08 00:00 | ana restores the streak | streak 2; started 01-05',
      ],
    },
  ]);

  says('Reset ends the streak of the configured frequency at once, as a missed period would.', { known: ['ana'], streaks: {} }, [
    {
      rule: 'in a period that was extended: an event on the same day starts a new one',
      lines: [
        '01-02 12:00 | ana cards 1 | streak 1',
        '01-03 12:00 | ana cards 1 | streak 2',
        '01-03 13:00 | ana resets the streak | streak 0; expires -; started -; extendedAt -; history 1 0r',
        '01-03 14:00 | ana cards 1 | extended yes; streak 1; started 01-03; expires 01-04; history 1 1r',
        '01-03 15:00 | ana cards 1 | extended no; streak 1',
        '01-04 12:00 | ana cards 1 | streak 2; history 1 1r 2',
      ],
    },
    {
      rule: 'in one that was not',
      lines: [
        '01-02 12:00 | ana cards 1 | streak 1',
        '01-03 12:00 | ana resets the streak | streak 0; history 1 0r',
        '01-04 12:00 | ana cards 1 | streak 1; started 01-04; history 1 0r 1',
      ],
    },
    {
      rule: 'the counts of the period stay, so the next event that counts starts a new one',
      given: { streaks: { conditions: { cards: 5 } } },
      lines: [
        '01-02 12:00 | ana cards 5 | streak 1',
        '01-02 12:00 | ana resets the streak | streak 0',
        '01-02 12:00 | ana pages 5 | streak 0',
        '01-02 12:00 | ana cards 1 | streak 1',
      ],
    },
    {
      rule: 'so do conditions that are changed',
      lines: [
        '01-02 12:00 | ana cards 3 | streak 1',
        '01-02 12:00 | ana resets the streak | streak 0',
        '01-02 13:00 | operator: conditions cards 2 | streak 1',
      ],
    },
    {
      rule: 'the other frequencies go on',
      lines: [
        '01-02 12:00 | ana cards 1 | streak 1',
        '01-02 12:00 | ana resets the streak | streak 0',
        '01-02 12:00 | operator: frequency weekly | streak 1; history 0 1',
        '01-09 12:00 | ana resets the streak | streak 0; history 1 0r',
        '01-10 12:00 | ana cards 1 | streak 1; started 01-09; history 1 1r',
      ],
    },
    {
      rule: 'without a streak there is nothing to do, and what was lost before stays',
      lines: [
        ' | unknown resets the streak | refused 422',
        '01-02 12:00 | ana resets the streak | refused 422; streak 0; history 0',
        '01-02 12:00 | ana cards 1 | streak 1',
        '01-05 12:00 | ana resets the streak | refused 422; streak 0; history 1 0 0 0',
        '01-05 12:00 | ana restores the streak | streak 1',
      ],
    },
    {
      rule: 'while streaks are not enabled, it is an issue',
      lines: [
        '01-02 12:00 | ana cards 1 | streak 1',
        '01-02 12:00 | operator: streaks off | streak 0',
        '01-02 12:00 | ana resets the streak | refused 422',
        '01-02 12:00 | operator: streaks on | streak 1',
      ],
    },
    {
      rule: 'a restore on the same day brings all of it back',
      lines: [
        '01-02 12:00 | ana cards 1 | streak 1',
        '01-03 12:00 | ana cards 1 | streak 2',
        '01-03 13:00 | ana resets the streak | streak 0',
        '01-03 14:00 | ana restores the streak | streak 2; started 01-02; expires 01-04; extendedAt 01-03T12:00:00.000Z; history 1 2r',
        '01-03 15:00 | ana cards 1 | extended no; streak 2',
        '01-04 12:00 | ana cards 1 | streak 3; history 1 2r 3',
      ],
    },
    {
      rule: 'a day that was not extended still has to be',
      lines: [
        '01-02 12:00 | ana cards 1 | streak 1',
        '01-03 12:00 | ana resets the streak | streak 0',
        '01-03 12:00 | ana restores the streak | streak 1; expires 01-03; history 1 0r',
        '01-04 00:00 | nothing | streak 0; history 1 0r 0',
      ],
    },
    {
      rule: 'a freeze that covers the period then leaves that it was reset in it',
      given: { streaks: { freezes: { initial: 1, maximum: 1 } } },
      lines: [
        '01-02 12:00 | ana cards 1 | streak 1',
        '01-03 12:00 | ana resets the streak | streak 0; freezes 1',
        '01-03 12:00 | ana restores the streak | streak 1',
        '01-04 00:00 | nothing | streak 1; freezes 0; history 1 1fr 0',
      ],
    },
    {
      rule: 'a restore on a later day leaves the days between as they are',
      lines: [
        '01-02 12:00 | ana cards 1 | streak 1',
        '01-02 13:00 | ana resets the streak | streak 0',
        '01-04 12:00 | ana restores the streak | streak 1; started 01-02; expires 01-04; history 0r 0 0',
        '01-04 13:00 | ana cards 1 | streak 2; history 0r 0 2',
      ],
    },
    {
      rule: 'of two resets, a restore undoes the last one',
      lines: [
        '01-02 12:00 | ana cards 1 | streak 1',
        '01-03 12:00 | ana cards 1 | streak 2',
        '01-03 12:00 | ana resets the streak | streak 0',
        '01-03 12:00 | ana cards 1 | streak 1',
        '01-03 12:00 | ana resets the streak | streak 0',
        '01-03 12:00 | ana restores the streak | streak 1; started 01-03; history 1 1r',
        '01-03 12:00 | ana restores the streak | refused 422; streak 1',
      ],
    },
    {
      rule: 'a pause stays, and covers a new streak',
      lines: [
        '01-02 12:00 | ana cards 1 | streak 1',
        ' | ana pauses 01-02 to 01-04 |',
        '01-03 12:00 | ana resets the streak | streak 0; pauses 01-02..01-04; history 1 0r',
        '01-03 13:00 | ana cards 1 | streak 1',
        '01-05 12:00 | ana cards 1 | streak 2; history 1 1r 1p 2',
      ],
    },
    {
      rule: 'on a day off, which covers the streak that a restore brings back',
      given: { streaks: { daysOff: [0, 6] } },
      lines: [
        '01-06 12:00 | ana cards 1 | streak 1',
        '01-07 12:00 | ana resets the streak | streak 0; history 1 0r',
        '01-07 12:00 | ana restores the streak | streak 1; expires 01-09; history 1 0r',
        '01-09 12:00 | ana cards 1 | streak 2; history 1 1r 1 2',
      ],
    },
    {
      rule: 'on a day that comes twice',
      lines: [
        '01-06 08:00 | ana moves to NZ |',
        '01-07 12:00 NZ | ana cards 1 | streak 1',
        '01-06 14:00 HI | ana moves to HI | streak 1',
        ' | ana resets the streak | streak 0; history 0r',
        ' | ana cards 1 | streak 1; started 01-07; history 1r',
        '01-07 14:00 HI | ana cards 1 | streak 1',
        '01-07 15:00 HI | ana resets the streak | streak 0',
        '01-07 16:00 HI | ana restores the streak | streak 1; expires 01-08',
      ],
    },
    {
      rule: 'in a week that another first day of the week has made longer',
      given: { streaks: { frequency: 'weekly' } },
      lines: [
        '01-04 12:00 | ana cards 1 | streak 1',
        '01-05 12:00 | operator: weeks start on sunday |',
        ' | ana resets the streak | streak 0; history 0r',
        ' | ana restores the streak | streak 1; history 1r; expires 01-14',
        ' | ana resets the streak | streak 0; history 0r',
        '01-09 00:00 | ana restores the streak | streak 1; history 0r 0; expires 01-14',
        ' | ana cards 1 | streak 2; history 0r 2',
        '01-15 00:00 | ana cards 1 | streak 3; history 0r 2 3',
      ],
    },
    {
      rule: 'with another frequency or without streaks in between',
      lines: [
        '01-02 12:00 | ana cards 1 | streak 1',
        ' | ana resets the streak |',
        ' | operator: frequency weekly | streak 1',
        ' | ana restores the streak | refused 422',
        ' | operator: streaks off |',
        '01-04 12:00 | operator: streaks on |',
        ' | operator: frequency daily | streak 0',
        ' | ana restores the streak | streak 1; expires 01-04; history 0r 0 0',
      ],
    },
    {
      rule: 'a grace ends with it: the streak that a restore brings back has to be kept in the new zone',
      lines: [
        '01-02 12:00 | ana cards 1 | streak 1',
        '01-02 12:00 | ana moves to NZ | streak 1',
        '01-03 12:00 | ana resets the streak | streak 0',
        '01-03 12:00 | ana restores the streak | streak 1; expires 01-04',
        '01-04 12:00 | nothing | streak 0',
      ],
    },
    {
      rule: '`streak.lost` goes out, and `streak.started` for a new one; a restore is silent',
      lines: [
        '01-02 12:00 | ana cards 1 | told streak.started 1',
        '01-03 12:00 | ana cards 1 | told streak.started 1, streak.extended 2',
        '01-03 12:00 | ana resets the streak | told streak.started 1, streak.extended 2, streak.lost 2',
        '01-03 12:00 | ana restores the streak | told streak.started 1, streak.extended 2, streak.lost 2',
        '01-03 12:00 | ana resets the streak |',
        '01-03 12:00 | ana cards 1 | told streak.started 1, streak.extended 2, streak.lost 2, streak.lost 2, streak.started 1',
      ],
    },
  ]);

  says('When `weekStart` changes, the week that is running ends as it would have.', { streaks: { frequency: 'weekly' } }, [
    {
      rule: 'for those who have one, and not for who comes later',
      lines: [
        '01-02 12:00 | ana pages 1 | streak 0',
        ' | operator: weeks start on sunday | streak 0',
        ' | bo cards 1 | saidPeriod 01-01..01-07',
        ' | ana cards 1 | saidPeriod 01-02..01-08; period 01-02..01-08',
      ],
    },
    {
      rule: 'the next one is a day shorter from Monday to Sunday',
      lines: [
        '01-05 12:00 | ana cards 1 | period 01-02..01-08',
        ' | operator: weeks start on sunday | period 01-02..01-08; expires 01-14',
        '01-08 12:00 | ana cards 1 | streak 1',
        '01-09 00:00 | ana cards 1 | streak 2; period 01-09..01-14; history 1 2',
        '01-15 00:00 | ana cards 1 | streak 3; period 01-15..01-21',
      ],
    },
  ]);
});

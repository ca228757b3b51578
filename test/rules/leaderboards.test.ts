import { expect } from 'chai';
import { configText, readBoard, readPlace, track } from '../support/answers.js';
import type { BoardSpec } from '../support/model/documents.js';
import { tablesOnRealStores, type Given } from '../support/rules.js';
import { startWorld } from '../support/world.js';

const board = (more: Partial<BoardSpec> = {}): BoardSpec => ({ key: 'all', rankBy: { metric: 'cards' }, ...more });
const one = (more: Partial<BoardSpec> = {}): Given => ({ boards: [board(more)] });
/** Weeks from Monday, 2 January. */
const weekly: Partial<BoardSpec> = { key: 'week', start: '2040-01-02', every: [7, 'day'] };

/** Leaderboards as in docs/rules/leaderboards.md; the language is that of support/rules.ts. */
describe('Leaderboards', () => {
  const says = tablesOnRealStores();

  says('Rank is ordinal (1, 2, 3 …).', one(), [
    {
      rule: 'the highest value first; an event tells the rank and the one before',
      lines: [
        ' | ana cards 5 | rank - > 1; board ana 5; place 1 with 5',
        ' | bo cards 7 | rank - > 1; board bo 7, ana 5; ana place 2 with 5',
        ' | ana cards 3 | rank 2 > 1; board ana 8, bo 7',
        ' | ana cards -4 | rank 1 > 2; board bo 7, ana 4',
        ' | bo cards 1 | rank 1 > 1; board bo 8, ana 4',
        ' | bo cards 0 | rank silent',
      ],
    },
    {
      rule: 'a value of 0 has a rank, and so has one below 0',
      lines: [' | ana cards 0 |', ' | bo cards -1 | rank - > 2; board ana 0, bo -1', ' | bo cards 1 | board ana 0, bo 0'],
    },
    { rule: 'a user who falls below 0 is last', lines: [' | ana cards 1 |', ' | bo cards 0 |', ' | ana cards -9 | board bo 0, ana -8'] },
    {
      rule: 'sums of decimals are clean',
      lines: [...Array.from({ length: 9 }, (_, i) => ` | ana cards 0.1 | board ana ${(i + 1) / 10}`), ' | ana cards 0.1 | board ana 1'],
    },
  ]);

  says('Equal values rank by who reached the value first, exactly, however close in time.', one(), [
    {
      rule: 'all in one millisecond, whatever the ids',
      lines: [' | zoe cards 10 |', ' | abe cards 10 |', ' | mia cards 10 | board zoe 10, abe 10, mia 10'],
    },
    {
      rule: 'who leaves a value and comes back queues behind',
      lines: [' | ana cards 5 |', ' | bo cards 5 | board ana 5, bo 5', ' | ana cards 1 |', ' | ana cards -1 | board bo 5, ana 5'],
    },
    {
      rule: 'who falls to a value queues behind, too',
      lines: [' | ana cards 12 |', ' | bo cards 10 |', ' | ana cards -2 | board bo 10, ana 10'],
    },
    {
      rule: 'an event that changes nothing costs no place',
      lines: [' | ana cards 5 |', ' | bo cards 5 |', ' | ana cards 0 | board ana 5, bo 5'],
    },
    {
      rule: 'what time awards goes in the order of time: midnight comes to Honolulu at 10:00 UTC, and to Auckland at 11:00',
      given: {
        systems: [{ triggers: [{ type: 'time', unit: 'days', interval: 1, points: 1 }] }],
        boards: [board({ rankBy: { points: 'p1' } })],
      },
      lines: [
        ' | bo moves to NZ |',
        ' | zoe moves to HI |',
        '01-20 10:30 | nothing | board zoe 18, bo 17',
        '01-20 11:00 | nothing | board zoe 18, bo 18',
      ],
    },
  ]);

  says("Perpetual: the value is the user's total (metric), points total, or streak length.", {}, [
    {
      rule: 'the total of a metric, with what came before the start',
      given: one({ start: '2040-01-03' }),
      lines: [' | ana cards 4 | rank silent', '01-03 12:00 | ana cards 1 | board ana 5'],
    },
    {
      rule: 'points',
      given: {
        systems: [{ triggers: [{ type: 'metric', metric: 'cards', threshold: 5, points: 10 }] }],
        boards: [board({ rankBy: { points: 'p1' } })],
      },
      lines: [' | ana cards 4 | rank silent; board -', ' | ana cards 1 | rank - > 1; board ana 10'],
    },
    {
      rule: 'the length of the streak, and who loses it leaves the board',
      given: { streaks: {}, boards: [board({ rankBy: 'streak' })] },
      lines: [
        ' | ana cards 1 |',
        ' | bo cards 1 | board ana 1, bo 1',
        '01-03 12:00 | bo cards 1 | rank 2 > 1; board bo 2, ana 1',
        '01-04 00:00 | nothing | board bo 2',
        '01-04 12:00 | ana restores the streak | board bo 2, ana 1',
      ],
    },
    {
      rule: 'a reset streak leaves the board at once, and a new one of the same day joins it as the last of its length',
      given: { streaks: {}, boards: [board({ rankBy: 'streak' })] },
      lines: [
        ' | ana cards 1 |',
        ' | bo cards 1 | board ana 1, bo 1',
        ' | ana resets the streak | board bo 1',
        ' | ana cards 1 | rank - > 2; board bo 1, ana 1',
        ' | ana resets the streak | board bo 1',
        ' | ana restores the streak | board bo 1, ana 1',
      ],
    },
    {
      rule: 'a streak of the frequency that is configured',
      given: { streaks: {}, boards: [board({ rankBy: 'streak' })] },
      lines: [
        ' | ana cards 1 |',
        '01-03 12:00 | ana cards 1 |',
        '01-09 12:00 | ana cards 1 | board ana 1',
        ' | operator: frequency weekly | board ana 2',
      ],
    },
    {
      rule: 'who has no streak of the frequency that is now configured leaves the board',
      given: { streaks: { frequency: 'weekly' }, boards: [board({ rankBy: 'streak' })] },
      lines: [' | ana cards 1 | board ana 1', '01-04 12:00 | bo cards 1 | board ana 1, bo 1', ' | operator: frequency daily | board bo 1'],
    },
    {
      rule: 'no user has a streak while streaks are not enabled',
      given: { streaks: {}, boards: [board({ rankBy: 'streak' })] },
      lines: [
        ' | ana cards 1 |',
        ' | bo cards 1 | board ana 1, bo 1',
        ' | operator: streaks off | board -',
        '01-05 12:00 | operator: streaks on | board ana 1, bo 1',
      ],
    },
    {
      rule: 'a board that opens while streaks are not enabled has the streaks that go on',
      given: { streaks: {}, boards: [board({ rankBy: 'streak', status: 'inactive' })] },
      lines: [
        ' | ana cards 1 |',
        ' | operator: streaks off |',
        '01-05 12:00 | operator: opens all | board -',
        '01-05 13:00 | operator: streaks on | board ana 1',
      ],
    },
    {
      rule: 'a streak that is lost after the end of the board changes nothing on it',
      given: { streaks: {}, boards: [board({ rankBy: 'streak', start: '2040-01-01', end: '2040-01-03' })] },
      lines: [' | ana cards 1 |', '01-04 00:00 | nothing | board ana 1', '01-04 12:00 | nothing | final[all/01-01] ana 1'],
    },
  ]);

  says('Activation enters the users who already have one.', {}, [
    {
      rule: 'the highest first, ties by when the value was reached',
      given: one({ status: 'inactive', max: 3 }),
      lines: [
        ' | ana cards 5 |',
        ' | bo cards 5 |',
        ' | cy cards 9 |',
        ' | di cards 4 |',
        ' | ana cards -1 |',
        ' | ana cards 1 | board 404',
        ' | operator: opens all | board cy 9, bo 5, ana 5',
        ' | cy cards -6 | board bo 5, ana 5, di 4',
      ],
    },
    {
      rule: 'one that is scheduled is filled when its start has come in UTC',
      given: one({ start: '2040-01-04' }),
      lines: [' | ana cards 5 |', '01-03 23:59:59.999 | nothing | board -', '01-04 00:00 | nothing | board ana 5'],
    },
    {
      rule: 'one that repeats, or has a window, starts at 0',
      given: {
        boards: [board({ status: 'inactive', every: [7, 'day'] }), board({ key: 'hours', status: 'inactive', window: ['00:00', '23:00'] })],
      },
      lines: [
        ' | ana cards 5 |',
        ' | operator: opens all |',
        ' | operator: opens hours | board[all] -; board[hours] -',
        ' | ana cards 2 | board[all] ana 2; board[hours] ana 2',
      ],
    },
  ]);

  says('Repeating: the value is what the user gained in the run.', one(weekly), [
    {
      rule: 'each run starts at 0, and keeps what was gained in it',
      lines: [
        ' | ana cards 10 | run 01-02..01-08',
        '01-08 12:00 | bo cards 4 |',
        '01-09 12:00 | bo cards 2.5 | run 01-09..01-15',
        ' | ana cards 1 |',
        ' | ana cards -3 | rank 2 > 2; board bo 2.5, ana -2; board[week/01-02] ana 10, bo 4',
      ],
    },
    {
      rule: 'by points: those that were awarded, with those that time awards, within the cap',
      given: {
        known: ['ana'],
        systems: [{ maxPoints: 12, triggers: [{ type: 'time', unit: 'hours', interval: 6, points: 5 }] }],
        boards: [board({ rankBy: { points: 'p1' }, start: '2040-01-02', every: [1, 'day'] })],
      },
      lines: ['01-03 12:00 | nothing | board[all/01-02] ana 5; board[all/01-03] ana 7'],
    },
  ]);

  says('A run covers local dates: two runs can be open at once for some hours.', {}, [
    {
      rule: 'an event belongs to the run that contains the local date at that moment',
      given: one({ start: '2040-01-04', end: '2040-01-04', every: [1, 'day'] }),
      zone: 'NZ',
      lines: [
        '01-03 23:59 | ana cards 1 tz=NZ | rank silent',
        '01-04 00:00 | ana cards 1 | rank - > 1',
        '01-04 23:59 | ana cards 1 | rank 1 > 1',
        '01-05 00:00 | ana cards 1 | rank silent; board ana 2',
      ],
    },
    {
      rule: 'in Honolulu the first week continues when the second has begun in Auckland',
      given: one(weekly),
      lines: [
        ' | ana moves to HI |',
        ' | bo moves to NZ |',
        '01-08 12:00 | bo cards 5 | run 01-09..01-15',
        ' | ana cards 3 | run 01-02..01-08; board[week/01-02] ana 3; board[week/01-09] bo 5; board ana 3',
        ' | nothing | ana place 1 with 3; bo place 1 with 5',
      ],
    },
    {
      rule: 'who moves west scores in the earlier one again',
      given: one(weekly),
      lines: [
        ' | ana moves to NZ |',
        '01-08 12:00 | ana cards 5 |',
        ' | ana cards 2 tz=HI | board[week/01-02] ana 2; board[week/01-09] ana 5',
      ],
    },
    {
      rule: 'a run that has not begun is empty, and there is none before the first',
      given: one(weekly),
      lines: [' | ana cards 1 | board[week/01-09] -; board[week/01-01] 422'],
    },
    ...(
      [
        ['months: a day that a month lacks is its last', { start: '2040-01-31', every: [1, 'month'] }, '02-28', '01-31..02-28'],
        ['months: the month that lacks the day', { start: '2040-01-31', every: [1, 'month'] }, '02-29', '02-29..03-30'],
        ['months: the month after', { start: '2040-01-31', every: [1, 'month'] }, '03-31', '03-31..04-29'],
        ['quarters', { start: '2039-11-30', every: [3, 'month'] }, '03-01', '02-29..05-29'],
        ['years from a leap day', { start: '2040-02-29', every: [1, 'year'] }, '2041-02-28', '2041-02-28..2042-02-27'],
        ['years from a leap day, four years on', { start: '2040-02-29', every: [1, 'year'] }, '2044-03-01', '2044-02-29..2045-02-27'],
        ['days that the end cuts off', { start: '2040-01-02', end: '2040-01-11', every: [7, 'day'] }, '01-09', '01-09..01-11'],
      ] as const
    ).map(([rule, spec, date, run]) => ({
      rule: `${rule}: ${date} is in ${run}`,
      given: one(spec),
      lines: [`${date} 12:00 | ana cards 1 | run ${run}`],
    })),
  ]);

  says('Participant limit: at every moment the board is the best N of all users who have a value, ties by who reached it first.', {}, [
    {
      rule: 'a newcomer needs a value above the lowest; the same value is not enough',
      given: one({ max: 2 }),
      lines: [
        ' | ana cards 5 |',
        ' | bo cards 7 |',
        ' | cy cards 5 | rank silent; board bo 7, ana 5; place -',
        ' | cy cards 1 | rank - > 2; board bo 7, cy 6; ana place -',
        ' | ana cards 1 | rank silent',
        ' | ana cards 1 | rank - > 2; board bo 7, ana 7',
        ' | cy cards 2 | rank - > 1; board cy 8, bo 7',
      ],
    },
    {
      rule: 'a participant who falls below users outside is outside, and the best of them is on the board',
      given: one({ max: 2 }),
      lines: [
        ' | ana cards 20 |',
        ' | bo cards 16 |',
        ' | cy cards 10 |',
        ' | di cards 10 |',
        ' | ana cards -18 | rank 1 > -; threshold 10; board bo 16, cy 10; ana place -',
        ' | cy cards -1 | rank 2 > -; board bo 16, di 10',
        ' | cy cards -1 | rank silent; board bo 16, di 10',
      ],
    },
    {
      rule: 'a place that becomes free goes to the best outside, in a group as well',
      given: one({ breakdown: ['city'], max: 1 }),
      lines: [
        ' | ana cards 5 city=Nuuk |',
        ' | bo cards 4 city=Nuuk | rank silent',
        ' | ana is city=Lisbon | board[@city:Nuuk] bo 4; board[@city:Lisbon] ana 5',
      ],
    },
    {
      rule: 'the same goes for points',
      given: {
        systems: [
          {
            triggers: [
              { type: 'metric', metric: 'cards', threshold: 1, points: 1 },
              { type: 'metric', metric: 'pages', threshold: 1, points: -1 },
            ],
          },
        ],
        boards: [board({ rankBy: { points: 'p1' }, max: 1 })],
      },
      lines: [' | ana cards 9 |', ' | bo cards 5 | board ana 9', ' | ana pages 5 | rank 1 > -; board bo 5'],
    },
    {
      rule: 'for streaks: a user who loses the streak leaves the place to the next',
      given: { streaks: {}, boards: [board({ rankBy: 'streak', max: 1 })] },
      lines: [
        ' | ana cards 1 |',
        ' | bo cards 1 | rank silent; board ana 1',
        '01-03 12:00 | bo cards 1 | rank - > 1; board bo 2',
        '01-03 13:00 | ana cards 1 | rank silent; board bo 2',
        '01-04 12:00 | ana cards 1 | rank - > 1; board ana 3',
        '01-06 00:00 | nothing | board -',
      ],
    },
    {
      rule: 'for runs, and for what counts inside a window',
      given: { boards: [board({ ...weekly, max: 1 }), board({ key: 'hours', window: ['00:00', '23:00'], max: 1 })] },
      lines: [
        ' | ana cards 9 |',
        ' | bo cards 5 | board[week] ana 9; board[hours] ana 9',
        ' | ana cards -6 | board[week] bo 5; board[hours] bo 5',
      ],
    },
    {
      rule: 'a limit that is changed goes for the next read and event',
      given: one(),
      lines: [
        ' | ana cards 4 |',
        ' | bo cards 3 |',
        ' | cy cards 2 |',
        ' | operator: all for 2 | board ana 4, bo 3; cy place -',
        ' | cy cards 1 | rank silent',
        ' | cy cards 1 | rank - > 2; threshold 4',
        ' | operator: all for 3 | board ana 4, cy 4, bo 3; bo place 3 with 3',
      ],
    },
  ]);

  says('`threshold`: the value needed to get on the board as it stands (0 while there is room).', one({ max: 2 }), [
    {
      rule: 'the value of the last place, once the board is full',
      lines: [
        ' | ana cards 5 | threshold 0',
        ' | bo cards 7 | threshold 5',
        ' | ana cards 9 | threshold 7',
        ' | cy cards 8 | rank - > 2; threshold 8',
      ],
    },
  ]);

  says('Breakdown: one board per combination of the attribute values; a user who lacks one of them is on no board.', {}, [
    {
      rule: 'by city and plan',
      given: one({ breakdown: ['city', 'plan'] }),
      lines: [
        ' | ana cards 5 city=Nuuk | rank silent',
        ' | ana cards 1 plan=pro | rank - > 1; board[@city:Nuuk,plan:pro] ana 6; board[@plan:free,city:Nuuk] -',
        ' | bo cards 9 city=Nuuk plan=free | rank - > 1; board[@city:Nuuk,plan:free] bo 9',
      ],
    },
    {
      rule: 'the limit is that of each',
      given: one({ breakdown: ['city'], max: 1 }),
      lines: [
        ' | ana cards 5 city=Nuuk | rank - > 1',
        ' | bo cards 1 city=Lisbon | rank - > 1',
        ' | cy cards 4 city=Nuuk | rank silent; board[@city:Nuuk] ana 5; board[@city:Lisbon] bo 1',
      ],
    },
  ]);

  says('When an attribute changes, the user moves, with the value.', { boards: [board({ breakdown: ['city'], max: 2 })] }, [
    {
      rule: 'behind equals, and the best outside takes the place',
      lines: [
        ' | ana cards 5 city=Nuuk |',
        ' | bo cards 5 city=Lisbon |',
        ' | ana is city=Lisbon | board[@city:Nuuk] -; board[@city:Lisbon] bo 5, ana 5',
        ' | cy cards 5 city=Nuuk |',
        ' | cy is city=Lisbon | board[@city:Nuuk] -; board[@city:Lisbon] bo 5, ana 5',
        ' | bo is city=Nuuk | board[@city:Nuuk] bo 5; board[@city:Lisbon] ana 5, cy 5',
        ' | cy cards 1 | rank 2 > 1; threshold 5',
      ],
    },
    {
      rule: 'by an event of another metric as well',
      lines: [' | ana cards 5 city=Nuuk |', ' | ana pages 1 city=Lisbon | rank - > 1; board[@city:Lisbon] ana 5; board[@city:Nuuk] -'],
    },
    {
      rule: 'in a run, with what was gained with all attributes set',
      given: one({ ...weekly, breakdown: ['city'] }),
      lines: [
        ' | ana cards 5 |',
        ' | ana is city=Nuuk | board[@city:Nuuk] -',
        ' | ana cards 2 | board[@city:Nuuk] ana 2',
        ' | ana cards 1 city=Lisbon | board[@city:Nuuk] -; board[@city:Lisbon] ana 3',
      ],
    },
  ]);

  says('Reading a board with breakdown needs `userAttributes`.', one({ breakdown: ['city', 'plan'] }), [
    { rule: 'with all of them', lines: [' | nothing | board 422; board[@city:Nuuk] 422; board[@city:Nuuk,plan:pro] -'] },
  ]);

  says("Time restriction: only events inside the window of the user's local time count.", {}, [
    ...(
      [
        [['09:00', '17:00'], '01-03 08:59:59.999', false],
        [['09:00', '17:00'], '01-03 09:00', true],
        [['09:00', '17:00'], '01-03 16:59:59.999', true],
        [['09:00', '17:00'], '01-03 17:00', false],
        [['22:00', '06:00'], '01-03 21:59:59.999', false],
        [['22:00', '06:00'], '01-03 22:00', true],
        [['22:00', '06:00'], '01-04 05:59:59.999', true],
        [['22:00', '06:00'], '01-04 06:00', false],
        [['00:00', '12:00:01'], '01-03 12:00:00.999', true],
        [['00:00', '12:00:01'], '01-03 12:00:01', false],
        [['17:00', null], '01-03 16:59:59.999', false],
        [['17:00', null], '01-03 17:00', true],
        [['17:00', null], '01-03 23:59:59.999', true],
        [['17:00', null], '01-04 00:00', false],
        [[null, '09:00'], '01-03 23:59:59.999', false],
        [[null, '09:00'], '01-04 00:00', true],
        [[null, '09:00'], '01-04 08:59:59.999', true],
        [[null, '09:00'], '01-04 09:00', false],
      ] as const
    ).map(([window, when, counts]) => ({
      rule: `${window.map((time) => time ?? 'midnight').join(' to ')}: ${when} in Kathmandu ${counts ? 'counts' : 'does not count'}`,
      given: one({ window }),
      lines: [`${when} KT | ana cards 1 tz=KT | rank ${counts ? '- > 1' : 'silent'}`],
    })),
    {
      rule: 'a perpetual board then ranks the sum of what counted',
      given: one({ window: ['09:00', '17:00'] }),
      lines: [' | ana cards 3 |', '01-02 18:00 | ana cards 50 | total 53; rank silent', '01-03 09:00 | ana cards 4 | board ana 7'],
    },
  ]);

  says('Runs are finalised 12 hours after their UTC end; until then late zones still score.', one(weekly), [
    {
      rule: 'when the last zone of the world has ended the run',
      lines: [
        ' | ana moves to BK |',
        ' | bo cards 5 |',
        '01-09 11:59:59.999 | ana cards 7 | final[week/01-02] open; board[week/01-02] ana 7, bo 5',
        '01-09 12:00 | ana cards 1 | run 01-09..01-15; final[week/01-02] ana 7, bo 5; board ana 1',
      ],
    },
    {
      rule: 'a perpetual one with an end, too',
      given: one({ start: '2040-01-01', end: '2040-01-03' }),
      lines: [
        ' | ana cards 5 |',
        '01-04 00:00 | ana cards 5 | rank silent; board ana 5',
        '01-04 12:00 | nothing | final[all/01-01] ana 5; board ana 5',
      ],
    },
  ]);

  describe('Rankings of finalised runs are kept in Postgres.', () => {
    it('as they were shown', async () => {
      const config = configText({
        metrics: [{ key: 'cards', name: 'Cards' }],
        leaderboards: [
          {
            key: 'day',
            name: 'Day',
            status: 'active',
            rankBy: 'metric',
            metricKey: 'cards',
            start: '2040-01-02',
            runUnit: 'day',
            runInterval: 1,
          },
        ],
      });
      const world = await startWorld({ config, now: '2040-01-02T12:00:00.000Z' });
      try {
        for (const [user, value] of [
          ['ana', 3],
          ['bo', 5],
          ['cy', 3],
        ] as const)
          await track(world, 'cards', { user, value });
        await world.setClock('2040-01-03T12:00:00.000Z');
        await world.drain();
        const { rows } = await world.pool.query(`select user_id as "user", rank, value::float from leaderboard_rankings order by rank`);
        expect(rows).to.deep.equal([
          { user: 'bo', rank: 1, value: 5 },
          { user: 'ana', rank: 2, value: 3 },
          { user: 'cy', rank: 3, value: 3 },
        ]);
      } finally {
        await world.stop();
      }
    });
  });

  it('Final rankings close up when a participant is deleted, and take in no user from beyond the limit.', async () => {
    const day = { key: 'day', name: 'Day', status: 'active', rankBy: 'metric', metricKey: 'cards', maxParticipants: 3 };
    const world = await startWorld({
      now: '2040-01-02T12:00:00.000Z',
      config: configText({
        metrics: [{ key: 'cards', name: 'Cards' }],
        leaderboards: [{ ...day, start: '2040-01-02', runUnit: 'day', runInterval: 1 }],
      }),
    });
    try {
      const run = '?run=2040-01-02';
      for (const [index, user] of ['ana', 'bo', 'cy', 'dora', 'ed', 'flo'].entries())
        await track(world, 'cards', { user, value: 9 - index });
      await world.request('DELETE', '/admin/v1/users/ana');
      expect(await readBoard(world, 'day', run), 'an open run is refilled').to.deep.equal(['1 bo 8', '2 cy 7', '3 dora 6']);
      await world.setClock('2040-01-03T12:00:00.000Z');
      await world.request('DELETE', '/admin/v1/users/bo');
      expect(await readBoard(world, 'day', run)).to.deep.equal(['1 cy 7', '2 dora 6']);
      expect(await readPlace(world, 'dora', 'day', run)).to.include({ rank: 2, value: 6 });
      expect(await readPlace(world, 'ed', 'day', run)).to.include({ rank: null, value: null });
    } finally {
      await world.stop();
    }
  });

  says(
    "Statuses and moves as the spec's table (any other move is refused: config-transitions.test.ts).",
    {
      boards: [
        board({ key: 'hidden', status: 'inactive' }),
        board({ key: 'later', start: '2040-01-03' }),
        board({ key: 'now', start: '2040-01-01', end: '2040-01-03' }),
      ],
    },
    [
      {
        rule: 'inactive is as good as absent; scheduled, active and finished go by the UTC date',
        lines: [
          ' | nothing | board[hidden] 404; boards later scheduled, now active',
          '01-04 00:00 | nothing | boards later active; boards[all] later active, now finished',
        ],
      },
      {
        rule: 'inactive to active, and scheduled to active by itself, enter the users; after the end no user joins, and the rankings can be read',
        lines: [
          ' | ana cards 5 | board[now] ana 5; board[later] -',
          ' | operator: opens hidden | board[hidden] ana 5',
          '01-03 00:00 | nothing | board[later] ana 5',
          '01-04 12:00 | bo cards 7 | board[now] ana 5; board[later] bo 7, ana 5; final[now/01-01] ana 5',
        ],
      },
    ],
  );
});

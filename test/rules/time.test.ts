import { expect } from 'chai';
import pino from 'pino';
import { startService, type Service } from '../../src/app/service.js';
import { partitionPrefix } from '../../src/redis/contract.js';
import { OperatorError } from '../../src/shared/errors.js';
import { batchOf, first } from '../support/admin.js';
import { answer, bodyOf, configText, until } from '../support/answers.js';
import { tablesOnRealStores, type Given } from '../support/rules.js';
import { keysOf, startWorld, type Reply, type World } from '../support/world.js';

/** Everything that time moves, in one user's week. */
const everything: Given = {
  known: ['ana'],
  streaks: { freezes: { initial: 1, maximum: 2, earnInterval: 4, earnAmount: 1 } },
  systems: [{ key: 'xp', triggers: [{ type: 'time', unit: 'days', interval: 1, points: 2 }] }],
  boards: [{ key: 'daily', rankBy: { points: 'xp' }, start: '2040-01-02', every: [1, 'day'] }],
};
const daily = {
  key: 'xp',
  name: 'XP',
  triggers: [{ key: 't', type: 'time', timeUnit: 'days', timeInterval: 1, points: 2, status: 'active' }],
};
const begun = ['01-02 12:00 | ana cards 1 | streak 1; freezes 1', ' | ana pauses 01-03 to 01-04 |'];
/**
 * The 3rd and 4th were paused, the 5th cost the freeze that there was, the 6th the one that was earned on that day. Each of the five
 * midnights paid 2 points.
 */
const later = '01-07 12:00';
const end = 'freezes 0; points 10; history 1 1p 1p 1f 1f 2; board[daily/01-05] ana 2; board[daily/01-07] ana 2';

/** Time as in docs/rules/time.md; the language is that of support/rules.ts. */
describe('Time', () => {
  const says = tablesOnRealStores();

  says('Settle, then act: the same result whichever comes first (an event, a read, the sweep) and however late.', everything, [
    { rule: 'an event is first', lines: [...begun, `~${later} | ana cards 1 | streak 2; ${end}`] },
    {
      rule: 'a read is first',
      lines: [...begun, `~${later} | nothing | streak 1; freezes 0; points 10`, ` | ana cards 1 | streak 2; ${end}`],
    },
    { rule: 'the sweep is first', lines: [...begun, `${later} | nothing |`, ` | ana cards 1 | streak 2; ${end}`] },
    {
      rule: 'the sweep comes every day',
      lines: [
        ...begun,
        '01-03 01:00 | nothing | streak 1; freezes 1; points 2',
        '01-04 01:00 | nothing | streak 1; freezes 1; points 4',
        '01-05 01:00 | nothing | streak 1; freezes 1; points 6',
        '01-06 01:00 | nothing | streak 1; freezes 1; points 8',
        '01-07 01:00 | nothing | streak 1; freezes 0; points 10',
        `${later} | ana cards 1 | streak 2; ${end}`,
      ],
    },
    {
      rule: 'the sweep comes a month late, and what it finds is dated when it was due',
      lines: [
        ...begun,
        '~02-07 12:00 | nothing |',
        '02-07 12:00 | nothing | streak 0; freezes 2; points 72; final[daily/01-05] ana 2; final[daily/02-05] ana 2; final[daily/02-06] ana 2',
      ],
    },
  ]);

  says('Days, weeks (Monday first, configurable) and months are the user’s local calendar.', { known: ['ana'], streaks: {} }, [
    {
      rule: 'goes by the local day: Kathmandu',
      zone: 'KT',
      // The first event is of a user without a zone: a day in UTC as well.
      lines: [
        '01-02 18:00 | ana cards 1 | streak 1',
        '01-02 18:00 | ana moves to KT | streak 1',
        '01-03 23:59 | nothing | streak 1',
        '01-04 05:44 | nothing | streak 1',
        '01-04 05:45 | nothing | streak 0',
      ],
    },
    {
      rule: 'a day of 23 hours in New York',
      zone: 'NY',
      lines: [
        '03-10 00:00 | ana moves to NY | streak 0',
        '03-10 23:59 | ana cards 1 | streak 1',
        '03-11 23:59 | ana cards 1 | streak 2',
        '03-12 23:59 | nothing | streak 2',
        '03-13 00:00 | nothing | streak 0',
      ],
    },
    {
      rule: 'a day of 25 hours in New York',
      zone: 'NY',
      lines: [
        '11-03 00:00 | ana moves to NY | streak 0',
        '11-03 00:00 | ana cards 1 | streak 1',
        '11-04 23:59 | ana cards 1 | streak 2',
        '11-05 23:59 | ana cards 1 | streak 3',
        '11-07 00:00 | nothing | streak 0',
      ],
    },
    {
      rule: 'a day of 25 hours in Auckland',
      zone: 'NZ',
      lines: [
        '03-31 12:00 | ana moves to NZ | streak 0',
        '03-31 12:00 | ana cards 1 | streak 1',
        '04-01 00:10 | ana cards 1 | streak 2',
        '04-02 23:50 | ana cards 1 | streak 3',
        '04-04 00:00 | nothing | streak 0',
      ],
    },
    {
      rule: 'a day that starts at 01:00 in Santiago',
      zone: 'SA',
      lines: [
        '08-30 12:00 | ana moves to SA | streak 0',
        '08-31 12:00 | ana cards 1 | streak 1',
        '2040-09-01 23:59:59 | nothing | streak 1',
        '2040-09-02 01:00 | nothing | streak 0',
      ],
    },
    {
      rule: 'a leap day is a day',
      lines: ['02-28 12:00 | ana cards 1 | streak 1', '02-29 12:00 | ana cards 1 | streak 2', '03-01 12:00 | ana cards 1 | streak 3'],
    },
    {
      rule: 'over the end of the year',
      lines: [
        '12-31 23:59 | ana cards 1 | streak 1; expires 2041-01-01',
        '2041-01-01 23:59 | ana cards 1 | streak 2; expires 2041-01-02; started 12-31',
      ],
    },
    {
      rule: 'weeks start on Monday',
      given: { streaks: { frequency: 'weekly' } },
      lines: [
        '01-08 23:59 | ana cards 1 | streak 1; started 01-02; period 01-02..01-08; expires 01-15',
        '01-09 00:00 | ana cards 1 | streak 2; period 01-09..01-15; expires 01-22',
        '01-22 23:59 | nothing | streak 2',
        '01-23 00:00 | nothing | streak 0',
      ],
    },
    {
      rule: 'weeks start on Sunday where that is configured',
      given: { weekStart: 'sunday', streaks: { frequency: 'weekly' } },
      lines: [
        '01-07 23:59 | ana cards 1 | streak 1; period 01-01..01-07',
        '01-08 00:00 | ana cards 1 | streak 2; period 01-08..01-14',
        '01-14 23:59 | ana cards 1 | streak 2',
      ],
    },
    {
      rule: 'a week goes over the end of the year',
      given: { streaks: { frequency: 'weekly' } },
      lines: [
        '12-31 12:00 | ana cards 1 | streak 1; period 12-31..2041-01-06',
        '2041-01-06 12:00 | ana cards 1 | streak 1',
        '2041-01-07 00:00 | ana cards 1 | streak 2',
      ],
    },
    {
      rule: 'months, the short ones too',
      given: { streaks: { frequency: 'monthly' } },
      lines: [
        '01-31 12:00 | ana cards 1 | streak 1; started 01-01; period 01-01..01-31; expires 02-29',
        '02-29 12:00 | ana cards 1 | streak 2; expires 03-31',
        '03-01 00:00 | ana cards 1 | streak 3',
        '04-30 23:59 | nothing | streak 3',
        '05-01 00:00 | nothing | streak 0',
      ],
    },
  ]);

  says(
    'A change of time zone never costs a streak: if the user kept it in the old zone or in the new one, it is kept.',
    { known: ['ana'], streaks: {} },
    [
      {
        rule: 'east over the date line: kept in the new zone, the day between covered silently',
        zone: 'NZ',
        given: { streaks: { freezes: { initial: 1, maximum: 1 } } },
        lines: [
          '01-03 08:00 HI | ana moves to HI | streak 0',
          '01-03 12:00 HI | ana cards 1 | streak 1',
          '01-04 09:00 HI | ana moves to NZ | streak 1; freezes 1',
          '01-05 22:59 NZ | ana cards 1 | streak 2; freezes 1; expires 01-06',
        ],
      },
      {
        rule: 'east: lost when the day that was needed has ended in the old zone',
        zone: 'NZ',
        lines: [
          '01-03 08:00 HI | ana moves to HI | streak 0',
          '01-03 12:00 HI | ana cards 1 | streak 1',
          '01-04 09:00 HI | ana moves to NZ | streak 1; expires 01-05',
          '01-05 22:59 NZ | nothing | streak 1',
          '01-05 23:00 NZ | nothing | streak 0',
        ],
      },
      {
        rule: 'east: a freeze then covers it, at the end of the grace',
        zone: 'NZ',
        given: { streaks: { freezes: { initial: 1, maximum: 1 } } },
        lines: [
          '01-03 08:00 HI | ana moves to HI | streak 0',
          '01-03 12:00 HI | ana cards 1 | streak 1',
          '01-04 09:00 HI | ana moves to NZ | streak 1; freezes 1',
          '01-05 23:00 NZ | nothing | streak 1; freezes 0',
          '01-05 23:30 NZ | ana cards 1 | streak 2; freezes 0',
        ],
      },
      {
        rule: 'from the last zone to the first, two dates at once',
        zone: 'KI',
        lines: [
          '01-03 10:00 BK | ana moves to BK | streak 0',
          '01-03 12:00 BK | ana cards 1 | streak 1',
          '01-03 23:00 BK | ana moves to KI | streak 1; period 01-05..01-05',
          '01-06 01:59 KI | ana cards 1 | streak 2; started 01-03; period 01-06..01-06',
        ],
      },
      {
        rule: 'from the last zone to the first: lost when the next day has ended there',
        zone: 'KI',
        lines: [
          '01-03 10:00 BK | ana moves to BK | streak 0',
          '01-03 12:00 BK | ana cards 1 | streak 1',
          '01-03 23:00 BK | ana moves to KI | streak 1',
          '01-06 01:59 KI | nothing | streak 1',
          '01-06 02:00 KI | nothing | streak 0',
        ],
      },
      {
        rule: 'a later grace takes the place of an earlier one',
        zone: 'KT',
        // Needed in Honolulu: the 4th, until 01-05 10:00Z. Needed in Auckland: the 5th, until 01-05 11:00Z, which is 16:45 in Kathmandu.
        lines: [
          '01-03 08:00 HI | ana moves to HI | streak 0',
          '01-03 12:00 HI | ana cards 1 | streak 1',
          '01-04 09:00 HI | ana moves to NZ | streak 1',
          '01-05 09:00 NZ | ana moves to KT | streak 1',
          '01-05 16:44 KT | nothing | streak 1',
          '01-05 16:45 KT | nothing | streak 0',
        ],
      },
    ],
  );

  says(
    'It never gains one either: moving west so that a local date happens twice does not extend twice.',
    { known: ['ana'], streaks: {} },
    [
      {
        rule: 'west: a date that comes twice extends once, and the streak day waits for the calendar',
        lines: [
          '01-05 22:00 NZ | ana moves to NZ | streak 0',
          '01-05 22:00 NZ | ana cards 1 | streak 1',
          '01-06 10:00 NZ | ana cards 1 | streak 2; expires 01-07',
          '01-06 12:00 NZ | ana moves to HI | streak 2; period 01-06..01-06',
          '01-05 20:00 HI | ana cards 1 | streak 2; period 01-06..01-06',
          '01-06 20:00 HI | ana cards 1 | streak 2; expires 01-07',
          '01-07 23:59 HI | ana cards 1 | streak 3',
        ],
      },
      {
        rule: 'west and back on the same day costs and gives nothing',
        lines: [
          '01-05 22:00 NZ | ana moves to NZ | streak 0',
          '01-05 22:00 NZ | ana cards 1 | streak 1',
          '01-05 22:10 NZ | ana moves to HI | streak 1',
          '01-05 22:20 NZ | ana cards 1 | streak 1',
          '01-05 22:30 NZ | ana moves to NZ | streak 1',
          '01-06 12:00 NZ | ana cards 1 | streak 2',
        ],
      },
    ],
  );

  describe('Test clock: `GET` and `PUT /admin/v1/clock` read and set the time for the whole service, forward only; without it the route is a 404.', () => {
    const clock = '/admin/v1/clock';
    const put = (world: World, now: string): Promise<Reply> => world.request('PUT', clock, { body: { now } });

    it('is read and set, and the PUT returns when everything due up to then has been done', async () => {
      const world = await startWorld({ config: configText({ metrics: [], points: [daily] }), now: '2040-01-02T12:00:00.000Z' });
      try {
        bodyOf(await world.request('PUT', '/v1/users/ana', { body: {} }), 200);
        expect(answer(await put(world, '2040-01-05T13:30:00+01:30'))).to.deep.equal([200, { now: '2040-01-05T12:00:00.000Z' }]);
        // The ledger, and not a read of ana, which would settle her: the sweep has been here.
        await world.drain();
        const { rows } = await world.pool.query('select total::int from user_points');
        expect(rows).to.deep.equal([{ total: 6 }]);
        expect((await put(world, '2040-01-05T11:59:59.999Z')).status).to.equal(422);
        expect(answer(await world.get(clock))).to.deep.equal([200, { now: '2040-01-05T12:00:00.000Z' }]);
      } finally {
        await world.stop();
      }
    });

    it('is the same for all tenants, new ones included, also after Redis has lost its data', async () => {
      const world = await startWorld({ now: '2040-01-02T12:00:00.000Z' });
      const create = async (customerId: string): Promise<string> =>
        first(batchOf(await world.request('POST', '/admin/v1/tenants', { body: [{ customerId, name: customerId }] })).created).id;
      const timeOf = async (id: string | undefined): Promise<unknown> =>
        answer(await world.request('GET', clock, id === undefined ? {} : { headers: { 'tenant-id': id } }));
      try {
        const old = await create('old');
        bodyOf(await world.request('PUT', '/v1/users/ana', { body: {}, headers: { 'tenant-id': old } }), 200);
        await world.drain(2);
        await world.setClock('2040-01-05T12:00:00.000Z');
        const partitions = [1, 2].map((no) => partitionPrefix(world.settings.redisPrefix, no));
        const keys = await Promise.all(partitions.map((partition) => keysOf(world.redis, partition)));
        await world.redis.unlink(...keys.flat());
        await until(
          'the tenant is restored',
          async () => (await world.request('GET', clock, { headers: { 'tenant-id': old } })).status === 200,
        );
        const set = [200, { now: '2040-01-05T12:00:00.000Z' }];
        expect([await timeOf(undefined), await timeOf(old), await timeOf(await create('new'))]).to.deep.equal([set, set, set]);
      } finally {
        await world.stop();
      }
    });

    it('stays as it is for all tenants when one of them is further than the time that is sent', async () => {
      const world = await startWorld({ now: '2040-01-02T12:00:00.000Z' });
      try {
        await world.request('POST', '/admin/v1/tenants', { body: [{ customerId: 'ahead', name: 'Ahead' }] });
        await world.advance(2, '2040-01-09T12:00:00.000Z');
        const refused = await put(world, '2040-01-05T12:00:00.000Z');
        const error = 'The test clock only moves forward: it is already at 2040-01-09T12:00:00.000Z.';
        expect(answer(refused)).to.deep.equal([422, { error }]);
        expect(answer(await world.get(clock))).to.deep.equal([200, { now: '2040-01-02T12:00:00.000Z' }]);
      } finally {
        await world.stop();
      }
    });

    it('ends with the year 2199', async () => {
      const world = await startWorld();
      try {
        for (const now of ['2200-01-01T00:00:00Z', '2199-12-31T23:30:00-01:00', '9999-12-31T00:00:00Z']) {
          expect(answer(await put(world, now)), now).to.deep.equal([422, { error: '`now` must be before 2200-01-01T00:00:00.000Z.' }]);
        }
      } finally {
        await world.stop();
      }
    });

    it('is not left by a start without TEST_CLOCK, which would go back in time, unless the operator says so in Postgres', async () => {
      const world = await startWorld({ now: '2040-01-02T12:00:00.000Z' });
      const start = (): Promise<Service> =>
        startService(
          { settings: { ...world.settings, testClock: false }, log: pino({ level: 'silent' }), print: () => undefined },
          { api: true, worker: true },
        );
      try {
        await world.stopService();
        const refusal = await start().catch((error: unknown) => error);
        expect(refusal).to.be.instanceOf(OperatorError);
        expect((refusal as Error).message).to.match(
          /^The services ran on the test clock, which is at 2040-01-02T12:00:00\.\d{3}Z\. Without TEST_CLOCK=1, time would go back to now\./,
        );
        await world.pool.query('update account set test_clock = false');
        await (await start()).stop();
      } finally {
        await world.stop();
      }
    });

    it('is a 404 without TEST_CLOCK', async () => {
      const world = await startWorld({ now: null });
      try {
        expect([(await world.get(clock)).status, (await put(world, '2050-01-01T00:00:00Z')).status]).to.deep.equal([404, 404]);
      } finally {
        await world.stop();
      }
    });
  });
});

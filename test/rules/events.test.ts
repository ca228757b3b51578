import { expect } from 'chai';
import { bodyOf, configText, read, track, type EventBody } from '../support/answers.js';
import type { TriggerSpec } from '../support/model/documents.js';
import { tablesOnRealStores, type Given } from '../support/rules.js';
import { startWorld, type World } from '../support/world.js';

const perCards = (threshold: number, points: number, blocks = false): TriggerSpec => ({
  type: 'metric',
  metric: 'cards',
  threshold,
  points,
  blocks,
});

/** Something for every step of an event. Each step needs what the one before it has done. */
const everyStep: Given = {
  streaks: {},
  achievements: [
    { key: 'five', trigger: 'metric', metric: 'cards', value: 5 },
    { key: 'begun', trigger: 'streak', length: 1 },
    { key: 'both', trigger: 'achievement', needs: ['five', 'begun'] },
    { key: 'deep', trigger: 'achievement', needs: ['deeper'] },
    { key: 'deeper', trigger: 'achievement', needs: ['both'] },
  ],
  systems: [
    {
      key: 'xp',
      maxPoints: 30,
      levels: [10, 30],
      boosts: [{ start: '2040-01-03', end: null, multiplier: 2, rounding: 'down', user: { city: 'Nuuk' } }],
      triggers: [
        perCards(5, 10),
        { type: 'streak', length: 1, points: 1 },
        { type: 'achievement', achievement: 'deep', points: 5 },
        { type: 'user_creation', points: 3 },
      ],
    },
  ],
  boards: [
    { key: 'cards', rankBy: { metric: 'cards' } },
    { key: 'xp', rankBy: { points: 'xp' }, breakdown: ['city'] },
    { key: 'streak', rankBy: 'streak' },
  ],
};

/** Events as in docs/rules/events.md; the language is that of support/rules.ts. */
describe('Events', () => {
  const says = tablesOnRealStores();

  says('One event is one atomic step: either all of it happens, or nothing does.', everyStep, [
    {
      rule: 'a refused event creates no user, and uses no Idempotency-Key',
      lines: [
        ' | ana cards 5 tz=Mars/Olympus key=k | refused 422; known no; board[cards] -',
        ' | ana cards 1000000000000001 key=k | refused 422; known no',
        ' | ana cards 5 key=k | replayed no; total 5',
      ],
    },
    {
      rule: 'nor does it change a known user',
      lines: [
        ' | ana cards 1000000000000000 name=Ana | total 1000000000000000; streak 1; points 30',
        '01-03 12:00 | ana cards 1 name=Other city=Nuuk | refused 422; profile[name] Ana; profile[city] -; streak 1; history 1 0; points 30',
      ],
    },
  ]);

  describe('Events that arrive in parallel for the same user and metric are all counted, in some order.', () => {
    const config = {
      metrics: [{ key: 'cards', name: 'Cards' }],
      points: [
        {
          key: 'xp',
          name: 'XP',
          triggers: [{ key: 't', type: 'metric', metricKey: 'cards', metricThreshold: 10, points: 1, status: 'active' }],
        },
      ],
    };
    let world: World;
    before(async () => {
      world = await startWorld({ config: configText(config), now: '2040-01-02T12:00:00.000Z' });
    });
    after(() => world.stop());

    it('a hundred parallel events have a hundred different totals', async () => {
      const sent = Array.from({ length: 100 }, () => track(world, 'cards', { user: 'ana', value: 1 }));
      const totals = (await Promise.all(sent)).map(({ total }) => total).sort((a, b) => a - b);
      expect(totals).to.deep.equal(Array.from({ length: 100 }, (_, i) => i + 1));
      expect((await read<{ total: number }>(world, '/v1/users/ana/points/xp')).total).to.equal(10);
    });

    it('a hundred parallel events with one Idempotency-Key count once', async () => {
      const sent = Array.from({ length: 100 }, () => world.event('cards', { user: { id: 'bo' }, value: 1 }, { 'idempotency-key': 'k' }));
      const replies = await Promise.all(sent);
      expect(replies.filter(({ status }) => status === 201).length).to.equal(1);
      expect(new Set(replies.map(({ body }) => (body as EventBody).eventId)).size).to.equal(1);
    });

    it('Events carry the server’s clock, whatever a client says', async () => {
      const body = {
        user: { id: 'cy', created: '2001-01-01T00:00:00Z' },
        value: 10,
        date: '2001-01-01',
        timestamp: '2001-01-01T00:00:00Z',
      };
      const { points } = bodyOf<EventBody>(await world.event('cards', body, { date: 'Mon, 01 Jan 2001 00:00:00 GMT' }), 201);
      expect(points['xp']?.awards.map(({ date }) => date)).to.deep.equal(['2040-01-02T12:00:00.000Z']);
      expect(await read(world, '/v1/users/cy')).to.include({ created: '2040-01-02T12:00:00.000Z' });
    });
  });

  says(
    'Order inside an event: settle → idempotency → user upsert, and for a new user the creation triggers → total → metric achievements → streak → streak achievements → composite achievements → points triggers → boosts → cap and floor → level → leaderboards → ledger.',
    everyStep,
    [
      {
        rule: 'one event that creates the user does all of it',
        lines: [
          // It is the 3rd in Auckland, where the boost is active, for users in Nuuk: the properties of this very event.
          '01-02 23:00 | ana cards 5 city=Nuuk tz=NZ | total 5; completed five begun both deeper deep; streak 1; started 01-03',
          ' | nothing | points 30; level xp-l2; board[cards] ana 5; board[xp@city:Nuuk] ana 30; board[streak] ana 1',
        ],
      },
      {
        rule: 'creation triggers first, then the others in the order of the configuration, each boosted, the last ones cut by the cap',
        lines: ['01-02 23:00 | ana cards 5 city=Nuuk tz=NZ | awarded 6 20 2 2; newLevel xp-l2; rank[xp] - > 1; rank[streak] - > 1'],
      },
      {
        rule: 'an identification before the event leaves the same totals',
        lines: [
          '01-02 23:00 | ana is city=Nuuk tz=NZ | points 6; level -; board[xp@city:Nuuk] ana 6',
          ' | ana cards 5 | awarded 20 2 2; newLevel xp-l2',
          ' | bo cards 5 city=Nuuk tz=NZ | awarded 6 20 2 2; newLevel xp-l2; board[xp@city:Nuuk] ana 30, bo 30',
        ],
      },
      {
        rule: 'the event sees a user whom time has been at before: the old streak is lost, the new one begins',
        given: { systems: [], boards: [{ key: 'streak', rankBy: 'streak' }] },
        lines: [
          '01-02 12:00 | ana cards 1 | streak 1',
          '01-03 12:00 | ana cards 1 | streak 2',
          '~01-05 12:00 | ana cards 1 | streak 1; started 01-05; extended yes; rank - > 1',
        ],
      },
      {
        rule: 'a replay comes after that, too, and before the properties',
        lines: ['01-02 12:00 | ana cards 1 key=k |', '~01-05 12:00 | ana cards 1 key=k name=Ana | replayed yes; streak 0; profile[name] -'],
      },
    ],
  );

  says('Composite achievements unlock in the same event as their last prerequisite, however deep the chain.', everyStep, [
    {
      rule: 'three levels up',
      lines: [' | ana cards 4 | completed begun', ' | ana cards 1 | completed five both deeper deep'],
    },
  ]);

  says(
    'A replay (same tenant, metric, user and key; whatever the body) returns 202, the current total and streak, empty blocks, and changes nothing, the user’s properties included.',
    everyStep,
    [
      {
        rule: 'whatever the body',
        lines: [
          ' | ana cards 5 key=k name=Ana city=Nuuk | replayed no; completed five begun both deeper deep',
          ' | ana cards 900 key=k name=Other city=Lisbon tz=NZ | replayed yes; total 5; completed -; added 0; rank[cards] silent',
          ' | nothing | profile[name] Ana; profile[city] Nuuk; profile[tz] -; board[cards] ana 5',
        ],
      },
      {
        rule: 'the total and the streak are those of now',
        lines: [
          ' | ana cards 5 key=k |',
          '01-03 12:00 | ana cards 2 | total 7; streak 2',
          ' | ana cards 5 key=k | replayed yes; total 7; streak 2; extended no',
          '01-05 12:00 | ana cards 5 key=k | replayed yes; streak 0',
        ],
      },
      {
        rule: 'the same key is another one on another metric, and for another user',
        lines: [
          ' | ana cards 5 key=k | replayed no',
          ' | ana pages 5 key=k | replayed no; total 5',
          ' | bo cards 5 key=k | replayed no; total 5',
          ' | bo cards 5 key=K | replayed no; total 10',
          ' | ana pages 1 key=k | replayed yes; total 5',
        ],
      },
    ],
  );

  says('A correction takes back the value of an event, once. Streaks, points and completed achievements stay.', {}, [
    {
      rule: 'in totals and on leaderboards',
      given: { boards: [{ key: 'all', rankBy: { metric: 'cards' } }] },
      lines: [
        ' | ana cards 5 |',
        ' | bo cards 4 | board ana 5, bo 4',
        ' | ana cards -3.25 | board bo 4, ana 1.75',
        ' | ana takes back the event | board ana 5, bo 4',
        ' | ana takes back the event | board ana 5, bo 4',
        ' | ana cards 100 | board ana 105, bo 4',
        '01-05 12:00 | ana takes back the event | board ana 5, bo 4',
        ' | ana cards 1 | total 6',
      ],
    },
    {
      rule: 'a day of the streak stays, and the day of the correction counts without it',
      given: { streaks: { conditions: { cards: 3 } } },
      lines: [
        ' | ana cards 50 | streak 1',
        ' | ana takes back the event | streak 1',
        '01-03 12:00 | ana cards 50 | streak 2',
        '01-04 12:00 | ana takes back the event | streak 2',
        ' | ana cards 2 | extended no',
        ' | ana cards 1 | extended yes; streak 3',
      ],
    },
    {
      rule: 'what the event earned stays, and is not earned again',
      given: { systems: [{ triggers: [perCards(5, 10)] }], achievements: [{ key: 'five', trigger: 'metric', metric: 'cards', value: 5 }] },
      lines: [
        ' | ana cards 10 | points 20; has five',
        ' | ana takes back the event | points 20; has five',
        ' | ana cards 10 | added 0; completed -',
        ' | ana cards 5 | added 10',
      ],
    },
    {
      rule: 'with its attributes, for what counts only some events',
      given: {
        systems: [{ triggers: [{ ...perCards(5, 10), event: { device: 'phone' } } as TriggerSpec] }],
        achievements: [{ key: 'phone', trigger: 'metric', metric: 'cards', value: 9, event: { device: 'phone' } }],
      },
      lines: [
        ' | ana cards 8 device=phone | added 10',
        ' | ana takes back the event | points 10',
        ' | ana cards 8 device=phone | added 0; completed -',
        ' | ana cards 2 device=phone | added 10; completed phone',
      ],
    },
    {
      rule: 'not of an event of another user, or of the value 0',
      lines: [
        ' | bo is known |',
        ' | ana cards 5 |',
        ' | bo takes back the event | refused 404',
        ' | ana cards 0 |',
        ' | ana takes back the event | refused 422',
      ],
    },
  ]);

  says('An event that a trigger with `blockIfOutOfPoints` blocks is a 422 and changes nothing.', {}, [
    {
      rule: 'if it would deduct more than the total then is',
      given: { systems: [{ triggers: [perCards(5, 10), perCards(10, -25, true)] }] },
      lines: [
        ' | ana cards 9 | points 10',
        ' | ana cards 1 name=Ana | refused 422; points 10; profile[name] -',
        ' | ana cards 5 | refused 422',
        ' | ana cards 0.5 | total 9.5',
        ' | ana cards 0.5 | refused 422',
      ],
    },
    {
      rule: 'if nothing is missing it deducts',
      given: { systems: [{ triggers: [perCards(5, 10), perCards(10, -20, true)] }] },
      lines: [' | ana cards 5 | points 10', ' | ana cards 5 | awarded 10 -20; points 0'],
    },
    {
      rule: 'it looks at the total as the triggers before it have left it',
      given: { systems: [{ triggers: [perCards(1, -10, true), perCards(1, 10)] }] },
      lines: [' | ana cards 1 | refused 422; known no', ' | ana cards 0.5 | total 0.5'],
    },
    {
      rule: 'what the creation of the user pays is there before, whatever the order of the triggers',
      given: {
        systems: [{ levels: [10], triggers: [perCards(1, -5, true), { type: 'user_creation', points: 12 }] }],
        boards: [{ rankBy: { points: 'p1' } }],
      },
      lines: [
        ' | ana cards 1 | awarded 12 -5; added 7; points 7; level -; rank - > 1',
        ' | bo is known | points 12; level p1-l1',
        ' | bo cards 1 | awarded -5; points 7; newLevel -; board ana 7, bo 7',
      ],
    },
    {
      rule: 'a first event that is still blocked stores nothing, the user included',
      given: {
        systems: [{ triggers: [perCards(1, -20, true), { type: 'user_creation', points: 12 }] }],
        boards: [{ rankBy: { points: 'p1' } }],
      },
      lines: [
        ' | ana cards 1 name=Ana | refused 422; known no; board -',
        ' | ana cards 0.5 | awarded 12; points 12; profile[name] -',
        ' | ana cards 0.5 | refused 422; points 12',
      ],
    },
    {
      rule: 'the Idempotency-Key is free again',
      given: { systems: [{ triggers: [perCards(1, -1, true)] }] },
      lines: [' | ana cards 1 key=k name=Ana | refused 422; known no', ' | ana cards 0.5 key=k | replayed no; total 0.5'],
    },
  ]);
});

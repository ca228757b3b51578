/**
 * What time has done before a configuration changes is settled by the old configuration (docs/rules/time.md, "Changes of the configuration"): for a
 * user who was read just before each change, and for one who was not read until the end, who must not differ.
 */
import { expect } from 'chai';
import pino from 'pino';
import { Context } from '../../src/app/context.js';
import type { ConfigDocument, PointsSystem, StreakSettings } from '../../src/config/schema/model.js';
import { bodyOf, configText, track } from '../support/answers.js';
import { startWorld } from '../support/world.js';
import { startArena, type Arena, type Session } from '../support/engine-subject.js';
import { baseMs, buildDocument, type DocumentSpec } from '../support/model/documents.js';
import { moment } from '../support/model/examples.js';
import { limits } from '../../src/shared/limits.js';

type Change = (document: ConfigDocument, now: string) => ConfigDocument;

const system =
  (change: (system: PointsSystem, now: string) => PointsSystem): Change =>
  (document, now) => ({ ...document, pointsSystems: document.pointsSystems.map((each) => change(each, now)) });
const archived = (isArchived: boolean): Change => system((each) => ({ ...each, archived: isArchived }));
const trigger = (changes: object): Change =>
  system((each, updated) => ({
    ...each,
    triggers: each.triggers.map((one) => ({ ...one, ...changes, updated })),
  }));
const settings =
  (changes: Partial<ConfigDocument['settings']>): Change =>
  (document) => ({ ...document, settings: { ...document.settings, ...changes } });
const streaks =
  (changes: Partial<StreakSettings>): Change =>
  (document) => ({ ...document, streaks: { ...document.streaks, ...changes } });
const freezes = (initial: number, maximum: number, earnInterval: number, earnAmount: number): Change =>
  streaks({ freezes: { initial, maximum, earnInterval, earnAmount } });

interface Case {
  readonly what: string;
  readonly given: Omit<DocumentSpec, 'metrics'>;
  /** Both users have an event on cards at each of them. */
  readonly events?: readonly string[];
  /** Both move to a zone at each of them. */
  readonly moves?: readonly (readonly [when: string, zone: string])[];
  readonly changes: readonly (readonly [when: string, change: Change])[];
  readonly end: string;
  /** What a view of both users then is. */
  readonly then: string;
}

const daily = { conditions: { cards: 1 } };
const weekly = { frequency: 'weekly', conditions: { cards: 1 } } as const;
const hourly = { triggers: [{ type: 'time', unit: 'hours', interval: 1, points: 1 }] } as const;
const eachDay = { triggers: [{ type: 'time', unit: 'days', interval: 1, points: 1 }] } as const;
const week = ['01-03 12:00', '01-04 12:00', '01-05 12:00'];

const cases: readonly Case[] = [
  {
    what: 'a points system that is archived and restored pays nothing for the time between',
    given: { systems: [hourly] },
    changes: [
      ['01-02 15:30', archived(true)],
      ['01-03 01:30', archived(false)],
    ],
    // 13 to 15 o'clock, and 2 to 4.
    end: '01-03 04:30',
    then: 'points 6',
  },
  {
    what: 'so it does where it pays by the day',
    given: { systems: [eachDay] },
    changes: [
      ['01-03 12:00', archived(true)],
      ['01-07 12:00', archived(false)],
    ],
    end: '01-08 12:00',
    then: 'points 2',
  },
  {
    what: 'a time trigger pays its old amount up to the change of it',
    given: { systems: [eachDay] },
    changes: [['01-05 12:00', trigger({ points: 10 })]],
    end: '01-07 12:00',
    then: 'points 23',
  },
  {
    what: 'a time trigger fires by its old interval up to the change of it',
    given: { systems: [{ triggers: [{ type: 'time', unit: 'days', interval: 3, points: 1 }] }] },
    // Days 3 and 6 from the creation, then each day.
    changes: [['01-08 12:00', trigger({ timeInterval: 1 })]],
    end: '01-10 12:00',
    then: 'points 4',
  },
  {
    what: 'a time trigger does not fire by a new interval on a day that the user has reached in another zone',
    given: { systems: [{ triggers: [{ type: 'time', unit: 'days', interval: 9, points: 1 }] }] },
    // It is the 3rd in Auckland, and then the 2nd in Lisbon.
    moves: [
      ['01-02 12:30', 'Pacific/Auckland'],
      ['01-02 13:00', 'Europe/Lisbon'],
    ],
    changes: [['01-02 14:00', trigger({ timeInterval: 1 })]],
    end: '01-04 12:00',
    then: 'points 1',
  },
  {
    what: 'a time trigger that is new does not fire on a day that users have reached in the earlier default zone',
    given: { defaultZone: 'Pacific/Auckland', systems: [{ triggers: [{ ...eachDay.triggers[0], inactive: true }] }] },
    // Created on the 3rd, it is the 4th in Auckland, and then the 3rd in Honolulu.
    changes: [
      ['01-03 12:00', settings({ defaultTimeZone: 'Pacific/Honolulu' })],
      ['01-03 13:00', trigger({ status: 'active' })],
    ],
    end: '01-05 12:00',
    then: 'points 1',
  },
  {
    what: 'a time trigger that is switched off pays what was due before',
    given: { systems: [eachDay] },
    changes: [['01-05 12:00', trigger({ status: 'inactive' })]],
    end: '01-09 12:00',
    then: 'points 3',
  },
  {
    what: 'time triggers obey filters that they had',
    given: { systems: [eachDay] },
    changes: [
      [
        '01-05 12:00',
        (document, now) => trigger({ userAttributes: [{ attributeId: document.attributes[0]?.id, attributeValue: 'x' }] })(document, now),
      ],
    ],
    end: '01-09 12:00',
    then: 'points 3',
  },
  {
    what: 'the maximum of a system caps what is earned from then on',
    given: { systems: [eachDay] },
    changes: [['01-06 12:00', system((each) => ({ ...each, maxPoints: 2 }))]],
    end: '01-09 12:00',
    then: 'points 4',
  },
  {
    what: 'a boost that is added multiplies nothing of before',
    given: { systems: [{ ...eachDay, boosts: [{ start: '2040-01-01', end: null, multiplier: 1, rounding: 'down' }] }] },
    changes: [['01-05 12:00', system((each) => ({ ...each, boosts: each.boosts.map((boost) => ({ ...boost, multiplier: 3 })) }))]],
    end: '01-07 12:00',
    then: 'points 9',
  },
  {
    what: 'levels are those of the newest configuration',
    given: { systems: [{ ...eachDay, levels: [2] }] },
    changes: [['01-05 12:00', system((each) => ({ ...each, levels: each.levels.map((level) => ({ ...level, points: 4 })) }))]],
    end: '01-05 13:00',
    then: 'points 3; level -',
  },
  {
    what: 'freezes are earned by the numbers of their time',
    given: { streaks: { ...daily, freezes: { initial: 1, maximum: 3, earnInterval: 5, earnAmount: 1 } } },
    // One at first, one on the 5th day by the old numbers; by the new ones on the 9th and the 12th day, two each.
    changes: [['01-09 12:00', freezes(2, 5, 3, 2)]],
    end: '01-11 12:00',
    then: 'freezes 4',
  },
  {
    what: 'freezes are not earned for the time in which none were',
    given: { streaks: { ...daily, freezes: { initial: 1, maximum: 9, earnInterval: 0, earnAmount: 1 } } },
    changes: [['01-20 12:00', freezes(1, 9, 5, 1)]],
    end: '01-23 12:00',
    then: 'freezes 2',
  },
  {
    what: 'periods missed before are covered by the freezes that there were',
    given: { streaks: { ...daily, freezes: { initial: 2, maximum: 3, earnInterval: 0, earnAmount: 0 } } },
    events: ['01-02 12:00'],
    changes: [['01-05 12:00', freezes(0, 0, 0, 0)]],
    end: '01-05 13:00',
    then: 'streak 1; freezes 0',
  },
  {
    what: 'freezes cover periods of the frequency that was shown',
    given: { streaks: { ...daily, freezes: { initial: 5, maximum: 5, earnInterval: 0, earnAmount: 0 } } },
    events: ['01-02 12:00'],
    changes: [['01-06 12:00', streaks({ frequency: 'weekly' })]],
    end: '01-08 12:00',
    then: 'streak 1; freezes 2',
  },
  {
    what: 'a day off before they change stays one',
    given: { streaks: { ...daily, daysOff: [0, 6] } },
    // A Friday, and the Sunday after it.
    events: ['01-06 12:00'],
    changes: [['01-08 12:00', streaks({ daysOff: [] })]],
    end: '01-08 18:00',
    then: 'streak 1; expires 2040-01-08',
  },
  {
    what: 'a day that was missed before it became a day off was missed',
    given: { streaks: daily },
    events: ['01-05 12:00'],
    changes: [['01-07 12:00', streaks({ daysOff: [5] })]],
    end: '01-07 18:00',
    then: 'streak 0',
  },
  {
    what: 'streaks that are off miss nothing, and earn no freezes',
    given: { streaks: { ...daily, freezes: { initial: 0, maximum: 9, earnInterval: 2, earnAmount: 1 } } },
    events: ['01-02 12:00', '01-03 11:00'],
    changes: [
      ['01-03 12:00', streaks({ enabled: false })],
      ['01-20 12:00', streaks({ enabled: true })],
    ],
    end: '01-20 13:00',
    then: 'streak 2; freezes 0',
  },
  {
    what: 'streaks that are switched on earn no freezes for the time before',
    given: { streaks: { ...daily, freezes: { initial: 1, maximum: 9, earnInterval: 2, earnAmount: 1 } } },
    changes: [
      ['01-02 12:00', streaks({ enabled: false })],
      ['01-20 12:00', streaks({ enabled: true })],
    ],
    end: '01-22 12:00',
    then: 'freezes 2',
  },
  {
    what: 'conditions that are met at once extend on the day of the change',
    given: { streaks: { conditions: { cards: 2 } } },
    events: ['01-02 12:00'],
    changes: [
      [
        '01-02 13:00',
        (document, now) => streaks({ metrics: document.streaks.metrics.map((metric) => ({ ...metric, threshold: 1 })) })(document, now),
      ],
    ],
    end: '01-03 12:00',
    then: 'streak 1; extended 2040-01-02T13:00:00.000Z',
  },
  {
    what: 'users without a zone move when the default zone changes',
    given: { streaks: daily },
    events: ['01-02 12:00'],
    // In Auckland it is the 4th then: the streak is kept until the end of the 3rd in UTC.
    changes: [['01-03 12:00', settings({ defaultTimeZone: 'Pacific/Auckland' })]],
    end: '01-04 01:00',
    then: 'streak 0',
  },
  {
    what: 'days of the old default zone are paid in it',
    given: { systems: [eachDay] },
    changes: [['01-04 11:30', settings({ defaultTimeZone: 'Pacific/Auckland' })]],
    end: '01-04 11:45',
    then: 'points 3',
  },
  {
    what: 'a leaderboard that closes has what was lost before',
    given: { streaks: daily, boards: [{ rankBy: 'streak' }] },
    events: ['01-02 12:00'],
    changes: [
      ['01-06 12:00', (document) => ({ ...document, leaderboards: document.leaderboards.map((board) => ({ ...board, archived: true })) })],
      ['01-07 12:00', (document) => ({ ...document, leaderboards: document.leaderboards.map((board) => ({ ...board, archived: false })) })],
    ],
    end: '01-07 13:00',
    then: 'ranked 0',
  },
  {
    what: 'weeks that begin on Sunday instead of Monday: the running one keeps its Sunday',
    given: { streaks: weekly },
    events: ['01-02 12:00', ...week, '01-08 12:00', '01-09 12:00'],
    changes: [['01-05 13:00', settings({ weekStart: 'sunday' })]],
    end: '01-09 13:00',
    then: 'streak 2; period 2040-01-09 to 2040-01-14; history 2040-01-02 to 2040-01-08 1, 2040-01-09 to 2040-01-14 2; expires 2040-01-21',
  },
  {
    what: 'weeks that begin on Sunday instead of Monday, from a Sunday on',
    given: { streaks: weekly },
    events: ['01-02 12:00', '01-08 12:00', '01-08 14:00', '01-15 12:00'],
    changes: [['01-08 13:00', settings({ weekStart: 'sunday' })]],
    end: '01-15 13:00',
    then: 'streak 1; period 2040-01-15 to 2040-01-21; history 2040-01-09 to 2040-01-14 0, 2040-01-15 to 2040-01-21 1; expires 2040-01-28',
  },
  {
    what: 'weeks that begin on Monday instead of Sunday: the running one has the Sunday after it',
    given: { weekStart: 'sunday', streaks: weekly },
    events: ['01-02 12:00', '01-08 12:00', '01-09 12:00'],
    changes: [['01-05 13:00', settings({ weekStart: 'monday' })]],
    end: '01-09 13:00',
    then: 'streak 2; period 2040-01-09 to 2040-01-15; history 2040-01-01 to 2040-01-08 1, 2040-01-09 to 2040-01-15 2; expires 2040-01-22',
  },
  {
    what: 'weeks that are changed back in the same week are as before',
    given: { streaks: weekly },
    events: ['01-02 12:00', '01-08 12:00', '01-09 12:00'],
    changes: [
      ['01-05 13:00', settings({ weekStart: 'sunday' })],
      ['01-06 13:00', settings({ weekStart: 'monday' })],
    ],
    end: '01-09 13:00',
    then: 'streak 2; period 2040-01-09 to 2040-01-15; history 2040-01-02 to 2040-01-08 1, 2040-01-09 to 2040-01-15 2; expires 2040-01-22',
  },
];

interface Streak {
  readonly length: number;
  readonly freezes?: number;
  readonly extended: string | null;
  readonly expires: string | null;
  readonly periodStart: string | null;
  readonly periodEnd: string | null;
  readonly streakHistory: readonly { readonly periodStart: string; readonly periodEnd: string; readonly length: number }[];
}

/** What `then` names, of a user. */
async function view({ subject }: Session, user: string, then: string): Promise<string> {
  const streak = async (): Promise<Streak> => (await subject.streak(user, 2)).body as Streak;
  const points = async (): Promise<{ total: number; level: { key: string } | null } | undefined> =>
    (await subject.points(user, 'p1', 1)).body as { total: number; level: { key: string } | null } | undefined;
  const views: Readonly<Record<string, () => Promise<string | number>>> = {
    points: async () => (await points())?.total ?? '-',
    level: async () => (await points())?.level?.key ?? '-',
    freezes: async () => (await streak()).freezes ?? 0,
    streak: async () => (await streak()).length,
    extended: async () => (await streak()).extended ?? '-',
    expires: async () => (await streak()).expires ?? '-',
    period: async () => {
      const { periodStart, periodEnd } = await streak();
      return `${periodStart} to ${periodEnd}`;
    },
    history: async () =>
      (await streak()).streakHistory.map(({ periodStart, periodEnd, length }) => `${periodStart} to ${periodEnd} ${length}`).join(', '),
    ranked: async () => {
      // Pages of leaderboards settle no user.
      await subject.streak(user, 0);
      return ((await subject.leaderboard('b1', {})).body as { rankings: readonly unknown[] } | undefined)?.rankings.length ?? '-';
    },
  };
  const parts = await Promise.all(
    then.split('; ').map(async (part) => {
      const [name = ''] = part.split(' ');
      return `${name} ${await views[name]?.()}`;
    }),
  );
  return parts.join('; ');
}

/** Plays a case; `lose` loses Redis and restores it after each change. */
async function play(session: Session, { given, events = [], moves = [], changes, end, then }: Case, lose = false): Promise<void> {
  const { subject } = session;
  let document = buildDocument({ metrics: ['cards'], ...given });
  const bothUsers = (act: (user: string) => unknown) => async (): Promise<void> => {
    for (const user of ['read', 'unread']) await act(user);
  };
  const event = bothUsers((id) => subject.event({ metricKey: 'cards', value: 1, user: { id }, attributes: {}, idempotencyKey: undefined }));
  const put = (at: number, change: Change) => async (): Promise<void> => {
    await subject.user('read');
    await view(session, 'read', then);
    document = change(document, new Date(at).toISOString());
    await subject.activate(document);
    if (lose) await session.loseRedis('empty');
  };
  const steps = [
    ...events.map((when) => ({ at: moment(when), act: event })),
    ...moves.map(([when, tz]) => ({ at: moment(when), act: bothUsers((id) => subject.identify('update', id, { tz })) })),
    ...changes.map(([when, change]) => ({ at: moment(when), act: put(moment(when), change) })),
  ].sort((a, b) => a.at - b.at);
  await bothUsers((id) => subject.identify('upsert', id, {}))();
  for (const { at, act } of steps) {
    await session.subject.drift(at);
    await act();
  }
  await session.subject.drift(moment(end));
  expect(await view(session, 'unread', then), 'unread').to.equal(then);
  expect(await view(session, 'read', then), 'read').to.equal(then);
  await session.sweep();
  expect(await view(session, 'unread', then), 'after the sweep').to.equal(then);
  expect(await session.verify()).to.deep.equal([]);
}

describe('Elapsed time before a configuration change', () => {
  let arena: Arena;
  before(async () => {
    arena = await startArena();
  });
  after(() => arena.stop());

  for (const [what, max, after, place] of [
    ['more', 1, 2, null],
    ['fewer', 2, 1, 2],
  ] as const) {
    it(`is applied by the old rules: an ended run has the participants of its limit, changed to ${what} before the worker ends it`, async () => {
      const board = { key: 'b1', rankBy: { metric: 'cards' }, max, start: '2040-01-01', every: [3, 'day'] } as const;
      const document = buildDocument({ metrics: ['cards'], boards: [board] });
      const session = await arena.enter(document, baseMs);
      try {
        const { subject } = session;
        for (const [id, value] of [
          ['first', 2],
          ['second', 1],
        ] as const)
          await subject.event({ metricKey: 'cards', value, user: { id }, attributes: {}, idempotencyKey: undefined });
        await subject.drift(moment('01-08 12:00'));
        await subject.activate({ ...document, leaderboards: document.leaderboards.map((one) => ({ ...one, maxParticipants: after })) });
        await session.sweep();
        const { body } = await subject.userLeaderboard('second', 'b1', '2040-01-01');
        expect((body as { rank: number | null }).rank).to.equal(place);
      } finally {
        await session.leave();
      }
    });
  }

  for (const each of cases) {
    it(`is applied by the old rules: ${each.what}`, async () => {
      const session = await arena.enter(buildDocument({ metrics: ['cards'], ...each.given }), baseMs);
      try {
        await play(session, each);
      } finally {
        await session.leave();
      }
    });

    it(`is applied by the old rules: ${each.what}, in a Redis that is restored from Postgres`, async () => {
      const session = await arena.enter(buildDocument({ metrics: ['cards'], ...each.given }), baseMs);
      try {
        await play(session, each, true);
      } finally {
        await session.leave();
      }
    });
  }
});

describe('Changes of the configuration that wait for the worker', () => {
  it('are refused beyond a number of them, and users are settled by each of them', async () => {
    const config = configText({
      metrics: [{ key: 'cards', name: 'Cards' }],
      streaks: { enabled: true, frequency: 'daily', metrics: [{ metricKey: 'cards', threshold: 1 }] },
    });
    const world = await startWorld({ config, roles: { api: true, worker: false } });
    try {
      await track(world, 'cards', { user: 'ana', value: 1 });
      const change = (no: number) =>
        world.request('PATCH', '/admin/v1/settings', { body: { weekStart: no % 2 === 0 ? 'sunday' : 'monday' } });
      for (let no = 0; no < limits.maxEndedSegments; no += 1) bodyOf(await change(no), 200);
      expect((await change(0)).status).to.equal(503);
      // A pass over the users that began before a restore does not end them.
      const context = await Context.start({ settings: world.settings, log: pino({ level: 'silent' }), print: () => undefined });
      const ended = async (epoch: string): Promise<number> => {
        await context.engine.call(world.tenant, 'dropSegments', () => ({ args: { upTo: limits.maxEndedSegments, epoch } }));
        return Number((await context.engine.call(world.tenant, 'readSegments', () => ({ args: {} }))).values[2]);
      };
      expect(await ended('another epoch')).to.equal(limits.maxEndedSegments);
      await context.stop();
      // Reads and events settle the user by all of them.
      expect((await track(world, 'cards', { user: 'ana', value: 1 })).total).to.equal(2);
    } finally {
      await world.stop();
    }
  });
});

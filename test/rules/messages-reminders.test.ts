import { expect } from 'chai';
import { bodyOf, configText, track } from '../support/answers.js';
import { messagesOf, subscription } from '../support/messages.js';
import { identify, sentMessages, untilEnded } from '../support/sent-messages.js';
import { startHost, startTenant, type World } from '../support/world.js';

type Step =
  | { readonly event: true }
  | { readonly tz: string }
  | { readonly pause: readonly [start: string, end: string] }
  | { readonly settings: object }
  /** The user's own. */
  | { readonly daysOff: readonly number[] }
  /** How many users the view of recipients counts. */
  | { readonly count: number };

interface Case {
  readonly what: string;
  readonly frequency: 'daily' | 'weekly' | 'monthly';
  readonly settings?: object;
  readonly messages?: object;
  readonly streaks?: object;
  /** From the first step on, when Ana is created in Berlin; the last moment is the end. */
  readonly steps: readonly (readonly [at: string, ...steps: Step[]])[];
  /** When reminders become due. */
  readonly due: readonly string[];
  /** Of these, those whose message is skipped. */
  readonly skipped?: readonly string[];
}

const event = { event: true } as const;
const toNewYork = { tz: 'America/New_York' };
const noQuiet = { quietFromHour: null, quietToHour: null };
/** Reminders late on the last day of a week, and of a month. */
const lastDays = { streakReminderWeekday: 'sunday', streakReminderDay: 31, emailHour: 20 };

/** Two days of a daily streak in Berlin. In the first hour of the third, the user moves to New York, where it is 18:30 of the day before. */
const twoDays: Case['steps'] = [
  ['2040-05-10T10:00:00Z', event],
  ['2040-05-11T10:00:00Z', event],
];
const cases: readonly Case[] = [
  {
    what: 'daily: of the day that is not extended, once it has come in the new zone',
    frequency: 'daily',
    steps: [
      ...twoDays,
      ['2040-05-11T22:30:00Z', toNewYork, { count: 0 }],
      ['2040-05-12T03:59:59Z', { count: 0 }],
      ['2040-05-12T04:00:00Z', { count: 1 }],
      ['2040-05-14T12:00:00Z'],
    ],
    due: ['2040-05-13T00:00:00Z'],
  },
  {
    what: 'daily: none if the day was extended before the move',
    frequency: 'daily',
    steps: [
      ...twoDays,
      ['2040-05-11T22:15:00Z', event],
      ['2040-05-11T22:30:00Z', toNewYork],
      ['2040-05-12T12:00:00Z', { count: 0 }],
      ['2040-05-14T12:00:00Z'],
    ],
    due: ['2040-05-14T00:00:00Z'],
  },
  {
    what: 'daily: none if the day is extended after the move',
    frequency: 'daily',
    steps: [...twoDays, ['2040-05-11T22:30:00Z', toNewYork, event, { count: 0 }], ['2040-05-13T12:00:00Z']],
    due: [],
  },
  {
    what: 'daily: none of a day that a pause covers',
    frequency: 'daily',
    steps: [
      ['2040-05-10T10:00:00Z', event, { pause: ['2040-05-12', '2040-05-12'] }],
      ['2040-05-11T10:00:00Z', event],
      ['2040-05-11T22:30:00Z', toNewYork, { count: 0 }],
      ['2040-05-12T12:00:00Z', { count: 0 }],
      ['2040-05-13T12:00:00Z', { count: 1 }],
      ['2040-05-14T12:00:00Z'],
    ],
    due: ['2040-05-14T00:00:00Z'],
  },
  {
    what: 'daily: none on a day off, and one on the day after',
    frequency: 'daily',
    streaks: { daysOff: [0, 6] },
    // A Thursday and a Friday.
    steps: [...twoDays, ['2040-05-12T12:00:00Z', { count: 0 }], ['2040-05-14T12:00:00Z', { count: 1 }], ['2040-05-15T12:00:00Z']],
    due: ['2040-05-14T18:00:00Z'],
  },
  {
    what: 'daily: of the day after days off of the user',
    frequency: 'daily',
    streaks: { personalization: true },
    steps: [...twoDays, ['2040-05-11T11:00:00Z', { daysOff: [0, 6] }], ['2040-05-12T12:00:00Z', { count: 0 }], ['2040-05-15T12:00:00Z']],
    due: ['2040-05-14T18:00:00Z'],
  },
  {
    what: 'daily: of the day after one that a pause covers',
    frequency: 'daily',
    steps: [
      ['2040-05-10T10:00:00Z', event, { pause: ['2040-05-11', '2040-05-11'] }],
      ['2040-05-11T22:30:00Z', toNewYork, { count: 0 }],
      ['2040-05-12T12:00:00Z', { count: 1 }],
      ['2040-05-14T12:00:00Z'],
    ],
    due: ['2040-05-13T00:00:00Z'],
  },
  {
    what: 'daily: none of a day of which the user was reminded before the move',
    frequency: 'daily',
    settings: { streakReminderHour: 0 },
    messages: noQuiet,
    steps: [...twoDays, ['2040-05-11T22:30:00Z', toNewYork], ['2040-05-14T12:00:00Z']],
    due: ['2040-05-10T22:00:00Z', '2040-05-11T22:00:00Z'],
  },
  {
    what: 'daily: one that waits for the end of quiet hours is sent in the new zone, once',
    frequency: 'daily',
    settings: { streakReminderHour: 0 },
    messages: { quietFromHour: 23, quietToHour: 1 },
    steps: [...twoDays, ['2040-05-11T22:30:00Z', toNewYork], ['2040-05-14T12:00:00Z']],
    due: ['2040-05-10T22:00:00Z', '2040-05-11T22:00:00Z'],
  },
  {
    what: 'daily: one that waits for the end of quiet hours is skipped once its day is over',
    frequency: 'daily',
    settings: { streakReminderHour: 22 },
    steps: [['2040-05-10T10:00:00Z', event], ['2040-05-11T22:30:00Z', toNewYork], ['2040-05-12T23:00:00Z']],
    due: ['2040-05-11T20:00:00Z'],
    skipped: ['2040-05-11T20:00:00Z'],
  },
  {
    what: 'daily: to a user who moves back and forth',
    frequency: 'daily',
    steps: [
      ...twoDays,
      ['2040-05-11T22:30:00Z', toNewYork],
      ['2040-05-12T02:00:00Z', { tz: 'Europe/Berlin' }],
      ['2040-05-12T18:30:00Z', toNewYork],
      ['2040-05-14T12:00:00Z'],
    ],
    due: ['2040-05-12T18:00:00Z'],
  },
  {
    what: 'weekly: of the week that is not extended, once its day has come in the new zone',
    frequency: 'weekly',
    settings: lastDays,
    steps: [
      ['2040-01-03T10:00:00Z', event],
      ['2040-01-10T10:00:00Z', event],
      ['2040-01-15T23:30:00Z', toNewYork, { count: 0 }],
      ['2040-01-22T12:00:00Z', { count: 1 }],
      ['2040-01-24T12:00:00Z'],
    ],
    due: ['2040-01-23T01:00:00Z'],
  },
  {
    what: 'weekly: none of a week that a pause covers, even one that is over',
    frequency: 'weekly',
    settings: lastDays,
    steps: [
      ['2040-01-10T10:00:00Z', event, { pause: ['2040-01-16', '2040-01-16'] }],
      ['2040-01-15T23:30:00Z', toNewYork, { count: 0 }],
      ['2040-01-22T12:00:00Z', { count: 0 }],
      ['2040-01-30T12:00:00Z'],
    ],
    due: ['2040-01-30T01:00:00Z'],
  },
  {
    what: 'weekly: one of a week, also when the day changes and the user moves',
    frequency: 'weekly',
    steps: [['2040-01-03T10:00:00Z', event], ['2040-01-13T12:00:00Z', { settings: lastDays }, toNewYork], ['2040-01-16T12:00:00Z']],
    due: ['2040-01-13T08:00:00Z'],
  },
  {
    what: 'weekly: one of a week of eight days, in which its day comes twice',
    frequency: 'weekly',
    settings: { ...lastDays, weekStart: 'sunday', emailHour: 9 },
    steps: [
      ['2039-12-27T10:00:00Z', event],
      ['2040-01-05T12:00:00Z', { settings: { ...lastDays, weekStart: 'monday', emailHour: 10 } }],
      ['2040-01-09T12:00:00Z'],
    ],
    due: ['2040-01-01T08:00:00Z'],
  },
  {
    what: 'monthly: of the month that is not extended, once its day has come in the new zone',
    frequency: 'monthly',
    settings: lastDays,
    steps: [
      ['2040-05-10T10:00:00Z', event],
      ['2040-05-31T22:30:00Z', toNewYork, { count: 0 }],
      ['2040-06-30T12:00:00Z', { count: 1 }],
      ['2040-07-02T12:00:00Z'],
    ],
    due: ['2040-07-01T00:00:00Z'],
  },
  {
    what: 'daily: one whose hour is quiet leaves on its day, when quiet hours end',
    frequency: 'daily',
    messages: { quietFromHour: 19, quietToHour: 23 },
    steps: [['2040-05-10T10:00:00Z', event], ['2040-05-11T10:00:00Z', { count: 1 }], ['2040-05-12T10:00:00Z']],
    due: ['2040-05-11T18:00:00Z'],
  },
  {
    what: 'daily: one whose hour is quiet until the day is over is skipped, and not counted',
    frequency: 'daily',
    messages: { quietFromHour: 19, quietToHour: 8 },
    steps: [['2040-05-10T10:00:00Z', event], ['2040-05-11T10:00:00Z', { count: 0 }], ['2040-05-12T10:00:00Z']],
    due: ['2040-05-11T18:00:00Z'],
    skipped: ['2040-05-11T18:00:00Z'],
  },
  {
    what: 'weekly: one whose hour is quiet until the next day leaves within the week',
    frequency: 'weekly',
    settings: { streakReminderWeekday: 'saturday', emailHour: 22 },
    steps: [['2040-01-03T10:00:00Z', event], ['2040-01-14T10:00:00Z', { count: 1 }], ['2040-01-16T10:00:00Z']],
    due: ['2040-01-14T21:00:00Z'],
  },
  {
    what: 'weekly: one whose hour is quiet until the week is over is skipped, and not counted',
    frequency: 'weekly',
    settings: { streakReminderWeekday: 'sunday', emailHour: 22 },
    steps: [['2040-01-03T10:00:00Z', event], ['2040-01-15T10:00:00Z', { count: 0 }], ['2040-01-16T10:00:00Z']],
    due: ['2040-01-15T21:00:00Z'],
    skipped: ['2040-01-15T21:00:00Z'],
  },
  {
    what: 'daily: no user is counted who moves to a zone whose hour has passed',
    frequency: 'daily',
    steps: [
      ['2040-05-10T10:00:00Z', event],
      ['2040-05-11T17:30:00Z', { count: 1 }, { tz: 'Europe/Moscow' }, { tz: 'Asia/Dubai' }, { count: 0 }],
      ['2040-05-12T10:00:00Z'],
    ],
    due: [],
  },
];

describe('Reminders of streaks', () => {
  let host: World;
  let world: World;
  before(async () => {
    host = await startHost({ messages: 'log' });
  });
  after(() => host.stop());
  afterEach(() => world.stop());

  const config = ({ frequency, messages = {}, streaks = {} }: Case, settings: object): string =>
    configText({
      settings,
      metrics: [{ key: 'm', name: 'M' }],
      streaks: { enabled: true, frequency, metrics: [{ metricKey: 'm', threshold: 1 }], ...streaks },
      messages: { achievementCompleted: [], recap: [], reactivation: [], streakReminder: ['email'], ...messages },
      webhooks: [subscription('emails.streak_reminder_due')],
    });

  async function play(one: Case, step: Step): Promise<void> {
    if ('event' in step) await track(world, 'm', { user: 'ana', value: 1 });
    else if ('tz' in step) await identify(world, 'ana', step);
    else if ('settings' in step) await world.configure(config(one, step.settings));
    else if ('daysOff' in step) bodyOf(await world.request('PATCH', '/v1/users/ana/preferences', { body: { streak: step } }), 200);
    else if ('pause' in step) {
      const [start, end] = step.pause;
      bodyOf(await world.request('POST', '/admin/v1/streaks/pauses', { body: { pauses: [{ userId: 'ana', start, end }] } }), 201);
    } else {
      const counts = bodyOf(await world.get('/admin/v1/messages/recipients?type=streak_reminder'), 200);
      expect(counts).to.deep.include({ email: step.count });
    }
  }

  for (const one of cases) {
    it(one.what, async () => {
      world = await startTenant(host, { config: config(one, one.settings ?? {}), now: one.steps[0]![0] });
      await identify(world, 'ana', { tz: 'Europe/Berlin' });
      for (const [at, ...steps] of one.steps) {
        await world.drain();
        await world.setClock(at);
        for (const step of steps) await play(one, step);
      }
      await untilEnded(world);
      const due = one.due.map((at) => at.replace('Z', '.000Z'));
      const messages = await sentMessages(world);
      expect(messages.map(({ timestamp }) => timestamp)).to.deep.equal(due);
      const skipped = messages.filter(({ status }) => status === 'skipped').map(({ timestamp }) => timestamp);
      expect(skipped).to.deep.equal((one.skipped ?? []).map((at) => at.replace('Z', '.000Z')));
      const webhooks = (await messagesOf(world)).filter(({ kind }) => kind === 'emails.streak_reminder_due');
      expect(webhooks.map(({ payload }) => payload.timestamp)).to.deep.equal(due);
    });
  }
});

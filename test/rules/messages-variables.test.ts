import { expect } from 'chai';
import pino from 'pino';
import { Context } from '../../src/app/context.js';
import { notificationTypes, type NotificationType } from '../../src/config/schema/message-types.js';
import { emptyConfig } from '../../src/config/schema/model.js';
import { namedValues } from '../../src/config/templates/variables.js';
import { type NotificationAbout } from '../../src/messages/rules/notification.js';
import { previewMessage } from '../../src/messages/admin/preview.js';
import { usesOf } from '../../src/messages/render/texts.js';
import { readVariables, type UserVariables } from '../../src/messages/render/read-variables.js';
import { bodyOf, configText, track, userPath } from '../support/answers.js';
import { startHost, startTenant, type World } from '../support/world.js';

const config = (more: object = {}): string =>
  configText({
    settings: { recapFrequency: 'weekly', reactivationDays: [4, 9] },
    attributes: [
      { key: 'language', name: 'Language', type: 'user' },
      { key: 'plan', name: 'Plan', type: 'user' },
      { key: 'device', name: 'Device', type: 'event' },
    ],
    metrics: [
      { key: 'cards', name: 'Cards', units: 'cards' },
      { key: 'minutes', name: 'Minutes' },
    ],
    points: [
      {
        key: 'xp',
        name: 'XP',
        levels: [
          { key: 'one', name: 'One', points: 10 },
          { key: 'two', name: 'Two', points: 50 },
        ],
        triggers: [{ key: 'card', type: 'metric', metricKey: 'cards', metricThreshold: 1, points: 1, status: 'active' }],
      },
    ],
    achievements: [
      { key: 'ten', name: 'Ten', description: 'Ten cards', trigger: 'metric', metricKey: 'cards', metricValue: 10, status: 'active' },
      { key: 'api', name: 'Api', trigger: 'api', status: 'active' },
      { key: 'far', name: 'Far', trigger: 'metric', metricKey: 'cards', metricValue: 1_000, status: 'active' },
      {
        key: 'phone',
        name: 'Phone',
        description: 'On the phone',
        trigger: 'metric',
        metricKey: 'cards',
        metricValue: 40,
        status: 'active',
        eventAttributes: [{ attributeKey: 'device', attributeValue: 'phone' }],
      },
      {
        key: 'pro',
        name: 'Pro',
        trigger: 'metric',
        metricKey: 'cards',
        metricValue: 31,
        status: 'active',
        userAttributes: [{ attributeKey: 'plan', attributeValue: 'pro' }],
      },
      { key: 'week', name: 'Week', trigger: 'streak', streakLength: 7, status: 'active' },
      { key: 'locked', name: 'Locked', trigger: 'metric', metricKey: 'cards', metricValue: 32, status: 'locked' },
    ],
    streaks: { enabled: true, frequency: 'daily', metrics: [{ metricKey: 'cards', threshold: 1 }], freezes: { initial: 1, maximum: 2 } },
    leaderboards: ['a', 'b', 'c', 'd', 'e'].map((key) => ({
      key,
      name: key.toUpperCase(),
      status: 'active',
      rankBy: 'metric',
      metricKey: 'cards',
      maxParticipants: 10,
      start: key === 'e' ? '2050-01-01' : '2040-01-01',
    })),
    messages: { brandName: 'Cards', brandUrl: 'https://cards.example.com', localeAttribute: 'language' },
    templates: [{ key: 'streak', name: 'Streak', type: 'streak_reminder', locale: 'pt-BR', subject: '{{ leaderboards.d.rank }}' }],
    ...more,
  });

const achievement = { id: 'x', name: 'Ten', description: null, badgeUrl: null };
const abouts: Readonly<Record<NotificationType, NotificationAbout>> = {
  achievement_completed: {
    type: 'achievement_completed',
    achievements: [achievement, { ...achievement, name: 'Api', badgeUrl: 'https://x.example/b.png' }],
  },
  recap: { type: 'recap', periodStart: '2040-01-02', periodEnd: '2040-01-08' },
  reactivation: { type: 'reactivation', messageNumber: 2, daysSinceLastActive: 9 },
  streak_reminder: { type: 'streak_reminder', periodEnd: '2040-01-31' },
};

const noTexts = {
  locale: 'en',
  archived: false,
  subject: null,
  heading: null,
  body: null,
  button: null,
  buttonUrl: null,
  pushTitle: null,
  pushBody: null,
};

/** The names of the values in variables, as the tree that templates are checked against has them. */
function namesOf(prefix: string, value: unknown): string[] {
  if (Array.isArray(value)) return [...new Set(value.flatMap((item: unknown) => namesOf(`${prefix}[]`, item)))];
  if (typeof value !== 'object' || value === null) return [prefix];
  const isKeyed = ['metrics', 'points', 'leaderboards', 'user.attributes'].includes(prefix);
  const names = Object.entries(value).flatMap(([key, item]) =>
    namesOf(`${prefix}${prefix === '' ? '' : '.'}${isKeyed ? '<key>' : key}`, item),
  );
  return [...new Set(names)];
}

describe('The variables of a message', () => {
  let host: World;
  let world: World;
  let context: Context;
  before(async () => {
    host = await startHost();
    context = await Context.start({ settings: host.settings, log: pino({ level: 'silent' }), print: () => undefined });
    world = await startTenant(host, { config: config(), now: '2039-12-31T12:00:00Z' });
    // In Tokyo, nine hours ahead, Ana misses January 3, which her freeze covers.
    const user = { id: 'ana', name: 'Ana', tz: 'Asia/Tokyo', email: 'ana@example.com', attributes: { language: 'pt_BR' } };
    bodyOf(await world.request('PUT', userPath('ana'), { body: user }), 200);
    const history: readonly (readonly [at: string, value: number, device?: string])[] = [
      ['2039-12-31T14:00:00Z', 1],
      ['2040-01-01T14:00:00Z', 2],
      ['2040-01-01T16:00:00Z', 4, 'phone'],
      ['2040-01-03T16:00:00Z', 8],
      ['2040-01-05T14:00:00Z', 16, 'phone'],
    ];
    for (const [at, value, device] of history) {
      await world.setClock(at);
      await track(world, 'cards', { user: 'ana', value, attributes: device === undefined ? undefined : { device } });
    }
    await track(world, 'cards', { user: 'ben', value: 100 });
    await world.setClock('2040-01-06T01:00:00Z');
  });
  after(async () => {
    await context.stop();
    await world.stop();
    await host.stop();
  });

  const readAbout = (about: NotificationAbout, user = 'ana'): Promise<UserVariables | undefined> =>
    readVariables(context, { tenant: world.tenant }, { user }, about);
  const variablesOf = async (type: NotificationType) => (await readAbout(abouts[type]))!.variables;

  it('are what the user has done, by the local calendar', async () => {
    const { variables, state } = (await readAbout(abouts.recap))!;
    expect(state.profile).to.include({ e: 'ana@example.com' });
    expect(variables).to.deep.equal({
      type: 'recap',
      locale: 'pt-BR',
      date: '2040-01-06',
      brand: { name: 'Cards', url: 'https://cards.example.com' },
      user: { id: 'ana', name: 'Ana', email: 'ana@example.com', attributes: { language: 'pt_BR', plan: '' } },
      metrics: {
        cards: { name: 'Cards', units: 'cards', total: 31, change: 28 },
        minutes: { name: 'Minutes', units: '', total: 0, change: 0 },
      },
      points: { xp: { name: 'XP', total: 31, change: 28, level: 'One', nextLevel: 'Two', toNextLevel: 19, progress: 52 } },
      streak: {
        length: 5,
        frequency: 'daily',
        freezes: 0,
        expires: '2040-01-06',
        days: [
          ...['2039-12-24', '2039-12-25', '2039-12-26', '2039-12-27', '2039-12-28', '2039-12-29', '2039-12-30'].map((date) => ({
            date,
            state: 'missed',
          })),
          ...['2039-12-31', '2040-01-01', '2040-01-02'].map((date) => ({ date, state: 'extended' })),
          { date: '2040-01-03', state: 'frozen' },
          ...['2040-01-04', '2040-01-05'].map((date) => ({ date, state: 'extended' })),
          { date: '2040-01-06', state: 'today' },
        ],
      },
      next: { name: 'Week', description: '', current: 5, target: 7, progress: 71 },
      leaderboards: { a: { name: 'A', rank: 2, value: 31 }, b: { name: 'B', rank: 2, value: 31 }, c: { name: 'C', rank: 2, value: 31 } },
      period: { start: '2040-01-02', end: '2040-01-08', name: 'week' },
    });
  });

  it('include a leaderboard only where a text names it', async () => {
    expect((await variablesOf('streak_reminder')).leaderboards).to.deep.equal({ d: { name: 'D', rank: 2, value: 31 } });
    expect((await variablesOf('reactivation')).leaderboards).to.deep.equal({});
  });

  it('include the calendar of the streak only where the layout or a text shows it', async () => {
    expect((await variablesOf('streak_reminder')).streak.days).to.have.length(14);
    expect((await variablesOf('achievement_completed')).streak.days).to.deep.equal([]);
    const text = '{% for day in streak.days %}{{ day.state }} {% endfor %}';
    const template = { key: 'days', name: 'Days', type: 'achievement_completed', locale: 'en', pushBody: text };
    const other = await startTenant(host, { config: config({ templates: [template] }), now: '2040-01-02T12:00:00Z' });
    await track(other, 'cards', { user: 'ana', value: 1 });
    const read = await readVariables(context, { tenant: other.tenant }, { user: 'ana' }, abouts.achievement_completed);
    expect(read!.variables.streak.days.at(-1)).to.deep.equal({ date: '2040-01-02', state: 'extended' });
    await other.stop();
  });

  it('tell apart the days on which a user extended the streak and those that were off', async () => {
    const streaks = { enabled: true, frequency: 'daily', metrics: [{ metricKey: 'cards', threshold: 1 }], daysOff: [0, 6] };
    const other = await startTenant(host, { config: config({ streaks }), now: '2040-01-05T12:00:00Z' });
    await track(other, 'cards', { user: 'ana', value: 1 });
    await other.setClock('2040-01-06T12:00:00Z');
    await track(other, 'cards', { user: 'ana', value: 1 });
    await other.setClock('2040-01-09T12:00:00Z');
    const read = await readVariables(context, { tenant: other.tenant }, { user: 'ana' }, abouts.streak_reminder);
    expect(read!.variables.streak.days.slice(-5).map(({ state }) => state)).to.deep.equal([
      'extended',
      'extended',
      'kept',
      'kept',
      'today',
    ]);
    await other.stop();
  });

  const calendarUses: readonly (readonly [text: string, reads: boolean])[] = [
    ['Three more days, as on other days', false],
    ['{% assign days = streak.length %}{{ days }} days', false],
    ['{% comment %}{{ streak.days }}{% endcomment %}{{ "streak.days" }}', false],
    ['{% if streak.days.size > 0 %}x{% endif %}', true],
    ['{{ streak["days"] | size }}', true],
    ['{% assign mine = streak %}{% for day in mine.days %}{{ day.state }}{% endfor %}', true],
    ['{% if user.name == "Ana" %}{{ streak.days.last.state }}{% endif %}', true],
  ];
  for (const [pushBody, reads] of calendarUses) {
    it(`${reads ? 'include' : 'leave out'} the calendar of the streak for the text ${pushBody}`, () => {
      const document = { messages: emptyConfig.messages, templates: [{ ...noTexts, type: 'achievement_completed', pushBody } as const] };
      expect(usesOf({ document }, 'achievement_completed', 'en').streakDays).to.equal(reads);
    });
  }

  for (const type of notificationTypes) {
    it(`are those that templates of ${type} may use, and no others`, async () => {
      const { leaderboards: _, ...variables } = await variablesOf(type);
      const { leaderboards } = await variablesOf('recap');
      const days = [{ date: '', state: '' }];
      const names = namesOf('', { ...variables, leaderboards, streak: { ...variables.streak, days } });
      const declared = namedValues.filter(({ only }) => only === undefined || only.includes(type));
      expect(names).to.have.members(declared.map(({ name }) => name));
    });
  }

  it('are undefined for a user who does not exist', async () => {
    expect(await readAbout(abouts.recap, 'nobody')).to.equal(undefined);
  });

  it('use the default locale for a user whose own is none', async () => {
    for (const language of ['', '???', 'a'.repeat(500)]) {
      bodyOf(await world.request('PATCH', userPath('ben'), { body: { attributes: { language } } }), 200);
      expect((await readAbout(abouts.streak_reminder, 'ben'))!.variables.locale).to.equal('en');
    }
  });

  it('make a preview of every type, about what the user has done last', async () => {
    const preview = (type: NotificationType, user = 'ana') => previewMessage(context, { tenant: world.tenant }, { type, user });
    const subjects = await Promise.all(notificationTypes.map(async (type) => (await preview(type)).email.subject));
    expect(subjects).to.deep.equal(['You completed “Ten”', 'Your week in review', 'You are 71% of the way to “Week”', '2']);
    const { email, push } = await preview('recap');
    expect(email.text).to.include('from December 26 to January 1').and.include('https://example.invalid/unsubscribe');
    expect(push.url).to.equal('https://cards.example.com');
    await world.request('PUT', userPath('carl'), { body: {} });
    expect((await preview('achievement_completed', 'carl')).email.subject).to.equal('You completed “Ten”');
    expect(await preview('recap', 'nobody').catch((error: unknown) => error)).to.include({ code: 'not_found' });
  });
});

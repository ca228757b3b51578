import { expect } from 'chai';
import { bodyOf, configText, read, track } from '../support/answers.js';
import { adminKey, defaultNow, startWorld, type World } from '../support/world.js';
import { changedLines } from '../support/changed-lines.js';

const base = '/admin/v1';
const nobody = '00000000-0000-4000-8000-000000000000';

interface Body {
  readonly error: string;
}

describe('The Admin API', () => {
  let world: World;
  let metric: string;
  before(async () => {
    world = await startWorld({ config: configText({ metrics: [{ key: 'cards', name: 'Cards' }] }) });
    const [one] = await read<{ id: string }[]>(world, `${base}/metrics`);
    metric = one?.id ?? '';
  });
  after(() => world.stop());

  const patch = (path: string, body: unknown) => world.request('PATCH', base + path, { body });

  const settings = {
    controlRatio: 0,
    activationWindowDays: 7,
    weekStart: 'monday',
    defaultTimeZone: 'UTC',
    idempotencyRetentionDays: null,
    recapFrequency: 'weekly',
    emailHour: 9,
    reactivationDays: [3, 5, 7, 14, 30],
    streakReminderHour: 20,
    streakReminderWeekday: 'friday',
    streakReminderDay: 25,
    achievementFromHour: 17,
    achievementToHour: 21,
  };
  /** Without the contract's fields (contract-settings.test.ts). */
  const ownOf = (shown: unknown): object => {
    const { branding: _, experimentation: _ratio, aggregationPeriod: _period, ...own } = shown as Record<string, unknown>;
    return own;
  };
  const streaks = {
    enabled: false,
    frequency: 'daily',
    evaluationMode: 'OR',
    metrics: [] as unknown[],
    daysOff: [] as number[],
    personalization: false,
    freezes: { initial: 0, maximum: 0, earnInterval: 0, earnAmount: 0 },
  };

  it('changes only the settings that a request sends', async () => {
    expect(ownOf(await read(world, `${base}/settings`))).to.deep.equal(settings);
    const changes = [
      { controlRatio: 0.25 },
      { activationWindowDays: 30 },
      { weekStart: 'sunday' },
      { defaultTimeZone: 'Asia/Tokyo' },
      { idempotencyRetentionDays: 30 },
      { idempotencyRetentionDays: null },
      { recapFrequency: 'monthly', emailHour: 0, streakReminderHour: 23 },
      { recapFrequency: 'yearly' },
      { streakReminderWeekday: 'sunday', streakReminderDay: 31 },
      { achievementFromHour: 0, achievementToHour: 24 },
      { reactivationDays: [1, 365] },
      { reactivationDays: [] },
      {},
    ];
    let wanted: object = settings;
    for (const change of changes) {
      wanted = { ...wanted, ...change };
      expect(ownOf(bodyOf(await patch('/settings', change), 200))).to.deep.equal(wanted);
      expect(ownOf(await read(world, `${base}/settings`))).to.deep.equal(wanted);
    }
    bodyOf(await patch('/settings', settings), 200);
  });

  it('changes only the streak settings that a request sends', async () => {
    expect(await read(world, `${base}/streak-settings`)).to.deep.equal(streaks);
    const conditions = [{ metricId: metric, threshold: 1.5 }];
    expect(bodyOf(await patch('/streak-settings', { enabled: true, metrics: conditions }), 200)).to.deep.equal({
      ...streaks,
      enabled: true,
      metrics: conditions,
    });
    const freezes = { initial: 1, maximum: 3 };
    expect(bodyOf(await patch('/streak-settings', { freezes, frequency: 'weekly', evaluationMode: 'AND' }), 200)).to.deep.equal({
      ...streaks,
      enabled: true,
      metrics: conditions,
      frequency: 'weekly',
      evaluationMode: 'AND',
      freezes: { ...streaks.freezes, ...freezes },
    });
    const earned = bodyOf<typeof streaks>(await patch('/streak-settings', { freezes: { earnInterval: 7, earnAmount: 1 } }), 200);
    expect(earned.freezes).to.deep.equal({ initial: 1, maximum: 3, earnInterval: 7, earnAmount: 1 });
    const { metrics: _, ...others } = streaks;
    bodyOf(await patch('/streak-settings', { ...others, metrics: [] }), 200);
  });

  const messages = {
    achievementCompleted: ['email', 'push'],
    recap: ['email', 'push'],
    reactivation: ['email', 'push'],
    streakReminder: ['email', 'push'],
    brandName: 'Laurel',
    brandColor: '#4f46e5',
    brandFont: 'MODERN_SANS',
    brandLogoUrl: null,
    brandIconUrl: null,
    brandUrl: null,
    brandAddress: null,
    linkHosts: [],
    defaultLocale: 'en',
    localeAttribute: null,
    quietFromHour: 22,
    quietToHour: 8,
    maxPerUserDay: 3,
    achievementGroupMinutes: 10,
  };

  it('changes only the message settings that a request sends', async () => {
    const [language] = bodyOf<{ created: { id: string }[] }>(
      await world.request('POST', `${base}/attributes`, { body: [{ name: 'Language', key: 'language', type: 'user' }] }),
      201,
    ).created;
    expect(await read(world, `${base}/messages-settings`)).to.deep.equal(messages);
    const changes: readonly (readonly [sent: object, shown: object])[] = [
      [{ recap: ['push'], reactivation: [] }, {}],
      [
        { brandColor: '#FF0000', defaultLocale: 'PT-br', linkHosts: ['Example.com', 'localhost:3000'] },
        { brandColor: '#ff0000', defaultLocale: 'pt-BR', linkHosts: ['example.com', 'localhost:3000'] },
      ],
      [{ brandUrl: 'https://example.com/a?b', brandLogoUrl: 'http://localhost:3000/logo.png', brandAddress: '1 Street\nTown' }, {}],
      [{ brandFont: 'BOOK_SERIF', brandIconUrl: 'https://example.com/icon.png' }, {}],
      [{ localeAttribute: language?.id }, {}],
      [{ quietFromHour: null, quietToHour: null }, {}],
      [{ quietFromHour: 0, quietToHour: 23, maxPerUserDay: 100, achievementGroupMinutes: 0 }, {}],
      [{}, {}],
      [messages, {}],
    ];
    let wanted: object = messages;
    for (const [sent, shown] of changes) {
      wanted = { ...wanted, ...sent, ...shown };
      expect(bodyOf(await patch('/messages-settings', sent), 200)).to.deep.equal(wanted);
      expect(await read(world, `${base}/messages-settings`)).to.deep.equal(wanted);
    }
  });

  it('refuses to delete what templates and the settings of messages name', async () => {
    const post = async (path: string, item: object): Promise<string> =>
      bodyOf<{ created: { id: string }[] }>(await world.request('POST', base + path, { body: [item] }), 201).created[0]?.id ?? '';
    const locale = await post('/attributes', { name: 'Locale', key: 'locale', type: 'user' });
    bodyOf(await patch('/messages-settings', { localeAttribute: locale }), 200);
    const board = await post('/leaderboards', { name: 'Top', key: 'top', rankBy: 'streak' });
    const template = await post('/templates', {
      name: 'T',
      key: 't',
      type: 'recap',
      locale: 'en',
      body: '{{ metrics["cards"].total }}',
      heading: '{{ leaderboards.top.rank }}',
      pushBody: '{{ user.attributes.locale }}',
    });
    const issuesOf = async (path: string): Promise<string | undefined> =>
      ((await world.request('DELETE', base + path)).body as { issues: { message: string }[] }).issues[0]?.message;
    expect(await issuesOf(`/metrics?ids=${metric}`)).to.equal('Metric "cards" cannot be deleted: it is used by template "t".');
    expect(await issuesOf(`/leaderboards?ids=${board}`)).to.equal('Leaderboard "top" cannot be deleted: it is used by template "t".');
    expect(await issuesOf(`/attributes?ids=${locale}`)).to.equal(
      'Attribute "locale" cannot be deleted: it is used by messages and template "t".',
    );
    const renamed = await world.request('PATCH', `${base}/leaderboards`, { body: [{ id: board, key: 'best' }] });
    expect((renamed.body as { issues: { message: string }[] }).issues[0]?.message).to.equal(
      'Template "t": heading, line 1, column 4: there is no leaderboard "top".',
    );
    bodyOf(await patch('/messages-settings', messages), 200);
    expect(await issuesOf(`/templates?ids=${template}`)).to.equal(undefined);
    expect(await issuesOf(`/leaderboards?ids=${board}`)).to.equal(undefined);
  });

  it('takes ALL for AND and ANY for OR in the Admin API, in preferences and in a file', async () => {
    const mode = async (): Promise<string> => (await read<{ evaluationMode: string }>(world, `${base}/streak-settings`)).evaluationMode;
    for (const [sent, stored] of [
      ['ALL', 'AND'],
      ['ANY', 'OR'],
    ]) {
      expect(bodyOf(await patch('/streak-settings', { evaluationMode: sent }), 200)).to.include({ evaluationMode: stored });
      expect(await mode()).to.equal(stored);
    }
    await world.configure('streaks: {evaluationMode: ALL}');
    expect(await mode()).to.equal('AND');
    bodyOf(await patch('/streak-settings', { evaluationMode: 'OR', personalization: true }), 200);
    await track(world, 'cards', { user: 'ana', value: 1 });
    const preferences = '/v1/users/ana/preferences';
    for (const [sent, stored] of [
      ['ALL', 'AND'],
      ['ANY', 'OR'],
      ['AND', 'AND'],
    ]) {
      const reply = await world.request('PATCH', preferences, { body: { streak: { evaluationMode: sent } } });
      expect(bodyOf<{ streak: object }>(reply, 200).streak).to.include({ evaluationMode: stored });
      expect((await read<{ streak: object }>(world, preferences)).streak).to.include({ evaluationMode: stored });
    }
    bodyOf(await patch('/streak-settings', streaks), 200);
  });

  it('returns streak preferences that can be sent back: none on archived metrics, and none while personalization is off', async () => {
    await track(world, 'cards', { user: 'ana', value: 1 });
    bodyOf(await patch('/streak-settings', { personalization: true }), 200);
    const [lines] = bodyOf<{ created: { id: string }[] }>(
      await world.request('POST', `${base}/metrics`, { body: [{ key: 'lines', name: 'Lines' }] }),
      201,
    ).created;
    const path = '/v1/users/ana/preferences';
    const sendBack = async (): Promise<object | undefined> => {
      const { streak } = await read<{ streak?: object }>(world, path);
      expect(bodyOf<{ streak?: object }>(await world.request('PATCH', path, { body: { streak } }), 200).streak).to.deep.equal(streak);
      return streak;
    };
    const own = (...keys: string[]) => ({ enabled: true, evaluationMode: 'AND', metrics: keys.map((key) => ({ key, threshold: 2 })) });
    bodyOf(await world.request('PATCH', path, { body: { streak: own('cards', 'lines') } }), 200);
    expect(await sendBack()).to.deep.equal(own('cards', 'lines'));
    bodyOf(await world.request('DELETE', `${base}/metrics?ids=${lines?.id}`), 200);
    expect(await sendBack()).to.deep.equal(own('cards'));
    bodyOf(await patch('/streak-settings', { personalization: false }), 200);
    expect(await sendBack()).to.deep.equal({ enabled: true });
  });

  it('answers streak preferences with a 403 that names the setting while personalization is off, and changes nothing', async () => {
    await world.setClock(defaultNow);
    await world.drain();
    const before = await world.snapshot();
    const body = { notifications: { recap: [] }, streak: { enabled: false, evaluationMode: 'AND' } };
    const reply = await world.request('PATCH', '/v1/users/ana/preferences', { body });
    expect([reply.status, reply.body]).to.deep.equal([
      403,
      {
        error:
          'Users cannot set their own streak conditions or days off while the streak setting `personalization` is off: turn it on, or send only `enabled`.',
      },
    ]);
    expect(changedLines(before, await world.snapshot())).to.deep.equal([]);
  });

  it('takes `enabled` alone while personalization is off, and keeps a choice of conditions', async () => {
    await track(world, 'cards', { user: 'bo', value: 1 });
    bodyOf(await patch('/streak-settings', { metrics: [{ metricId: metric, threshold: 3 }] }), 200);
    const preferences = '/v1/users/bo/preferences';
    const change = async (streak: object): Promise<object> =>
      bodyOf<{ streak: object }>(await world.request('PATCH', preferences, { body: { streak } }), 200).streak;
    expect(await change({ enabled: false })).to.deep.equal({ enabled: false });
    expect(await change({})).to.deep.equal({ enabled: false });
    bodyOf(await patch('/streak-settings', { personalization: true }), 200);
    const own = { evaluationMode: 'AND', metrics: [{ key: 'cards', threshold: 12.5 }] };
    await change(own);
    bodyOf(await patch('/streak-settings', streaks), 200);
    expect(await change({ enabled: false })).to.deep.equal({ enabled: false });
    bodyOf(await patch('/streak-settings', { personalization: true }), 200);
    expect(await change({ enabled: true })).to.deep.equal({ enabled: true, ...own });
    bodyOf(await patch('/streak-settings', streaks), 200);
  });

  it('empties the days off with another frequency, from a request and from a file', async () => {
    const daysOff = [6, 0];
    for (const change of [
      () => patch('/streak-settings', { frequency: 'weekly' }),
      async () => {
        await world.configure('streaks: {frequency: monthly}');
        return world.get(`${base}/streak-settings`);
      },
    ]) {
      expect(bodyOf(await patch('/streak-settings', { frequency: 'daily', daysOff }), 200)).to.deep.include({ daysOff });
      expect(bodyOf(await change(), 200)).to.deep.include({ daysOff: [] });
    }
    bodyOf(await patch('/streak-settings', streaks), 200);
  });

  it("keeps a user's days off and conditions apart, and shows days off while the user may have them", async () => {
    await track(world, 'cards', { user: 'cem', value: 1 });
    const preferences = '/v1/users/cem/preferences';
    const change = (streak: object) => world.request('PATCH', preferences, { body: { streak } });
    const shown = async (): Promise<object> => (await read<{ streak: object }>(world, preferences)).streak;
    expect((await change({ daysOff: [] })).status).to.equal(403);
    bodyOf(await patch('/streak-settings', { personalization: true }), 200);
    bodyOf(await change({ daysOff: [6] }), 200);
    expect(await shown()).to.deep.equal({ enabled: true, daysOff: [6] });
    bodyOf(await change({ enabled: false }), 200);
    const own = { evaluationMode: 'AND', metrics: [{ key: 'cards', threshold: 2 }] };
    bodyOf(await change({ enabled: false, ...own }), 200);
    bodyOf(await change({ daysOff: [0, 6] }), 200);
    expect(await shown()).to.deep.equal({ enabled: false, ...own, daysOff: [0, 6] });
    bodyOf(await patch('/streak-settings', { frequency: 'weekly' }), 200);
    expect(await shown()).to.deep.equal({ enabled: false, ...own });
    expect((await change({ daysOff: [0] })).body).to.deep.equal({
      error: 'Only daily streaks have days off, and the streaks are weekly: `daysOff` must be empty.',
    });
    bodyOf(await patch('/streak-settings', { frequency: 'daily', personalization: false }), 200);
    expect(await shown()).to.deep.equal({ enabled: false });
    for (const daysOff of [[7], [-1], [0.5], [1, 1], [0, 1, 2, 3, 4, 5, 6], 1, null])
      expect((await change({ daysOff })).status).to.equal(422);
    bodyOf(await patch('/streak-settings', streaks), 200);
  });

  const refused: readonly (readonly [path: string, body: () => unknown, sentence: RegExp])[] = [
    ['/settings', () => ({ controlRatio: 1.5 }), /`controlRatio` must be a number from 0 to 1/],
    ['/settings', () => ({ controlRatio: '0.5' }), /`controlRatio` must be a number/],
    ['/settings', () => ({ controlRatio: null }), /`controlRatio` must be a number/],
    ['/settings', () => ({ activationWindowDays: 2 }), /`activationWindowDays` must be a whole number from 3 to 30/],
    ['/settings', () => ({ emailHour: 24 }), /`emailHour` must be a whole number from 0 to 23/],
    ['/settings', () => ({ achievementToHour: 0 }), /`achievementToHour` must be a whole number from 1 to 24/],
    ['/settings', () => ({ achievementToHour: 17 }), /achievementToHour is 17: it must be after achievementFromHour, 17/],
    ['/settings', () => ({ achievementFromHour: 22 }), /achievementToHour is 21: it must be after achievementFromHour, 22/],
    ['/settings', () => ({ streakReminderDay: 32 }), /`streakReminderDay` must be a whole number from 1 to 31/],
    ['/settings', () => ({ streakReminderWeekday: 'Friday' }), /`streakReminderWeekday` must be one of monday, tuesday/],
    ['/settings', () => ({ recapFrequency: 'hourly' }), /`recapFrequency` must be one of daily, weekly, monthly, yearly/],
    ['/settings', () => ({ reactivationDays: [7, 7] }), /`reactivationDays` must be in ascending order, without duplicates/],
    ['/settings', () => ({ weekStart: 'tuesday' }), /`weekStart` must be one of monday, sunday/],
    ['/settings', () => ({ defaultTimeZone: 'Mars/Olympus' }), /`defaultTimeZone` must be an IANA time zone/],
    ['/settings', () => ({ defaultTimeZone: '+02:00' }), /`defaultTimeZone` must be an IANA time zone/],
    ['/settings', () => ({ defaultTimeZone: '' }), /`defaultTimeZone` must be an IANA time zone/],
    ['/settings', () => ({ idempotencyRetentionDays: 0 }), /`idempotencyRetentionDays` must be a whole number from 1 to 36,500/],
    ['/settings', () => ({ idempotencyRetentionDays: 36_501 }), /`idempotencyRetentionDays` must be a whole number from 1 to 36,500/],
    ['/settings', () => ({ idempotencyRetentionDays: 1.5 }), /`idempotencyRetentionDays` must be a/],
    ['/settings', () => [], /The body must be an object/],
    ['/messages-settings', () => ({ recap: ['sms'] }), /`recap.0` must be one of email, push/],
    ['/messages-settings', () => ({ recap: ['email', 'email'] }), /recap must not list a channel twice/],
    ['/messages-settings', () => ({ recap: ['email', 'push', 'email'] }), /`recap` must have at most 2 items/],
    ['/messages-settings', () => ({ recap: null }), /`recap` must be an array/],
    ['/messages-settings', () => ({ brandName: '' }), /`brandName` must not be empty/],
    ['/messages-settings', () => ({ brandColor: 'red' }), /`brandColor` must be a color such as "#4f46e5"/],
    ['/messages-settings', () => ({ brandUrl: 'http://example.com' }), /`brandUrl` must start with https/],
    ['/messages-settings', () => ({ brandUrl: 'https://a:b@example.com' }), /`brandUrl` must be a URL like https/],
    ['/messages-settings', () => ({ brandLogoUrl: 'javascript:alert(1)' }), /`brandLogoUrl` must be a URL like https/],
    ['/messages-settings', () => ({ brandFont: 'Arial' }), /`brandFont` must be one of MODERN_SANS/],
    ['/messages-settings', () => ({ brandIconUrl: 'http://example.com/icon.png' }), /`brandIconUrl` must start with https/],
    ['/messages-settings', () => ({ linkHosts: ['https://example.com'] }), /linkHosts must be a host such as app.example.com/],
    ['/messages-settings', () => ({ linkHosts: ['a.com', 'A.com'] }), /linkHosts must not list a host twice/],
    ['/messages-settings', () => ({ defaultLocale: 'x' }), /`defaultLocale` must be a BCP 47 locale/],
    ['/messages-settings', () => ({ localeAttribute: nobody }), /There is no user attribute with the id/],
    ['/messages-settings', () => ({ quietFromHour: 24 }), /`quietFromHour` must be a whole number from 0 to 23/],
    ['/messages-settings', () => ({ quietFromHour: null }), /quietFromHour is required with quietToHour/],
    ['/messages-settings', () => ({ quietToHour: null }), /quietToHour is required with quietFromHour/],
    ['/messages-settings', () => ({ quietToHour: 22 }), /quietFromHour and quietToHour are both 22: no hour is quiet/],
    ['/messages-settings', () => ({ maxPerUserDay: 0 }), /`maxPerUserDay` must be a whole number from 1 to 100/],
    ['/messages-settings', () => ({ achievementGroupMinutes: 241 }), /`achievementGroupMinutes` must be a whole number from 0 to 240/],
    ['/streak-settings', () => ({ enabled: 'yes' }), /`enabled` must be a boolean/],
    ['/streak-settings', () => ({ enabled: true }), /metrics must name at least one metric while streaks are enabled/],
    ['/streak-settings', () => ({ frequency: 'hourly' }), /`frequency` must be one of/],
    ['/streak-settings', () => ({ daysOff: [7] }), /`daysOff.0` must be a whole number from 0 to 6/],
    ['/streak-settings', () => ({ daysOff: [1, 1] }), /`daysOff` must not list a day twice/],
    ['/streak-settings', () => ({ daysOff: [0, 1, 2, 3, 4, 5, 6] }), /`daysOff` must have at most 6 items/],
    ['/streak-settings', () => ({ frequency: 'weekly', daysOff: [0] }), /daysOff must be empty with frequency: weekly/],
    ['/streak-settings', () => ({ evaluationMode: 'XOR' }), /`evaluationMode` must be one of/],
    ['/streak-settings', () => ({ metrics: [{ metricId: nobody, threshold: 1 }] }), /There is no metric with the id/],
    ['/streak-settings', () => ({ metrics: [{ metricId: metric, threshold: 0 }] }), /`metrics.0.threshold` must be a number above 0/],
    ['/streak-settings', () => ({ metrics: [1, 2].map((threshold) => ({ metricId: metric, threshold })) }), /"cards" has two conditions/],
    ['/streak-settings', () => ({ freezes: { initial: 5 } }), /freezes.initial is 5, which is above the maximum of 0/],
    ['/streak-settings', () => ({ freezes: { maximum: 101 } }), /`freezes.maximum` must be a whole number from 0 to 100/],
    ['/streak-settings', () => ({ freezes: { maximum: 5, earnAmount: 1 } }), /freezes.earnInterval is required/],
    ['/streak-settings', () => ({ freezes: null }), /`freezes` must be an object/],
    ['/streak-settings', () => ({ personalization: 1 }), /`personalization` must be a boolean/],
  ];
  for (const [path, body, sentence] of refused) {
    it(`refuses ${path} ${String(sentence)}`, async () => {
      // What the worker does about earlier changes is done by then.
      await world.setClock(defaultNow);
      await world.drain();
      const before = await world.snapshot();
      const reply = await patch(path, body());
      expect([reply.status, (reply.body as Body).error.match(sentence)?.[0]]).to.deep.equal([
        422,
        (reply.body as Body).error.match(sentence)?.[0] ?? sentence,
      ]);
      expect(changedLines(before, await world.snapshot())).to.deep.equal([]);
    });
  }

  it('refuses to delete the metric of a streak condition', async () => {
    bodyOf(await patch('/streak-settings', { metrics: [{ metricId: metric, threshold: 1 }] }), 200);
    const reply = await world.request('DELETE', `${base}/metrics?ids=${metric}`);
    expect(reply.body).to.deep.include({ deleted: [] });
    expect((reply.body as { issues: { message: string }[] }).issues[0]?.message).to.equal(
      'Metric "cards" cannot be deleted: it is used by streaks.',
    );
  });
});

describe('GET /configuration/file', () => {
  const exported = async (world: World): Promise<string> => {
    const response = await fetch(`${world.address}${base}/configuration/file`, { headers: { 'x-api-key': adminKey } });
    expect(response.status).to.equal(200);
    expect(response.headers.get('content-type')).to.equal('text/yaml; charset=utf-8');
    return response.text();
  };

  it('returns a file that recreates the configuration anywhere', async () => {
    const world = await startWorld();
    const metrics = await read<{ id: string }[]>(world, `${base}/metrics`);
    const [metric] = metrics;
    const create = async (path: string, item: object): Promise<void> => {
      const reply = await world.request('POST', base + path, { body: [item] });
      expect([reply.status, (reply.body as { issues: unknown[] }).issues]).to.deep.equal([201, []]);
    };
    await create('/leaderboards', { name: 'New', key: 'new', rankBy: 'streak', status: 'scheduled', start: '2040-03-01' });
    await create('/achievements', { name: 'Gone soon', trigger: 'api', status: 'locked' });
    await create('/points', {
      name: 'Energy',
      key: 'energy',
      boosts: [{ name: 'Own', start: '2040-01-01', multiplier: 2, userId: 'on' }],
      triggers: [{ type: 'metric', points: 2, metricId: metric?.id, metricThreshold: 1 }],
    });
    bodyOf(await world.request('PATCH', `${base}/settings`, { body: { defaultTimeZone: 'Asia/Tokyo', idempotencyRetentionDays: 9 } }), 200);
    const text = await exported(world);
    await track(world, 'flashcards-viewed', { user: 'ana', value: 5 });
    await world.configure(text, { prune: true });
    expect(await exported(world)).to.equal(text);
    expect((await read<{ id: string }[]>(world, `${base}/metrics`)).map(({ id }) => id)).to.deep.equal(metrics.map(({ id }) => id));

    const empty = await startWorld({ config: 'settings: {}' });
    await empty.configure(text);
    expect(await exported(empty)).to.equal(text);
    await empty.stop();
    await world.stop();
  });
});

import { expect } from 'chai';
import { bodyOf, configText, read } from '../support/answers.js';
import { changedLines } from '../support/changed-lines.js';
import { defaultNow, startWorld, type World } from '../support/world.js';

const base = '/admin/v1';

/** Settings as the contract has them: `path`, beside Laurel's own. */
function settingsOf(world: () => World, path: string) {
  const patch = (sent: unknown, at = path) => world().request('PATCH', base + at, { body: sent });
  return {
    patch,
    shown: (at = path) => read<Record<string, unknown>>(world(), base + at),
    change: async (sent: object, at = path) => bodyOf<Record<string, unknown>>(await patch(sent, at), 200),
    /** Refused with a sentence, and nothing has changed. */
    refused: async (sent: unknown, sentence: RegExp): Promise<void> => {
      await world().setClock(defaultNow);
      await world().drain();
      const before = await world().snapshot();
      const reply = await patch(sent);
      expect(reply.status).to.equal(422);
      expect((reply.body as { error: string }).error).to.match(sentence);
      expect(changedLines(before, await world().snapshot())).to.deep.equal([]);
    },
    /** A read followed by a write of what was read saves no version. */
    sendBack: async (): Promise<void> => {
      const versions = async () => (await world().pool.query<{ count: string }>('select count(*) from config_versions')).rows[0]?.count;
      const before = [await versions(), await read(world(), base + path)];
      bodyOf(await patch(before[1]), 200);
      expect([await versions(), await read(world(), base + path)]).to.deep.equal(before);
    },
  };
}

describe('The streak settings of the contract', () => {
  let world: World;
  const { shown, change, refused, sendBack } = settingsOf(() => world, '/streaks/settings');
  const own = '/streak-settings';
  const ids: Record<string, string> = {};
  before(async () => {
    const metrics = ['cards', 'lines', 'pages'].map((key) => ({ key, name: key }));
    world = await startWorld({ config: configText({ metrics }) });
    for (const { key, id } of await read<{ key: string; id: string }[]>(world, `${base}/metrics`)) ids[key] = id;
  });
  after(() => world.stop());

  const unset = { frequency: 'daily', evaluationMode: 'OR', customizationEnabled: false, daysOff: [], metrics: [], freezes: null };
  const freezes = { startCount: 1, maxCount: 3, autoEarnInterval: 7, autoEarnAmount: 2 };

  it('are those of Laurel, and a change touches what it names', async () => {
    expect(await shown()).to.deep.equal(unset);
    await sendBack();
    const cards = { key: 'cards', threshold: 5 };
    const changes: readonly (readonly [sent: object, shown?: object])[] = [
      [{ daysOff: [0, 6] }],
      [{ frequency: 'weekly' }, { daysOff: [] }],
      [{ evaluationMode: 'AND' }],
      [{ customizationEnabled: true }],
      [{ metrics: [cards] }],
      [{ metrics: [{ key: 'pages', threshold: 10_000 }, cards] }],
      [{ freezes }],
      [
        { freezes: { startCount: 0, maxCount: 100 } },
        { freezes: { startCount: 0, maxCount: 100, autoEarnInterval: null, autoEarnAmount: null } },
      ],
      [{ freezes: { startCount: 100, maxCount: 100, autoEarnInterval: null, autoEarnAmount: null } }],
      [{ freezes: { startCount: 1, maxCount: 1, autoEarnInterval: 365, autoEarnAmount: 10 } }],
      [{}],
      [{ freezes: null }],
      [{ frequency: 'monthly', evaluationMode: 'OR', customizationEnabled: false, freezes }],
    ];
    let wanted: object = unset;
    for (const [sent, others] of changes) {
      wanted = { ...wanted, ...sent, ...others };
      expect(await change(sent)).to.deep.equal(wanted);
      expect(await shown()).to.deep.equal(wanted);
      await sendBack();
    }
    expect(await shown(own)).to.deep.equal({
      enabled: true,
      frequency: 'monthly',
      evaluationMode: 'OR',
      metrics: [
        { metricId: ids['pages'], threshold: 10_000 },
        { metricId: ids['cards'], threshold: 5 },
      ],
      freezes: { initial: 1, maximum: 3, earnInterval: 7, earnAmount: 2 },
      daysOff: [],
      personalization: false,
    });
  });

  it('have no conditions while streaks are off; sending some switches them on', async () => {
    await change({ enabled: false, metrics: [{ metricId: ids['cards'], threshold: 2.5 }] }, own);
    expect((await shown())['metrics']).to.deep.equal([]);
    await sendBack();
    await change({ frequency: 'daily' });
    expect(await shown(own)).to.deep.include({ enabled: false });
    expect((await change({ metrics: [{ key: 'lines', threshold: 1 }] }))['metrics']).to.deep.equal([{ key: 'lines', threshold: 1 }]);
    expect(await shown(own)).to.deep.include({ enabled: true, metrics: [{ metricId: ids['lines'], threshold: 1 }] });
  });

  it('round what they cannot show, and keep it where it is sent as shown', async () => {
    const exact = {
      metrics: [
        { metricId: ids['cards'], threshold: 1.5 },
        { metricId: ids['lines'], threshold: 0.25 },
        { metricId: ids['pages'], threshold: 25_000.5 },
      ],
      freezes: { initial: 1, maximum: 30, earnInterval: 400, earnAmount: 20 },
    };
    await change({ enabled: true, ...exact }, own);
    const metrics = [
      { key: 'cards', threshold: 2 },
      { key: 'lines', threshold: 1 },
      { key: 'pages', threshold: 10_000 },
    ];
    const rounded = { startCount: 1, maxCount: 30, autoEarnInterval: 365, autoEarnAmount: 10 };
    expect(await shown()).to.deep.include({ metrics, freezes: rounded });
    await sendBack();
    expect(await shown(own)).to.deep.include(exact);

    await change({ metrics: [{ key: 'lines', threshold: 3 }, metrics[0]], freezes: { ...rounded, maxCount: 40, autoEarnAmount: 5 } });
    expect(await shown(own)).to.deep.include({
      metrics: [
        { metricId: ids['lines'], threshold: 3 },
        { metricId: ids['cards'], threshold: 1.5 },
      ],
      freezes: { initial: 1, maximum: 40, earnInterval: 400, earnAmount: 5 },
    });
    await change({ freezes: { startCount: 1, maxCount: 40 } });
    expect(await shown(own)).to.deep.include({ freezes: { initial: 1, maximum: 40, earnInterval: 0, earnAmount: 0 } });
  });

  const bad: readonly (readonly [sent: unknown, sentence: RegExp])[] = [
    [{ frequency: 'weekly', daysOff: [0, 6] }, /daysOff must be empty with frequency: weekly: only daily streaks have days off/],
    [{ daysOff: [7] }, /`daysOff.0` must be a whole number from 0 to 6/],
    [{ daysOff: [1, 1] }, /`daysOff` must not list a day twice/],
    [{ daysOff: [0, 1, 2, 3, 4, 5, 6] }, /`daysOff` must have at most 6 items/],
    [{ daysOff: null }, /`daysOff` must be an array/],
    [{ frequency: 'yearly' }, /`frequency` must be one of/],
    [{ evaluationMode: 'ALL' }, /`evaluationMode` must be one of OR, AND/],
    [{ customizationEnabled: 1 }, /`customizationEnabled` must be a boolean/],
    [{ metrics: [] }, /`metrics` must have at least 1 item/],
    [{ metrics: null }, /`metrics` must be an array/],
    [{ metrics: [{ key: 'nothing', threshold: 1 }] }, /^There is no metric with the key "nothing"\.$/],
    [{ metrics: [1, 2].map((threshold) => ({ key: 'cards', threshold })) }, /"cards" has two conditions/],
    [{ metrics: [{ key: 'cards', threshold: 1.5 }] }, /`metrics.0.threshold` must be an integer/],
    [{ metrics: [{ key: 'cards', threshold: 10_001 }] }, /`metrics.0.threshold` must be a whole number from 1 to 10,000/],
    [{ metrics: [{ key: 'cards' }] }, /`metrics.0.threshold` is required/],
    [{ freezes: {} }, /`freezes.startCount` is required/],
    [{ freezes: { startCount: 4, maxCount: 3 } }, /`freezes.maxCount` must be at least `startCount`/],
    [{ freezes: { startCount: 0, maxCount: 0 } }, /`freezes.maxCount` must be a whole number from 1 to 100/],
    [{ freezes: { ...freezes, autoEarnInterval: null } }, /`freezes.autoEarnInterval` is required with `autoEarnAmount`/],
    [{ freezes: { startCount: 0, maxCount: 1, autoEarnInterval: 1 } }, /`freezes.autoEarnAmount` is required with `autoEarnInterval`/],
    [{ freezes: { ...freezes, autoEarnInterval: 366 } }, /`freezes.autoEarnInterval` must be a whole number from 1 to 365/],
    [{ freezes: { ...freezes, autoEarnAmount: 11 } }, /`freezes.autoEarnAmount` must be a whole number from 1 to 10/],
    [[], /The body must be an object/],
  ];
  for (const [sent, sentence] of bad) it(`refuse ${JSON.stringify(sent)}`, () => refused(sent, sentence));
});

describe('The settings of the contract', () => {
  let world: World;
  const { shown, change, refused, sendBack } = settingsOf(() => world, '/settings');
  const brand = '/messages-settings';
  before(async () => {
    world = await startWorld({ config: 'settings: {}' });
  });
  after(() => world.stop());

  const fields = async (...names: string[]): Promise<object> => {
    const all = await shown();
    return Object.fromEntries(names.map((name) => [name, all[name]]));
  };
  const ofContract = () => fields('branding', 'experimentation', 'aggregationPeriod');

  const branding = { appName: 'Laurel', appUrl: '', brandColor: '#4f46e5', font: 'MODERN_SANS', logo: null, appIcon: null };

  it('are those of Laurel, and a change touches what it names, field by field', async () => {
    const unset = { branding, experimentation: { controlRatio: 0, userActivationWindow: 7 }, aggregationPeriod: 'weekly' };
    expect(await ofContract()).to.deep.equal(unset);
    await sendBack();
    const changes: readonly { readonly branding?: object; readonly experimentation?: object; readonly aggregationPeriod?: string }[] = [
      { branding: { appName: 'Oak' } },
      { branding: { appUrl: 'https://oak.example/app', font: 'BOOK_SERIF' } },
      { branding: { logo: { url: 'https://oak.example/logo.png' } } },
      { branding: { appIcon: { url: 'https://oak.example/icon.png' }, logo: null } },
      { branding: { appIcon: null, brandColor: '#ff0000' } },
      { branding: {} },
      { experimentation: { controlRatio: 29 } },
      { experimentation: { userActivationWindow: 3 } },
      { experimentation: { userActivationWindow: 30, controlRatio: 100 } },
      { experimentation: {}, aggregationPeriod: 'monthly' },
      {},
    ];
    let wanted = unset;
    for (const sent of changes) {
      wanted = {
        ...wanted,
        ...sent,
        branding: { ...wanted.branding, ...sent.branding },
        experimentation: { ...wanted.experimentation, ...sent.experimentation },
      };
      expect(await change(sent)).to.deep.include(wanted);
      expect(await ofContract()).to.deep.equal(wanted);
      await sendBack();
    }
    expect(await shown()).to.deep.include({ controlRatio: 1, activationWindowDays: 30, recapFrequency: 'monthly', emailHour: 9 });
    expect(await shown(brand)).to.deep.include({
      brandName: 'Oak',
      brandUrl: 'https://oak.example/app',
      brandColor: '#ff0000',
      brandFont: 'BOOK_SERIF',
      brandLogoUrl: null,
      brandIconUrl: null,
    });
    await change({ experimentation: { controlRatio: 29 } });
    expect(await shown()).to.deep.include({ controlRatio: 0.29 });
  });

  it('round what they cannot show, and keep it where it is sent as shown', async () => {
    for (const [exact, contract] of [
      [{ controlRatio: 0.125 }, { experimentation: { controlRatio: 13, userActivationWindow: 30 } }],
      [{ controlRatio: 0.004 }, { experimentation: { controlRatio: 0, userActivationWindow: 30 } }],
      [{ recapFrequency: 'daily' }, { aggregationPeriod: 'weekly' }],
      [{ recapFrequency: 'yearly' }, { aggregationPeriod: 'monthly' }],
    ]) {
      await change(exact as object);
      expect(await shown()).to.deep.include({ ...exact, ...contract });
      await sendBack();
      await change(contract as object);
      expect(await shown()).to.deep.include({ ...exact, ...contract });
    }
    await change({ aggregationPeriod: 'weekly' });
    expect(await shown()).to.deep.include({ recapFrequency: 'weekly' });
  });

  it('take a change of one of two fields that mean the same, beside the other as it was read', async () => {
    await change({ controlRatio: 0.125, recapFrequency: 'daily', activationWindowDays: 7 });
    const first = await shown();
    const experimentation = { ...(first['experimentation'] as object), controlRatio: 20 };
    expect(await change({ ...first, experimentation })).to.deep.include({ controlRatio: 0.2, recapFrequency: 'daily', experimentation });
    const own = { controlRatio: 0.125, recapFrequency: 'yearly' };
    expect(await change({ ...(await shown()), ...own })).to.deep.include({ ...own, aggregationPeriod: 'monthly' });
    expect(await change({ controlRatio: 0.5, experimentation: { controlRatio: 50 } })).to.deep.include({ controlRatio: 0.5 });
  });

  it('store each form of a color as #rrggbb', async () => {
    for (const [sent, stored] of [
      ['#0aF', '#00aaff'],
      ['#00AAFF', '#00aaff'],
      ['rgb(0, 170,255)', '#00aaff'],
      ['rgba(0,170,255,1)', '#00aaff'],
      ['RGBA(0, 0, 0, 0.5)', '#808080'],
      ['rgba(255, 0, 0, .2)', '#ffcccc'],
      ['rgba(1,2,3,0)', '#ffffff'],
    ]) {
      expect(((await change({ branding: { brandColor: sent } }))['branding'] as typeof branding).brandColor).to.equal(stored);
      expect(await shown(brand)).to.deep.include({ brandColor: stored });
    }
  });

  const bad: readonly (readonly [sent: unknown, sentence: RegExp])[] = [
    [{ branding: null }, /`branding` must be an object/],
    [{ experimentation: null }, /`experimentation` must be an object/],
    [{ aggregationPeriod: null }, /`aggregationPeriod` must be one of weekly, monthly/],
    [{ aggregationPeriod: 'daily' }, /`aggregationPeriod` must be one of weekly, monthly/],
    [{ branding: { appName: '' } }, /`branding.appName` must not be empty/],
    [{ branding: { appName: null } }, /`branding.appName` must be a/],
    [{ branding: { appUrl: '' } }, /`branding.appUrl` must be a URL like/],
    [{ branding: { appUrl: 'oak' } }, /`branding.appUrl` must be a URL like/],
    [{ branding: { appUrl: 'http://oak.example' } }, /`branding.appUrl` must start with https/],
    [{ branding: { font: 'ARIAL' } }, /`branding.font` must be one of MODERN_SANS/],
    [{ branding: { logo: 'https://oak.example/logo.png' } }, /`branding.logo` must be an object/],
    [{ branding: { logo: {} } }, /`branding.logo.url`/],
    [{ branding: { appIcon: { url: 'icon.png' } } }, /`branding.appIcon.url` must be a URL like/],
    ...['red', '#12', '#1234', 'rgb(1,2)', 'rgb(256,0,0)', 'rgba(0,0,0,1.5)', 'hsl(0,0%,0%)'].map(
      (brandColor) =>
        [{ branding: { brandColor } }, /`branding.brandColor` must be a color: #RGB, #RRGGBB, rgb\(…\) or rgba\(…\)/] as const,
    ),
    [{ experimentation: { controlRatio: 12.5 } }, /`experimentation.controlRatio` must be an integer/],
    [{ experimentation: { controlRatio: 101 } }, /`experimentation.controlRatio` must be a whole number from 0 to 100/],
    [{ experimentation: { userActivationWindow: 2 } }, /`experimentation.userActivationWindow` must be a whole number from 3 to 30/],
    [{ experimentation: { userActivationWindow: 31 } }, /`experimentation.userActivationWindow` must be a whole number from 3 to 30/],
    [
      { controlRatio: 0.1, experimentation: { controlRatio: 20 } },
      /`controlRatio` and `experimentation.controlRatio` change the same setting/,
    ],
    [{ emailHour: 5, branding: { logo: 1 } }, /`branding.logo` must be an object/],
    [{ achievementFromHour: 22, branding: { appName: 'Elm' } }, /achievementToHour is 21: it must be after/],
  ];
  for (const [sent, sentence] of bad) it(`refuse ${JSON.stringify(sent)}`, () => refused(sent, sentence));
});

import { expect } from 'chai';
import { bodyOf, configText, read, readPoints, track, userPath } from '../support/answers.js';
import { startHost, startTenant, type World } from '../support/world.js';
import {
  achievement,
  base,
  byMetric,
  type Config,
  countRows,
  type Effect,
  play,
  rows,
  type Step,
  streaks,
  system,
  users,
} from './configuration-effects.cases.js';

/** The level of each user, as a row of the database keeps it: users whose level differs between two reads have changed it. */
const levelsOf = async (world: World): Promise<Map<string, string | null>> =>
  new Map(await Promise.all(users.map(async (user) => [user, (await readPoints(world, user, 'xp')).level?.key ?? null] as const)));

describe('The effect of a change, in numbers', () => {
  let host: World;
  let minute = 0;
  before(async () => {
    host = await startHost();
  });
  after(() => host.stop());

  async function started(before: Config, events: readonly Step[]): Promise<World> {
    const world = await startTenant(host, { config: configText(before) });
    for (const [user, value, of] of events) await track(world, 'm', { user, value, attributes: of });
    await world.drain();
    return world;
  }

  const dryRun = async (world: World, file: Config, prune = false): Promise<Effect[]> =>
    bodyOf<{ effects: Effect[] }>(await world.request('POST', '/admin/v1/configuration/dry-run', { body: { file, prune } }), 200).effects;

  /** Applies a file, and does what follows from it for users. */
  async function apply(world: World, file: Config, prune = false): Promise<void> {
    bodyOf(await world.request('POST', '/admin/v1/configuration/apply', { body: { file, prune } }), 200);
    minute += 1;
    await world.setClock(new Date(Date.UTC(2040, 0, 2, 12, minute)).toISOString());
    await world.drain();
  }

  for (const { rule, before, events, personal = [], after: file, prune, effect, measure, outcome } of rows) {
    it(rule, async () => {
      const world = await started(before, events);
      for (const user of personal) {
        const body = { streak: { metrics: [{ key: 'm', threshold: 2 }] } };
        bodyOf(await world.request('PATCH', userPath(user, '/preferences'), { body }), 200);
      }
      if (personal.length > 0) await world.drain();
      const found = (await dryRun(world, file, prune)).filter(
        ({ kind, key, sentence }) =>
          kind === effect.kind &&
          (effect.key === undefined || key === effect.key) &&
          (personal.length === 0 || sentence.includes('of their own')),
      );
      expect(found).to.have.length(1);
      expect(found[0]).to.deep.include(effect);
      const was = measure ? await measure(world) : 0;
      await apply(world, file, prune);
      if (measure) expect(Math.abs((await measure(world)) - was)).to.equal(effect.users);
      if (outcome) expect(await outcome(world)).to.equal(effect.users);
      await world.stop();
    });
  }

  for (const [what, levels, changed] of [
    ['added', [10, 20, 30], 1],
    ['removed', [20], 1],
    ['moved', [5, 30], 5],
    ['all removed', [], 4],
    ['unchanged but in another order', [20, 10], 0],
  ] as const) {
    it(`Users change level when levels are ${what}`, async () => {
      const world = await started(base, play);
      const was = await levelsOf(world);
      const file = { points: [system(levels)] };
      const effects = (await dryRun(world, file)).filter(({ kind }) => kind === 'points system');
      const sentence = `${changed} user${changed === 1 ? '' : 's'} would change level.`;
      expect(effects.map((one) => one.sentence)).to.deep.equal(changed === 0 ? [] : [sentence]);
      await apply(world, file);
      const is = await levelsOf(world);
      expect(users.filter((user) => was.get(user) !== is.get(user))).to.have.length(changed);
      await world.stop();
    });
  }

  const metrics = [...base.metrics, { key: 'n', name: 'N' }];
  const onPhones = { eventAttributes: [{ attributeKey: 'device', attributeValue: 'phone' }] };
  const byStreak = achievement({ trigger: 'streak', streakLength: 1 });
  const needed = achievement({ key: 'both', trigger: 'achievement', achievementKeys: ['a'] });
  const keptBy = (count: string, other: string): string =>
    `a: ${count} completed it and would keep it; other users would complete it by the new ${other}.`;
  for (const [what, was, is, sentences, completions] of [
    [
      'streaks instead of a metric',
      [byMetric(25), needed],
      [byStreak],
      ['a: 2 users would complete it.', 'both: 2 users would complete it.', keptBy('3 users have', 'trigger')],
      { a: 5, both: 5 },
    ],
    ['calls instead of a metric', [byMetric(35)], [achievement({ trigger: 'api' })], [keptBy('1 user has', 'trigger')], { a: 1 }],
    [
      'a metric instead of another achievement',
      [byMetric(15, { key: 'b', name: 'B' }), achievement({ trigger: 'achievement', achievementKeys: ['b'] })],
      [byMetric(5)],
      ['a: 1 user would complete it.', keptBy('4 users have', 'trigger')],
      { a: 5, b: 4 },
    ],
    [
      'another metric',
      [byMetric(1, { metricKey: 'n' })],
      [byMetric(25)],
      ['a: 3 users would complete it.', keptBy('0 users have', 'metric')],
      { a: 3 },
    ],
    [
      'matching events of another metric, which sum up from then on',
      [byMetric(1, { metricKey: 'n', ...onPhones })],
      [byMetric(1, onPhones)],
      ['a: 0 users would complete it.', keptBy('0 users have', 'metric')],
      { a: 0 },
    ],
    [
      'another metric while it is locked',
      [byMetric(25, { status: 'locked' })],
      [byMetric(1, { metricKey: 'n', status: 'locked' })],
      [],
      {},
    ],
  ] as const) {
    it(`An achievement that goes by ${what} stays with those who have it`, async () => {
      const world = await started({ ...base, metrics, streaks, achievements: was }, play);
      const effects = await dryRun(world, { achievements: is });
      expect(effects.map(({ key, sentence }) => `${key}: ${sentence}`)).to.deep.equal(sentences);
      await apply(world, { achievements: is });
      const all = await read<{ key: string; completions: number }[]>(world, '/v1/achievements');
      expect(Object.fromEntries(all.map((one) => [one.key, one.completions]))).to.deep.equal(completions);
      await world.stop();
    });
  }

  it('says that a points system which is archived and returns pays its time triggers for nothing in between', async () => {
    const paid = system([], { triggers: [{ key: 'd', type: 'time', timeUnit: 'days', timeInterval: 1, points: 1, status: 'active' }] });
    const world = await started({ ...base, points: [paid] }, play.slice(0, 2));
    await world.setClock('2040-01-04T12:00:00Z');
    await world.drain();
    const sentences = async (file: Config, prune?: true): Promise<string[]> =>
      (await dryRun(world, file, prune)).map(({ kind, sentence }) => `${kind}: ${sentence}`);
    const without = { attributes: base.attributes, metrics: base.metrics };
    const change = async (file: Config, prune: boolean, now: string): Promise<void> => {
      bodyOf(await world.request('POST', '/admin/v1/configuration/apply', { body: { file, prune } }), 200);
      await world.setClock(now);
      await world.drain();
    };
    expect(await sentences(without, true)).to.deep.equal([
      'points system: 2 users have points in it, which would no longer be shown.',
      'trigger: 2 users got points from it in the last 30 days; it would award no more.',
    ]);
    await change(without, true, '2040-01-08T12:00:00Z');
    expect(await sentences({ points: [paid] })).to.deep.equal([
      'points system: 2 users have points in it, which would be shown again.',
      'trigger: It would award 2 users points from now on, and nothing for the time in which the points system was archived.',
    ]);
    await change({ points: [paid] }, false, '2040-01-09T12:00:00Z');
    expect((await readPoints(world, 'ana', 'xp')).total).to.equal(3);
    await world.stop();
  });

  it('says what is not counted beforehand', async () => {
    const world = await started({ ...base, streaks }, play);
    const effects = await dryRun(world, {
      streaks: { metrics: [{ metricKey: 'm', threshold: 10 }] },
      achievements: [
        achievement({ trigger: 'streak', streakLength: 1 }),
        achievement({ key: 'year', trigger: 'anniversary', anniversaryYears: 1 }),
      ],
    });
    expect(effects.map(({ kind, users: count, sentence }) => [kind, count, sentence])).to.deep.equal([
      ['achievement', null, 'The users who would complete it are not counted beforehand.'],
      ['achievement', null, 'The users who would complete it are not counted beforehand.'],
      ['streaks', 5, '5 users have an active daily streak: from this day on, the new conditions decide whether it continues.'],
    ]);
    await world.stop();
  });

  it('says what takes too long to count, and answers all the same', async () => {
    const world = await started(base, play);
    const client = await world.pool.connect();
    try {
      await client.query('begin');
      await client.query('lock table user_points in access exclusive mode');
      const begun = performance.now();
      const effects = await dryRun(world, { points: [system([10, 20, 30])], achievements: [byMetric(25)] });
      expect(performance.now() - begun).to.be.lessThan(5_000);
      expect(effects.map(({ users: count, sentence }) => [count, sentence])).to.deep.equal([
        [null, 'The users who would change level are not counted: that would take too long.'],
        [null, 'The users who would complete it are not counted: that would take too long.'],
      ]);
    } finally {
      await client.query('rollback');
      client.release();
    }
    await world.stop();
  });

  it('counts the deliveries of a webhook that are pending', async () => {
    const webhook = { key: 'w', name: 'W', url: 'http://127.0.0.1:9/', events: ['achievement.completed'] };
    const world = await started({ ...base, achievements: [byMetric(20)], webhooks: [webhook] }, play);
    const pending = await countRows("select count(*) from deliveries where tenant = $1 and status = 'pending'")(world);
    expect(pending).to.equal(3);
    const effects = await dryRun(world, { webhooks: [{ ...webhook, status: 'inactive' }] });
    expect(effects).to.deep.equal([
      {
        kind: 'webhook',
        key: 'w',
        within: null,
        users: null,
        sentence: '3 pending deliveries would wait until the webhook is active again.',
      },
    ]);
    await world.stop();
  });
});

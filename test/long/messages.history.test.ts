import { expect } from 'chai';
import { bodyOf, configText, track } from '../support/answers.js';
import { messagesOf, pass, subscription } from '../support/messages.js';
import { Random, runSeed } from '../support/random.js';
import { startWorld, type World } from '../support/world.js';

const trigger = { type: 'metric', metricKey: 'm', status: 'active' };
const config = {
  metrics: [
    { key: 'm', name: 'M' },
    { key: 'n', name: 'N' },
  ],
  streaks: { enabled: true, frequency: 'daily', metrics: [{ metricKey: 'm', threshold: 3 }], freezes: { initial: 1, maximum: 2 } },
  points: ['p', 'q'].map((key, i) => ({
    key,
    name: key,
    levels: [5, 9, 14, 30, 60].map((of, level) => ({ key: `l${level}`, name: `L${level}`, points: of * (i + 1) })),
    triggers: [
      { ...trigger, key: 'up', metricThreshold: 2, points: 3 },
      { ...trigger, key: 'down', metricKey: 'n', metricThreshold: 1, points: -4 },
      { key: 'streak', type: 'streak', streakLength: 2, points: 5, status: 'active' },
      { key: 'new', type: 'user_creation', points: 6, status: 'active' },
    ],
  })),
  achievements: [
    ...[3, 10, 25, 60].map((of) => ({ ...trigger, key: `m${of}`, name: `M ${of}`, trigger: 'metric', metricValue: of })),
    { key: 's2', name: 'S 2', trigger: 'streak', streakLength: 2, status: 'active' },
    { key: 'api', name: 'Api', trigger: 'api', status: 'active' },
    { key: 'all', name: 'All', trigger: 'achievement', achievementKeys: ['m3', 's2'], status: 'active' },
  ].map(({ ...achievement }) => {
    delete (achievement as { type?: string }).type;
    return achievement;
  }),
  webhooks: [subscription('achievement.completed', 'streak.started', 'streak.extended', 'points.level_changed')],
};

/** The parts of responses that messages repeat. */
interface Changes {
  readonly achievements?: readonly { readonly key: string }[];
  readonly achievement?: { readonly key: string };
  readonly currentStreak?: { readonly length: number; readonly extended?: boolean };
  readonly points: Readonly<Record<string, { readonly total: number; readonly level?: { readonly key: string } | null }>>;
}

function changesOf({ achievements = [], achievement, currentStreak, points }: Changes): string[] {
  return [
    ...(currentStreak?.extended === true ? [`streak ${currentStreak.length}`] : []),
    ...[...achievements, ...(achievement ? [achievement] : [])].map(({ key }) => `achievement ${key}`),
    ...Object.entries(points).flatMap(([key, { total, level }]) =>
      level === undefined ? [] : [`level ${key} ${total} ${level?.key ?? 'none'}`],
    ),
  ];
}

const seed = runSeed();
const steps = 250;

describe(`Messages of a random history (SEED=${seed})`, () => {
  let world: World;
  before(async () => {
    world = await startWorld({ config: configText(config) });
  });
  after(() => world.stop());

  it('repeat the changes of the responses, in order for each user, and each level change follows from the previous one', async () => {
    const random = new Random(seed);
    const users = ['ana', 'bo', 'cy', 'dora'] as const;
    const expected = new Map<string, string[]>();
    const expectChanges = (user: string, body: Changes): void =>
      void expected.set(user, [...(expected.get(user) ?? []), ...changesOf(body)]);
    for (let step = 0; step < steps; step += 1) {
      const user = random.pick(users);
      if (random.chance(0.06)) await pass(world, random.below(2 * 86_400_000));
      else if (random.chance(0.03)) {
        const reply = await world.request('POST', '/v1/achievements/api/complete', { body: { user: { id: user } } });
        if (reply.status !== 422) expectChanges(user, bodyOf<Changes>(reply, 201));
      } else if (random.chance(0.05)) {
        // A changed name: the response holds no news except the points of a new user.
        const { status } = await world.get(`/v1/users/${user}`);
        if (status === 200) bodyOf(await world.request('PATCH', `/v1/users/${user}`, { body: { name: `N ${step}` } }), 200);
      } else {
        const metric = random.pick(['m', 'm', 'n']);
        expectChanges(user, (await track(world, metric, { user, value: 1 + random.below(metric === 'm' ? 4 : 2) })) as unknown as Changes);
      }
    }
    const actual = new Map<string, string[]>();
    const levels = new Map<string, string>();
    for (const { user, payload } of await messagesOf(world)) {
      const { streak, achievement, points, previousLevel, newLevel } = payload;
      const news = streak
        ? `streak ${streak.length}`
        : achievement
          ? `achievement ${achievement.key}`
          : `level ${points?.key} ${points?.total} ${newLevel?.key ?? 'none'}`;
      actual.set(user ?? '', [...(actual.get(user ?? '') ?? []), news]);
      if (!points) continue;
      const of = `${user} ${points.key}`;
      expect(previousLevel?.key, of).to.equal(levels.get(of));
      if (newLevel) levels.set(of, newLevel.key);
      else levels.delete(of);
    }
    expect(Object.fromEntries(actual)).to.deep.equal(Object.fromEntries(expected));
    expect([...expected.values()].flat().length).to.be.greaterThan(50);
  });
});

import { expect } from 'chai';
import { errorOf } from '../support/admin.js';
import { bodyOf, configText, read, readPoints, track, userPath } from '../support/answers.js';
import { differencesOf } from '../support/differences.js';
import { startWorld, type Reply, type World } from '../support/world.js';

const config = configText({
  attributes: [{ key: 'plan', name: 'Plan', type: 'user' }],
  metrics: [{ key: 'm', name: 'M' }],
  achievements: [
    { key: 'met', name: 'Met us', trigger: 'api', status: 'active' },
    { key: 'pro', name: 'Pro', trigger: 'api', status: 'active', userAttributes: [{ attributeKey: 'plan', attributeValue: 'pro' }] },
    { key: 'old', name: 'Old', trigger: 'api', status: 'inactive' },
    { key: 'ten', name: 'Ten', trigger: 'metric', metricKey: 'm', metricValue: 10, status: 'active' },
    { key: 'both', name: 'Both', trigger: 'achievement', achievementKeys: ['met', 'ten'], status: 'active' },
  ],
  points: [
    {
      key: 'xp',
      name: 'XP',
      triggers: [{ key: 'met', type: 'achievement', achievementKey: 'met', points: 5, status: 'active' }],
    },
  ],
  streaks: { enabled: true, frequency: 'daily', metrics: [{ metricKey: 'm', threshold: 1 }], freezes: { initial: 99, maximum: 99 } },
});

interface Body {
  readonly completedUsers: readonly string[];
  readonly issues: readonly { readonly index: number; readonly userId: string; readonly severity: string; readonly message: string }[];
}

describe('Operators', () => {
  let world: World;
  beforeEach(async () => {
    world = await startWorld({ config });
    await track(world, 'm', { user: 'ana', value: 10 });
    await track(world, 'm', { user: { id: 'ben', attributes: { plan: 'pro' } }, value: 1 });
  });
  afterEach(() => world.stop());

  async function send(key: string, users: readonly string[], more: object = {}): Promise<Reply> {
    const { document } = await world.engine.config(world.tenant);
    const id = document.achievements.find((achievement) => achievement.key === key)?.id ?? key;
    const body = { users: users.map((user) => ({ id: user })), ...more };
    return world.request('POST', `/admin/v1/achievements/${id}/completions`, { body });
  }
  const completed = async (user: string): Promise<string[]> =>
    (await read<{ key: string }[]>(world, userPath(user, '/achievements'))).map(({ key }) => key).toSorted();
  const summaries = async (): Promise<string[]> =>
    (await read<{ entries: { summary: string }[] }>(world, '/admin/v1/audit-log')).entries.map(({ summary }) => summary);
  const brief = ({ issues }: Body): unknown[] => issues.map(({ index, userId, severity }) => [index, userId, severity]);

  it('complete an achievement for users, with all that follows, and get an issue for each who has it or is unknown', async () => {
    const first = bodyOf<Body>(await send('met', ['ana', 'nobody']), 201);
    expect(first.completedUsers).to.deep.equal(['ana']);
    expect(brief(first)).to.deep.equal([[1, 'nobody', 'error']]);
    expect(await completed('ana')).to.deep.equal(['both', 'met', 'ten']);
    expect((await readPoints(world, 'ana', 'xp')).total).to.equal(5);
    expect((await world.get(userPath('nobody'))).status).to.equal(404);
    const again = bodyOf<Body>(await send('met', ['ana', 'ben']), 201);
    expect(again.completedUsers).to.deep.equal(['ben']);
    expect(brief(again)).to.deep.equal([[0, 'ana', 'warning']]);
    expect((await send('met', ['ana', 'ben'])).status).to.equal(200);
    expect(await differencesOf(world)).to.deep.equal([]);
  });

  it('complete none for users whom its filters leave out', async () => {
    const { completedUsers, issues } = bodyOf<Body>(await send('pro', ['ana', 'ben']), 201);
    expect(completedUsers).to.deep.equal(['ben']);
    expect(issues[0]?.message).to.include('its attribute filters do not match');
  });

  it('see in a dry run for whom an achievement would be completed, and change nothing', async () => {
    await send('met', ['ben']);
    const before = [await completed('ana'), await summaries(), (await world.engine.config(world.tenant)).version];
    const dry = bodyOf<Body>(await send('met', ['ana', 'ben', 'nobody'], { dryRun: true }), 200);
    expect(dry.completedUsers).to.deep.equal(['ana']);
    expect(brief(dry)).to.deep.equal([
      [1, 'ben', 'warning'],
      [2, 'nobody', 'error'],
    ]);
    expect([await completed('ana'), await summaries(), (await world.engine.config(world.tenant)).version]).to.deep.equal(before);
    expect((await readPoints(world, 'ana', 'xp')).total).to.equal(0);
    const real = bodyOf<Body>(await send('met', ['ana', 'ben', 'nobody']), 201);
    expect(real).to.deep.equal(dry);
  });

  it('find the completions in the audit log by their users', async () => {
    await send('met', ['ana', 'ben', 'nobody']);
    const { entries } = await read<{ entries: { summary: string }[] }>(world, '/admin/v1/audit-log?user=ben');
    expect(entries.map(({ summary }) => summary.replace(/ of .*/, ''))).to.deep.equal(['2 completions made']);
  });

  it('give freezes to users, and see in a dry run who would get one', async () => {
    const give = (users: readonly string[], more: object = {}): Promise<Reply> =>
      world.request('POST', '/admin/v1/streaks/freezes', { body: { freezes: users.map((userId) => ({ userId })), ...more } });
    const freezes = async (user: string): Promise<number> => (await read<{ freezes: number }>(world, userPath(user, '/streak'))).freezes;
    const dry = bodyOf<Body>(await give(['ana', 'nobody'], { dryRun: true }), 200);
    expect(brief(dry)).to.deep.equal([[1, 'nobody', 'error']]);
    expect(await freezes('ana')).to.equal(99);
    expect((await summaries()).filter((summary) => summary.includes('freeze'))).to.deep.equal([]);
    expect(bodyOf<Body>(await give(['ana', 'nobody']), 201)).to.deep.equal(dry);
    expect(await freezes('ana')).to.equal(100);
    const full = bodyOf<Body>(await give(['ana'], { dryRun: true }), 200);
    expect(full.issues[0]?.message).to.equal('The user already has the maximum number of freezes (100).');
  });

  const refused: readonly (readonly [key: string, users: readonly string[], status: number, sentence: string])[] = [
    ['ten', ['ana'], 422, 'cannot be completed through the API: its trigger is metric.'],
    ['old', ['ana'], 404, 'There is no active achievement with the id '],
    ['00000000-0000-4000-8000-000000000000', ['ana'], 404, 'There is no active achievement with the id '],
    ['met', [], 422, 'must have at least 1 item'],
    ['met', Array.from({ length: 101 }, (_, i) => `u${i}`), 422, 'must have at most 100 items'],
  ];
  for (const [key, users, status, sentence] of refused) {
    it(`cannot complete ${key} for ${users.length} users`, async () => {
      const reply = await send(key, users);
      expect(reply.status).to.equal(status);
      expect(errorOf(reply)).to.include(sentence);
    });
  }
});
